//! Administration of a server: the service that changes users, apps and workspaces, the `workgraph
//! admin` commands that call it, and the first start.
pub mod admin_commands;
pub(crate) mod admin_service;
pub(crate) mod answer_values;
pub(crate) mod apps;
pub(crate) mod bootstrap;
pub(crate) mod bootstrap_file;
pub(crate) mod command_text;
pub(crate) mod commands;
mod custom_types;
pub(crate) mod demo;
mod first_objects;
pub(crate) mod fixture;
mod fixture_content;
pub(crate) mod fixture_export;
mod fixture_names;
mod fixture_objects;
mod rule_triggers;
pub(crate) mod socket;
mod teams;
pub(crate) mod users;
mod workspace_directory;

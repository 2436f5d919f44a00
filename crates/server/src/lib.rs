//! Workgraph as a library: the server with its HTTP, settings and workers, and the commands on its data.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let server = workgraph_server::Server::builder().demo().start().await?;
//! println!("{} answers", server.base_url());
//! server.stop().await
//! # })
//! # }
//! ```
//!
//! A standalone server program does more: it starts the [log](start_log), handles signals, and applies changed limits
//! with [`Server::reload`]; see `bins/workgraph`.
mod adapters;
mod admin;
pub mod commands;
mod config;
mod data_commands;
#[cfg(test)]
mod flow_assignment_tests;
mod health_check;
mod http;
mod log;
mod metrics;
mod runtime_limits;
mod server;
mod server_resources;
mod service_manager;
mod stand_in;
mod start_options;
mod workers;
mod world_sources;
mod world_start;

pub use admin::admin_commands;
pub use admin::bootstrap_file::{AppEntry, Bootstrap, TeamEntry, UserEntry, WorkspaceEntry};
pub use config::flags::Flags;
pub use config::{Config, load as load_config};
pub use data_commands::archive_restore::RestoreArgs;
pub use data_commands::store_move::MoveArgs;
pub use log::start as start_log;
pub use server::addresses::write_port;
pub use server::{PreparedServer, Server, ServerBuilder};
pub use service_manager::notify as notify_service_manager;
pub use start_options::{ClockMode, StartOptions};

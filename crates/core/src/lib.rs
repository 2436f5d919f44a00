//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
mod about;
pub mod access;
pub mod address;
pub mod apply;
pub mod audit;
pub mod change;
pub mod check;
pub mod draft;
pub mod fault;
pub mod feed;
pub mod gid;
pub mod graph;
pub mod index;
pub mod jobs;
pub mod load;
mod mentions;
pub mod node;
mod page;
pub mod plan;
pub mod project;
pub mod registry;
pub mod resources;
pub mod rich;
pub mod rules;
pub mod schedule;
pub mod search;
pub mod snapshot;
pub mod time;
pub mod values;
pub mod work;

pub use access::{Level, Viewer};
pub use fault::Fault;
pub use gid::{Gid, Mint};
pub use node::Node;
pub use page::tasks_of_container;
pub use registry::Type;

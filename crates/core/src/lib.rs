//! Domain graph of the service: model, storage port, access rules, projection, search, jobs, journal and audit.
#![doc = include_str!("../README.md")]
pub mod access;
pub mod audit;
pub mod byte_budgets;
pub mod domain_error;
pub mod engine;
pub mod graph_store_error;
pub mod interrupt;
pub mod jobs;
pub mod journal;
pub mod model;
pub mod plan;
pub mod projection;
pub mod rules;
pub mod scopes;
pub mod search;
pub mod storage;

pub use access::{Level, Viewer};
pub use domain_error::DomainError;
pub use engine::pagination::tasks_of_container;
pub use interrupt::{Interrupt, InterruptReason, MaybeInterrupt};
pub use model::gid::{Gid, GidGenerator, GidLeaseEnded};
pub use model::node::Node;
pub use model::registry::Type;
pub use workgraph_richtext as rich_text;

//! The engine of the graph: loads, pages, searches and commits.
//!
//! All stores share it. A store calls [`load`](load::load) with a snapshot and [`apply`](apply::apply) with a transaction.
mod abandoned_tasks;
pub mod apply;
mod audit_derivation;
mod audit_row_encoding;
mod index_entries;
pub mod load;
mod loader;
pub(crate) mod pagination;
mod search_planner;
mod tracked_snapshot;
pub mod waves;

pub use audit_derivation::has_audit_rows;
pub use audit_row_encoding::{RowNames, build_row, encode_row};
pub use index_entries::{build_entry, update_entry, value_entries};
pub use loader::viewer;
pub use tracked_snapshot::TrackedSnapshot;

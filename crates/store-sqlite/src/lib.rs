//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
mod accounts;
mod audit;
mod backup;
mod cache;
mod change;
mod check;
mod checkpoint;
mod connect;
mod error;
mod facts;
mod hooks;
mod near;
mod oauth;
mod readers;
mod records;
mod rows;
mod schema;
mod sealing;
mod search;
mod session;
mod sql;
mod store;
mod tokens;
mod watch;
mod writer;

pub use audit::AuditTail;
pub use backup::ReadOnly;
pub use connect::Options;
pub use error::OpenError;
pub use sealing::Reseal;
pub use store::{SqliteStore, Stats};

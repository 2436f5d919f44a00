//! The SQLite store: ports, durability, archives, the audit log.

mod archive;
mod audit;
mod conformance;
mod durable;
mod model;
mod oauth;
mod rows;

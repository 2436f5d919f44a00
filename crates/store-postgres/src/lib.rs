//! Storage of the graph, its journal, tokens and audit log in a PostgreSQL database that many nodes share.
#![doc = include_str!("../README.md")]
mod audit_checkpoints;
mod audit_log;
mod auth;
mod check;
mod columns;
mod database;
mod database_error;
mod graph;
mod migrations;
pub mod nodes;
mod params;
mod postgres_store;
mod reader;
mod rows;
mod secret_resealing;
mod store_state;
mod stored_values;
mod transaction;
mod waves;
mod webhooks;
mod writer;

pub use database::{Database, DatabaseOptions};
pub use database_error::DatabaseError;
pub use migrations::plan;
pub use postgres_store::{PostgresStore, StoreStats};
pub use rows::PgRows;
pub use secret_resealing::{Reseal, ResealError};

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
mod graph_statements;
mod handle_actor;
mod own_thread_interrupt;
mod params;
mod postgres_store;
mod reader;
mod rows;
mod secret_resealing;
pub mod server_nodes;
mod stamped_load;
mod state_lock;
mod statement_pipeline;
mod store_state;
mod store_stats;
mod stored_values;
mod token_lookups;
mod transaction;
mod wave_statements;
mod waves;
mod webhooks;
mod write_attempt;
mod writer;

pub use database::migrations::{PlannedMigration, plan};
pub use database::{Database, DatabaseOptions};
pub use database_error::DatabaseError;
pub use postgres_store::PostgresStore;
pub use rows::{PgRows, SealedValue};
pub use store_stats::StoreStats;

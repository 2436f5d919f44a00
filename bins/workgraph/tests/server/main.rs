//! Tests of the server as a program: each starts the built binary and speaks to it over sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]
mod admin_names;
mod common;
mod database_commands;
mod database_refusals;
mod docs;
mod edge;
mod exposure;
mod guides;
mod http2;
mod laws;
mod losses;
mod memory;
mod nodes;
mod passwords;
mod rule_triggers;
mod shared_database;
mod start;

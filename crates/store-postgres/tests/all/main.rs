//! Tests of the PostgreSQL store, on a server of their own.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod audit;
mod auth;
mod broken_connections;
mod check;
mod conformance;
mod cutting_proxy;
mod groups;
mod model;
mod nodes;
mod open;
mod rows;
mod support;
mod tampering;
mod touched_keys;
mod trips;
mod webhooks;

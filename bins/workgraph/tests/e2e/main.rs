//! End-to-end tests: each starts the real `workgraph` binary and talks to it over real sockets.
//!
//! They are one test binary, so that the helpers are compiled and linked once. A part of it runs with `cargo test -p
//! workgraph --test e2e -- crash::`, for instance.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]

mod archive;
mod attachments;
mod audit;
mod bad_inputs;
mod bad_uploads;
mod browser;
#[path = "../../../../crates/server/tests/support/bucket_server.rs"]
mod bucket_server;
mod buckets;
#[path = "../../../../crates/server/tests/support/clients.rs"]
mod clients;
mod cluster;
mod cluster_acts;
mod cluster_limits;
mod common;
mod crash;
mod data_digest;
mod edge;
mod exports;
mod jobs;
mod junk;
mod limits;
#[cfg(debug_assertions)]
mod logs;
mod long_reads;
mod moves;
mod oauth;
mod old_folder;
mod openapi;
mod pages;
#[expect(dead_code, reason = "other test binaries use the rest")]
#[path = "../../../../crates/server/tests/support/postgres_server.rs"]
mod postgres_server;
mod record_pages;
#[path = "../../../../crates/server/tests/support/round_robin.rs"]
mod round_robin;
mod sdk;
mod shared_limits;
mod stand_in;
mod tap;
mod topologies;
mod upgrade;

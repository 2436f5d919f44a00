//! Integration tests of the API without a transport: one binary, a module for each kind of test.
//!
//! These tests use no network, no real clock and no sleep. Golden files are in `fixtures/` and `docs/generated/COVERAGE.md`;
//! `BLESS=1` rewrites them. Read each diff of them with care.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]
mod access_matrix;
mod access_requests;
mod attachment_copies;
mod attachments;
mod audit;
mod batch;
mod budget;
mod budgets;
mod contract;
mod coverage;
mod custom_fields;
mod custom_ids;
mod custom_types;
mod dependencies;
mod escalation;
mod events;
mod examples;
mod exports;
mod external;
mod fast_path;
mod goals;
mod golden;
mod hidden;
#[cfg(feature = "tower")]
mod http_service;
mod inputs;
mod interrupts;
mod jobs;
mod leased_gids;
mod limits;
mod lost_replies;
mod members;
mod module_circles;
mod portfolios;
mod status_updates;
mod time_tracking;
mod timesheets;
mod token_cache;
mod workspace_lists;
mod world;

mod openapi;
mod pagination;
mod probes;
mod project_records;
mod races;
mod random_requests;
mod reactions;
mod records;
mod rings;
mod roles;
mod rule_triggers;
mod rules;
mod search;
mod transcripts;
mod trips;
mod typed_inputs;
mod waves;
mod webhooks;

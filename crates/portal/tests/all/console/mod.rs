//! The console over the memory store: the actions of its forms, and its refusals.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]

mod apps;
mod harness;
mod tokens;

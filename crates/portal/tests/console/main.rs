//! The console over the memory store: what its forms do, and what they refuse.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]

mod apps;
mod desk;
mod tokens;

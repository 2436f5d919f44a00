//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
pub mod clock;
pub mod conformance;
pub mod connect;
pub mod fixture;
pub mod memory;
pub mod model;
pub mod scratch;
pub mod search;

pub use clock::{ManualClock, SeededBytes};
pub use connect::{Connect, Connected, connect};
pub use fixture::Fixture;
pub use memory::MemoryStore;
pub use scratch::Scratch;

//! Tools for tests: a store in memory, conformance cases, random histories, fixtures, a clock and scratch folders.
#![doc = include_str!("../README.md")]
pub mod caches;
pub mod clock;
pub mod conformance;
pub mod connected_app;
pub mod fixture;
pub mod postgres_cluster;
pub mod random_histories;
pub mod scratch_folder;
pub mod search_histories;

pub use caches::caches_are_on;
pub use clock::{ManualClock, SeededBytes};
pub use connected_app::{AppConnection, ConnectedApp, SCOPES, connect_app};
pub use fixture::Fixture;
pub use postgres_cluster::{PostgresCluster, TestDatabase};
pub use scratch_folder::ScratchFolder;
pub use workgraph_store_memory::{MemoryStore, WaveStore, memory_store};

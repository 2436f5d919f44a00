//! The limiter as its users meet it. The model checker's tests are a program of their own (`loom`).

mod batches;
mod behaviour;
mod compared;
mod docs;
mod eviction;
mod permits;
mod state;
#[cfg(feature = "tower")]
mod tower;

//! Exact rate limits with a truthful wait, concurrency permits and a post-paid cost quota.
#![doc = include_str!("../README.md")]

pub mod concurrency;
pub mod cost;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod limiter;
pub mod settings;
pub mod window;

mod account;
mod ledger;
mod stamps;
mod state;
#[expect(
    unexpected_cfgs,
    reason = "the model checker loom is asked for by `--cfg loom`"
)]
mod sync;

pub use concurrency::Permit;
pub use cost::Work;
pub use limiter::Limiter;
pub use settings::{
    Batch, Class, Counts, Custom, Each, Key, Limit, Quota, Rate, Refusal, Request, Settings,
};
pub use state::{CostState, RateState, Recent, SlotState, State};

//! Exact rate limits with a truthful wait, concurrency permits and a post-paid cost quota.
#![doc = include_str!("../README.md")]

pub mod concurrency;
pub mod cost;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod limiter;
pub mod refusal;
pub mod request;
pub mod settings;
pub mod totals;
pub mod window;

mod account;
mod ledger;
mod shared;
mod stamps;
mod state;
#[expect(
    unexpected_cfgs,
    reason = "the model checker loom is asked for by `--cfg loom`"
)]
mod sync;

pub use concurrency::Permit;
pub use cost::{BYTES_PER_CREDIT, Work, least_cost};
pub use limiter::Limiter;
pub use refusal::{Counts, Limit, Refusal};
pub use request::{Batch, Class, Rate, Request};
pub use settings::{Custom, Each, Key, Quota, Settings};
pub use state::{CostState, RateState, Recent, SlotState, State};
pub use totals::{Share, Totals};

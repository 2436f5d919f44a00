//! Exact rate limits with a truthful wait, concurrency permits and a post-paid cost quota.
#![doc = include_str!("../README.md")]

pub mod admission_request;
pub mod concurrency;
pub mod cost;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod limit;
pub mod limit_exceeded;
pub mod limiter;
pub mod limiter_settings;
pub mod owner_totals;
mod shared_decision;
pub mod shared_limiter;
pub mod window;

mod account_table;
mod atomic_settings;
mod in_flight;
mod limiter_account;
mod limiter_state;
#[expect(
    unexpected_cfgs,
    reason = "the model checker loom is asked for by `--cfg loom`"
)]
mod sync;
mod time_units;
mod timestamps;

pub use admission_request::{AdmissionBatch, AdmissionRequest, LimitKey, RateQuota, RequestClass};
pub use concurrency::Permit;
pub use cost::{BYTES_PER_CREDIT, CostInputs, STEPS_PER_CREDIT, least_cost};
pub use limit::{Limit, PerLimit};
pub use limit_exceeded::{AdmissionCounts, LimitExceeded};
pub use limiter::Limiter;
pub use limiter_settings::{LimiterSettings, Quota, RequestOverrides};
pub use limiter_state::{
    CostState, LimiterState, RateState, RecentRequest, RemainingLimits, SlotState,
};
pub use owner_totals::{OwnerTotals, TotalShare};
pub use shared_limiter::{LocalLimits, SharedLimiter, SharedRequest};

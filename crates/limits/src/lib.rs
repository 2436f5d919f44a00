//! Exact rate limits with a truthful wait, concurrency permits and a post-paid cost quota.
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod admission_request;
pub mod builder;
pub mod concurrency;
pub mod headers;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod limit;
pub mod limit_exceeded;
pub mod limiter;
pub mod limiter_settings;
pub mod owner_totals;
pub mod rate;
mod shared_decision;
pub mod shared_limiter;
mod steady_clock;
#[cfg(feature = "tower")]
pub mod tower;
mod uniform_hash;
pub mod window;

mod account_table;
mod cost;
mod in_flight;
mod limiter_account;
mod limiter_state;
mod rules;
#[expect(
    unexpected_cfgs,
    reason = "the model checker loom is asked for by `--cfg loom`"
)]
mod sync;
mod time_units;
mod timestamps;

pub use admission_request::{AdmissionRequest, LimitKey, SlotRequest, WindowCharge};
pub use builder::LimiterBuilder;
pub use concurrency::Permit;
pub use limit::{Limit, LimitKind};
pub use limit_exceeded::{AdmissionCounts, LimitCounts, LimitExceeded, LimitUsage};
pub use limiter::{DigestLimiter, Limiter};
pub use limiter_settings::{ConcurrentSettings, CostSettings, LimiterSettings, WindowSettings};
pub use limiter_state::{
    CostState, LimiterState, RecentRequest, RemainingLimits, SlotState, WindowState,
};
pub use owner_totals::{OwnerTotals, TotalShare};
pub use rate::{PerTime, Rate};
pub use shared_limiter::{LocalLimits, SharedLimiter, SharedRequest};
pub use steady_clock::SteadyClock;
pub use uniform_hash::{UniformHasher, UniformState};

//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
pub mod address;
pub mod filter;
pub mod hook;
pub mod port;
pub mod sign;
pub mod target;

pub use address::Policy;
pub use filter::{Filter, Occurrence};
pub use hook::{Hook, Position, State};
pub use port::{
    Attempt, Deliver, Delivery, Failed, HookStore, Inserted, Limits, Page, Replied, Standing,
    StoreError,
};
pub use target::{Host, Target};

//! The rate limits of requests: their weights and quotas, and the replies that explain them.
pub(crate) mod admission;
pub mod exhaustion;
pub mod explain;
pub mod limit_overrides;
pub(crate) mod recent_tokens;
pub(crate) mod request_weight;

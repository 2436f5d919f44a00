#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
mod account_tier;
pub mod background_error;
mod batch;
mod budget;
mod cache;
mod dispatch;
mod ended_jobs;
pub mod error;
mod execute;
mod external_ids;
mod fast_path;
pub mod features;
mod gate;
#[cfg(feature = "tower")]
pub mod http_service;
mod input;
pub mod job_runner;
pub mod limits;
mod pipeline;
pub mod ports;
mod query_token;
mod received_body;
pub mod refusal_reason;
pub mod reply_cost;
pub mod request;
pub mod request_inspector;
pub mod request_watch;
pub mod router;
mod session_reads;
mod state;
pub mod storage_error;
mod tickets;
pub mod token_limits;
mod token_usage;
mod unknown_inputs;

pub use account_tier::{FREE_TIER, PAID_TIER};
pub use cache::token_cache::ConnectionTokenCache;
pub use fast_path::FastPathRequest;
#[cfg(feature = "tower")]
pub use http_service::service;
pub use ports::{Clock, Entropy};
pub use refusal_reason::{Refusal, RefusalReason, RequestRefusal};
pub use request::{ApiRequest, ApiResponse, RequestOrigin};
pub use state::{Api, ApiDependencies};
pub use token_limits::TokenLimits;
pub use workgraph_operations as operations;
pub use workgraph_operations::{ApiSettings, Caller, SCOPES};

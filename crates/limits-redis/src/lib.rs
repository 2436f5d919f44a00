//! Exact rate limits for several processes, kept in Redis or Valkey.
#![doc = include_str!("../README.md")]

mod account_state;
mod awaited_answer;
mod breaker;
mod connect_error;
mod connection;
mod functions;
mod known_server;
mod limiter_core;
mod part_refusals;
mod protocol;
mod redis_limiter;
mod settings;
mod settlements;
#[cfg(any(test, feature = "test-server"))]
pub mod test_server;
#[cfg(test)]
mod tests;

pub use connect_error::ConnectError;
pub use functions::{functions_source, library_name};
pub use known_server::KnownServer;
pub use protocol::unsupported_limits;
pub use redis_limiter::RedisLimiter;
pub use settings::RedisLimiterSettings;

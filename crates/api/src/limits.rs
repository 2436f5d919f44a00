//! The rate limits of requests: their weights and figures, and the replies that explain them.
pub mod admission;
pub mod explain;

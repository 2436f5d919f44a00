//! Caches in memory: replies with single records, and the last access token of each connection.
pub(crate) mod response_cache;
pub(crate) mod token_cache;

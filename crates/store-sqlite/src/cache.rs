//! Caches of the store: nodes and edges as they were read, copies per connection, and entries that are outdated by
//! epoch.
pub(crate) mod connection;
pub(crate) mod epoch;
pub(crate) mod node_cache;

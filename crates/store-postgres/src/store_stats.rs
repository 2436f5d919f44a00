//! Counts of a store's reads, writes and trips, for its operators.

/// Figures of a store for its operators, since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreStats {
    /// Number of reads: loads, and reads of the journal and the audit log.
    pub reads: u64,
    /// Number of times that the reads waited for the database.
    pub read_trips: u64,
    /// Number of transactions that wrote; each may have had many commits.
    pub batches: u64,
    /// Number of times that these transactions waited for the database.
    pub write_trips: u64,
    /// Number of times that other work waited for the database: reads and decisions about tokens, apps and webhooks.
    pub statement_trips: u64,
    /// Number of connections that are open.
    pub connections: u64,
}

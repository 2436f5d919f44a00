//! Flows of the fair queue for long work.

/// Flow of fair queueing: long work that shares one queue, and so one turn in each round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OffloadFlow {
    /// Requests with one token, by a hash of it.
    Token(u64),
    /// Steps of one job, by its gid.
    Job(u64),
    /// Deliveries of one webhook, by its gid.
    Webhook(u64),
}

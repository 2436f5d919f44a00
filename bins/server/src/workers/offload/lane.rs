//! The lanes of long work.

/// The lanes of long work, which take turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OffloadLane {
    /// Requests with one token, by a hash of it.
    Token(u64),
    /// Steps of one job, by its gid.
    Job(u64),
    /// Deliveries of one webhook, by its gid.
    Webhook(u64),
}

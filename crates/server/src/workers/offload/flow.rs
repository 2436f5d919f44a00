//! Flows of the fair queue for long work, and their owners.

/// Owner of long work: owners take turns, and so do an owner's flows within its turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FlowOwner {
    /// User for whom the work is done, by gid, regardless of the token, job or webhook.
    User(u64),
    /// Flow whose user is unknown.
    Unknown(OffloadFlow),
}

/// Flow of fair queueing: long work of one owner that shares one queue, and so one turn in each round of that owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OffloadFlow {
    /// Requests with one token, by a hash of it.
    Token(u64),
    /// Steps of one job, by its gid.
    Job(u64),
    /// Deliveries of one webhook, by its gid.
    Webhook(u64),
}

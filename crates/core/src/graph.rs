//! The storage port: what is wanted, what was found, what changes.
mod page;
mod view;
mod want;

pub use crate::change::{
    About, Action, Changes, Committed, Event, Fact, Guard, Link, Place, Put, fingerprint,
};
pub use page::{ALPHABETICAL_CAP, Filter, Give, Listing, Page, Rows};
pub(crate) use view::Band;
pub use view::View;
pub use want::{By, Ref, ViewerKey, Want, alias};

use crate::audit;
use crate::gid::Gid;
use crate::interrupt::{Interrupted, MaybeInterrupt};
use crate::registry::Rel;
use crate::time::Time;
use async_trait::async_trait;
use std::fmt;

/// A commit sequence number: 1 for the first commit, without gaps, in commit order.
pub type Seq = u64;

/// An association between two nodes, and perhaps a third.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// Where it starts.
    pub src: Gid,
    /// What it means.
    pub rel: Rel,
    /// Where it leads.
    pub dst: Gid,
    /// Its place in the target's list, or a small number the relation defines.
    pub rank: i64,
    /// The commit that made it.
    pub seq: Seq,
    /// The third party.
    pub aux: Option<Gid>,
}

/// Why a store could not do it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// A guard failed: load and decide again.
    Conflict,
    /// Another node has this name.
    Taken(String),
    /// What was asked for is more than the budget of the [`Want`] holds.
    OverBudget,
    /// The storage failed; nothing of the call was applied.
    Failed(String),
    /// The interrupt of the call stopped it; nothing is wrong with the storage.
    Interrupted(Interrupted),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("a node changed meanwhile"),
            Self::Taken(name) => write!(f, "the name {name} is taken"),
            Self::OverBudget => f.write_str("more was asked for than may be read at once"),
            Self::Failed(why) => write!(f, "storage failed: {why}"),
            Self::Interrupted(why) => write!(f, "stopped: {why}"),
        }
    }
}
impl std::error::Error for StoreError {}

/// The domain graph's storage port. Every method is one trip.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// Reads everything `want` names, from one consistent snapshot. A ref with no live node is
    /// absent from the view, not an error. The interrupt of the want may stop it.
    async fn load(&self, want: &Want) -> Result<View, StoreError>;

    /// Applies all of `changes`, or none. When it returns, the commit is durable.
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError>;

    /// A number that changes with every commit, before the commit is answered, if the store knows
    /// it without a trip: equal numbers before two loads mean that the same was there to load.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Returns once [`version`](Self::version) is another number than this one; never in a store
    /// without versions.
    async fn changed(&self, _since: u64) {
        std::future::pending().await
    }

    /// At most `limit` commits after `seq`, in commit order.
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// The commits of the journal that say something about a node or what is in it.
    async fn feed(&self, ask: Feed, interrupt: MaybeInterrupt) -> Result<Fed, StoreError>;

    /// The rows of the audit log that fit, oldest first.
    async fn audited(
        &self,
        ask: audit::Ask,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<audit::Row>, StoreError>;

    /// Drops the oldest commits from the journal: those before the instant and not after `upto`, at
    /// most `limit` of them and never the last one. Numbers go on as before. Says how many.
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError>;
}

/// Asks for commits about a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feed {
    /// The node.
    pub about: Gid,
    /// Commits after this one.
    pub after: Seq,
    /// How many to give at most.
    pub limit: usize,
    /// How many to look at at most.
    pub scan: usize,
}

/// Commits about a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fed {
    /// The commits, in commit order. Some may turn out to say nothing about the node.
    pub events: Vec<Event>,
    /// All commits up to this one were looked at.
    pub upto: Seq,
    /// The last commit there is.
    pub last: Seq,
    /// The commit before the first one that the journal still has.
    pub pruned: Seq,
}

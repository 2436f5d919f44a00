//! The storage port: queries for reads, views with their results, and changes to commit.
pub mod change_builder;
pub mod changes;
mod commit_clock;
pub mod custom_field_index;
pub mod custom_field_view;
mod decision_reads;
mod fact_key;
mod graph_store_wrapper;
mod leased_gids;
mod node_ref;
mod page_query;
mod read_query;
mod read_view;
pub mod snapshot;
mod unanswered_reads;
mod work_leases;

pub use crate::graph_store_error::GraphStoreError;
pub use crate::model::edge::{Edge, Seq};
pub use crate::storage::changes::{
    ChangeAction, ChangeRecord, Changes, CommitReceipt, EdgeWrite, Guard, JournalEntry,
    ListPosition, NodeContext, NodeWrite,
};
pub use commit_clock::CommitClock;
pub use decision_reads::{DecisionReads, TouchLog};
pub use fact_key::FactKey;
pub use graph_store_wrapper::GraphStoreWrapper;
pub use leased_gids::LeasedGidStore;
pub use node_ref::{LinkSelector, NodeRef};
pub use page_query::{
    ALPHABETICAL_CAP, EdgeEnd, LinkFilter, ListSource, PageQuery, PageRows, RowFilter, RowLink,
};
pub use read_query::{EdgesOnDays, ReadQuery, ViewerKey, alias};
pub(crate) use read_view::EdgeBand;
pub use read_view::{ReadView, Ring};
pub use unanswered_reads::UnansweredRead;
pub(crate) use unanswered_reads::UnansweredReads;
pub use work_leases::{PermanentLeases, SharedWork, WorkLease, WorkLeases};

use crate::access::Viewer;
use crate::audit;
use crate::interrupt::MaybeInterrupt;
use crate::model::gid::Gid;
use crate::model::time::Time;
use async_trait::async_trait;
use std::sync::Arc;

/// The storage port of the domain graph. Every method is one trip.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// Reads everything that `want` names, from one consistent snapshot. A node reference that names no live node is absent
    /// from the view; it is not an error. The interrupt of the query may stop the load.
    async fn load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError>;

    /// Returns a user with all their memberships, as a load for them does. A store that keeps viewers overrides this, so that
    /// it needs no view.
    async fn viewer(&self, key: ViewerKey) -> Result<Arc<Viewer>, GraphStoreError> {
        Ok(self.load(&ReadQuery::of(key)).await?.viewer)
    }

    /// Applies all of `changes`, or none. When it returns, the commit is durable.
    async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError>;

    /// Returns a number that changes with every commit, before the commit is answered; `None` if the store does not know it
    /// without a trip. If the number is the same before two loads, both see the same state.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Returns once [`version`](Self::version) returns a number other than this one; never returns in a store without
    /// versions.
    async fn changed(&self, _since: u64) {
        std::future::pending().await
    }

    /// Returns at most `limit` commits after `seq`, in commit order.
    async fn journal_entries(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, GraphStoreError>;

    /// Returns the commits of the journal that change a node or the nodes in it.
    async fn events_about(
        &self,
        ask: EventQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<EventPage, GraphStoreError>;

    /// Returns the rows of the audit log that match the query, oldest first.
    async fn audit_rows(
        &self,
        ask: audit::AuditQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<audit::AuditRow>, GraphStoreError>;

    /// Drops the oldest commits from the journal: at most `limit` commits before the instant and not after `upto`, but never
    /// the last commit. Later commits keep their numbers. Returns the number of dropped commits.
    async fn prune_journal(
        &self,
        before: Time,
        upto: Seq,
        limit: usize,
    ) -> Result<usize, GraphStoreError>;
}

/// Query for commits about a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventQuery {
    /// Gid of the node that the commits are about.
    pub about: Gid,
    /// Sequence number after which the commits begin.
    pub after: Seq,
    /// Maximum number of commits to return.
    pub limit: usize,
    /// Maximum number of commits to look at.
    pub scan: usize,
}

/// Answer to an event query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventPage {
    /// Commits in commit order. Some of them may have no change of the node.
    pub events: Vec<JournalEntry>,
    /// Sequence number up to which all commits were looked at.
    pub upto: Seq,
    /// Sequence number of the last commit.
    pub last: Seq,
    /// Sequence number of the commit before the first one in the journal.
    pub pruned: Seq,
}

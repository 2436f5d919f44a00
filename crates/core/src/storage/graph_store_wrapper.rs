//! Graph stores that wrap other graph stores: for counting, for delays, for faults in tests.
use super::{
    Changes, CommitReceipt, EventPage, EventQuery, GraphStore, GraphStoreError, JournalEntry,
    ReadQuery, ReadView, Seq,
};
use crate::audit;
use crate::interrupt::MaybeInterrupt;
use crate::model::time::Time;
use async_trait::async_trait;

/// Wrapper of a store. It has its own loads and commits, and forwards everything else; a type with this trait is a
/// [`GraphStore`].
#[async_trait]
pub trait GraphStoreWrapper: Send + Sync {
    /// Returns the wrapped store.
    fn inner(&self) -> &dyn GraphStore;

    /// Loads, as [`GraphStore::load`] does.
    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.inner().load(want).await
    }

    /// Commits, as [`GraphStore::commit`] does.
    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.inner().commit(changes).await
    }

    /// Returns the version, as [`GraphStore::version`] does. A wrapper that must see every load returns `None`, so that no reply
    /// is cached.
    fn wrapped_version(&self) -> Option<u64> {
        self.inner().version()
    }
}

#[async_trait]
impl<W: GraphStoreWrapper> GraphStore for W {
    async fn load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.wrapped_load(want).await
    }

    async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.wrapped_commit(changes).await
    }

    fn version(&self) -> Option<u64> {
        self.wrapped_version()
    }

    async fn changed(&self, since: u64) {
        self.inner().changed(since).await;
    }

    async fn journal_entries(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, GraphStoreError> {
        self.inner().journal_entries(after, limit).await
    }

    async fn events_about(
        &self,
        ask: EventQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<EventPage, GraphStoreError> {
        self.inner().events_about(ask, interrupt).await
    }

    async fn audit_rows(
        &self,
        ask: audit::AuditQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<audit::AuditRow>, GraphStoreError> {
        self.inner().audit_rows(ask, interrupt).await
    }

    async fn prune_journal(
        &self,
        before: Time,
        upto: Seq,
        limit: usize,
    ) -> Result<usize, GraphStoreError> {
        self.inner().prune_journal(before, upto, limit).await
    }
}

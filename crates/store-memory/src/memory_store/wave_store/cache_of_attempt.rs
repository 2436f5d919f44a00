//! Cache that attempts of a wave store read from.
use std::cell::RefCell;
use std::sync::Arc;
use workgraph_core::Viewer;
use workgraph_core::engine::waves::{
    AttemptCache, FactCache, GraphAnswer, GraphRead, PendingCommits,
};
use workgraph_core::storage::{DecisionReads, FactKey, Seq, TouchLog, ViewerKey};

/// Cache that supplies the answers that an attempt's facts lack, and the pending commits after the cache's state.
pub(super) struct CacheOfAttempt<'c> {
    cache: RefCell<Option<&'c mut FactCache>>,
    pending: RefCell<Option<&'c mut PendingCommits>>,
    /// Keys touched by all commits so far.
    touched: &'c TouchLog,
}

impl<'c> CacheOfAttempt<'c> {
    /// Returns the cache if it is at the state after a commit, or else an empty one.
    pub(super) fn at(seq: Seq, cache: Option<&'c mut FactCache>, touched: &'c TouchLog) -> Self {
        Self {
            cache: RefCell::new(cache.filter(|cache| cache.seq() == seq)),
            pending: RefCell::default(),
            touched,
        }
    }

    /// Returns the cache as in `at`, or with the pending commits, if they lead to that state.
    pub(super) fn before_commit(
        seq: Seq,
        cache: Option<&'c mut FactCache>,
        pending: &'c mut PendingCommits,
        touched: &'c TouchLog,
    ) -> Self {
        if pending.last_seq() != Some(seq) {
            return Self::at(seq, cache, touched);
        }
        Self {
            cache: RefCell::new(cache),
            pending: RefCell::new(Some(pending)),
            touched,
        }
    }
}

impl AttemptCache for CacheOfAttempt<'_> {
    fn answer(&self, read: &GraphRead) -> Option<GraphAnswer> {
        let mut cache = self.cache.borrow_mut();
        let cache = cache.as_deref_mut()?;
        match self.pending.borrow_mut().as_deref_mut() {
            Some(pending) => pending.answer(read, cache),
            None => cache.get(read),
        }
    }

    fn holds(&self, reads: &DecisionReads) -> bool {
        self.touched.holds(reads)
    }

    fn viewer(&self, key: ViewerKey) -> Option<Arc<Viewer>> {
        let is_ahead = self.pending.borrow().is_some();
        let cache = self.cache.borrow();
        cache.as_deref().filter(|_| !is_ahead)?.viewer(key)
    }

    fn keep_viewer(&self, key: ViewerKey, viewer: &Arc<Viewer>, depends_on: Vec<FactKey>) {
        if self.pending.borrow().is_none()
            && let Some(cache) = self.cache.borrow_mut().as_deref_mut()
        {
            cache.keep_viewer(cache.seq(), key, viewer, depends_on);
        }
    }
}

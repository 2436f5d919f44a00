//! Keys that commits touched, for validating later decisions.
use std::fmt;
use workgraph_core::storage::{DecisionReads, FactKey, Seq};

/// Keys that commits touched. They are not part of the graph's content: graphs with different touched keys can be equal.
#[derive(Clone, Default)]
pub(in crate::memory_store) struct Touches {
    /// Keys of the commits, each with its commit, in their order.
    pub(in crate::memory_store) committed: Vec<(Seq, FactKey)>,
    /// Keys that the transaction has touched.
    pub(in crate::memory_store) pending: Vec<FactKey>,
}

impl PartialEq for Touches {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Touches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Touches")
    }
}

impl Touches {
    /// Adds keys that the transaction touches.
    pub(in crate::memory_store) fn add(&mut self, keys: impl IntoIterator<Item = FactKey>) {
        self.pending.extend(keys);
    }

    /// Ends the transaction with a commit.
    pub(in crate::memory_store) fn commit(&mut self, seq: Seq) {
        let pending = self.pending.drain(..);
        self.committed.extend(pending.map(|key| (seq, key)));
    }

    /// Returns true if no commit after the one that a decision saw has touched its reads.
    pub(in crate::memory_store) fn hold(&self, reads: &DecisionReads) -> bool {
        let later = self.committed.iter().rev();
        let mut later = later.take_while(|(seq, _)| *seq > reads.seq);
        !later.any(|(_, key)| reads.keys.contains(key))
    }
}

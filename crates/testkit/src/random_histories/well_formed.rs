//! Changes as the rules of the service make them: the first version of a node is 1, and edges and aliases belong to nodes
//! that exist or existed.
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::{
    Changes, CommitReceipt, GraphStore, GraphStoreError, GraphStoreWrapper,
};

/// Gids of all nodes that were ever written.
#[derive(Debug, Default)]
pub(super) struct KnownNodes(Mutex<BTreeSet<Gid>>);

impl KnownNodes {
    /// Returns the changes without edges and aliases of nodes that were never written, with versions corrected: 1 for new
    /// nodes, higher for others.
    pub(super) fn formed(&self, mut changes: Changes) -> Changes {
        let mut known = self.0.lock().clone();
        for put in &mut changes.node_writes {
            put.node.version = match known.insert(put.node.gid) {
                true => 1,
                false => put.node.version.max(2),
            };
        }
        let edges = &mut changes.edge_writes;
        edges.retain(|link| known.contains(&link.src) && known.contains(&link.dst));
        changes.add_aliases.retain(|(_, gid)| known.contains(gid));
        changes
    }

    /// Adds the nodes of a commit.
    pub(super) fn add(&self, changes: &Changes) {
        let nodes = changes.node_writes.iter().map(|put| put.node.gid);
        self.0.lock().extend(nodes);
    }
}

/// Store that wraps another store, and commits changes as the rules of the service make them.
#[derive(Debug)]
pub struct WellFormed<'s, S> {
    store: &'s S,
    known: KnownNodes,
}

impl<'s, S> WellFormed<'s, S> {
    /// Makes a store around an empty one.
    #[must_use]
    pub fn over(store: &'s S) -> Self {
        let known = KnownNodes::default();
        Self { store, known }
    }
}

#[async_trait]
impl<S: GraphStore> GraphStoreWrapper for WellFormed<'_, S> {
    fn inner(&self) -> &dyn GraphStore {
        self.store
    }

    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let changes = self.known.formed(changes);
        let receipt = self.store.commit(changes.clone()).await?;
        self.known.add(&changes);
        Ok(receipt)
    }
}

//! Graph store of a node that leases the number for its gids.
use super::{Changes, CommitReceipt, GraphStore, GraphStoreError, GraphStoreWrapper};
use crate::model::gid::GidGenerator;
use async_trait::async_trait;
use std::sync::Arc;

/// Store that refuses commits with gids that do not belong to this node.
pub struct LeasedGidStore {
    /// The wrapped store.
    pub store: Arc<dyn GraphStore>,
    /// The generator of the gids in all changes.
    pub generator: Arc<GidGenerator>,
}

#[async_trait]
impl GraphStoreWrapper for LeasedGidStore {
    fn inner(&self) -> &dyn GraphStore {
        &*self.store
    }

    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.generator.confirm()?;
        self.store.commit(changes).await
    }
}

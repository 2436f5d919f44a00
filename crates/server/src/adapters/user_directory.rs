//! Names and addresses of users, as shown to apps.
use async_trait::async_trait;
use std::sync::Arc;
use workgraph_auth::{AuthStoreError, UserDirectory, UserInfo};
use workgraph_core::model::resources::user;
use workgraph_core::storage::{GraphStore, NodeRef, ReadQuery, ViewerKey};
use workgraph_core::{Gid, Type};

/// Directory that reads users from the graph.
pub(crate) struct GraphUserDirectory(pub(crate) Arc<dyn GraphStore>);

#[async_trait]
impl UserDirectory for GraphUserDirectory {
    async fn user_info(&self, number: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        let mut want = ReadQuery::of(ViewerKey {
            user: gid,
            service: None,
        });
        want.node_refs.push(NodeRef::Gid(gid));
        let view = self.0.load(&want).await;
        let view = view.map_err(|e| AuthStoreError::Unavailable(e.to_string()))?;
        let node = view.node(gid).filter(|node| node.ty == Type::User);
        Ok(node.map(|node| UserInfo {
            id: number,
            name: node.title().to_string(),
            email: node.get(user::EMAIL).unwrap_or_default().to_string(),
            picture: None,
        }))
    }
}

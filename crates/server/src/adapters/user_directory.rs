//! Names and addresses of users, as shown to apps.
use async_trait::async_trait;
use std::sync::Arc;
use workgraph_auth::{AuthStoreError, UserDirectory, UserInfo};
use workgraph_core::model::resources::user;
use workgraph_core::storage::{GraphStore, NodeRef, ReadQuery, ReadView, ViewerKey};
use workgraph_core::{Gid, Type};

/// Directory that reads users from the graph.
pub(crate) struct GraphUserDirectory(pub(crate) Arc<dyn GraphStore>);

#[async_trait]
impl UserDirectory for GraphUserDirectory {
    async fn user_info(&self, number: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        let view = self.load(gid, Some(NodeRef::Gid(gid))).await?;
        Ok(user_info(&view, gid))
    }

    /// Returns true if the user belongs to a workspace: without one, the API refuses each of their tokens.
    async fn has_access(&self, number: u64) -> Result<bool, AuthStoreError> {
        match Gid::new(number) {
            Some(gid) => Ok(self.load(gid, None).await?.viewer.has_workspace()),
            None => Ok(false),
        }
    }

    async fn user_with_access(&self, number: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        let view = self.load(gid, Some(NodeRef::Gid(gid))).await?;
        Ok(user_info(&view, gid).filter(|_| view.viewer.has_workspace()))
    }
}

/// Returns a user of a view, if the view has the user.
fn user_info(view: &ReadView, gid: Gid) -> Option<UserInfo> {
    let node = view.node(gid).filter(|node| node.ty == Type::User)?;
    Some(UserInfo {
        id: gid.get(),
        name: node.title().to_string(),
        email: node.get(user::EMAIL).unwrap_or_default().to_string(),
        picture: None,
    })
}

impl GraphUserDirectory {
    /// Reads a user's memberships, and a node if one is given.
    async fn load(&self, user: Gid, node: Option<NodeRef>) -> Result<ReadView, AuthStoreError> {
        let key = ViewerKey {
            user,
            service: None,
        };
        let mut want = ReadQuery::of(key);
        want.node_refs.extend(node);
        let view = self.0.load(&want).await;
        view.map_err(|e| AuthStoreError::Unavailable(e.to_string()))
    }
}

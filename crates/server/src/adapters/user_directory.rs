//! Names and addresses of users, as shown to apps.
use async_trait::async_trait;
use std::sync::Arc;
use workgraph_auth::{AuthStoreError, UserDirectory, UserInfo};
use workgraph_core::model::resources::user;
use workgraph_core::storage::{GraphStore, GraphStoreError, ReadQuery, ReadView, ViewerKey};
use workgraph_core::{Gid, Type};

pub(crate) struct GraphUserDirectory(pub(crate) Arc<dyn GraphStore>);

#[async_trait]
impl UserDirectory for GraphUserDirectory {
    async fn user_info(&self, number: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        Ok(user_info(&self.load(gid).await?, gid))
    }

    /// Returns true if the user belongs to a workspace: without one, the API refuses each of their tokens.
    async fn has_access(&self, number: u64) -> Result<bool, AuthStoreError> {
        match Gid::new(number) {
            Some(gid) => {
                let viewer = self.0.viewer(viewer_key(gid)).await;
                Ok(viewer.map_err(unavailable)?.has_workspace())
            }
            None => Ok(false),
        }
    }

    async fn user_with_access(&self, number: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        let view = self.load(gid).await?;
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
    /// Reads a user with their memberships.
    async fn load(&self, user: Gid) -> Result<ReadView, AuthStoreError> {
        let query = ReadQuery::of(viewer_key(user)).node(user);
        self.0.load(&query).await.map_err(unavailable)
    }
}

fn viewer_key(user: Gid) -> ViewerKey {
    ViewerKey {
        user,
        service: None,
    }
}

fn unavailable(error: GraphStoreError) -> AuthStoreError {
    AuthStoreError::Unavailable(error.to_string())
}

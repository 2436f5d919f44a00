//! Who users are, as apps may learn it.
use async_trait::async_trait;
use std::sync::Arc;
use workgraph_auth::{People, Person, StoreError};
use workgraph_core::graph::{GraphStore, Ref, ViewerKey, Want};
use workgraph_core::resources::user;
use workgraph_core::{Gid, Type};

/// Reads users from the graph.
pub(crate) struct Users(pub(crate) Arc<dyn GraphStore>);

#[async_trait]
impl People for Users {
    async fn person(&self, number: u64) -> Result<Option<Person>, StoreError> {
        let Some(gid) = Gid::new(number) else {
            return Ok(None);
        };
        let mut want = Want::of(ViewerKey {
            user: gid,
            service: None,
        });
        want.refs.push(Ref::Gid(gid));
        let view = self.0.load(&want).await;
        let view = view.map_err(|e| StoreError::Unavailable(e.to_string()))?;
        let node = view.node(gid).filter(|node| node.ty == Type::User);
        Ok(node.map(|node| Person {
            id: number,
            name: node.title().to_string(),
            email: node.get(user::EMAIL).unwrap_or_default().to_string(),
            picture: None,
        }))
    }
}

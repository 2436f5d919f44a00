//! Workspaces and service accounts for the console.
use crate::admin::admin_service::AdminService;
use crate::admin::admin_service::service_prefix;
use async_trait::async_trait;
use workgraph_auth::AuthStoreError;
use workgraph_core::access::Role;
use workgraph_core::audit::ActorContext;
use workgraph_core::storage::{ReadQuery, ViewerKey};
use workgraph_core::{Gid, Type};
use workgraph_portal::console::{InvitationSummary, UserWorkspace, WorkspaceDirectory};

fn gid(number: u64) -> Result<Gid, AuthStoreError> {
    let none = || AuthStoreError::Unavailable(format!("{number} is no gid"));
    Gid::new(number).ok_or_else(none)
}

/// Returns the error of the port, with the chain of causes as its text.
fn unavailable(error: anyhow::Error) -> AuthStoreError {
    AuthStoreError::Unavailable(format!("{error:#}"))
}

#[async_trait]
impl WorkspaceDirectory for AdminService {
    async fn workspaces_of(&self, user: u64) -> Result<Vec<UserWorkspace>, AuthStoreError> {
        let key = ViewerKey {
            user: gid(user)?,
            service: None,
        };
        let view = self.storage.graph.load(&ReadQuery::of(key)).await;
        let view = view.map_err(|e| AuthStoreError::Unavailable(e.to_string()))?;
        let all: Vec<Gid> = view
            .viewer
            .memberships
            .iter()
            .map(|s| s.workspace)
            .collect();
        let nodes = self.nodes(&all).await.map_err(unavailable)?;
        let mut memberships: Vec<UserWorkspace> = Vec::with_capacity(nodes.len());
        for membership in &view.viewer.memberships {
            let workspace = nodes.iter().find(|node| node.gid == membership.workspace);
            memberships.extend(workspace.map(|node| UserWorkspace {
                workspace: membership.workspace.get(),
                name: node.title().to_string(),
                admin: membership.role == Role::Admin,
            }));
        }
        memberships.sort_by_key(|membership| membership.workspace);
        Ok(memberships)
    }

    async fn invitations(&self, user: u64) -> Result<Vec<InvitationSummary>, AuthStoreError> {
        let person = gid(user)?;
        // If the server stopped before an earlier answer was completed, that is completed first.
        let finished = self.api.finish_invitations(person).await;
        finished.map_err(|error| unavailable(error.into()))?;
        let all = self.api.invitations(person).await;
        let all = all.map_err(|error| unavailable(error.into()))?;
        Ok(all
            .into_iter()
            .map(|waiting| InvitationSummary {
                id: waiting.invitation.invited.get(),
                workspace: waiting.workspace_name,
            })
            .collect())
    }

    async fn answer_invitation(
        &self,
        user: u64,
        id: u64,
        accepted: bool,
        acting: &ActorContext,
    ) -> Result<bool, AuthStoreError> {
        let Some(invited) = Gid::new(id) else {
            return Ok(false);
        };
        let parties = (gid(user)?, invited);
        let done = self.api.answer_invitation(parties, accepted, acting).await;
        done.map_err(|error| unavailable(error.into()))
    }

    async fn services(&self, workspace: u64) -> Result<Vec<(u64, String)>, AuthStoreError> {
        let prefix = service_prefix(gid(workspace)?);
        let all = self.numbered_nodes(&prefix).await;
        let all = self.nodes(&all.map_err(unavailable)?).await;
        let all = all.map_err(unavailable)?;
        Ok(all
            .iter()
            .map(|node| (node.gid.get(), node.title().to_string()))
            .collect())
    }

    async fn create_service(
        &self,
        workspace: u64,
        name: &str,
        acting: &ActorContext,
    ) -> Result<u64, AuthStoreError> {
        let node = self.node(Type::Workspace, &workspace.to_string()).await;
        let node = node.map_err(unavailable)?;
        let made = self.create_service_user(name, &node, acting).await;
        made.map(Gid::get).map_err(unavailable)
    }

    fn password_used(&self, user: u64) {
        self.first_passwords.used(user);
    }

    fn password_changed(&self, user: u64) {
        self.first_passwords.changed(user);
    }
}

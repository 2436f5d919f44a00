//! Workspaces and service accounts, as the console asks for them.
use crate::office::{Office, service_prefix};
use async_trait::async_trait;
use workgraph_auth::StoreError;
use workgraph_core::access::Role;
use workgraph_core::audit::Acting;
use workgraph_core::graph::{ViewerKey, Want};
use workgraph_core::{Gid, Type};
use workgraph_portal::console::{Invite, Places, Seat};

fn gid(number: u64) -> Result<Gid, StoreError> {
    let none = || StoreError::Unavailable(format!("{number} is no gid"));
    Gid::new(number).ok_or_else(none)
}

#[async_trait]
impl Places for Office {
    async fn seats(&self, user: u64) -> Result<Vec<Seat>, StoreError> {
        let key = ViewerKey {
            user: gid(user)?,
            service: None,
        };
        let view = self.storage.graph.load(&Want::of(key)).await;
        let view = view.map_err(|e| StoreError::Unavailable(e.to_string()))?;
        let all: Vec<Gid> = view.viewer.seats.iter().map(|s| s.workspace).collect();
        let nodes = self.nodes(&all).await.map_err(StoreError::Unavailable)?;
        let mut seats: Vec<Seat> = Vec::with_capacity(nodes.len());
        for seat in &view.viewer.seats {
            let place = nodes.iter().find(|node| node.gid == seat.workspace);
            seats.extend(place.map(|node| Seat {
                workspace: seat.workspace.get(),
                name: node.title().to_string(),
                admin: seat.role == Role::Admin,
            }));
        }
        seats.sort_by_key(|seat| seat.workspace);
        Ok(seats)
    }

    async fn invitations(&self, user: u64) -> Result<Vec<Invite>, StoreError> {
        let person = gid(user)?;
        // Whatever an answer left undone when the server stopped is done first.
        let finished = self.api.finish_answers(person).await;
        finished.map_err(StoreError::Unavailable)?;
        let all = self.api.invitations(person).await;
        let all = all.map_err(StoreError::Unavailable)?;
        Ok(all
            .into_iter()
            .map(|waiting| Invite {
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
        acting: &Acting,
    ) -> Result<bool, StoreError> {
        let Some(invited) = Gid::new(id) else {
            return Ok(false);
        };
        let parties = (gid(user)?, invited);
        let done = self.api.answer_invitation(parties, accepted, acting).await;
        done.map_err(StoreError::Unavailable)
    }

    async fn services(&self, workspace: u64) -> Result<Vec<(u64, String)>, StoreError> {
        let prefix = service_prefix(gid(workspace)?);
        let all = self.numbered(&prefix).await;
        let all = self.nodes(&all.map_err(StoreError::Unavailable)?).await;
        let all = all.map_err(StoreError::Unavailable)?;
        Ok(all
            .iter()
            .map(|node| (node.gid.get(), node.title().to_string()))
            .collect())
    }

    async fn create_service(
        &self,
        workspace: u64,
        name: &str,
        acting: &Acting,
    ) -> Result<u64, StoreError> {
        let place = self.node(Type::Workspace, &workspace.to_string()).await;
        let place = place.map_err(StoreError::Unavailable)?;
        let made = self.found_service(name, &place, acting).await;
        made.map(Gid::get).map_err(StoreError::Unavailable)
    }

    fn password_used(&self, user: u64) {
        self.first_passwords.used(user);
    }

    fn password_changed(&self, user: u64) {
        self.first_passwords.changed(user);
    }
}

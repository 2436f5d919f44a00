//! The apps that a user has authorized, and the form that revokes one.
use std::time::SystemTime;

use workgraph_auth::{AuthStoreError, RedirectUri};

use super::{Console, ConsoleContext, ConsoleNotice, ConsoleResponse, number};
use crate::pages::{AuthorizedAppRow, AuthorizedAppsPage, paths};

impl Console<'_> {
    pub(super) async fn connected(
        &self,
        scene: &ConsoleContext<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let mut all = Vec::new();
        for authorization in self.store.authorizations(scene.user).await? {
            let Some(app) = self.store.app(authorization.app).await? else {
                continue;
            };
            let mut hosts: Vec<String> = Vec::new();
            for host in app.redirects.iter().filter_map(RedirectUri::host) {
                if !hosts.iter().any(|had| had == host) {
                    hosts.push(host.to_owned());
                }
            }
            let workspaces: Vec<u64> = scene
                .memberships
                .iter()
                .map(|membership| membership.workspace)
                .collect();
            all.push(AuthorizedAppRow {
                id: authorization.id,
                off: !app.is_distributed_to(&workspaces),
                hosts,
                scopes: authorization.scopes.intersect(app.scopes.set()),
                since: authorization.created_at,
                app: app.name.clone(),
            });
        }
        let invitations = self.workspaces.invitations(scene.user).await?;
        Ok(ConsoleResponse::ok(
            AuthorizedAppsPage {
                frame: scene.frame(),
                invitations: &invitations,
                apps: &all,
            }
            .page(),
        ))
    }

    pub(super) async fn answer_invitation(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        answer: &str,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let (accepted, done) = match answer {
            "accept" => (true, ConsoleNotice::Accepted),
            "decline" => (false, ConsoleNotice::Declined),
            _ => return Ok(ConsoleResponse::not_found()),
        };
        let Some(id) = number(id) else {
            return Ok(ConsoleResponse::not_found());
        };
        let answered = self
            .workspaces
            .answer_invitation(scene.user, id, accepted, self.actor);
        if !answered.await? {
            return Ok(ConsoleResponse::not_found());
        }
        Ok(ConsoleResponse::done(paths::CONNECTED, done))
    }

    pub(super) async fn disconnect(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some(id) = number(id) else {
            return Ok(ConsoleResponse::not_found());
        };
        // An authorization that has already ended is no error.
        self.store.deauthorize(id, scene.user, now).await?;
        Ok(ConsoleResponse::done(
            paths::CONNECTED,
            ConsoleNotice::Disconnected,
        ))
    }
}

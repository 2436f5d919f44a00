//! The apps that a user let in.
use std::time::SystemTime;

use workgraph_auth::{RedirectUri, StoreError};

use super::{Answer, Console, Done, Scene, number};
use crate::pages::{Connected, Connection, paths};

impl Console<'_> {
    pub(super) async fn connected(&self, scene: &Scene<'_>) -> Result<Answer, StoreError> {
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
            let workspaces: Vec<u64> = scene.seats.iter().map(|seat| seat.workspace).collect();
            all.push(Connection {
                id: authorization.id,
                off: !app.is_for(&workspaces),
                hosts,
                scopes: authorization.scopes.intersect(app.scopes.set()),
                since: authorization.created_at,
                app: app.name.clone(),
            });
        }
        let invitations = self.places.invitations(scene.user).await?;
        Ok(Answer::ok(
            Connected {
                frame: scene.frame(),
                invitations: &invitations,
                apps: &all,
            }
            .page(),
        ))
    }

    pub(super) async fn answer_invitation(
        &self,
        scene: &Scene<'_>,
        id: &str,
        answer: &str,
    ) -> Result<Answer, StoreError> {
        let (accepted, done) = match answer {
            "accept" => (true, Done::Accepted),
            "decline" => (false, Done::Declined),
            _ => return Ok(Answer::not_found()),
        };
        let Some(id) = number(id) else {
            return Ok(Answer::not_found());
        };
        let answered = self
            .places
            .answer_invitation(scene.user, id, accepted, self.acting);
        if !answered.await? {
            return Ok(Answer::not_found());
        }
        Ok(Answer::done(paths::CONNECTED, done))
    }

    pub(super) async fn disconnect(
        &self,
        scene: &Scene<'_>,
        id: &str,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        let Some(id) = number(id) else {
            return Ok(Answer::not_found());
        };
        // One that is gone already is what was asked for.
        self.store.deauthorize(id, scene.user, now).await?;
        Ok(Answer::done(paths::CONNECTED, Done::Disconnected))
    }
}

//! The apps that can be used in a workspace, switched off and on by those who administer it.
use workgraph_auth::{App, AuthStoreError};

use super::form_fields::FormFields;
use super::{Console, ConsoleContext, ConsoleNotice, ConsoleResponse, number};
use crate::pages::{InstalledApp, InstalledAppsPage, WorkspaceApps, paths};

impl Console<'_> {
    pub(super) async fn installed(
        &self,
        scene: &ConsoleContext<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        if !scene.seats.iter().any(|seat| seat.admin) {
            return Ok(ConsoleResponse::not_found());
        }
        let all = self.store.apps(None).await?;
        let mut places = Vec::new();
        for seat in scene.seats.iter().filter(|seat| seat.admin) {
            let here = |app: &&App| {
                app.disabled_at.is_none() && app.distribution.contains(&seat.workspace)
            };
            let show = |app: &App| InstalledApp {
                id: app.id,
                name: app.name.clone(),
                scopes: app.scopes,
                off: app.disabled_in.contains(&seat.workspace),
            };
            places.push(WorkspaceApps {
                id: seat.workspace,
                name: seat.name.clone(),
                apps: all.iter().filter(here).map(show).collect(),
            });
        }
        let page = InstalledAppsPage {
            frame: scene.frame(),
            places: &places,
        };
        Ok(ConsoleResponse::ok(page.page()))
    }

    pub(super) async fn switch_installed(
        &self,
        scene: &ConsoleContext<'_>,
        place: &str,
        app: &str,
        form: FormFields<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let (Some(seat), Some(id)) = (scene.administers(place), number(app)) else {
            return Ok(ConsoleResponse::not_found());
        };
        let off = match form.one("state") {
            "off" => true,
            "on" => false,
            _ => return Ok(ConsoleResponse::not_found()),
        };
        // The app's owner may change it at the same time; that is no reason to fail here.
        for _ in 0..4 {
            let was = self.store.app(id).await?;
            let Some(was) = was.filter(|app| app.distribution.contains(&seat.workspace)) else {
                return Ok(ConsoleResponse::not_found());
            };
            let mut becomes = App::clone(&was);
            becomes.disabled_in.retain(|id| *id != seat.workspace);
            if off {
                becomes.disabled_in.push(seat.workspace);
            }
            match self.store.put_app(becomes, Some(&was)).await {
                Err(AuthStoreError::Conflict) => {}
                Err(other) => return Err(other),
                Ok(()) => {
                    let done = if off {
                        ConsoleNotice::Off
                    } else {
                        ConsoleNotice::On
                    };
                    return Ok(ConsoleResponse::done(paths::INSTALLED, done));
                }
            }
        }
        Err(AuthStoreError::Conflict)
    }
}

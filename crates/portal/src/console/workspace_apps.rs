//! The apps available in a workspace, which its administrators enable and disable.
use workgraph_auth::{App, AuthStoreError};

use super::form_fields::FormFields;
use super::{Console, ConsoleContext, ConsoleNotice, ConsoleResponse, number};
use crate::pages::{InstalledApp, InstalledAppsPage, WorkspaceApps, paths};

impl Console<'_> {
    pub(super) async fn installed(
        &self,
        scene: &ConsoleContext<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        if !scene.memberships.iter().any(|membership| membership.admin) {
            return Ok(ConsoleResponse::not_found());
        }
        let all = self.store.apps(None).await?;
        let mut workspaces = Vec::new();
        for membership in scene
            .memberships
            .iter()
            .filter(|membership| membership.admin)
        {
            let here = |app: &&App| {
                app.disabled_at.is_none() && app.distribution.contains(&membership.workspace)
            };
            let show = |app: &App| InstalledApp {
                id: app.id,
                name: app.name.clone(),
                scopes: app.scopes,
                off: app.disabled_in.contains(&membership.workspace),
            };
            workspaces.push(WorkspaceApps {
                id: membership.workspace,
                name: membership.name.clone(),
                apps: all.iter().filter(here).map(show).collect(),
            });
        }
        let page = InstalledAppsPage {
            frame: scene.frame(),
            workspaces: &workspaces,
        };
        Ok(ConsoleResponse::ok(page.page()))
    }

    pub(super) async fn switch_installed(
        &self,
        scene: &ConsoleContext<'_>,
        workspace: &str,
        app: &str,
        form: FormFields<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let (Some(membership), Some(id)) = (scene.administers(workspace), number(app)) else {
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
            let Some(was) = was.filter(|app| app.distribution.contains(&membership.workspace))
            else {
                return Ok(ConsoleResponse::not_found());
            };
            let mut becomes = App::clone(&was);
            becomes.disabled_in.retain(|id| *id != membership.workspace);
            if off {
                becomes.disabled_in.push(membership.workspace);
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

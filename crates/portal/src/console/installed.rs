//! The apps that can be used in a workspace, switched off and on by those who administer it.
use workgraph_auth::{App, StoreError};

use super::form::Form;
use super::{Answer, Console, Done, Scene, number};
use crate::pages::{Installed, InstalledApps, InstalledPlace, paths};

impl Console<'_> {
    pub(super) async fn installed(&self, scene: &Scene<'_>) -> Result<Answer, StoreError> {
        if !scene.seats.iter().any(|seat| seat.admin) {
            return Ok(Answer::not_found());
        }
        let all = self.store.apps(None).await?;
        let mut places = Vec::new();
        for seat in scene.seats.iter().filter(|seat| seat.admin) {
            let here = |app: &&App| {
                app.disabled_at.is_none() && app.distribution.contains(&seat.workspace)
            };
            let show = |app: &App| Installed {
                id: app.id,
                name: app.name.clone(),
                scopes: app.scopes,
                off: app.disabled_in.contains(&seat.workspace),
            };
            places.push(InstalledPlace {
                id: seat.workspace,
                name: seat.name.clone(),
                apps: all.iter().filter(here).map(show).collect(),
            });
        }
        let page = InstalledApps {
            frame: scene.frame(),
            places: &places,
        };
        Ok(Answer::ok(page.page()))
    }

    pub(super) async fn switch_installed(
        &self,
        scene: &Scene<'_>,
        place: &str,
        app: &str,
        form: Form<'_>,
    ) -> Result<Answer, StoreError> {
        let (Some(seat), Some(id)) = (scene.administers(place), number(app)) else {
            return Ok(Answer::not_found());
        };
        let off = match form.one("state") {
            "off" => true,
            "on" => false,
            _ => return Ok(Answer::not_found()),
        };
        // Its owner may change the app at the same time; that is no reason to fail here.
        for _ in 0..4 {
            let was = self.store.app(id).await?;
            let Some(was) = was.filter(|app| app.distribution.contains(&seat.workspace)) else {
                return Ok(Answer::not_found());
            };
            let mut becomes = App::clone(&was);
            becomes.disabled_in.retain(|id| *id != seat.workspace);
            if off {
                becomes.disabled_in.push(seat.workspace);
            }
            match self.store.put_app(becomes, Some(&was)).await {
                Err(StoreError::Conflict) => {}
                Err(other) => return Err(other),
                Ok(()) => {
                    let done = if off { Done::Off } else { Done::On };
                    return Ok(Answer::done(paths::INSTALLED, done));
                }
            }
        }
        Err(StoreError::Conflict)
    }
}

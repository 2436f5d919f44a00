//! Apps: registered, changed, switched, their secrets reset.
use std::sync::Arc;
use std::time::SystemTime;

use workgraph_auth::client::mint_secret;
use workgraph_auth::{App, Loopback, RedirectUri, Registered, StoreError};

use super::form::Form;
use super::{Answer, Console, Done, Fresh, MANY, Scene, Visitor, number};
use crate::pages::{AppForm, AppPage, AppRow, AppValues, Apps, Place, Problem, Use, paths};

/// How many redirect URLs an app can have.
const URLS: usize = 20;

/// A form about an app, as read.
struct Draft {
    values: AppValues,
    redirects: Vec<RedirectUri>,
    problems: Vec<Problem>,
}

fn row(app: &App) -> AppRow {
    AppRow {
        id: app.id,
        name: app.name.clone(),
        scopes: app.scopes,
        created_at: app.created_at,
        off: app.disabled_at.is_some(),
    }
}

fn values(app: &App) -> AppValues {
    let urls: Vec<&str> = app.redirects.iter().map(RedirectUri::as_str).collect();
    AppValues {
        name: app.name.clone(),
        redirects: urls.join("\n"),
        scopes: app.scopes.set(),
        distribution: app.distribution.clone(),
    }
}

fn places(scene: &Scene<'_>) -> Vec<Place> {
    let place = |seat: &super::Seat| Place {
        id: seat.workspace,
        name: seat.name.clone(),
    };
    scene.seats.iter().map(place).collect()
}

impl Console<'_> {
    /// An app of the visitor's, by its number as text.
    async fn own(&self, scene: &Scene<'_>, id: &str) -> Result<Option<Arc<App>>, StoreError> {
        let Some(id) = number(id) else {
            return Ok(None);
        };
        let found = self.store.app(id).await?;
        Ok(found.filter(|app| app.owner == scene.user))
    }

    fn form<'f>(
        &self,
        values: &'f AppValues,
        places: &'f [Place],
        problems: &'f [Problem],
    ) -> AppForm<'f> {
        AppForm {
            values,
            places,
            problems,
            loopback: self.loopback == Loopback::Allowed,
        }
    }

    pub(super) async fn apps(&self, scene: &Scene<'_>) -> Result<Answer, StoreError> {
        let apps: Vec<AppRow> = self
            .store
            .apps(Some(scene.user))
            .await?
            .iter()
            .map(row)
            .collect();
        Ok(Answer::ok(
            Apps {
                frame: scene.frame(),
                apps: &apps,
            }
            .page(),
        ))
    }

    pub(super) fn new_app(&self, scene: &Scene<'_>) -> Answer {
        let places = places(scene);
        let values = AppValues {
            // With one workspace there is nothing to choose.
            distribution: places
                .iter()
                .map(|place| place.id)
                .filter(|_| places.len() == 1)
                .collect(),
            ..AppValues::default()
        };
        Answer::ok(self.form(&values, &places, &[]).page(&scene.frame()))
    }

    fn page(
        &self,
        scene: &Scene<'_>,
        app: &App,
        values: &AppValues,
        problems: &[Problem],
    ) -> crate::pages::Page {
        let places = places(scene);
        let off_in = |id: &u64| {
            let seat = scene.seats.iter().find(|seat| seat.workspace == *id);
            seat.map_or_else(|| format!("workspace {id}"), |seat| seat.name.clone())
        };
        let disabled_in: Vec<String> = app.disabled_in.iter().map(off_in).collect();
        AppPage {
            frame: scene.frame(),
            app: &row(app),
            form: self.form(values, &places, problems),
            has_secret: app.secret.is_some(),
            disabled_in: &disabled_in,
        }
        .page()
    }

    pub(super) async fn app(&self, scene: &Scene<'_>, id: &str) -> Result<Answer, StoreError> {
        let Some(app) = self.own(scene, id).await? else {
            return Ok(Answer::not_found());
        };
        Ok(Answer::ok(self.page(scene, &app, &values(&app), &[])))
    }

    /// What a form says about an app, and what is wrong with it. Workspaces that the visitor has no
    /// seat in stay as they are.
    fn read(&self, scene: &Scene<'_>, form: Form<'_>, before: Option<&App>) -> Draft {
        let mut problems = Vec::new();
        let name = form.line("name", "a name", &mut problems);
        let text = form.one("redirects");
        let mut redirects: Vec<RedirectUri> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            // What was registered once may stay, whatever the setting says now.
            let kept = before.and_then(|app| app.redirects.iter().find(|url| url.as_str() == line));
            match kept
                .cloned()
                .map_or_else(|| RedirectUri::register(line, self.loopback), Ok)
            {
                Ok(url) if redirects.contains(&url) => {}
                Ok(url) => redirects.push(url),
                Err(why) => {
                    let line: String = line.chars().take(100).collect();
                    problems.push(Problem::new("redirects", format!("{line}: {why}")));
                }
            }
        }
        if redirects.len() > URLS {
            problems.push(Problem::new(
                "redirects",
                format!("Enter at most {URLS} redirect URLs."),
            ));
        }
        if redirects.is_empty() && problems.iter().all(|problem| problem.field != "redirects") {
            problems.push(Problem::new(
                "redirects",
                "Enter at least one redirect URL.",
            ));
        }
        let mut wrong = Vec::new();
        let scopes = form.permissions(&mut wrong);
        problems.append(&mut wrong);
        let here = |id: &u64| scene.seats.iter().any(|seat| seat.workspace == *id);
        let elsewhere = before
            .map_or(&[][..], |app| &app.distribution)
            .iter()
            .copied();
        let mut distribution: Vec<u64> = elsewhere.filter(|id| !here(id)).collect();
        for id in form.all("workspace") {
            match number(id).filter(here) {
                Some(id) if distribution.contains(&id) => {}
                Some(id) => distribution.push(id),
                None => problems.push(Problem::new(
                    "distribution",
                    "Choose workspaces that you are in.",
                )),
            }
        }
        if distribution.is_empty() && before.is_none() {
            problems.push(Problem::new(
                "distribution",
                "Choose at least one workspace.",
            ));
        }
        let values = AppValues {
            name,
            redirects: text.chars().take(50_000).collect(),
            scopes,
            distribution,
        };
        Draft {
            values,
            redirects,
            problems,
        }
    }

    pub(super) async fn create_app(
        &self,
        scene: &Scene<'_>,
        form: Form<'_>,
        fresh: &Fresh,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        let again = |values: &AppValues, problems: &[Problem]| {
            let page = self
                .form(values, &places(scene), problems)
                .page(&scene.frame());
            Ok(Answer::again(page))
        };
        let Draft {
            values,
            redirects,
            problems,
        } = self.read(scene, form, None);
        if !problems.is_empty() {
            return again(&values, &problems);
        }
        if self.store.apps(Some(scene.user)).await?.len() >= MANY {
            let many = format!("You have {MANY} apps already; change one of them.");
            return again(&values, &[Problem::new("name", many)]);
        }
        let (secret, digest) = mint_secret(&fresh.random);
        let app = App {
            id: fresh.id,
            name: values.name,
            secret: Some(digest),
            redirects,
            scopes: Registered::from_set(values.scopes),
            distribution: values.distribution,
            disabled_in: Vec::new(),
            owner: scene.user,
            created_at: fresh.now,
            disabled_at: None,
        };
        let (id, name) = (app.id, app.name.clone());
        self.store.put_app(app, None).await?;
        Ok(self.show(visitor, Use::Client { app: id }, &name, secret, fresh.now))
    }

    /// Replaces an app by what it becomes, unless somebody else did so meanwhile.
    async fn replace(
        &self,
        scene: &Scene<'_>,
        was: &App,
        becomes: App,
        then: impl FnOnce() -> Answer,
    ) -> Result<Answer, StoreError> {
        match self.store.put_app(becomes, Some(was)).await {
            Ok(()) => Ok(then()),
            Err(StoreError::Conflict) => {
                let problem = Problem::new(
                    "name",
                    "The app was changed elsewhere meanwhile. Look at it as it is now and try again.",
                );
                let now = self.store.app(was.id).await?;
                let app = now.as_deref().unwrap_or(was);
                Ok(Answer::Page(
                    409,
                    self.page(scene, app, &values(app), &[problem]),
                ))
            }
            Err(other) => Err(other),
        }
    }

    pub(super) async fn save_app(
        &self,
        scene: &Scene<'_>,
        id: &str,
        form: Form<'_>,
    ) -> Result<Answer, StoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(Answer::not_found());
        };
        let Draft {
            values,
            redirects,
            problems,
        } = self.read(scene, form, Some(&was));
        if !problems.is_empty() {
            return Ok(Answer::again(self.page(scene, &was, &values, &problems)));
        }
        let becomes = App {
            name: values.name,
            redirects,
            scopes: Registered::from_set(values.scopes),
            distribution: values.distribution,
            ..App::clone(&was)
        };
        let path = format!("{}/{}", paths::APPS, was.id);
        self.replace(scene, &was, becomes, || Answer::done(&path, Done::Saved))
            .await
    }

    pub(super) async fn reset_secret(
        &self,
        scene: &Scene<'_>,
        id: &str,
        fresh: &Fresh,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(Answer::not_found());
        };
        let (secret, digest) = mint_secret(&fresh.random);
        let becomes = App {
            secret: Some(digest),
            ..App::clone(&was)
        };
        let show = || {
            self.show(
                visitor,
                Use::Client { app: was.id },
                &was.name,
                secret,
                fresh.now,
            )
        };
        self.replace(scene, &was, becomes, show).await
    }

    pub(super) async fn switch_app(
        &self,
        scene: &Scene<'_>,
        id: &str,
        form: Form<'_>,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(Answer::not_found());
        };
        let (disabled_at, done) = match form.one("state") {
            "on" => (None, Done::On),
            "off" => (was.disabled_at.or(Some(now)), Done::Off),
            _ => return Ok(Answer::not_found()),
        };
        let becomes = App {
            disabled_at,
            ..App::clone(&was)
        };
        let path = format!("{}/{}", paths::APPS, was.id);
        self.replace(scene, &was, becomes, || Answer::done(&path, done))
            .await
    }
}

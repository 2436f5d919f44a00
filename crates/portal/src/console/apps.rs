//! Apps: registration, changes, enabling and disabling, resetting secrets.
use std::sync::Arc;
use std::time::SystemTime;

use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::{App, AuthStoreError, LoopbackPolicy, RedirectUri, RegisteredScopes};

use super::entry_checks::check_redirects;
use super::form_fields::FormFields;
use super::{
    Console, ConsoleContext, ConsoleNotice, ConsoleResponse, ConsoleUser, MANY, WriteContext,
    number,
};
use crate::pages::{
    AppForm, AppPage, AppRow, AppValues, AppsPage, FormProblem, SecretKind, WorkspaceChoice, paths,
};

/// Parsed values of a form about an app.
struct AppFormInput {
    values: AppValues,
    redirects: Vec<RedirectUri>,
    problems: Vec<FormProblem>,
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

fn workspaces(scene: &ConsoleContext<'_>) -> Vec<WorkspaceChoice> {
    let workspace = |membership: &super::UserWorkspace| WorkspaceChoice {
        id: membership.workspace,
        name: membership.name.clone(),
    };
    scene.memberships.iter().map(workspace).collect()
}

impl Console<'_> {
    /// Returns an app of the signed-in user, given its number as text.
    async fn own(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
    ) -> Result<Option<Arc<App>>, AuthStoreError> {
        let Some(id) = number(id) else {
            return Ok(None);
        };
        let found = self.store.app(id).await?;
        Ok(found.filter(|app| app.owner == scene.user))
    }

    fn form<'f>(
        &self,
        values: &'f AppValues,
        workspaces: &'f [WorkspaceChoice],
        problems: &'f [FormProblem],
    ) -> AppForm<'f> {
        AppForm {
            values,
            workspaces,
            problems,
            loopback: self.loopback == LoopbackPolicy::Allowed,
        }
    }

    pub(super) async fn apps(
        &self,
        scene: &ConsoleContext<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let apps: Vec<AppRow> = self
            .store
            .apps(Some(scene.user))
            .await?
            .iter()
            .map(row)
            .collect();
        Ok(ConsoleResponse::ok(
            AppsPage {
                frame: scene.frame(),
                apps: &apps,
            }
            .page(),
        ))
    }

    pub(super) fn new_app(&self, scene: &ConsoleContext<'_>) -> ConsoleResponse {
        let workspaces = workspaces(scene);
        let values = AppValues {
            // With one workspace there is no choice.
            distribution: workspaces
                .iter()
                .map(|workspace| workspace.id)
                .filter(|_| workspaces.len() == 1)
                .collect(),
            ..AppValues::default()
        };
        ConsoleResponse::ok(self.form(&values, &workspaces, &[]).page(&scene.frame()))
    }

    fn page(
        &self,
        scene: &ConsoleContext<'_>,
        app: &App,
        values: &AppValues,
        problems: &[FormProblem],
    ) -> crate::pages::HtmlPage {
        let workspaces = workspaces(scene);
        let off_in = |id: &u64| {
            let membership = scene
                .memberships
                .iter()
                .find(|membership| membership.workspace == *id);
            membership.map_or_else(
                || format!("workspace {id}"),
                |membership| membership.name.clone(),
            )
        };
        let disabled_in: Vec<String> = app.disabled_in.iter().map(off_in).collect();
        AppPage {
            frame: scene.frame(),
            app: &row(app),
            form: self.form(values, &workspaces, problems),
            has_secret: app.secret.is_some(),
            disabled_in: &disabled_in,
        }
        .page()
    }

    pub(super) async fn app(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some(app) = self.own(scene, id).await? else {
            return Ok(ConsoleResponse::not_found());
        };
        Ok(ConsoleResponse::ok(self.page(
            scene,
            &app,
            &values(&app),
            &[],
        )))
    }

    /// Reads a form about an app. Returns its values and their problems. Workspaces that the user does not belong to
    /// are kept.
    fn read(
        &self,
        scene: &ConsoleContext<'_>,
        form: FormFields<'_>,
        before: Option<&App>,
    ) -> AppFormInput {
        let mut problems = Vec::new();
        let name = form.line("name", "a name", &mut problems);
        let text = form.one("redirects");
        let registered = before.map_or(&[][..], |app| &app.redirects);
        let checked = check_redirects(text.lines(), registered, self.loopback);
        let redirects = checked.unwrap_or_else(|reasons| {
            let problem = |reason| FormProblem::new("redirects", reason);
            problems.extend(reasons.into_iter().map(problem));
            Vec::new()
        });
        let mut wrong = Vec::new();
        let scopes = form.permissions(&mut wrong);
        problems.append(&mut wrong);
        let here = |id: &u64| {
            scene
                .memberships
                .iter()
                .any(|membership| membership.workspace == *id)
        };
        let elsewhere = before
            .map_or(&[][..], |app| &app.distribution)
            .iter()
            .copied();
        let mut distribution: Vec<u64> = elsewhere.filter(|id| !here(id)).collect();
        for id in form.all("workspace") {
            match number(id).filter(here) {
                Some(id) if distribution.contains(&id) => {}
                Some(id) => distribution.push(id),
                None => problems.push(FormProblem::new(
                    "distribution",
                    "Choose workspaces that you are in.",
                )),
            }
        }
        if distribution.is_empty() && before.is_none() {
            problems.push(FormProblem::new(
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
        AppFormInput {
            values,
            redirects,
            problems,
        }
    }

    pub(super) async fn create_app(
        &self,
        scene: &ConsoleContext<'_>,
        form: FormFields<'_>,
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let again = |values: &AppValues, problems: &[FormProblem]| {
            let page = self
                .form(values, &workspaces(scene), problems)
                .page(&scene.frame());
            Ok(ConsoleResponse::again(page))
        };
        let AppFormInput {
            values,
            redirects,
            problems,
        } = self.read(scene, form, None);
        if !problems.is_empty() {
            return again(&values, &problems);
        }
        if self.store.apps(Some(scene.user)).await?.len() >= MANY {
            let many = format!("You have {MANY} apps already; change one of them.");
            return again(&values, &[FormProblem::new("name", many)]);
        }
        let (secret, digest) = mint_secret(&fresh.random);
        let app = App {
            id: fresh.id,
            name: values.name,
            secret: Some(digest),
            redirects,
            scopes: RegisteredScopes::from_set(values.scopes),
            distribution: values.distribution,
            disabled_in: Vec::new(),
            owner: scene.user,
            created_at: fresh.now,
            disabled_at: None,
        };
        let (id, name) = (app.id, app.name.clone());
        self.store.put_app(app, None).await?;
        Ok(self.show(
            visitor,
            SecretKind::Client { app: id },
            &name,
            secret,
            fresh.now,
        ))
    }

    /// Replaces an app with its changed record, unless it was changed concurrently.
    async fn replace(
        &self,
        scene: &ConsoleContext<'_>,
        was: &App,
        becomes: App,
        then: impl FnOnce() -> ConsoleResponse,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        match self.store.put_app(becomes, Some(was)).await {
            Ok(()) => Ok(then()),
            Err(AuthStoreError::Conflict) => {
                let problem = FormProblem::new(
                    "name",
                    "Somebody else changed the app in the meantime. Check how it is now, and try again.",
                );
                let now = self.store.app(was.id).await?;
                let app = now.as_deref().unwrap_or(was);
                Ok(ConsoleResponse::Page(
                    409,
                    self.page(scene, app, &values(app), &[problem]),
                ))
            }
            Err(other) => Err(other),
        }
    }

    pub(super) async fn save_app(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        form: FormFields<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(ConsoleResponse::not_found());
        };
        let AppFormInput {
            values,
            redirects,
            problems,
        } = self.read(scene, form, Some(&was));
        if !problems.is_empty() {
            return Ok(ConsoleResponse::again(
                self.page(scene, &was, &values, &problems),
            ));
        }
        let becomes = App {
            name: values.name,
            redirects,
            scopes: RegisteredScopes::from_set(values.scopes),
            distribution: values.distribution,
            ..App::clone(&was)
        };
        let path = format!("{}/{}", paths::APPS, was.id);
        self.replace(scene, &was, becomes, || {
            ConsoleResponse::done(&path, ConsoleNotice::Saved)
        })
        .await
    }

    pub(super) async fn reset_secret(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(ConsoleResponse::not_found());
        };
        let (secret, digest) = mint_secret(&fresh.random);
        let becomes = App {
            secret: Some(digest),
            ..App::clone(&was)
        };
        let show = || {
            self.show(
                visitor,
                SecretKind::Client { app: was.id },
                &was.name,
                secret,
                fresh.now,
            )
        };
        self.replace(scene, &was, becomes, show).await
    }

    pub(super) async fn switch_app(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        form: FormFields<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some(was) = self.own(scene, id).await? else {
            return Ok(ConsoleResponse::not_found());
        };
        let (disabled_at, done) = match form.one("state") {
            "on" => (None, ConsoleNotice::On),
            "off" => (was.disabled_at.or(Some(now)), ConsoleNotice::Off),
            _ => return Ok(ConsoleResponse::not_found()),
        };
        let becomes = App {
            disabled_at,
            ..App::clone(&was)
        };
        let path = format!("{}/{}", paths::APPS, was.id);
        self.replace(scene, &was, becomes, || ConsoleResponse::done(&path, done))
            .await
    }
}

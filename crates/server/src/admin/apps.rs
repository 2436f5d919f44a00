//! Apps in the admin service: registering, distributing and disabling them; and `workgraph admin app`.
use crate::adapters::system_clock::random;
use crate::admin::admin_commands::AppCommand;
use crate::admin::admin_service::AdminService;
use crate::admin::answer_values::time_or_null;
use anyhow::{Context, Error, Result, bail};
use serde_json::{Value, json};
use workgraph_api::SCOPES;
use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::tokens::scope::DEFAULT;
use workgraph_auth::{App, AuthStoreError, RedirectUri, RegisteredScopes, Secret, SecretDigest};
use workgraph_core::{Gid, Type};
use workgraph_portal::console::{check_line, check_redirects, check_scopes};

/// Properties of an app to register.
pub(crate) struct NewApp<'a> {
    pub(crate) name: &'a str,
    pub(crate) redirects: &'a [String],
    pub(crate) scopes: RegisteredScopes,
    pub(crate) owner: Gid,
    /// Workspaces whose users may authorize it.
    pub(crate) workspaces: &'a [Gid],
    /// Credentials that are given instead of generated.
    pub(crate) chosen: ChosenCredentials,
}

/// Credentials of an app that are given instead of generated, as a test does.
#[derive(Default)]
pub(crate) struct ChosenCredentials {
    /// Client id, if it is given.
    pub(crate) id: Option<Gid>,
    pub(crate) secret: Option<Secret>,
}

impl AdminService {
    /// Registers an app. Its secret is shown once.
    pub(crate) async fn create_app(&self, new: &NewApp<'_>) -> Result<(App, Secret)> {
        let name = check_line(new.name, "a name").map_err(Error::msg)?;
        let urls = new.redirects.iter().map(String::as_str);
        let redirects = check_redirects(urls, &[], self.loopback);
        let redirects = redirects.map_err(|problems| Error::msg(problems.join(" ")))?;
        check_scopes(new.scopes.set()).map_err(Error::msg)?;
        let (secret, digest) = match &new.chosen.secret {
            Some(secret) => (secret.clone(), SecretDigest::of(secret.expose())),
            None => mint_secret(&random(&*self.entropy)?),
        };
        let id = match new.chosen.id {
            Some(id) => id,
            None => self.api.confirmed_gid()?,
        };
        let app = App {
            id: id.get(),
            name: name.to_owned(),
            secret: Some(digest),
            redirects,
            scopes: new.scopes,
            distribution: new.workspaces.iter().map(|gid| gid.get()).collect(),
            disabled_in: Vec::new(),
            owner: new.owner.get(),
            created_at: self.clock.now(),
            disabled_at: None,
        };
        let kept = self.as_operator().put_app(app.clone(), None).await;
        kept.with_context(|| format!("the app {:?} can't be stored", app.name))?;
        Ok((app, secret))
    }

    /// Returns an app, given its client ID.
    pub(crate) async fn app(&self, id: &str) -> Result<App> {
        let none = || format!("{id}: there is no app with this client ID");
        let number = id.parse().ok().with_context(none)?;
        let found = self.storage.oauth.app(number).await;
        let found = found.with_context(|| format!("{id}: the app can't be read"))?;
        let app = found.with_context(none)?;
        Ok(std::sync::Arc::unwrap_or_clone(app))
    }

    /// Changes an app; retries if another change came first.
    pub(crate) async fn change_app(&self, id: &str, change: impl Fn(&mut App)) -> Result<App> {
        for _ in 0..8 {
            let was = self.app(id).await?;
            let mut app = was.clone();
            change(&mut app);
            match self.as_operator().put_app(app.clone(), Some(&was)).await {
                Ok(()) => return Ok(app),
                Err(AuthStoreError::Conflict) => {}
                Err(e) => return Err(e).with_context(|| format!("{id}: the app can't be stored")),
            }
        }
        bail!("{id}: this app is being changed by others")
    }

    /// Gives an app a new secret; the old one stops working immediately.
    pub(crate) async fn reset_app_secret(&self, id: &str) -> Result<(App, Secret)> {
        let (secret, digest) = mint_secret(&random(&*self.entropy)?);
        let app = self.change_app(id, |app| app.secret = Some(digest)).await?;
        Ok((app, secret))
    }
}

fn show_app(app: &App) -> Value {
    let numbers = |all: &[u64]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let redirects: Vec<&str> = app.redirects.iter().map(RedirectUri::as_str).collect();
    json!({
        "client_id": app.client_id(),
        "name": app.name,
        "redirect_uris": redirects,
        "full_permissions": app.scopes == RegisteredScopes::Full,
        "scopes": app.scopes.set().to_string(),
        "owner": app.owner.to_string(),
        "workspaces": numbers(&app.distribution),
        "disabled_in": numbers(&app.disabled_in),
        "disabled_at": time_or_null(app.disabled_at),
        "created_at": time_or_null(Some(app.created_at)),
    })
}

/// Returns the app, with its new secret after its client ID.
fn show_secret(app: &App, secret: &Secret) -> Value {
    let mut shown = show_app(app);
    if let Some(map) = shown.as_object_mut() {
        map.insert("client_secret".to_owned(), secret.expose().into());
    }
    shown
}

/// Adds a number to a list or removes it.
fn set(list: &mut Vec<u64>, number: u64, on: bool) {
    list.retain(|n| *n != number);
    if on {
        list.push(number);
        list.sort_unstable();
    }
}

/// Runs a command about apps.
///
/// # Errors
/// Says what is wrong with the command, or that a store failed.
pub(crate) async fn run(service: &AdminService, what: AppCommand) -> Result<Value> {
    let workspace_gid =
        async |gid: &str| Ok::<_, Error>(service.node(Type::Workspace, gid).await?.gid);
    match what {
        AppCommand::Create {
            name,
            redirect_uris,
            scopes,
            owner,
            workspaces,
        } => {
            let owner = service.user(&owner).await?.gid;
            let mut workspace_gids = Vec::with_capacity(workspaces.len());
            for gid in &workspaces {
                workspace_gids.push(workspace_gid(gid).await?);
            }
            let scopes = SCOPES.parse(scopes.as_deref().unwrap_or(DEFAULT));
            let scopes = RegisteredScopes::from_set(scopes?);
            let new = NewApp {
                name: &name,
                redirects: &redirect_uris,
                scopes,
                owner,
                workspaces: &workspace_gids,
                chosen: ChosenCredentials::default(),
            };
            let (app, secret) = service.create_app(&new).await?;
            Ok(show_secret(&app, &secret))
        }
        AppCommand::List { owner } => {
            let owner = match owner {
                Some(name) => Some(service.user(&name).await?.gid.get()),
                None => None,
            };
            let apps = service.storage.oauth.apps(owner).await;
            let apps = apps.context("the apps can't be read")?;
            Ok(apps.iter().map(show_app).collect())
        }
        AppCommand::Rename { client_id, name } => {
            let name = check_line(&name, "a name").map_err(Error::msg)?;
            let change = |app: &mut App| name.clone_into(&mut app.name);
            Ok(show_app(&service.change_app(&client_id, change).await?))
        }
        AppCommand::ResetSecret { client_id } => {
            let (app, secret) = service.reset_app_secret(&client_id).await?;
            Ok(show_secret(&app, &secret))
        }
        AppCommand::Distribute {
            client_id,
            workspace,
            remove,
        } => {
            let gid = workspace_gid(&workspace).await?.get();
            let change = |app: &mut App| set(&mut app.distribution, gid, !remove);
            Ok(show_app(&service.change_app(&client_id, change).await?))
        }
        AppCommand::Disable {
            client_id,
            workspace: Some(workspace),
            undo,
        } => {
            let gid = workspace_gid(&workspace).await?.get();
            let change = |app: &mut App| set(&mut app.disabled_in, gid, !undo);
            Ok(show_app(&service.change_app(&client_id, change).await?))
        }
        AppCommand::Disable {
            client_id,
            workspace: None,
            undo,
        } => {
            let now = (!undo).then(|| service.clock.now());
            let change =
                |app: &mut App| app.disabled_at = now.map(|now| app.disabled_at.unwrap_or(now));
            Ok(show_app(&service.change_app(&client_id, change).await?))
        }
    }
}

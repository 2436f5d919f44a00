//! Apps and teams of an exported fixture.
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap_file::AppEntry;
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::exported_fields::{field_names, text_field, written};
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::world_reader::{Record, WorldReader};
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use workgraph_auth::{App, RedirectUri, RegisteredScopes, SecretDigest};
use workgraph_core::{Gid, Type};

/// Visibility of the teams that a fixture creates.
const VISIBILITY: &str = "public";

/// Returns the apps in the form of a fixture. `known` contains those whose secrets are known.
///
/// # Errors
/// Fails if the store can't be read.
pub(crate) async fn export_apps(
    state: &mut ExportState,
    service: &AdminService,
    known: &[AppEntry],
) -> Result<Vec<Value>> {
    let apps = service.storage.oauth.apps(None).await;
    let mut apps = apps.context("the apps can't be read")?;
    apps.sort_by_key(|app| app.id);
    let first = state.people.first().map(Gid::get);
    let mut shown = Vec::with_capacity(apps.len());
    for app in &apps {
        if app.disabled_at.is_some() || app.redirects.is_empty() {
            state.leave_out("disabled app", 1);
            continue;
        }
        state.leave_out("owner of an app", usize::from(Some(app.owner) != first));
        state.leave_out("workspace that disabled an app", app.disabled_in.len());
        let secret = known.iter().find(|entry| is_of(entry, app));
        state.leave_out("secret of an app", usize::from(secret.is_none()));
        shown.push(app_json(app, secret));
    }
    Ok(shown)
}

/// Returns true if an entry has the current secret of an app.
fn is_of(entry: &AppEntry, app: &App) -> bool {
    let digest = SecretDigest::of(&entry.client_secret);
    entry.client_id == app.client_id() && app.secret.as_ref() == Some(&digest)
}

fn app_json(app: &App, secret: Option<&AppEntry>) -> Value {
    let redirects: Vec<&str> = app.redirects.iter().map(RedirectUri::as_str).collect();
    let mut out = Map::new();
    out.insert("name".to_owned(), app.name.clone().into());
    out.insert("client_id".to_owned(), app.client_id().into());
    out.insert("redirect_uris".to_owned(), redirects.into());
    if let Some(entry) = secret {
        let secret = entry.client_secret.clone();
        out.insert("client_secret".to_owned(), secret.into());
    }
    if let RegisteredScopes::Only(scopes) = app.scopes {
        let scopes = scopes.to_string();
        let scopes: Vec<&str> = scopes.split(' ').collect();
        out.insert("scopes".to_owned(), scopes.into());
    }
    out.into()
}

/// Exported team, with its members.
struct ExportedTeam {
    record: Record,
    workspace: Gid,
    admins: Vec<Gid>,
    members: Vec<Gid>,
}

/// Exported teams of all workspaces.
pub(crate) struct ExportedTeams {
    teams: Vec<ExportedTeam>,
    first_workspace: Option<Gid>,
}

impl ExportedTeams {
    /// Reads the teams, and labels them with their names.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn read(state: &mut ExportState, readers: &[WorldReader<'_>]) -> Result<Self> {
        let mut teams = Vec::new();
        let fields = format!(
            "name,description,html_description,visibility,{}",
            field_names(Type::Team)
        );
        for reader in readers {
            let memberships = "user.gid,team.gid,is_admin,is_guest,is_limited_access";
            let memberships = reader.records(Type::TeamMembership, memberships).await?;
            for record in reader.records(Type::Team, &fields).await? {
                let name = record.text("/name").unwrap_or_default();
                state.labels.add(record.gid, name, "team");
                let (mut admins, mut members) = (Vec::new(), Vec::new());
                for membership in &memberships {
                    let user = membership.gid_at("/user/gid");
                    let is_here = membership.gid_at("/team/gid") == Some(record.gid);
                    let Some(user) = user.filter(|_| is_here) else {
                        continue;
                    };
                    let is_limited = membership.flag("/is_limited_access");
                    state.leave_out("limited membership of a team", usize::from(is_limited));
                    match membership.flag("/is_admin") {
                        true => admins.push(user),
                        false => members.push(user),
                    }
                }
                teams.push(ExportedTeam {
                    record,
                    workspace: reader.workspace,
                    admins: state.people.sorted(&admins),
                    members: state.people.sorted(&members),
                });
            }
        }
        Ok(Self {
            teams,
            first_workspace: readers.first().map(|reader| reader.workspace),
        })
    }

    /// Returns the teams in the form of a fixture. Properties that a new team can't have are set by requests.
    pub(crate) fn export(self, state: &mut ExportState) -> Vec<Value> {
        let mut shown = Vec::with_capacity(self.teams.len());
        for team in &self.teams {
            let name = team.record.text("/name").unwrap_or_default();
            let mut out = Map::new();
            out.insert("name".to_owned(), name.into());
            let label = state.labels.label(team.record.gid);
            if let Some(label) = label.filter(|label| *label != name) {
                out.insert("called".to_owned(), label.into());
            }
            let workspace = Some(team.workspace).filter(|gid| Some(*gid) != self.first_workspace);
            if let Some(label) = workspace.and_then(|gid| state.labels.label(gid)) {
                out.insert("workspace".to_owned(), label.into());
            }
            let labels = |gids: &[Gid]| -> Vec<Value> {
                let labels = gids.iter().filter_map(|gid| state.labels.label(*gid));
                labels.map(Value::from).collect()
            };
            if !team.members.is_empty() {
                out.insert("members".to_owned(), labels(&team.members).into());
            }
            let is_usual = team.admins.first().copied() == state.people.first();
            if !is_usual || team.admins.len() > 1 {
                out.insert("admins".to_owned(), labels(&team.admins).into());
            }
            shown.push(out.into());
            change(state, team);
        }
        shown
    }
}

/// Adds the request that sets the properties that a new team can't have.
fn change(state: &mut ExportState, team: &ExportedTeam) {
    let mut fields = written(Type::Team, &team.record, &state.labels);
    let forms = ("description", "html_description");
    if let Some(text) = text_field(&team.record, forms, &state.labels).field {
        fields.insert(text.name.to_owned(), text.value);
    }
    let visibility = team.record.text("/visibility");
    if let Some(visibility) = visibility.filter(|visibility| *visibility != VISIBILITY) {
        fields.insert("visibility".to_owned(), visibility.into());
    }
    if fields.is_empty() {
        return;
    }
    let Some(admin) = team.admins.first() else {
        state.leave_out("settings of a team without an admin", 1);
        return;
    };
    let Some(reference) = state.labels.reference(team.record.gid) else {
        return;
    };
    let request = ExportedRequest::of("updateTeam")
        .at("team_gid", reference)
        .with(fields)
        .sent_by(state.sender(*admin));
    state.requests.add(RequestPhase::Teams, request);
}

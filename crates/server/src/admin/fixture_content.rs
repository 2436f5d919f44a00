//! Creation of what a fixture describes: people, apps and teams by the service, all other objects through the API itself.
use crate::admin::admin_service::AdminService;
use crate::admin::apps::{ChosenCredentials, NewApp};
use crate::admin::bootstrap_file::{Bootstrap, TeamEntry};
use crate::admin::demo::call;
use crate::admin::fixture::{
    Fixture, FixtureApp, FixturePerson, FixtureProject, FixtureRequest, FixtureTask, PersonRole,
    Plan,
};
use crate::admin::fixture_names::FixtureNames;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_api::SCOPES;
use workgraph_auth::{RegisteredScopes, Secret, SecretDigest};
use workgraph_core::access::Role;
use workgraph_core::{Gid, Type};
use workgraph_wire::percent::encode_component;

/// Name of the workspace of a fixture that names none.
const WORKSPACE: &str = "Workspace";

/// Creates what a fixture describes, and records it.
///
/// # Errors
/// Says which part of the fixture can't be created, and why.
pub(crate) async fn create_fixture(
    boot: &mut Bootstrap,
    service: &AdminService,
    fixture: &Fixture,
) -> Result<()> {
    let mut content = FixtureContent {
        service,
        names: FixtureNames::new(service.clock.now()),
        tokens: BTreeMap::new(),
        first: fixture.first_person()?.name.clone(),
    };
    content.workspaces(boot, fixture).await?;
    for person in &fixture.people {
        let made = content.person(boot, person, person.name == content.first);
        made.await
            .with_context(|| format!("fixture.people: {}", person.name))?;
    }
    let owner = content.names.gid(&content.first)?;
    for app in &fixture.apps {
        let made = content.app(boot, app, owner).await;
        made.with_context(|| format!("fixture.apps: {}", app.name))?;
    }
    content.teams(boot, fixture, owner).await?;
    for project in &fixture.projects {
        let made = content.project(boot, project).await;
        made.with_context(|| format!("fixture.projects: {}", project.name))?;
    }
    for (number, request) in fixture.requests.iter().enumerate() {
        let made = content.request(request).await;
        made.with_context(|| format!("fixture.requests[{number}]"))?;
    }
    boot.personal_access_token = content.token(&content.first)?.to_owned();
    boot.names = content.names.unique();
    Ok(())
}

/// Objects of a fixture that exist so far.
struct FixtureContent<'a> {
    service: &'a AdminService,
    names: FixtureNames,
    /// Tokens of people by their names.
    tokens: BTreeMap<String, String>,
    /// Name of the person who creates what says nothing else.
    first: String,
}

impl FixtureContent<'_> {
    async fn workspaces(&mut self, boot: &mut Bootstrap, fixture: &Fixture) -> Result<()> {
        if fixture.workspaces.is_empty() {
            let gid = boot.workspace(self.service, WORKSPACE, true, true).await?;
            self.names.add(WORKSPACE, gid.to_string());
        }
        for workspace in &fixture.workspaces {
            let (name, is_paid) = (&workspace.name, workspace.plan == Plan::Paid);
            let gid = boot
                .workspace(self.service, name, is_paid, workspace.organization)
                .await?;
            self.names.add(name, gid.to_string());
        }
        Ok(())
    }

    /// Returns the gid of the workspace with a name; of the first one without a name.
    fn workspace(&self, boot: &Bootstrap, name: Option<&str>) -> Result<Gid> {
        let mut workspaces = boot.workspaces.iter();
        let found = match name {
            None => workspaces.next(),
            Some(name) => workspaces.find(|workspace| workspace.name == name),
        };
        let found = found.and_then(|workspace| Gid::parse(&workspace.gid));
        found.with_context(|| format!("workspace: there is no `{}`", name.unwrap_or_default()))
    }

    async fn person(
        &mut self,
        boot: &mut Bootstrap,
        person: &FixturePerson,
        is_first: bool,
    ) -> Result<()> {
        let workspace = self.workspace(boot, person.workspace.as_deref())?;
        let role = match person.role {
            _ if is_first => Role::Admin,
            PersonRole::Admin => Role::Admin,
            PersonRole::Member => Role::Member,
            PersonRole::Guest => Role::Guest,
        };
        let password = person.password.as_deref().unwrap_or_default();
        let called = (person.name.as_str(), person.email.as_str());
        let gid = boot
            .user(self.service, called, (workspace, role), password)
            .await?;
        self.names.add(&person.name, gid.to_string());
        self.names.add(&person.email, gid.to_string());
        let token = self
            .service
            .create_fixture_token(gid, &person.email)
            .await?;
        if let Some(entry) = boot.users.last_mut() {
            entry.token = Some(token.clone());
        }
        self.tokens.insert(person.name.clone(), token);
        Ok(())
    }

    async fn app(&mut self, boot: &mut Bootstrap, app: &FixtureApp, owner: Gid) -> Result<()> {
        let scopes = match &app.scopes {
            None => RegisteredScopes::Full,
            Some(scopes) => RegisteredScopes::Only(SCOPES.parse(&scopes.join(" "))?),
        };
        let id = app.client_id.as_deref().map(|id| {
            let id = Gid::parse(id);
            id.context("client_id: must be a number such as 1201")
        });
        let workspaces: Vec<Gid> = boot
            .workspaces
            .iter()
            .filter_map(|workspace| Gid::parse(&workspace.gid))
            .collect();
        let new = NewApp {
            name: &app.name,
            redirects: &app.redirect_uris,
            scopes,
            owner,
            workspaces: &workspaces,
            chosen: ChosenCredentials {
                id: id.transpose()?,
                secret: app.client_secret.clone().map(Secret::new),
            },
        };
        boot.app(self.service, &new).await
    }

    async fn teams(&mut self, boot: &mut Bootstrap, fixture: &Fixture, owner: Gid) -> Result<()> {
        for team in &fixture.teams {
            let named = || format!("fixture.teams: {}", team.name);
            let workspace = self.workspace(boot, team.workspace.as_deref());
            let workspace = workspace.with_context(named)?.to_string();
            let node = self.service.node(Type::Workspace, &workspace).await?;
            let gid = self
                .service
                .create_team(&team.name, &node, Some(owner), "public")
                .await
                .with_context(named)?;
            boot.teams.push(TeamEntry {
                gid: gid.to_string(),
                name: team.name.clone(),
                workspace,
            });
            self.names.add(&team.name, gid.to_string());
            let node = self.service.node(Type::Team, &gid.to_string()).await?;
            for member in team.members.iter().filter(|member| **member != self.first) {
                let user = self.names.gid(member).with_context(named)?;
                self.service.join_team(user, &node, false).await?;
            }
        }
        Ok(())
    }

    async fn project(&mut self, boot: &Bootstrap, project: &FixtureProject) -> Result<()> {
        let mut data = project.fields.clone();
        data.insert("name".to_owned(), project.name.clone().into());
        let team = match &project.team {
            Some(name) => Some(self.names.gid(name)?.to_string()),
            None => boot.teams.first().map(|team| team.gid.clone()),
        };
        if let Some(team) = team {
            data.insert("team".to_owned(), team.into());
        } else if !data.contains_key("workspace") {
            let workspace = self.workspace(boot, None)?.to_string();
            data.insert("workspace".to_owned(), workspace.into());
        }
        let gid = self.made("/projects", data, None).await?;
        self.names.add(&project.name, gid.clone());
        for section in &project.sections {
            let path = format!("/projects/{gid}/sections");
            let data = fields(json!({ "name": section }));
            let made = self.made(&path, data, None).await?;
            let name = format!("{}/{section}", project.name);
            self.names.add(&name, made);
        }
        for task in &project.tasks {
            let mut data = task.fields.clone();
            data.insert("projects".to_owned(), json!([gid]));
            if let Some(section) = &task.section {
                let section = self.names.gid(&format!("{}/{section}", project.name))?;
                let membership = json!([{ "project": gid, "section": section.to_string() }]);
                data.insert("memberships".to_owned(), membership);
            }
            self.task("/tasks".to_owned(), task, data).await?;
        }
        Ok(())
    }

    /// Creates a task by a request to `path`, and its subtasks.
    async fn task(
        &mut self,
        path: String,
        task: &FixtureTask,
        mut data: Map<String, Value>,
    ) -> Result<()> {
        data.insert("name".to_owned(), task.name.clone().into());
        let made = self.made(&path, data, None).await;
        let gid = made.with_context(|| format!("task {}", task.name))?;
        self.names.add(&task.name, gid.clone());
        for subtask in &task.subtasks {
            let path = format!("/tasks/{gid}/subtasks");
            Box::pin(self.task(path, subtask, subtask.fields.clone())).await?;
        }
        Ok(())
    }

    async fn request(&mut self, request: &FixtureRequest) -> Result<()> {
        let mut operations = workgraph_operations::all();
        let operation = operations.find(|operation| operation.id == request.operation);
        let operation =
            operation.with_context(|| format!("operation: there is no `{}`", request.operation))?;
        let mut path = operation.path.to_owned();
        for (name, value) in &request.path {
            let value = match self.names.resolved(name, value.clone())? {
                Value::String(text) => text,
                other => other.to_string(),
            };
            path = path.replace(&format!("{{{name}}}"), &encode_component(&value));
        }
        if path.contains('{') {
            bail!("path: {path} needs values for its parameters");
        }
        let sender = request.sender.as_deref();
        let data = (!request.data.is_empty()).then(|| request.data.clone());
        let reply = self
            .called(operation.method.name(), &path, data, sender)
            .await?;
        if let Some(name) = &request.called {
            let gid = reply.pointer("/data/gid").and_then(Value::as_str);
            let gid = gid.context("called: the reply has no gid")?;
            self.names.add(name, gid.to_owned());
        }
        Ok(())
    }

    /// Creates an object by a request to a path, and returns its gid.
    async fn made(
        &self,
        path: &str,
        data: Map<String, Value>,
        sender: Option<&str>,
    ) -> Result<String> {
        let reply = self.called("POST", path, Some(data), sender).await?;
        let gid = reply.pointer("/data/gid").and_then(Value::as_str);
        gid.map(str::to_owned)
            .with_context(|| format!("POST {path}: the reply has no gid"))
    }

    /// Sends a request as a person.
    async fn called(
        &self,
        method: &str,
        path: &str,
        data: Option<Map<String, Value>>,
        sender: Option<&str>,
    ) -> Result<Value> {
        let token = self.token(sender.unwrap_or(&self.first))?;
        let data = data.map(|data| self.names.resolved("", data.into()));
        call(&self.service.api, token, method, path, data.transpose()?).await
    }

    /// Returns the token of the person with a name.
    fn token(&self, name: &str) -> Result<&str> {
        let token = self.tokens.get(name).map(String::as_str);
        token.with_context(|| format!("as: there is nobody with the name `{name}`"))
    }
}

impl AdminService {
    /// Creates a personal access token that is the same in each world: its random bytes follow from the address of its user.
    async fn create_fixture_token(&self, user: Gid, email: &str) -> Result<String> {
        let SecretDigest(random) = SecretDigest::of(&format!("workgraph fixture token {email}"));
        let token = self.create_token_of(user, "Fixture", &random).await?;
        Ok(token.expose().to_owned())
    }
}

/// Returns the fields of an object.
fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

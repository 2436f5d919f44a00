//! Objects of a fixture that are created through the API itself: projects with their tasks, and the results of the fixture's
//! requests.
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap_file::Bootstrap;
use crate::admin::demo::call;
use crate::admin::fixture::{FixtureMember, FixtureProject, FixtureRequest, FixtureTask};
use crate::admin::fixture_names::FixtureNames;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_wire::percent::encode_component;

/// Name of the section that each project begins with.
pub(crate) const FIRST_SECTION: &str = "Untitled section";

/// Objects of a fixture that exist so far.
pub(crate) struct FixtureObjects<'a> {
    service: &'a AdminService,
    pub(crate) names: FixtureNames,
    /// Tokens of people by their names and addresses.
    tokens: BTreeMap<String, String>,
    /// Address of the person who creates all objects without a named creator.
    first: String,
}

impl<'a> FixtureObjects<'a> {
    /// Returns an empty set of objects; `first` is the address of the person who creates all objects without a named
    /// creator.
    pub(crate) fn new(service: &'a AdminService, first: &str) -> Self {
        Self {
            service,
            names: FixtureNames::new(service.clock.now()),
            tokens: BTreeMap::new(),
            first: first.to_owned(),
        }
    }

    /// Adds the token of a person.
    pub(crate) fn add_token(&mut self, (name, email): (&str, &str), token: String) {
        self.tokens.insert(email.to_owned(), token.clone());
        self.tokens.entry(name.to_owned()).or_insert(token);
    }

    /// Returns the token of the first person.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(crate) fn first_token(&self) -> Result<&str> {
        self.token(&self.first)
    }

    /// Creates a project with its members, sections and tasks.
    ///
    /// # Errors
    /// Says what can't be created.
    pub(crate) async fn project(
        &mut self,
        boot: &Bootstrap,
        project: &FixtureProject,
    ) -> Result<()> {
        let mut data = project.fields.clone();
        data.insert("name".to_owned(), project.name.clone().into());
        self.place(boot, project, &mut data)?;
        let sender = project.sender.as_deref();
        let gid = self.made("/projects", data, sender).await?;
        let called = project.called.as_ref().unwrap_or(&project.name);
        self.names.add(called, gid.clone());
        for member in &project.members {
            let shared = self.share(&gid, member, sender).await;
            shared.with_context(|| format!("members: {}", member.member))?;
        }
        let path = format!("/projects/{gid}/sections");
        let is_listed = |name: &str| project.sections.iter().any(|other| other.called() == name);
        if !is_listed(FIRST_SECTION) {
            let reply = self.called("GET", &path, None, sender).await?;
            if let Some(first) = reply.pointer("/data/0/gid").and_then(Value::as_str) {
                let name = format!("{called}/{FIRST_SECTION}");
                self.names.add(&name, first.to_owned());
            }
        }
        for section in &project.sections {
            let data = fields(json!({ "name": section.name() }));
            let made = self.made(&path, data, sender).await?;
            let name = format!("{called}/{}", section.called());
            self.names.add(&name, made);
        }
        for task in &project.tasks {
            let mut data = task.fields.clone();
            data.insert("projects".to_owned(), json!([gid]));
            if let Some(section) = &task.section {
                let section = self.names.gid(&format!("{called}/{section}"))?;
                let membership = json!([{ "project": gid, "section": section.to_string() }]);
                data.insert("memberships".to_owned(), membership);
            }
            let sender = task.sender.as_deref().or(sender);
            self.task("/tasks".to_owned(), (task, sender), data).await?;
        }
        Ok(())
    }

    /// Adds the team or workspace of a project to its fields.
    fn place(
        &self,
        boot: &Bootstrap,
        project: &FixtureProject,
        data: &mut Map<String, Value>,
    ) -> Result<()> {
        let mut teams = boot.teams.iter();
        let team = match (&project.team, data.get("workspace")) {
            (Some(name), _) => Some(self.names.gid(name)?.to_string()),
            (None, None) => teams.next().map(|team| team.gid.clone()),
            (None, Some(workspace)) => {
                let workspace = self.names.resolved("workspace", workspace.clone())?;
                let team = teams.find(|team| workspace.as_str() == Some(&team.workspace));
                team.map(|team| team.gid.clone())
            }
        };
        if let Some(team) = team {
            data.insert("team".to_owned(), team.into());
        } else if !data.contains_key("workspace") {
            let workspace = boot.workspaces.first().context("there is no workspace")?;
            data.insert("workspace".to_owned(), workspace.gid.clone().into());
        }
        Ok(())
    }

    async fn share(
        &self,
        project: &str,
        member: &FixtureMember,
        sender: Option<&str>,
    ) -> Result<()> {
        let gid = self.names.gid(&member.member)?.to_string();
        let mut data = fields(json!({ "parent": project, "member": gid }));
        if let Some(level) = &member.access_level {
            data.insert("access_level".to_owned(), level.clone().into());
        }
        self.made("/memberships", data, sender).await?;
        Ok(())
    }

    /// Creates a task with a request to `path`, and then its subtasks.
    async fn task(
        &mut self,
        path: String,
        (task, sender): (&FixtureTask, Option<&str>),
        mut data: Map<String, Value>,
    ) -> Result<()> {
        data.insert("name".to_owned(), task.name.clone().into());
        let made = self.made(&path, data, sender).await;
        let gid = made.with_context(|| format!("task {}", task.name))?;
        let called = task.called.as_ref().unwrap_or(&task.name);
        self.names.add(called, gid.clone());
        for subtask in &task.subtasks {
            let path = format!("/tasks/{gid}/subtasks");
            let sender = subtask.sender.as_deref().or(sender);
            let made = self.task(path, (subtask, sender), subtask.fields.clone());
            Box::pin(made).await?;
        }
        Ok(())
    }

    /// Sends a request of the fixture.
    ///
    /// # Errors
    /// Says what is wrong with the request, or why it was refused.
    pub(crate) async fn request(&mut self, request: &FixtureRequest) -> Result<()> {
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

    /// Creates an object with a request to a path, and returns its gid.
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

    /// Returns the token of the person with a name or address.
    fn token(&self, name: &str) -> Result<&str> {
        let token = self.tokens.get(name).map(String::as_str);
        token.with_context(|| format!("as: there is nobody with the name `{name}`"))
    }
}

/// Returns the fields of an object; none if the value is not an object.
fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

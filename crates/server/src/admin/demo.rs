//! The demo: two workspaces and a small realistic graph, created through the API itself.
use crate::admin::admin_service::AdminService;
use crate::admin::apps::{ChosenCredentials, NewApp};
use crate::admin::bootstrap_file::{Bootstrap, TeamEntry};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use workgraph_api::SCOPES;
use workgraph_auth::RegisteredScopes;
use workgraph_auth::authorization::redirect_uri::OUT_OF_BAND;
use workgraph_core::access::Role;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::{Gid, Type};

/// Content of the demo: assignees and authors are indices into the users, tags are indices into the tags, and due dates are
/// in days from today.
const CONTENT: &str = include_str!("demo.json");

/// Redirect URL of the demo's apps.
const CALLBACK: &str = "http://127.0.0.1:8099/callback";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DemoContent {
    tags: Vec<String>,
    acme: Vec<DemoProject>,
    side: Vec<DemoProject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DemoProject {
    name: String,
    notes: String,
    sections: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DemoTask {
    name: String,
    assignee: Option<usize>,
    due: Option<i32>,
    #[serde(default)]
    done: bool,
    tag: Option<usize>,
    #[serde(default)]
    subtasks: Vec<String>,
    comment: Option<String>,
}

/// Creates the demo and records its users, workspaces and apps.
///
/// # Errors
/// Fails if an object can't be created.
pub(crate) async fn create_demo(boot: &mut Bootstrap, service: &AdminService) -> Result<()> {
    let acme = boot.workspace(service, "Acme", true, true).await?;
    let side = boot
        .workspace(service, "Side Project", false, false)
        .await?;
    let ann = boot
        .user(
            service,
            ("Ann Admin", "ann@example.com"),
            (acme, Role::Admin),
            "",
        )
        .await?;
    let ben = boot
        .user(
            service,
            ("Ben Builder", "ben@example.com"),
            (acme, Role::Member),
            "",
        )
        .await?;
    let cleo = boot
        .user(
            service,
            ("Cleo Copywriter", "cleo@example.com"),
            (acme, Role::Member),
            "",
        )
        .await?;
    let fay = boot
        .user(
            service,
            ("Fay Free", "fay@example.com"),
            (side, Role::Admin),
            "",
        )
        .await?;
    let workspace_node = service.node(Type::Workspace, &acme.to_string()).await?;
    let team = service
        .create_team("Product", &workspace_node, Some(ann), "public")
        .await?;
    boot.teams.push(TeamEntry {
        gid: team.to_string(),
        name: "Product".to_owned(),
        workspace: acme.to_string(),
    });
    let node = service.node(Type::Team, &team.to_string()).await?;
    for user in [ben, cleo] {
        service.join_team(user, &node, false).await?;
    }
    boot.personal_access_token = boot.token(service, ann, "Demo").await?;
    boot.rate_token = Some(
        boot.token(service, ben, "Demo, for trying out rate limits")
            .await?,
    );
    boot.free_token = Some(boot.token(service, fay, "Demo, free plan").await?);
    let scopes = SCOPES.parse("tasks:read users:read openid email profile")?;
    for (name, redirects, scopes) in [
        (
            "Demo app",
            &[CALLBACK, OUT_OF_BAND][..],
            RegisteredScopes::Full,
        ),
        (
            "Demo app with scopes",
            &[CALLBACK],
            RegisteredScopes::Only(scopes),
        ),
        (
            "Demo app on a desktop",
            &[OUT_OF_BAND],
            RegisteredScopes::Full,
        ),
    ] {
        let redirects: Vec<String> = redirects.iter().map(|url| (*url).to_owned()).collect();
        let new = NewApp {
            name,
            redirects: &redirects,
            scopes,
            owner: ann,
            workspaces: &[acme, side],
            chosen: ChosenCredentials::default(),
        };
        boot.app(service, &new).await?;
    }

    let content: DemoContent = serde_json::from_str(CONTENT).context("demo.json")?;
    let users: Vec<String> = boot.users.iter().map(|u| u.gid.clone()).collect();
    let token = &boot.personal_access_token;
    let mut caller = DemoClient {
        service,
        token,
        users: &users,
        tags: Vec::new(),
    };
    for name in &content.tags {
        let tag = json!({"name": name, "workspace": acme.to_string()});
        let tag = caller.made("/tags", tag).await?;
        caller.tags.push(tag);
    }
    for project in content.acme {
        let workspace = json!({"team": team.to_string(), "workspace": acme.to_string()});
        caller.project(project, workspace).await?;
    }
    let token = boot.free_token.as_deref().unwrap_or_default();
    let caller = DemoClient {
        service,
        token,
        users: &users,
        tags: Vec::new(),
    };
    for project in content.side {
        caller
            .project(project, json!({"workspace": side.to_string()}))
            .await?;
    }
    Ok(())
}

/// Client that calls the API as a user.
struct DemoClient<'a> {
    service: &'a AdminService,
    token: &'a str,
    users: &'a [String],
    tags: Vec<String>,
}

impl DemoClient<'_> {
    async fn project(&self, project: DemoProject, mut data: Value) -> Result<()> {
        if let Some(map) = data.as_object_mut() {
            map.insert("name".to_owned(), project.name.into());
            map.insert("notes".to_owned(), project.notes.into());
        }
        let gid = self.made("/projects", data).await?;
        for (name, tasks) in project.sections {
            let path = format!("/projects/{gid}/sections");
            let section = self.made(&path, json!({"name": &name})).await?;
            let tasks = serde_json::from_value::<Vec<DemoTask>>(tasks);
            let tasks = tasks.with_context(|| format!("demo.json: section {name}"))?;
            for task in tasks {
                self.task(task, &gid, &section).await?;
            }
        }
        Ok(())
    }

    async fn task(&self, task: DemoTask, project: &str, section: &str) -> Result<()> {
        let today = Date::of(Time::from_system(self.service.clock.now()));
        let due = task.due.and_then(|days| today.add_days(days));
        let data = json!({
            "name": task.name,
            "assignee": task.assignee.and_then(|i| self.users.get(i)),
            "due_on": due.map(|d| d.to_string()),
            "projects": [project],
            "memberships": [{"project": project, "section": section}],
        });
        let gid = self.made("/tasks", data).await?;
        for name in task.subtasks {
            let path = format!("/tasks/{gid}/subtasks");
            self.made(&path, json!({"name": name})).await?;
        }
        if let Some(tag) = task.tag.and_then(|i| self.tags.get(i)) {
            let path = format!("/tasks/{gid}/addTag");
            self.call("POST", &path, json!({"tag": tag})).await?;
        }
        if let Some(text) = task.comment {
            let path = format!("/tasks/{gid}/stories");
            self.made(&path, json!({"text": text})).await?;
        }
        if task.done {
            let path = format!("/tasks/{gid}");
            self.call("PUT", &path, json!({"completed": true})).await?;
        }
        Ok(())
    }

    /// Creates an object and returns its gid.
    async fn made(&self, path: &str, data: Value) -> Result<String> {
        let reply = self.call("POST", path, data).await?;
        let gid = reply.pointer("/data/gid").and_then(Value::as_str);
        gid.map(str::to_owned)
            .with_context(|| format!("POST {path}: the reply has no gid"))
    }

    async fn call(&self, method: &str, path: &str, data: Value) -> Result<Value> {
        call(&self.service.api, self.token, method, path, Some(data)).await
    }
}

pub(crate) async fn call(
    api: &workgraph_api::Api,
    token: &str,
    method: &str,
    path: &str,
    data: Option<Value>,
) -> Result<Value> {
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let request = workgraph_api::ApiRequest {
        method: workgraph_api::request::Method::parse(method),
        path: route.to_owned(),
        query: query.to_owned(),
        explain: false,
        authorization: vec![format!("Bearer {token}")],
        content_type: data.is_some().then(|| "application/json".to_owned()),
        body: data
            .map(|data| json!({"data": data}).to_string().into())
            .unwrap_or_default(),
    };
    let reply = api.handle(&request).await;
    let text = String::from_utf8_lossy(&reply.body);
    if reply.status >= 400 {
        bail!("{method} {path}: {} {text}", reply.status);
    }
    serde_json::from_str(&text).with_context(|| format!("{method} {path}: the reply is no JSON"))
}

/// Replaces the first user's token if it no longer works, so that the printed token is usable. Returns true if it was
/// replaced. Never replaces the token of a disabled user.
///
/// # Errors
/// Fails if it can't be created.
pub(crate) async fn renew_token(boot: &mut Bootstrap, service: &AdminService) -> Result<bool> {
    let token = &boot.personal_access_token;
    if call(&service.api, token, "GET", "/users/me", None)
        .await
        .is_ok()
    {
        return Ok(false);
    }
    let Some(user) = boot.users.first().and_then(|user| Gid::parse(&user.gid)) else {
        return Ok(false);
    };
    match boot.token(service, user, "Demo").await {
        Ok(token) => {
            boot.personal_access_token = token;
            Ok(true)
        }
        Err(error) => {
            let reason = format!("{error:#}");
            tracing::warn!(
                reason,
                "the token of the demo does not work, and there is no other"
            );
            Ok(false)
        }
    }
}

/// Returns a text with first requests to try, which work as printed.
pub(crate) async fn banner(boot: &Bootstrap, service: &AdminService) -> String {
    let (base, root, token) = (&boot.base_url, &boot.auth_url, &boot.personal_access_token);
    let name = boot.users.first().map_or("the admin", |user| &user.name);
    let mut out = format!(
        "\nWorkgraph serves {base}\n\nReference, with a form to try each operation:\n  {root}/-/docs\n\nToken of {name}:\n  {token}\n"
    );
    if let Some(user) = boot.users.first() {
        let password = user.password.as_deref();
        out.push_str(&format!(
            "\nSign in to make apps and tokens of your own:\n  address   {root}/-/console\n  e-mail    {}\n  password  {}\n",
            user.email,
            password.unwrap_or("(the one that you set)"),
        ));
    }
    if let Some(app) = boot.apps.first() {
        out.push_str(&format!(
            "\nSee an app ask for access:\n  {root}/-/oauth_authorize?client_id={}&redirect_uri={OUT_OF_BAND}&response_type=code&state=demo\n",
            app.client_id
        ));
    }
    let Some(workspace) = boot.workspaces.first().map(|w| &w.gid) else {
        return out;
    };
    let auth = format!("-H 'Authorization: Bearer {token}'");
    out.push_str(&format!("\nTry:\n  curl -s {auth} {base}/workspaces\n"));
    let projects = call(
        &service.api,
        token,
        "GET",
        &format!("/workspaces/{workspace}/projects?limit=1"),
        None,
    )
    .await;
    if let Some(project) = projects
        .ok()
        .as_ref()
        .and_then(|p| p.pointer("/data/0/gid"))
        .and_then(Value::as_str)
    {
        let body = json!({"data": {"name": "Try Workgraph", "projects": [project]}});
        out.push_str(&format!("  curl -s {auth} '{base}/projects/{project}/tasks?opt_fields=name,assignee.name,due_on'\n"));
        out.push_str(&format!(
            "  curl -s {auth} -H 'Content-Type: application/json' -d '{body}' {base}/tasks\n"
        ));
    }
    out
}

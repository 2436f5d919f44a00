//! The demo: two workspaces and a small believable graph, made through the API itself.
use crate::bootstrap::{Bootstrap, TeamEntry};
use crate::office::Office;
use serde_json::{Value, json};
use workgraph_core::access::Role;
use workgraph_core::time::{Date, Time};
use workgraph_core::Type;

/// A task: name, section, assignee (index of the user), due in so many days, done, tag (index), subtasks.
type Row = (&'static str, usize, Option<usize>, Option<i32>, bool, Option<usize>, &'static [&'static str]);

const TAGS: &[&str] = &["urgent", "customer request", "research"];

/// A project: name, notes, sections, tasks.
type Plan = (&'static str, &'static str, &'static [&'static str], &'static [Row]);

const LAUNCH: Plan = (
    "Spring launch",
    "Everything that has to happen before the new version is announced.",
    &["To do", "In progress", "Done"],
    &[
        ("Write the announcement", 0, Some(0), Some(6), false, None, &["Draft", "Ask legal to read it", "Translate"]),
        ("Record a three-minute demo video", 0, Some(2), Some(8), false, None, &["Script", "Recording", "Subtitles"]),
        ("Prepare the pricing page", 0, Some(2), Some(4), false, Some(0), &[]),
        ("Tell the beta customers", 0, None, Some(9), false, Some(1), &[]),
        ("Book the webinar host", 0, None, None, false, None, &[]),
        ("Update the screenshots in the docs", 1, Some(1), Some(2), false, None, &["Dark theme", "Light theme"]),
        ("Fix the slow start on large files", 1, Some(1), Some(1), false, Some(0), &[]),
        ("Load test with 10,000 users", 1, Some(1), Some(3), false, None, &[]),
        ("Choose a launch date", 2, Some(0), Some(-5), true, None, &[]),
        ("Agree on the three main messages", 2, Some(0), Some(-9), true, None, &[]),
        ("Design the logo for the new version", 2, Some(2), Some(-3), true, None, &[]),
    ],
);

const REQUESTS: Plan = (
    "Customer requests",
    "What customers ask for, and what becomes of it.",
    &["New", "Planned", "Shipped"],
    &[
        ("Export a board as a spreadsheet", 0, None, None, false, Some(1), &[]),
        ("Keyboard shortcut for the search", 0, None, None, false, Some(1), &[]),
        ("Sort tasks by who created them", 0, None, None, false, None, &[]),
        ("Dates in the calendar start on Monday", 0, Some(1), Some(12), false, None, &[]),
        ("Mobile: upload several photos at once", 0, None, None, false, Some(2), &[]),
        ("Single sign-on for small teams", 1, Some(1), Some(20), false, Some(1), &["Talk to three customers", "Write the proposal"]),
        ("Archive projects in bulk", 1, Some(2), Some(15), false, None, &[]),
        ("Dark theme for printed reports", 1, Some(2), Some(30), false, Some(2), &[]),
        ("Mention a whole team in a comment", 2, Some(1), Some(-14), true, None, &[]),
        ("Show the time zone beside due times", 2, Some(1), Some(-21), true, None, &[]),
    ],
);

const OWN: Plan = (
    "Bicycle restoration",
    "",
    &["Next", "Someday"],
    &[
        ("Order new brake pads", 0, Some(3), Some(5), false, None, &[]),
        ("Sand the frame", 0, Some(3), None, false, None, &["Remove the old decals"]),
        ("True the rear wheel", 0, Some(3), Some(11), false, None, &[]),
        ("Find a matching saddle", 1, None, None, false, None, &[]),
    ],
);

/// Makes the demo and notes who and what is in it.
///
/// # Errors
/// When something can't be made.
pub(crate) async fn fill(boot: &mut Bootstrap, office: &Office) -> Result<(), String> {
    let acme = boot.workspace(office, "Acme", true, true).await?;
    let side = boot.workspace(office, "Side Project", false, false).await?;
    let ann = boot.user(office, ("Ann Admin", "ann@example.com"), (acme, Role::Admin), "").await?;
    let ben = boot.user(office, ("Ben Builder", "ben@example.com"), (acme, Role::Member), "").await?;
    let cleo = boot.user(office, ("Cleo Copywriter", "cleo@example.com"), (acme, Role::Member), "").await?;
    let fay = boot.user(office, ("Fay Free", "fay@example.com"), (side, Role::Admin), "").await?;
    let place = office.node(Type::Workspace, &acme.to_string()).await?;
    let team = office.create_team("Product", &place, Some(ann), "public").await?;
    boot.teams.push(TeamEntry { gid: team.to_string(), name: "Product".to_owned(), workspace: acme.to_string() });
    let node = office.node(Type::Team, &team.to_string()).await?;
    for who in [ben, cleo] {
        office.join_team(who, &node, false).await?;
    }
    boot.personal_access_token = boot.token(office, ann, "Demo").await?;
    boot.rate_token = Some(boot.token(office, ben, "Demo, for trying out rate limits").await?);
    boot.free_token = Some(boot.token(office, fay, "Demo, free plan").await?);

    let users: Vec<String> = boot.users.iter().map(|u| u.gid.clone()).collect();
    let caller = Caller { office, token: &boot.personal_access_token, users: &users };
    let mut tags = Vec::new();
    for name in TAGS {
        tags.push(caller.made("/tags", json!({"name": name, "workspace": acme.to_string()})).await?);
    }
    for plan in [&LAUNCH, &REQUESTS] {
        caller.project(plan, json!({"team": team.to_string(), "workspace": acme.to_string()}), &tags).await?;
    }
    let free = boot.free_token.as_deref().unwrap_or_default();
    let caller = Caller { office, token: free, users: &users };
    caller.project(&OWN, json!({"workspace": side.to_string()}), &[]).await
}

/// Calls the API as a user.
struct Caller<'a> {
    office: &'a Office,
    token: &'a str,
    users: &'a [String],
}

impl Caller<'_> {
    async fn project(&self, plan: &Plan, mut data: Value, tags: &[String]) -> Result<(), String> {
        let (name, notes, sections, rows) = plan;
        if let Some(map) = data.as_object_mut() {
            map.insert("name".to_owned(), (*name).into());
            map.insert("notes".to_owned(), (*notes).into());
        }
        let project = self.made("/projects", data).await?;
        let mut places = Vec::new();
        for section in *sections {
            places.push(self.made(&format!("/projects/{project}/sections"), json!({"name": section})).await?);
        }
        let today = Date::of(Time::from_system(self.office.clock.now()));
        for (at, (name, section, assignee, due, done, tag, subtasks)) in rows.iter().enumerate() {
            let due = due.and_then(|days| today.add_days(days)).map(|d| d.to_string());
            let assignee = assignee.and_then(|i| self.users.get(i));
            let membership = json!([{"project": project, "section": places.get(*section)}]);
            let data = json!({"name": name, "assignee": assignee, "due_on": due, "memberships": membership, "projects": [project]});
            let task = self.made("/tasks", data).await?;
            for subtask in *subtasks {
                self.made(&format!("/tasks/{task}/subtasks"), json!({"name": subtask})).await?;
            }
            if let Some(tag) = tag.and_then(|i| tags.get(i)) {
                self.call("POST", &format!("/tasks/{task}/addTag"), json!({"tag": tag})).await?;
            }
            if at == 0 {
                self.made(&format!("/tasks/{task}/stories"), json!({"text": "I start on this tomorrow."})).await?;
            }
            if *done {
                self.call("PUT", &format!("/tasks/{task}"), json!({"completed": true})).await?;
                self.made(&format!("/tasks/{task}/stories"), json!({"text": "Done, thanks everyone!"})).await?;
            }
        }
        Ok(())
    }

    /// Creates something and gives its gid.
    async fn made(&self, path: &str, data: Value) -> Result<String, String> {
        let reply = self.call("POST", path, data).await?;
        let gid = reply.pointer("/data/gid").and_then(Value::as_str);
        gid.map(str::to_owned).ok_or_else(|| format!("POST {path}: the reply has no gid"))
    }

    async fn call(&self, method: &str, path: &str, data: Value) -> Result<Value, String> {
        call(&self.office.api, self.token, method, path, Some(data)).await
    }
}

/// Calls the API with a token.
pub(crate) async fn call(api: &workgraph_api::Api, token: &str, method: &str, path: &str, data: Option<Value>) -> Result<Value, String> {
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let request = workgraph_api::Request {
        method: method.to_owned(),
        path: route.to_owned(),
        query: query.to_owned(),
        authorization: vec![format!("Bearer {token}")],
        content_type: data.is_some().then(|| "application/json".to_owned()),
        body: data.map(|data| json!({"data": data}).to_string().into()).unwrap_or_default(),
    };
    let reply = api.handle(request).await;
    let text = String::from_utf8_lossy(&reply.body);
    if reply.status >= 400 {
        return Err(format!("{method} {path}: {} {text}", reply.status));
    }
    serde_json::from_str(&text).map_err(|e| format!("{method} {path}: {e}"))
}

/// What to try first, with lines that work as they are.
pub(crate) async fn banner(boot: &Bootstrap, office: &Office) -> String {
    let (base, token) = (&boot.base_url, &boot.personal_access_token);
    let mut out = format!("\nWorkgraph serves {base}\n\nThe token of {}:\n  {token}\n", boot.users.first().map_or("the admin", |u| &u.name));
    let Some(workspace) = boot.workspaces.first().map(|w| &w.gid) else { return out };
    let auth = format!("-H 'Authorization: Bearer {token}'");
    out.push_str(&format!("\nTry:\n  curl -s {auth} {base}/workspaces\n"));
    let projects = call(&office.api, token, "GET", &format!("/workspaces/{workspace}/projects?limit=1"), None).await;
    if let Some(project) = projects.ok().as_ref().and_then(|p| p.pointer("/data/0/gid")).and_then(Value::as_str) {
        let body = json!({"data": {"name": "Try Workgraph", "projects": [project]}});
        out.push_str(&format!("  curl -s {auth} '{base}/projects/{project}/tasks?opt_fields=name,assignee.name,due_on'\n"));
        out.push_str(&format!("  curl -s {auth} -H 'Content-Type: application/json' -d '{body}' {base}/tasks\n"));
    }
    out
}

//! The graph of the run, built through the API as by any client.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http_client;
use crate::http_client::BenchClient;
use crate::loadgen::{self, LoadEnd, LoadResult, LoadSpec, RequestMaker, Rng};
use crate::server_process::ServerProcess;

/// Number of sections in each project.
const SECTIONS: usize = 10;
/// Connections that create tasks.
pub(crate) const WRITERS: usize = 64;
/// Fields of the nested page.
pub(crate) const NESTED: &str =
    "name,completed,due_on,assignee.name,assignee.email,followers.name,memberships.section.name";

/// File with the credentials of the first start: the server removes the password from its own file once it is used.
const CREDENTIALS: &str = "benchmark-bootstrap.json";
/// File with the gids of a graph that is kept.
const KEPT: &str = "benchmark.json";

/// Existing graph, with the data needed by the measurements.
pub(crate) struct Graph {
    /// Gid of the project with all the tasks.
    pub(crate) project: String,
    /// Gids of the tasks of that project.
    pub(crate) tasks: Arc<Vec<String>>,
    /// Workspace, team and users for new projects.
    workspace: BuildTarget,
    /// Maker of requests that create tasks in a second project, so that the size of the first does not change.
    pub(crate) create: Arc<RequestMaker>,
    pub(crate) users: usize,
}

/// Owner of the projects: a workspace on a paid plan, a team in it, and its users.
struct BuildTarget {
    workspace: String,
    team: String,
    users: Vec<String>,
}

/// Returns a client of a server that was started on this data folder.
pub(crate) fn client(server: &ServerProcess, data: &Path) -> Result<BenchClient> {
    let bootstrap = bootstrap(data)?;
    Ok(BenchClient {
        addr: server.addr,
        token: member(&bootstrap, "personal_access_token")?.to_owned(),
    })
}

/// Returns the token of another user of the same workspace.
pub(crate) fn other_token(data: &Path) -> Result<String> {
    Ok(member(&bootstrap(data)?, "rate_token")?.to_owned())
}

/// Returns true if a complete graph is in this data folder.
pub(crate) fn is_built(data: &Path) -> bool {
    data.join(KEPT).exists()
}

/// Copies the credentials of the first start to a separate file, unless that was done before.
pub(crate) fn keep_credentials(data: &Path) -> Result<()> {
    let kept = data.join(CREDENTIALS);
    if !kept.exists() {
        fs::copy(data.join("bootstrap.json"), kept)?;
    }
    Ok(())
}

/// Builds a project with the given number of tasks, and stores the gids of the graph. Returns the result of the
/// load.
pub(crate) fn build(client: &BenchClient, data: &Path, tasks: u64) -> Result<LoadResult> {
    let workspace = BuildTarget::of(client, data)?;
    let (project, make) = workspace.project(client, "Benchmark")?;
    let (outcome, gids) = fill(client, make, tasks)?;
    let kept = json!({"project": project, "tasks": gids});
    fs::write(data.join(KEPT), kept.to_string())?;
    Ok(outcome)
}

/// Creates the given number of tasks. Returns the result of the load, and the gids of the tasks.
pub(crate) fn fill(
    client: &BenchClient,
    make: Arc<RequestMaker>,
    tasks: u64,
) -> Result<(LoadResult, Vec<String>)> {
    let gids = Arc::new(Mutex::new(Vec::new()));
    let outcome = loadgen::run(LoadSpec {
        addr: client.addr,
        connections: WRITERS,
        stop: LoadEnd::Count(tasks),
        seed: None,
        pace: None,
        make,
        seen: Some(Arc::new({
            let gids = Arc::clone(&gids);
            move |body: &[u8]| {
                let mut gids = gids.lock();
                gids.extend(created(body));
            }
        })),
    })?;
    let gids = std::mem::take(&mut *gids.lock());
    if gids.len() as u64 != tasks {
        bail!(
            "creating {tasks} tasks: {} were made, errors {:?}, the first: {}",
            gids.len(),
            outcome.errors,
            outcome.sample.as_deref().unwrap_or("none")
        );
    }
    Ok((outcome, gids))
}

impl BuildTarget {
    fn of(client: &BenchClient, data: &Path) -> Result<Self> {
        let bootstrap = bootstrap(data)?;
        let workspace = list(&bootstrap, "workspaces")?
            .iter()
            .find(|workspace| workspace.get("plan") == Some(&json!("paid")))
            .context("bootstrap.json names no paid workspace")?;
        let workspace = member(workspace, "gid")?.to_owned();
        let team = list(&bootstrap, "teams")?
            .iter()
            .find(|team| team.get("workspace") == Some(&json!(workspace)))
            .context("bootstrap.json names no team of the paid workspace")?;
        let team = member(team, "gid")?.to_owned();
        let found = client.get(&format!(
            "/api/1.0/users?workspace={workspace}&limit=100&opt_fields=gid"
        ))?;
        let users = list(&found, "data")?
            .iter()
            .map(|user| member(user, "gid").map(str::to_owned))
            .collect::<Result<Vec<_>>>()?;
        if users.is_empty() {
            bail!("the paid workspace has no users");
        }
        Ok(Self {
            workspace,
            team,
            users,
        })
    }

    /// Creates a project with sections. Returns its gid, and the maker of requests that create tasks in it.
    fn project(&self, client: &BenchClient, name: &str) -> Result<(String, Arc<RequestMaker>)> {
        let body = json!({"data": {"name": name, "workspace": self.workspace, "team": self.team}});
        let gid = gid_of(&client.post("/api/1.0/projects", &body)?)?;
        let mut sections = Vec::new();
        for number in 1..=SECTIONS {
            let body = json!({"data": {"name": format!("Section {number}")}});
            let made = client.post(&format!("/api/1.0/projects/{gid}/sections"), &body)?;
            sections.push(gid_of(&made)?);
        }
        let (token, users, project) = (client.token.clone(), self.users.clone(), gid.clone());
        let make = move |_: &mut Rng, index: u64, out: &mut Vec<u8>| {
            let body = task(index, &project, &sections, &users);
            http_client::write_post(out, "/api/1.0/tasks", &token, &body);
        };
        Ok((gid, Arc::new(make)))
    }
}

/// Properties of a task, derived from its number, so that other tables can have the same.
pub(crate) struct TaskTraits {
    /// Index of the assignee among the users; the next two are the followers.
    pub(crate) user: usize,
    /// Index of the section.
    section: usize,
    /// Due date: month and day.
    pub(crate) due: (usize, usize),
}

impl TaskTraits {
    /// Returns the properties of the task with this number.
    pub(crate) fn of(index: u64, users: usize) -> Self {
        let mut rng = Rng::new(index + 1);
        // The first numbers of neighbouring seeds are similar.
        rng.below(1);
        Self {
            user: rng.below(users),
            section: rng.below(SECTIONS),
            due: (rng.below(12) + 1, rng.below(28) + 1),
        }
    }
}

pub(crate) fn name(index: u64) -> String {
    format!("Task {index} of the benchmark")
}

/// Returns the body of a create: a name, an assignee, two followers, a due date, a project and a section in it.
fn task(index: u64, project: &str, sections: &[String], users: &[String]) -> String {
    fn pick(from: &[String], position: usize) -> &str {
        from.get(position % from.len().max(1))
            .map_or("", String::as_str)
    }
    let traits = TaskTraits::of(index, users.len());
    let (user, (month, day)) = (traits.user, traits.due);
    let (assignee, one, two) = (
        pick(users, user),
        pick(users, user + 1),
        pick(users, user + 2),
    );
    let (name, section) = (name(index), pick(sections, traits.section));
    format!(
        r#"{{"data":{{"name":"{name}","projects":["{project}"],"assignee":"{assignee}","followers":["{one}","{two}"],"due_on":"2027-{month:02}-{day:02}","memberships":[{{"project":"{project}","section":"{section}"}}]}}}}"#
    )
}

impl Graph {
    /// Reads an existing graph in this data folder.
    pub(crate) fn open(client: &BenchClient, data: &Path) -> Result<Self> {
        let kept: Value = serde_json::from_slice(&fs::read(data.join(KEPT))?)?;
        let tasks = list(&kept, "tasks")?.iter();
        let tasks: Vec<String> = tasks.filter_map(|t| Some(t.as_str()?.to_owned())).collect();
        let workspace = BuildTarget::of(client, data)?;
        let (_, create) = workspace.project(client, "Benchmark creates")?;
        Ok(Self {
            project: member(&kept, "project")?.to_owned(),
            tasks: Arc::new(tasks),
            create,
            users: workspace.users.len(),
            workspace,
        })
    }

    /// Returns the gids of the workspace and the team for new objects.
    pub(crate) fn owner(&self) -> (&str, &str) {
        (&self.workspace.workspace, &self.workspace.team)
    }

    /// Creates another project. Returns its gid, and the maker of requests that create tasks in it.
    pub(crate) fn project(
        &self,
        client: &BenchClient,
        name: &str,
    ) -> Result<(String, Arc<RequestMaker>)> {
        self.workspace.project(client, name)
    }

    /// Returns the size of a create's body in bytes.
    pub(crate) fn create_size(&self) -> Result<usize> {
        let mut request = Vec::new();
        (self.create)(&mut Rng::new(1), 50_000, &mut request);
        let head = request
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .context("a create has no head")?;
        Ok(request.len() - head - 4)
    }

    /// Returns the path of a page of all tasks.
    pub(crate) fn page(&self, fields: Option<&str>, offset: Option<&str>) -> String {
        let mut path = format!("/api/1.0/projects/{}/tasks?limit=100", self.project);
        for (name, value) in [("opt_fields", fields), ("offset", offset)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={value}"));
            }
        }
        path
    }

    /// Follows the pages to a depth. Returns the last offset that has a next page, and its depth.
    pub(crate) fn walk(&self, client: &BenchClient, depth: usize) -> Result<(String, usize)> {
        let mut at = (String::new(), 0);
        while at.1 < depth {
            let offset = (at.1 > 0).then_some(at.0.as_str());
            let page = client.get(&self.page(Some("name"), offset));
            let page = match page {
                Err(_) if at.1 > 0 => break, // a truncated set ends in an error
                page => page?,
            };
            let count = list(&page, "data")?.len();
            let Some(next) = page.pointer("/next_page/offset").and_then(Value::as_str) else {
                break;
            };
            at = (next.to_owned(), at.1 + count);
        }
        if at.1 == 0 {
            bail!("the project has one page only");
        }
        // The page at the last offset must be a real one, or its cost would be meaningless.
        let path = self.page(Some("name"), Some(&at.0));
        match client.get(&path) {
            Ok(_) => Ok(at),
            Err(_) if depth > 100 => self.walk(client, at.1 - 100),
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn bootstrap(data: &Path) -> Result<Value> {
    let kept = data.join(CREDENTIALS);
    let path = if kept.exists() {
        kept
    } else {
        data.join("bootstrap.json")
    };
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_str(&text)?)
}

/// Returns the gid of the record in a response, if any.
pub(crate) fn created(body: &[u8]) -> Option<String> {
    gid_of(&serde_json::from_slice(body).ok()?).ok()
}

pub(crate) fn gid_of(answer: &Value) -> Result<String> {
    let data = answer.get("data").context("an answer without data")?;
    member(data, "gid").map(str::to_owned)
}

pub(crate) fn member<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value
        .get(name)
        .and_then(Value::as_str)
        .with_context(|| format!("no text named {name}"))
}

/// Returns the array under a name, or an error that names it.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value]> {
    value
        .get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .with_context(|| format!("no list named {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_create_is_valid_json_with_distinct_people() {
        let people: Vec<String> = (1..=3).map(|n| n.to_string()).collect();
        let body = task(9, "77", &["5".to_owned()], &people);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["data"]["memberships"][0]["section"], "5");
        assert_eq!(body["data"]["name"], "Task 9 of the benchmark");
        let follower = |n: usize| body["data"]["followers"][n].clone();
        assert!(follower(0) != follower(1) && follower(0) != body["data"]["assignee"]);
    }

    #[test]
    fn the_gid_of_an_answer() {
        assert_eq!(created(br#"{"data":{"gid":"12"}}"#).as_deref(), Some("12"));
        assert_eq!(created(br#"{"errors":[]}"#), None);
    }
}

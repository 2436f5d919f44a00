//! State of everything when the faults are over: lists at all nodes, tables of the database, checks of the store.
use crate::clients::task_client::value;
use crate::clients::{Client, outcome};
use crate::common::{clock, pause};
use crate::history::{EndState, Found, Outcome};
use crate::scene::{DATABASE, NODES, Scene};
use crate::store_checks;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(200);
/// Tasks whose replies are compared.
const COMPARED: usize = 12;
/// Audit rows of this kind tell of an export.
const EXPORT_STARTED: u64 = 61;

/// Returns the body of a reply, asked for until there is one.
pub(crate) fn body(client: &mut Client, node: usize, path: &str) -> String {
    let begun = clock();
    loop {
        let reply = client.api(node, "GET", path, None);
        if let Some(reply) = reply.as_ref().filter(|reply| reply.status == 200) {
            return reply.text();
        }
        let said = reply.map_or_else(|| "nothing".to_owned(), |r| r.text());
        assert!(begun.elapsed() < PATIENCE, "{path} at node {node}: {said}");
        pause(50);
    }
}

/// Returns the items of a whole list.
fn items(client: &mut Client, path: &str) -> Vec<Value> {
    let (mut all, mut path) = (Vec::new(), path.to_owned());
    for turn in 0.. {
        let page: Value = serde_json::from_str(&body(client, turn % NODES, &path)).unwrap();
        all.extend(page["data"].as_array().unwrap().iter().cloned());
        match page["next_page"]["path"].as_str() {
            Some(next) => path = next.to_owned(),
            None => break,
        }
    }
    all
}

fn gid(item: &Value) -> String {
    item["gid"].as_str().unwrap().to_owned()
}

/// Returns a body without the address of a next page: its token is sealed anew each time.
fn comparable(text: String) -> String {
    let mut body: Value = serde_json::from_str(&text).unwrap();
    if body["next_page"].is_object() {
        body["next_page"] = Value::from("there is one");
        return body.to_string();
    }
    text
}

/// Waits until no job is left, those included that were started for clients which had no answer.
fn await_jobs(scene: &Scene) {
    let begun = clock();
    loop {
        let output = scene.nodes[0].run(&["admin", "--json", "jobs"]);
        let jobs: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if jobs.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{output:?}");
        pause(500);
    }
}

/// Reads the state in the end.
pub(crate) fn read(scene: &Scene, client: &mut Client) -> EndState {
    await_jobs(scene);
    let (project, fixed) = (
        client.shared.project.clone(),
        client.shared.access.static_project.clone(),
    );
    let list = |project: &str| format!("/projects/{project}/tasks?limit=100&opt_fields=name");
    let tasks = items(client, &list(&project));
    let tasks: BTreeMap<String, u64> = tasks
        .iter()
        .map(|task| (gid(task), value(task).unwrap()))
        .collect();
    let static_order = items(client, &list(&fixed)).iter().map(gid).collect();
    // A node that lately came with a Redis that was away admits little.
    let begun = clock();
    let export = loop {
        if let Outcome::Done(Found::Text(text)) = client.export() {
            break Some(text);
        }
        if begun.elapsed() > PATIENCE {
            break None;
        }
        pause(1_000);
    };
    let numbers = |statement: &str| -> Vec<Vec<u64>> {
        let rows = scene.primary.rows(DATABASE, statement);
        let row = |row: &String| row.split('|').map(|text| text.parse().unwrap()).collect();
        rows.iter().map(row).collect()
    };
    let journal = scene.primary.rows(
        DATABASE,
        "SELECT seq, nodes, touched FROM journal ORDER BY seq",
    );
    let journal = journal.iter().map(|row| {
        let (seq, nodes) = row.split_once('|').unwrap();
        let gids = nodes.split(|c: char| !c.is_ascii_digit());
        let gids: BTreeSet<String> = gids
            .filter(|text| text.len() > 10)
            .map(str::to_owned)
            .collect();
        (seq.parse().unwrap(), gids)
    });
    let audit = numbers("SELECT seq, at, gid, kind FROM audit ORDER BY seq");
    let exports = audit.iter().filter(|row| row[3] == EXPORT_STARTED).count();
    let positions = numbers(
        "SELECT from_seq, from_facts, to_seq, to_facts FROM delivery WHERE status BETWEEN 200 AND 299 ORDER BY id",
    );
    let mut replies = Vec::new();
    let recent = tasks.keys().rev().take(COMPARED);
    let paths = recent.map(|task| format!("/tasks/{task}"));
    for path in paths.chain([list(&project), list(&fixed), "/users/me".to_owned()]) {
        let bodies = (0..NODES).map(|node| comparable(body(client, node, &path)));
        let bodies: Vec<String> = bodies.collect();
        replies.push((path, bodies));
    }
    EndState {
        copies: copies(client),
        tasks,
        static_order,
        journal: journal.collect(),
        journal_base: numbers("SELECT pruned FROM store_state")[0][0],
        audit: audit.iter().map(|row| (row[0], row[1], row[2])).collect(),
        audited_exports: exports,
        failed_checks: store_checks::problems(scene),
        positions: positions
            .iter()
            .map(|row| [(row[0], row[1]), (row[2], row[3])])
            .collect(),
        leases: numbers("SELECT number, mint_end FROM member")
            .iter()
            .map(|row| (row[0], row[1]))
            .collect(),
        replies,
        export,
    }
}

/// Returns the projects that are copies, each with the number of its tasks.
fn copies(client: &mut Client) -> BTreeMap<String, Vec<usize>> {
    let workspace = client.shared.access.workspace.clone();
    let path = format!("/projects?workspace={workspace}&limit=100&opt_fields=name");
    let mut copies: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for project in items(client, &path) {
        let name = project["name"].as_str().unwrap_or_default();
        if name.starts_with("copy ") {
            let path = format!("/projects/{}/tasks?limit=100&opt_fields=gid", gid(&project));
            let count = items(client, &path).len();
            copies.entry(name.to_owned()).or_default().push(count);
        }
    }
    copies
}

/// Waits until nobody has anything to do: all nodes answer, and the last event was delivered.
pub(crate) fn settle(client: &mut Client, delivered: impl Fn(&str) -> bool) -> Result<(), String> {
    for node in 0..NODES {
        body(client, node, "/users/me");
    }
    let begun = clock();
    let last = loop {
        if let Outcome::Done(Found::Gid(task)) = client.create(0) {
            break task;
        }
        if begun.elapsed() > PATIENCE {
            return Err("no task can be made".to_owned());
        }
        pause(50);
    };
    while !delivered(&last) {
        if begun.elapsed() > PATIENCE {
            return Err("the last event is not delivered".to_owned());
        }
        pause(50);
    }
    Ok(())
}

/// Makes the project of a history, and its webhook. Returns both gids and the token of its stream of events.
pub(crate) fn prepare(client: &mut Client, receiver: u16) -> (String, String) {
    use serde_json::json;
    let access = client.shared.access.clone();
    let mut made = |path: &str, body: Value| {
        let reply = client.api(0, "POST", path, Some(&body)).unwrap();
        match outcome(Some(reply.clone()), crate::clients::gid) {
            Outcome::Done(Found::Gid(gid)) => gid,
            _ => panic!("{path}: {}", reply.text()),
        }
    };
    let project =
        json!({"data": {"name": "live", "workspace": access.workspace, "team": access.team}});
    let project = made("/projects", project);
    let target = format!("http://127.0.0.1:{receiver}/");
    let filters = json!([{"resource_type": "task", "action": "added"},
        {"resource_type": "task", "action": "changed", "fields": ["name"]}]);
    made(
        "/webhooks",
        json!({"data": {"resource": project, "target": target, "filters": filters}}),
    );
    let path = format!("/events?resource={project}");
    let mut asked = (0..10).map(|_| client.api(0, "GET", &path, None));
    let events = asked.find_map(|reply| reply).unwrap();
    let sync = events.json()["sync"].as_str().unwrap().to_owned();
    (project, sync)
}

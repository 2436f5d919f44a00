//! Exports: a file is what its user may see, each object once, whatever stops the one who writes it.
use crate::jobs::{die_after, duplicate, forest, status};
use crate::world::{Answer, KINDS, Kind, World};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use workgraph_api::exports::{ExportFiles, WriteError};
use workgraph_api::runner::{Gone, Taken};
use workgraph_core::Gid;
use workgraph_core::graph::Place;
use workgraph_core::jobs::Output;
use workgraph_core::jobs::export::{CACHED_FROM, Mark};
use workgraph_core::registry::rel;
use workgraph_core::resources::ALL;
use workgraph_wire::TicketError;

/// Files in memory, as they are: nothing is packed.
#[derive(Default)]
pub(crate) struct Files {
    held: Mutex<BTreeMap<Gid, File>>,
    /// Why nothing can be written, if so.
    broken: Mutex<Option<String>>,
}

#[derive(Default)]
struct File {
    fence: u64,
    bytes: Vec<u8>,
    whole: bool,
    /// The longest piece that was put in at once.
    widest: usize,
}

#[async_trait]
impl ExportFiles for Files {
    async fn append(&self, output: Output<'_>) -> Result<Mark, WriteError> {
        if let Some(why) = self.broken.lock().unwrap().clone() {
            return Err(WriteError::Failed(why));
        }
        let mut held = self.held.lock().unwrap();
        let file = held.entry(output.file).or_default();
        if file.fence > output.fence {
            return Err(WriteError::Fenced);
        }
        file.fence = output.fence;
        let length = usize::try_from(output.after.length).unwrap();
        assert!(file.bytes.len() >= length, "a part of the file is gone");
        file.bytes.truncate(length);
        file.bytes.extend_from_slice(output.bytes);
        file.whole = output.ends;
        file.widest = file.widest.max(output.bytes.len());
        Ok(Mark {
            length: file.bytes.len() as u64,
            ..Mark::default()
        })
    }
    async fn remove(&self, file: Gid) {
        self.held.lock().unwrap().remove(&file);
    }
}

impl Files {
    /// The records of a whole file.
    fn records(&self, file: &str) -> Vec<Value> {
        let held = self.held.lock().unwrap();
        let file = &held[&Gid::parse(file).unwrap()];
        assert!(file.whole);
        let text = std::str::from_utf8(&file.bytes).unwrap();
        let lines = text.strip_suffix('\n').unwrap();
        let Some(inner) = lines.strip_prefix("[\n") else {
            let lines = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            return lines.collect();
        };
        let all: Vec<Value> = serde_json::from_str(text).unwrap();
        // And line by line, for who cannot hold it all.
        let lines: Vec<_> = inner.strip_suffix("\n]").unwrap().lines().collect();
        assert_eq!(lines.len(), all.len());
        for (line, record) in lines.iter().zip(&all) {
            let line: Value = serde_json::from_str(line.trim_end_matches(',')).unwrap();
            assert_eq!(&line, record);
        }
        all
    }
}

fn export(world: &World, token: &str, parent: &str) -> Answer {
    world.post(token, "/exports/graph", json!({ "parent": parent }))
}

/// The export of a job that has succeeded.
fn made(world: &World, token: &str, job: &str) -> Value {
    let job = world.get(token, &format!("/jobs/{job}"));
    assert_eq!(job.json["data"]["status"], "succeeded", "{}", job.text);
    job.json["data"]["new_graph_export"].clone()
}

/// The records of an export, made now.
fn exported(world: &World, token: &str, parent: &str) -> Vec<Value> {
    let job = export(world, token, parent);
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let made = made(world, token, &job.gid());
    world.files.records(made["gid"].as_str().unwrap())
}

fn text<'v>(record: &'v Value, key: &str) -> &'v str {
    record[key].as_str().unwrap()
}

fn names<'v>(records: &'v [Value], ty: &str) -> Vec<&'v str> {
    let of = records.iter().filter(|r| r["resource_type"] == *ty);
    of.map(|r| text(r, "name")).collect()
}

fn gids(records: &[Value]) -> BTreeSet<String> {
    let gids: BTreeSet<String> = records.iter().map(|r| text(r, "gid").to_owned()).collect();
    assert_eq!(gids.len(), records.len(), "each object once");
    gids
}

/// Where a record can be read alone.
fn path(record: &Value) -> Option<String> {
    let ty = text(record, "resource_type");
    let segment = match ty {
        "project_membership" => "project_memberships",
        "custom_field_setting" | "task_template_recipe" => return None,
        ty => ALL.iter().find(|r| r.name == ty).unwrap().path,
    };
    Some(format!("/{segment}/{}", text(record, "gid")))
}

/// Every record as the API shows it to the same user.
fn as_shown(world: &World, token: &str, records: &[Value]) {
    for record in records {
        let Some(path) = path(record) else { continue };
        let shown = world.get(token, &path);
        assert_eq!(shown.status, 200, "{path}: {}", shown.text);
        assert_eq!(&shown.json["data"], record, "{path}");
    }
}

/// All below a project, by the lists of the API.
fn listed(world: &World, token: &str, project: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([project.to_owned()]);
    let walk = |list: String| -> Vec<String> {
        let (mut out, mut offset) = (Vec::new(), String::new());
        loop {
            let page = world.get(token, &format!("{list}?limit=100{offset}"));
            out.extend(page.gids());
            match page.next() {
                Some(next) => offset = format!("&offset={next}"),
                None => return out,
            }
        }
    };
    for list in ["sections", "project_memberships", "custom_field_settings"] {
        all.extend(walk(format!("/projects/{project}/{list}")));
    }
    let mut tasks = walk(format!("/projects/{project}/tasks"));
    while let Some(task) = tasks.pop() {
        all.extend(walk(format!("/tasks/{task}/stories")));
        tasks.extend(walk(format!("/tasks/{task}/subtasks")));
        all.insert(task);
    }
    all
}

fn world(kind: Kind, tasks: usize) -> World {
    let world = World::build(kind, Default::default(), |f, names| {
        let project = forest(f, names["orchid"], names["ada"], tasks);
        names.insert("forest".to_owned(), project);
    });
    // Some stories, on a task and on a subtask.
    let forest = world.gid("forest");
    let list = world.get("ada", &format!("/projects/{forest}/tasks"));
    for task in list.gids().iter().take(7) {
        for n in 0..3 {
            let text = json!({ "text": format!("leaves {n}") });
            world.post("ada", &format!("/tasks/{task}/stories"), text);
        }
    }
    world
}

#[test]
fn an_export_is_the_graph_below_its_root() {
    for (kind, tasks) in [(Kind::Memory, 0), (Kind::Memory, 1), (Kind::Sqlite, 120)] {
        let world = world(kind, tasks);
        let forest = world.gid("forest").to_string();
        let records = exported(&world, "ada", &forest);
        assert_eq!(gids(&records), listed(&world, "ada", &forest), "{tasks}");
        as_shown(&world, "ada", &records);
        assert_eq!(text(&records[0], "gid"), forest, "the root comes first");
        let again = exported(&world, "ada", &forest);
        assert_eq!(records, again, "always in the same order");
    }
}

/// A crash after every number of steps; and the next runner dies, too.
#[test]
fn a_runner_that_dies_leaves_neither_gaps_nor_doubles() {
    for kind in KINDS {
        let world = world(kind, 60);
        let forest = world.gid("forest").to_string();
        let whole = exported(&world, "ada", &forest);
        let mut points = 0;
        for steps in 0.. {
            let job = export(&world, "ada", &forest);
            if !die_after(&world, steps) {
                break;
            }
            points += 1;
            world.advance(31);
            die_after(&world, 3);
            world.advance(31);
            world.work();
            let made = made(&world, "ada", &job.gid());
            let records = world.files.records(text(&made, "gid"));
            assert_eq!(records, whole, "died after {steps} steps");
        }
        assert!(points > 20, "{points} points");
    }
}

#[test]
fn a_runner_that_dies_in_an_organization_leaves_neither_gaps_nor_doubles() {
    let world = world(Kind::Memory, 60);
    let body = json!({ "organization": world.gid("orchid").to_string() });
    let whole = world
        .post("robot", "/organization_exports", body.clone())
        .gid();
    world.work();
    let whole = world.files.records(&whole);
    let mut points = 0;
    for steps in 0.. {
        let begun = world
            .post("robot", "/organization_exports", body.clone())
            .gid();
        if !die_after(&world, steps) {
            break;
        }
        points += 1;
        world.advance(31);
        die_after(&world, 3);
        world.advance(31);
        world.work();
        assert_eq!(
            world.files.records(&begun),
            whole,
            "died after {steps} steps"
        );
    }
    assert!(points > 20, "{points} points");
}

/// Whoever lost the job cannot put anything into the file any more, even before its commit is refused.
#[test]
fn a_runner_that_wakes_late_does_not_spoil_the_file() {
    let world = world(Kind::Memory, 60);
    let forest = world.gid("forest").to_string();
    let whole = exported(&world, "ada", &forest);
    let job = export(&world, "ada", &forest);
    let Ok(Taken::Job(late)) = world.run(world.api.take_up()) else {
        panic!("a job waits");
    };
    world.advance(31);
    die_after(&world, 30);
    let mut late = late;
    loop {
        match world.run(world.api.go_on(&late)).unwrap() {
            Gone::On(next) => late = next,
            Gone::Lost => break,
            Gone::Ended(_) => panic!("a late runner came to the end"),
        }
    }
    world.advance(31);
    world.work();
    let made = made(&world, "ada", &job.gid());
    assert_eq!(world.files.records(text(&made, "gid")), whole);
}

/// However large the graph, what is in memory is about a step.
#[test]
fn what_waits_for_the_file_is_bounded() {
    let world = World::build(Kind::Memory, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let project = f.project(orchid, "Forest", ada);
        let section = f.section_in(project);
        for n in 0..3000 {
            f.task_in(section, &format!("{n} {}", "tree ".repeat(150)), ada);
        }
        names.insert("forest".to_owned(), project);
    });
    let forest = world.gid("forest").to_string();
    let records = exported(&world, "ada", &forest);
    assert_eq!(names(&records, "task").len(), 3000);
    let held = world.files.held.lock().unwrap();
    let file = held.values().next().unwrap();
    let step = file.bytes.len() / 30;
    assert!(
        file.widest < 2 * step,
        "{} of {}",
        file.widest,
        file.bytes.len()
    );
}

#[test]
fn an_export_holds_what_its_user_sees_and_nothing_else() {
    for kind in KINDS {
        let world = World::build(kind, Default::default(), |f, names| {
            let (orchid, ada) = (names["orchid"], names["ada"]);
            let project = f.project(orchid, "Greenhouse", ada);
            let section = f.section_in(project);
            f.task_in(section, "orchid in the open", ada);
            f.link(project, rel::TEAM, names["gardeners"], Place::Rank(0), None);
            let secret = f.private_project(orchid, "Nursery", ada);
            f.task_in(f.section_in(secret), "a secret seed", ada);
            f.link(secret, rel::TEAM, names["gardeners"], Place::Rank(0), None);
        });
        let team = world.gid("gardeners").to_string();
        let all = exported(&world, "ada", &team);
        assert!(names(&all, "task").contains(&"a secret seed"));
        let some = exported(&world, "mel", &team);
        as_shown(&world, "mel", &some);
        let some = json!(some).to_string();
        assert!(some.contains("orchid in the open") && !some.contains("seed"));
        // Others see nothing of it, and cannot even ask.
        for (token, status) in [("bob", 403), ("-", 401), ("ada[tasks:read,jobs:read]", 403)] {
            let refused = export(&world, token, &team);
            assert_eq!(refused.status, status, "{token}: {}", refused.text);
        }
    }
}

#[test]
fn a_task_in_several_projects_is_written_once() {
    let world = World::build(Kind::Memory, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let team = names["gardeners"];
        let [one, two, other] = ["One", "Two", "Other"].map(|name| f.project(orchid, name, ada));
        for project in [one, two] {
            f.link(project, rel::TEAM, team, Place::Rank(0), None);
        }
        let both = f.task_in(f.section_in(one), "in both", ada);
        let second = f.section_in(two);
        f.link(both, rel::SECTION, second, Place::Last, Some(two));
        let parent = f.task_in(second, "parent", ada);
        let child = f.subtask(parent, "child in its own place", ada);
        let first = f.section_in(one);
        f.link(child, rel::SECTION, first, Place::Last, Some(one));
        let elsewhere = f.subtask(parent, "child in another place", ada);
        let third = f.section_in(other);
        f.link(elsewhere, rel::SECTION, third, Place::Last, Some(other));
        names.insert("one".to_owned(), one);
        names.insert("two".to_owned(), two);
    });
    let team = world.gid("gardeners").to_string();
    let records = exported(&world, "ada", &team);
    gids(&records);
    let tasks = names(&records, "task");
    for name in [
        "in both",
        "parent",
        "child in its own place",
        "child in another place",
    ] {
        assert_eq!(tasks.iter().filter(|t| **t == name).count(), 1, "{name}");
    }
    // Below one project alone, what it has in common with others is there, too.
    let two = exported(&world, "ada", &world.gid("two").to_string());
    gids(&two);
    assert_eq!(
        names(&two, "task"),
        [
            "in both",
            "parent",
            "child in its own place",
            "child in another place"
        ]
    );
}

#[test]
fn an_organization_is_exported_by_its_service_account_alone() {
    for kind in KINDS {
        let world = world(kind, 40);
        let orchid = world.gid("orchid").to_string();
        let body = json!({ "organization": orchid });
        let refused = world.post("ada", "/organization_exports", body.clone());
        assert_eq!(refused.status, 403, "{}", refused.text);
        let foreign = json!({ "organization": world.gid("basalt").to_string() });
        assert_eq!(
            world.post("robot", "/organization_exports", foreign).status,
            403
        );

        let begun = world.post("robot", "/organization_exports", body);
        assert_eq!(begun.status, 201, "{}", begun.text);
        assert_eq!(begun.json["data"]["state"], "pending");
        assert_eq!(begun.json["data"]["download_url"], Value::Null);
        let place = format!("/organization_exports/{}", begun.gid());
        assert!(
            begun
                .headers
                .iter()
                .any(|(n, v)| *n == "Location" && v.ends_with(&place))
        );
        die_after(&world, 2);
        assert_eq!(world.get("robot", &place).json["data"]["state"], "started");
        assert_eq!(world.get("ada", &place).status, 403);
        world.advance(31);
        world.work();
        let done = world.get("robot", &place);
        assert_eq!(done.json["data"]["state"], "finished", "{}", done.text);
        assert!(done.json["data"]["download_url"].is_string());

        let records = world.files.records(&begun.gid());
        let all = gids(&records);
        as_shown(&world, "robot", &records);
        let text = json!(records).to_string();
        for (name, gid) in &world.names {
            let held = all.contains(&gid.to_string()) || text.contains(&format!("\"{gid}\""));
            // A robot has no seat, and a job is its user's alone.
            let left_out = ["ada_job", "orchid_export", "robot"].contains(&name.as_str());
            let expected = crate::world::is_orchid(name) && !left_out;
            assert_eq!(held, expected, "{name}");
        }
        assert!(!text.contains("Basalt"));
    }
}

/// B55. S78. All kinds of job together are at most five.
#[test]
fn exports_and_copies_share_the_five_places() {
    let world = world(Kind::Memory, 3);
    let forest = world.gid("forest").to_string();
    for n in 0..5 {
        let begun = if n % 2 == 0 {
            export(&world, "ada", &forest)
        } else {
            duplicate(&world, "ada")
        };
        assert_eq!(begun.status, 201, "{}", begun.text);
    }
    for sixth in [export(&world, "ada", &forest), duplicate(&world, "ada")] {
        assert_eq!(sixth.status, 429, "{}", sixth.text);
        assert!(sixth.headers.iter().any(|(name, _)| *name == "Retry-After"));
    }
    world.work();
    assert_eq!(export(&world, "ada", &forest).status, 201);
}

#[test]
fn a_disk_that_is_full_ends_the_export_and_nothing_else() {
    let world = world(Kind::Memory, 130);
    let forest = world.gid("forest").to_string();
    let organization = json!({ "organization": world.gid("orchid").to_string() });
    let job = export(&world, "ada", &forest).gid();
    let whole = world
        .post("robot", "/organization_exports", organization)
        .gid();
    die_after(&world, 60);
    *world.files.broken.lock().unwrap() = Some("No space left on device".to_owned());
    world.advance(31);
    world.work();
    assert_eq!(status(&world, &job), "failed");
    let shown = world.get("robot", &format!("/organization_exports/{whole}"));
    assert_eq!(shown.json["data"]["state"], "error");
    assert_eq!(shown.json["data"]["download_url"], Value::Null);
    assert!(
        world.files.held.lock().unwrap().is_empty(),
        "nothing is left"
    );
    *world.files.broken.lock().unwrap() = None;
    exported(&world, "ada", &forest);
}

#[test]
fn an_export_of_what_is_deleted_or_hidden_meanwhile_fails() {
    let world = world(Kind::Memory, 130);
    let forest = world.gid("forest").to_string();
    let job = export(&world, "ada", &forest).gid();
    die_after(&world, 2);
    world.call(
        "ada",
        "DELETE",
        &format!("/projects/{forest}"),
        &Value::Null,
    );
    world.advance(31);
    world.work();
    assert_eq!(status(&world, &job), "failed");
}

#[test]
fn a_large_export_is_given_again_for_four_hours_to_the_same_user() {
    let tasks = usize::try_from(CACHED_FROM).unwrap() + 1;
    for (tasks, again) in [(tasks - 1, false), (tasks, true)] {
        let world = World::build(Kind::Memory, Default::default(), |f, names| {
            let (orchid, ada) = (names["orchid"], names["ada"]);
            let project = f.project(orchid, "Forest", ada);
            let section = f.section_in(project);
            for n in 0..tasks {
                f.task_in(section, &format!("tree {n}"), ada);
            }
            names.insert("forest".to_owned(), project);
        });
        let forest = world.gid("forest").to_string();
        let ask = |token: &str| {
            let job = export(&world, token, &forest);
            let early = job.json["data"]["status"] == "succeeded";
            world.work();
            let made = made(&world, token, &job.gid());
            (early, text(&made, "gid").to_owned())
        };
        let (early, first) = ask("ada");
        assert!(!early);
        let (early, second) = ask("ada");
        assert_eq!((early, second == first), (again, again));
        assert!(!ask("mel").0, "another user sees other things");
        world.advance(4 * 3600);
        let (early, later) = ask("ada");
        assert!(!early && later != first);
        if again {
            assert_eq!(ask("ada"), (true, later), "now that one");
        }
    }
}

#[test]
fn addresses_are_fresh_each_time_and_good_for_an_hour() {
    let world = world(Kind::Sqlite, 3);
    let job = export(&world, "ada", &world.gid("forest").to_string()).gid();
    let pending = world.get("ada", &format!("/jobs/{job}"));
    assert_eq!(
        pending.json["data"]["new_graph_export"]["download_url"],
        Value::Null
    );
    world.work();
    let look = |token: &str| made(&world, token, &job)["download_url"].clone();
    let first = look("ada");
    let first = first.as_str().unwrap();
    let below = first.strip_prefix("https://work.test/-/exports/").unwrap();
    let (name, ticket) = below.split_once("?ticket=").unwrap();
    let file = world.api.admit_download(name, ticket).unwrap();
    assert_eq!(name, format!("{file}.json.gz"));
    world.advance(1800);
    let second = look("ada");
    assert_ne!(
        first,
        second.as_str().unwrap(),
        "fresh, though nothing was committed"
    );
    assert!(world.api.admit_download(name, ticket).is_ok());
    world.advance(1800);
    let late = world.api.admit_download(name, ticket);
    assert_eq!(late, Err(TicketError::Expired));
    let (_, ticket) = second.as_str().unwrap().split_once("?ticket=").unwrap();
    assert!(world.api.admit_download(name, ticket).is_ok());
    let other = world.api.admit_download("1.json.gz", ticket);
    assert_eq!(other, Err(TicketError::Invalid));
    // An app that may only poll jobs does not get at the file.
    assert_eq!(look("ada[jobs:read]"), Value::Null);
    // Nobody else reads the job.
    for token in ["mel", "robot", "bob"] {
        assert_eq!(world.get(token, &format!("/jobs/{job}")).status, 403);
    }
    world.advance(24 * 3600);
    assert_eq!(look("ada"), Value::Null, "the file goes soon");
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let world = world(Kind::Memory, 1);
    for (token, path, body, status, message) in [
        (
            "ada",
            "/exports/graph",
            json!({}),
            400,
            "parent: Missing input",
        ),
        (
            "ada",
            "/exports/graph",
            json!({"parent": "x"}),
            400,
            "parent: Not a recognized ID: x",
        ),
        (
            "ada",
            "/exports/graph",
            json!({"parent": "77"}),
            400,
            "parent: Unknown object: 77",
        ),
        (
            "robot",
            "/organization_exports",
            json!({}),
            400,
            "organization: Missing input",
        ),
        (
            "robot",
            "/organization_exports",
            json!({"organization": true}),
            400,
            "organization",
        ),
    ] {
        let answer = world.post(token, path, body);
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(answer.message().starts_with(message), "{}", answer.text);
    }
    let ada = world.gid("ada").to_string();
    assert_eq!(export(&world, "ada", &ada).status, 400, "a user is no root");
    let quarry = world.gid("quarry").to_string();
    let free = export(&world, "bob", &quarry);
    assert_eq!(free.status, 402, "{}", free.text);
    // In a batch, exports of organizations are not allowed.
    let action = json!({"relative_path": "/organization_exports", "method": "post", "data": {"organization": world.gid("orchid").to_string()}});
    let batch = world.post("robot", "/batch", json!({"actions": [action]}));
    assert_eq!(batch.json["data"][0]["status_code"], 400, "{}", batch.text);
}

#[test]
fn that_data_was_taken_out_is_in_the_audit_log() {
    for kind in KINDS {
        let world = world(kind, 1);
        let (orchid, forest) = (
            world.gid("orchid").to_string(),
            world.gid("forest").to_string(),
        );
        assert_eq!(export(&world, "ada", &forest).status, 201);
        let body = json!({ "organization": orchid });
        assert_eq!(
            world
                .post("robot", "/organization_exports", body.clone())
                .status,
            201
        );
        assert_eq!(world.post("ada", "/organization_exports", body).status, 403);
        for (event, resource) in [
            ("object_export_started", &forest),
            ("workspace_export_started", &orchid),
        ] {
            let path = format!("/workspaces/{orchid}/audit_log_events?event_type={event}");
            let log = world.get("robot", &path);
            let rows = log.json["data"].as_array().unwrap();
            assert_eq!(rows.len(), 1, "{}", log.text);
            assert_eq!(rows[0]["resource"]["gid"], **resource);
        }
    }
}

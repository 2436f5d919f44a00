//! Exports: a file has all that its user may see, each object once, even if the runner that writes it is stopped.
mod access;
mod resources;

use crate::interrupts::After;
use crate::jobs::{at_every_step, die_after, duplicate, forest, hold_after, status};
use crate::world::{Answer, KINDS, Kind, World};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use workgraph_api::features::exports::export_files::{ExportFiles, ExportWriteError};
use workgraph_api::job_runner::{JobProgress, NextJob};
use workgraph_core::jobs::FileEnd;
use workgraph_core::jobs::tree_export::CACHED_FROM;
use workgraph_core::jobs::{FileOutput, LeasedJob};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::ALL;
use workgraph_core::storage::ListPosition;
use workgraph_core::{Gid, InterruptReason};
use workgraph_wire::TicketError;

/// Files in memory, not compressed.
#[derive(Default)]
pub(crate) struct Files {
    files: Mutex<BTreeMap<Gid, File>>,
    /// The error of every write, if writes fail.
    broken: Mutex<Option<String>>,
}

#[derive(Clone, Default)]
struct File {
    fence: u64,
    bytes: Vec<u8>,
    whole: bool,
    /// The longest piece that was appended at once.
    widest: usize,
}

#[async_trait]
impl ExportFiles for Files {
    async fn append(&self, output: FileOutput<'_>) -> Result<FileEnd, ExportWriteError> {
        if let Some(reason) = self.broken.lock().unwrap().clone() {
            return Err(ExportWriteError::Failed(reason));
        }
        let mut files = self.files.lock().unwrap();
        let file = files.entry(output.file).or_default();
        if file.fence > output.fence {
            return Err(ExportWriteError::StaleFencingToken);
        }
        file.fence = output.fence;
        let length = usize::try_from(output.after.length).unwrap();
        assert!(file.bytes.len() >= length, "a part of the file is gone");
        file.bytes.truncate(length);
        file.bytes.extend_from_slice(output.bytes);
        file.whole = output.is_complete;
        file.widest = file.widest.max(output.bytes.len());
        Ok(FileEnd {
            length: file.bytes.len() as u64,
            ..FileEnd::default()
        })
    }
    async fn remove(&self, file: Gid) {
        self.files.lock().unwrap().remove(&file);
    }
}

impl Files {
    /// Returns a copy of the files.
    pub(crate) fn copy(&self) -> Self {
        Self {
            files: Mutex::new(self.files.lock().unwrap().clone()),
            broken: Mutex::default(),
        }
    }

    /// Returns the text of a complete file.
    pub(crate) fn text(&self, file: &str) -> String {
        let files = self.files.lock().unwrap();
        let file = &files[&Gid::parse(file).unwrap()];
        assert!(file.whole);
        String::from_utf8(file.bytes.clone()).unwrap()
    }

    /// Returns the records of a complete file.
    pub(crate) fn records(&self, file: &str) -> Vec<Value> {
        let files = self.files.lock().unwrap();
        let file = &files[&Gid::parse(file).unwrap()];
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
        // Also line by line, for readers that cannot hold all of it.
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

/// Returns the export of a job that has succeeded.
fn made(world: &World, token: &str, job: &str) -> Value {
    let job = world.get(token, &format!("/jobs/{job}"));
    assert_eq!(job.json["data"]["status"], "succeeded", "{}", job.text);
    job.json["data"]["new_graph_export"].clone()
}

/// Makes an export and returns its records.
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

/// Returns the path at which a record can be read alone.
fn path(record: &Value) -> Option<String> {
    let ty = text(record, "resource_type");
    let segment = match ty {
        "project_membership" => "project_memberships",
        "custom_field_setting" | "task_template_recipe" => return None,
        ty => ALL.iter().find(|r| r.name == ty).unwrap().path,
    };
    Some(format!("/{segment}/{}", text(record, "gid")))
}

/// Checks that every record is as the API shows it to the same user.
fn as_shown(world: &World, token: &str, records: &[Value]) {
    for record in records {
        let Some(path) = path(record) else { continue };
        let shown = world.get(token, &path);
        assert_eq!(shown.status, 200, "{path}: {}", shown.text);
        assert_eq!(&shown.json["data"], record, "{path}");
    }
}

/// Returns all nodes below a project, from the lists of the API.
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

/// Tasks of an export that is ended after each of its steps; `WORKGRAPH_CASES` makes it larger.
fn tasks_of_many_steps() -> usize {
    if std::env::var_os("WORKGRAPH_CASES").is_some() {
        60
    } else {
        18
    }
}

/// The runner crashes after every number of steps; and the next runner dies, too.
#[test]
fn a_runner_that_dies_leaves_neither_gaps_nor_doubles() {
    for kind in KINDS {
        let world = world(kind, tasks_of_many_steps());
        let forest = world.gid("forest").to_string();
        let whole = exported(&world, "ada", &forest);
        let begin = || (&world, export(&world, "ada", &forest));
        let points = at_every_step(Some(3), begin, |_, job, steps| {
            let made = made(&world, "ada", &job.gid());
            let records = world.files.records(text(&made, "gid"));
            assert_eq!(records, whole, "died after {steps} steps");
        });
        assert!(points > 12, "{points} points");
    }
}

/// Exports a project again and again, and lets its runner end in some way after no step, after one, and so on, until the job
/// ends earlier. `end` returns false if the job has failed by it. The next runner must come to the same file.
fn at_every_end(end: impl Fn(&World, &LeasedJob, usize) -> bool) {
    for kind in KINDS {
        let world = world(kind, tasks_of_many_steps());
        let forest = world.gid("forest").to_string();
        let whole = exported(&world, "ada", &forest);
        let mut points = 0;
        for steps in 0.. {
            let job = export(&world, "ada", &forest);
            let Some(leased_job) = hold_after(&world, steps) else {
                break;
            };
            if !end(&world, &leased_job, steps) {
                continue;
            }
            points += 1;
            world.work();
            let made = made(&world, "ada", &job.gid());
            let records = world.files.records(text(&made, "gid"));
            assert_eq!(records, whole, "ended after {steps} steps");
        }
        assert!(points > 12, "{points} points");
    }
}

/// Rows that were read but are not in the file yet are read again by the next runner: after the failure of a store, or a stop
/// of the server.
#[test]
fn a_runner_that_gives_its_job_back_leaves_neither_gaps_nor_doubles() {
    at_every_end(|world, leased_job, steps| {
        let at_once = steps % 2 == 0;
        let released = world.api.release_job(leased_job, at_once);
        world.run(released).unwrap();
        world.advance(if at_once { 0 } else { 31 });
        true
    });
}

/// The lease is renewed for the narrower step, and its runner dies.
#[test]
fn a_runner_that_dies_after_a_step_that_took_too_long_leaves_neither_gaps_nor_doubles() {
    at_every_end(|world, leased_job, _| {
        let late = After::new(0, InterruptReason::Deadline);
        let step = world.api.run_job_step_interruptible(leased_job, Some(late));
        let goes_on = match world.run(step).unwrap() {
            JobProgress::Continues(_) => true,
            // A step of one row has no narrower one: its job fails.
            JobProgress::Ended(_) => false,
            JobProgress::LeaseLost => panic!("nobody else has it"),
        };
        world.advance(31);
        goes_on
    });
}

#[test]
fn a_runner_that_dies_in_an_organization_leaves_neither_gaps_nor_doubles() {
    let world = world(Kind::Memory, 60);
    let body = json!({ "organization": world.gid("orchid").to_string() });
    let ask = || {
        let asked = world.post("robot", "/organization_exports", body.clone());
        (&world, asked.gid())
    };
    let (_, whole) = ask();
    world.work();
    let whole = world.files.records(&whole);
    let points = at_every_step(Some(3), ask, |_, begun, steps| {
        let records = world.files.records(&begun);
        assert_eq!(records, whole, "died after {steps} steps");
    });
    assert!(points > 20, "{points} points");
}

/// A runner that lost the job can no longer write to the file, even before its commit is refused.
#[test]
fn a_runner_that_wakes_late_does_not_spoil_the_file() {
    let world = world(Kind::Memory, 60);
    let forest = world.gid("forest").to_string();
    let whole = exported(&world, "ada", &forest);
    let job = export(&world, "ada", &forest);
    let Ok(NextJob::Job(late)) = world.run(world.api.lease_next_job()) else {
        panic!("a job waits");
    };
    world.advance(31);
    die_after(&world, 30);
    let mut late = late;
    loop {
        match world.run(world.api.run_job_step(&late)).unwrap() {
            JobProgress::Continues(next) => late = next,
            JobProgress::LeaseLost => break,
            JobProgress::Ended(_) => panic!("a late runner came to the end"),
        }
    }
    world.advance(31);
    world.work();
    let made = made(&world, "ada", &job.gid());
    assert_eq!(world.files.records(text(&made, "gid")), whole);
}

/// The data in memory is about that of one step, for a graph of any size.
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
    let files = world.files.files.lock().unwrap();
    let file = files.values().next().unwrap();
    let step = file.bytes.len() / 30;
    assert!(
        file.widest < 2 * step,
        "{} of {}",
        file.widest,
        file.bytes.len()
    );
}

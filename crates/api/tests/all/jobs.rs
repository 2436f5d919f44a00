//! Jobs: the work is done once and completely, even if a runner is stopped; never more than five at a time.
mod copied_people;
mod job_limits;
mod project_deletion;
mod stopped;
mod take_ups;
mod templates;

use crate::world::{Answer, KINDS, Kind, World};
use job_limits::active;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::borrow::Borrow;
use workgraph_api::job_runner::{JobProgress, NextJob};
use workgraph_core::Gid;
use workgraph_core::jobs::{DEADLINE_MS, JobStepResult, LEASE_MS, LeasedJob, RENEW_MS};
use workgraph_core::storage::{
    GraphStore, GraphStoreError, Guard, ListPosition, ReadQuery, ViewerKey,
};

const _: () = assert!(RENEW_MS < LEASE_MS && LEASE_MS < DEADLINE_MS);
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_testkit::Fixture;

/// Builds a project with sections, tasks three levels deep, and dependencies between them.
pub(crate) fn forest(f: &mut Fixture, orchid: Gid, ada: Gid, tasks: usize) -> Gid {
    let project = f.project(orchid, "Forest", ada);
    let mut sections = vec![f.section_in(project)];
    sections.push(f.section(project, orchid, "Clearing"));
    sections.push(f.section(project, orchid, "Empty"));
    let mut before: Option<Gid> = None;
    for n in 0..tasks {
        let section = sections[n % 2];
        let task = f.task_in(section, &format!("tree {n}"), ada);
        if let Some(before) = before.filter(|_| n % 3 == 0) {
            f.link(task, rel::DEPENDS, before, ListPosition::Rank(0), None);
        }
        for m in 0..n % 4 {
            let branch = f.subtask(task, &format!("branch {n}.{m}"), ada);
            if m == 1 {
                let leaf = f.subtask(branch, &format!("leaf {n}.{m}"), ada);
                f.link(leaf, rel::DEPENDS, task, ListPosition::Rank(0), None);
            }
        }
        before = Some(task);
    }
    project
}

fn world(kind: Kind, tasks: usize) -> World {
    World::build(kind, Default::default(), |f, names| {
        let project = forest(f, names["orchid"], names["ada"], tasks);
        names.insert("forest".to_owned(), project);
    })
}

/// Returns everything in a project as lines: sections, tasks in order, the subtasks and dependencies of each.
fn lines(world: &World, project: &str) -> Vec<String> {
    let mut out = Vec::new();
    let sections = world.get("ada", &format!("/projects/{project}/sections"));
    for section in sections.json["data"].as_array().unwrap() {
        out.push(format!("# {}", section["name"].as_str().unwrap()));
        let list = format!("/sections/{}/tasks", section["gid"].as_str().unwrap());
        below(world, &list, 0, &mut out);
    }
    out
}

fn below(world: &World, list: &str, depth: usize, out: &mut Vec<String>) {
    let mut offset = String::new();
    loop {
        let page = world.get(
            "ada",
            &format!("{list}?limit=100&opt_fields=name,dependencies,num_subtasks{offset}"),
        );
        for task in page.json["data"].as_array().unwrap() {
            let mut waits = Vec::new();
            for on in task["dependencies"].as_array().unwrap() {
                let on = world.get("ada", &format!("/tasks/{}", on["gid"].as_str().unwrap()));
                waits.push(on.json["data"]["name"].as_str().unwrap().to_owned());
            }
            let name = task["name"].as_str().unwrap();
            out.push(format!("{}{name} {waits:?}", "  ".repeat(depth)));
            if task["num_subtasks"] != 0 {
                let list = format!("/tasks/{}/subtasks", task["gid"].as_str().unwrap());
                below(world, &list, depth + 1, out);
            }
        }
        match page.next() {
            Some(next) => offset = format!("&offset={next}"),
            None => return,
        }
    }
}

pub(crate) fn duplicate(world: &World, token: &str) -> Answer {
    let forest = world.gid("forest");
    world.post(
        token,
        &format!("/projects/{forest}/duplicate"),
        json!({"name": "Copy", "team": world.gid("gardeners").to_string(),
            "include": "task_subtasks,task_dependencies"}),
    )
}

fn new_project(job: &Answer) -> String {
    job.json["data"]["new_project"]["gid"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub(crate) fn status(world: &World, job: &str) -> String {
    let job = world.get("ada", &format!("/jobs/{job}"));
    job.json["data"]["status"].as_str().unwrap().to_owned()
}

/// Claims a job and runs `steps` steps of it; then the runner is gone. Returns true if the job has not ended.
pub(crate) fn die_after(world: &World, steps: usize) -> bool {
    hold_after(world, steps).is_some()
}

/// Claims a job and runs some of its steps. Returns it as its runner has it then; `None` if it has ended earlier.
pub(crate) fn hold_after(world: &World, steps: usize) -> Option<Box<LeasedJob>> {
    let NextJob::Job(mut leased_job) = world.run(world.api.lease_next_job()).unwrap() else {
        return None;
    };
    for _ in 0..steps {
        match world.run(world.api.run_job_step(&leased_job)).unwrap() {
            JobProgress::Continues(next) => leased_job = next,
            JobProgress::Ended(_) | JobProgress::LeaseLost => return None,
        }
    }
    Some(leased_job)
}

/// Begins the same work again and again, and lets its runner die after no step, after one, and so on, until the job
/// ends earlier. The next runner dies too, after `again` steps. Then all jobs run to their end, and `check` gets the
/// result of `begin` and the number of steps after which the first runner died. Returns how often a runner died.
pub(crate) fn at_every_step<W: Borrow<World>, J>(
    again: Option<usize>,
    mut begin: impl FnMut() -> (W, J),
    mut check: impl FnMut(&World, J, usize),
) -> usize {
    for steps in 0.. {
        let (world, begun) = begin();
        let world = world.borrow();
        if !die_after(world, steps) {
            return steps;
        }
        let early = world.run(world.api.lease_next_job());
        assert!(matches!(early, Ok(NextJob::Later(Some(_)))), "leased");
        if let Some(steps) = again {
            world.advance(31);
            die_after(world, steps);
        }
        world.advance(31);
        world.work();
        check(world, begun, steps);
    }
    0
}

/// S38.
#[test]
fn a_copy_is_its_original_whatever_its_size() {
    for (kind, tasks) in [
        (Kind::Memory, 0),
        (Kind::Memory, 1),
        (Kind::Memory, 99),
        (Kind::Sqlite, 250),
    ] {
        let world = world(kind, tasks);
        let job = duplicate(&world, "ada");
        assert_eq!(job.status, 201, "{}", job.text);
        assert_eq!(status(&world, &job.gid()), "not_started");
        world.work();
        assert_eq!(status(&world, &job.gid()), "succeeded");
        let original = lines(&world, &world.gid("forest").to_string());
        assert_eq!(lines(&world, &new_project(&job)), original, "{tasks} tasks");
    }
}

#[test]
fn a_task_with_more_subtasks_than_a_step_holds_is_copied_whole() {
    let world = World::build(Kind::Memory, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let project = f.project(orchid, "Forest", ada);
        let wide = f.task_in(f.section_in(project), "wide", ada);
        for n in 0..1234 {
            let sub = f.subtask(wide, &format!("sub {n}"), ada);
            if n % 100 == 0 {
                f.subtask(sub, "leaf", ada);
            }
        }
        names.insert("forest".to_owned(), project);
    });
    let job = duplicate(&world, "ada");
    world.work();
    let original = lines(&world, &world.gid("forest").to_string());
    assert_eq!(original.len(), 1 + 1 + 1234 + 13);
    assert_eq!(lines(&world, &new_project(&job)), original);
}

/// The runner crashes after every number of checkpoints: the next runner goes on where the last commit ended.
#[test]
fn a_runner_that_dies_leaves_neither_gaps_nor_doubles() {
    for kind in KINDS {
        let begin = || {
            let world = world(kind, 130);
            let job = duplicate(&world, "ada");
            (world, job)
        };
        let points = at_every_step(Some(1), begin, |world, job, steps| {
            assert_eq!(status(world, &job.gid()), "succeeded");
            let original = lines(world, &world.gid("forest").to_string());
            let copy = lines(world, &new_project(&job));
            assert_eq!(copy, original, "died after {steps} steps");
        });
        assert!(points > 5, "{points} points");
    }
}

/// Returns the changes that a step of this job would write, without writing them.
async fn prepared(store: &dyn GraphStore, world: &World, leased_job: &LeasedJob) -> JobStepResult {
    let view = store.load(&leased_job.needs().unwrap()).await.unwrap();
    let more = match leased_job.more(&view).unwrap() {
        Some(want) => Some(store.load(&want).await.unwrap()),
        None => None,
    };
    let generate_gid = || world.api.next_gid();
    let step = leased_job
        .step(&view, more.as_ref(), now(world), &generate_gid)
        .unwrap();
    step.complete(None).unwrap()
}

fn now(world: &World) -> Time {
    Time::from_system(workgraph_api::Clock::now(&*world.clock))
}

/// Runs two runners: the first is slow, its lease ends, the second takes over, and then the first wakes with its step
/// ready. `fenced` is true if its changes keep the guard of the version.
fn slow_and_late(
    kind: Kind,
    fenced: bool,
) -> (Result<(), GraphStoreError>, Vec<String>, Vec<String>) {
    let world = world(kind, 130);
    let job = duplicate(&world, "ada");
    let Ok(NextJob::Job(mut leased_job)) = world.run(world.api.lease_next_job()) else {
        panic!("a job waits");
    };
    // On to the tasks, where a step creates nodes.
    let JobProgress::Continues(next) = world.run(world.api.run_job_step(&leased_job)).unwrap()
    else {
        panic!("there is more");
    };
    leased_job = next;
    let stepped = world.run(prepared(&*world.graph, &world, &leased_job));
    let mut changes = stepped.changes.unwrap();
    world.advance(31);
    die_after(&world, 1);
    if !fenced {
        let version = |g: &Guard| matches!(g, Guard::Version(gid, _) if *gid == leased_job.gid());
        changes.guards.retain(|g| !version(g));
    }
    let late = world.run(world.graph.commit(changes)).map(drop);
    world.advance(31);
    world.work();
    let original = lines(&world, &world.gid("forest").to_string());
    (late, lines(&world, &new_project(&job)), original)
}

#[test]
fn the_write_of_a_runner_whose_lease_ended_is_refused() {
    for kind in KINDS {
        let (late, copy, original) = slow_and_late(kind, true);
        assert_eq!(late, Err(GraphStoreError::Conflict));
        assert_eq!(copy, original);
    }
}

/// The broken twin: without the fence the late write is committed, and the copy is wrong.
#[test]
fn without_the_fence_the_late_write_spoils_the_copy() {
    let (late, copy, original) = slow_and_late(Kind::Memory, false);
    assert_eq!(late, Ok(()));
    assert_ne!(copy, original);
}

#[test]
fn a_job_that_is_not_done_in_time_has_failed_and_frees_its_place() {
    let world = world(Kind::Memory, 3);
    let job = duplicate(&world, "ada");
    die_after(&world, 1);
    world.advance(DEADLINE_MS as u64 / 1000);
    world.work();
    assert_eq!(status(&world, &job.gid()), "failed");
    assert_eq!(world.run(active(&*world.graph, world.gid("ada"))), 0);
}

#[test]
fn a_job_fails_when_its_original_or_its_copy_is_deleted() {
    for copy in [false, true] {
        let world = world(Kind::Memory, 3);
        let job = duplicate(&world, "ada");
        die_after(&world, 1);
        let gone = if copy {
            new_project(&job)
        } else {
            world.gid("forest").to_string()
        };
        let gone = world.call("ada", "DELETE", &format!("/projects/{gone}"), &Value::Null);
        assert_eq!(gone.status, 200);
        world.advance(31);
        world.work();
        assert_eq!(status(&world, &job.gid()), "failed");
    }
}

#[test]
fn what_a_job_makes_is_in_the_journal_like_any_change() {
    let world = world(Kind::Memory, 7);
    let before = world.events(0).len() as u64;
    duplicate(&world, "ada");
    world.work();
    let mut made = 0;
    for event in world.events(before) {
        assert_eq!(event.actor, Some(world.gid("ada")));
        use workgraph_core::model::registry::Type;
        use workgraph_core::storage::ChangeAction;
        for fact in event.change_records {
            assert_ne!(fact.ty, Type::Job, "jobs are nobody's news");
            made += usize::from(
                fact.ty == Type::Task && matches!(fact.action, ChangeAction::Added { .. }),
            );
        }
    }
    let original = lines(&world, &world.gid("forest").to_string());
    assert_eq!(
        made,
        original.iter().filter(|l| !l.starts_with('#')).count()
    );
}

#[test]
fn a_service_account_has_jobs_of_its_own() {
    let world = world(Kind::Memory, 3);
    let job = duplicate(&world, "robot");
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let read = world.get("robot", &format!("/jobs/{}", job.gid()));
    assert_eq!(read.json["data"]["status"], "succeeded", "{}", read.text);
    assert_eq!(
        world.get("ada", &format!("/jobs/{}", job.gid())).status,
        403
    );
}

#[test]
fn a_dead_runners_jobs_are_taken_back_at_once_when_it_is_known_to_be_dead() {
    let world = world(Kind::Sqlite, 130);
    let job = duplicate(&world, "ada");
    die_after(&world, 2);
    world.run(world.api.release_dead_leases()).unwrap();
    world.work();
    assert_eq!(status(&world, &job.gid()), "succeeded");
}

/// S37. The project is saved as a template and made into a project again, with a runner that dies in between.
#[test]
fn a_project_from_a_template_is_the_project_that_was_saved() {
    for kind in KINDS {
        let world = world(kind, 130);
        let forest = world.gid("forest");
        let saved = world.post(
            "ada",
            &format!("/projects/{forest}/saveAsTemplate"),
            json!({"name": "Any forest", "public": true, "team": world.gid("gardeners").to_string()}),
        );
        assert_eq!(saved.status, 201, "{}", saved.text);
        die_after(&world, 3);
        world.advance(31);
        world.work();
        let plan = saved.json["data"]["new_project_template"]["gid"]
            .as_str()
            .unwrap();
        let job = world.post(
            "ada",
            &format!("/project_templates/{plan}/instantiateProject"),
            json!({"name": "A forest"}),
        );
        die_after(&world, 2);
        world.advance(31);
        world.work();
        let original = lines(&world, &forest.to_string());
        assert_eq!(lines(&world, &new_project(&job)), original);
    }
}

/// Custom fields of the project and their values are copied, and search finds them.
#[test]
fn copies_have_the_custom_fields_of_their_originals() {
    let world = World::new(Kind::Sqlite);
    let (moss, lichen) = (world.gid("moss"), world.gid("lichen"));
    let value =
        json!({"custom_fields": {world.gid("vigor").to_string(): world.gid("lush").to_string()}});
    let set = world.call("ada", "PUT", &format!("/tasks/{lichen}"), &value);
    assert_eq!(set.status, 200, "{}", set.text);
    let show = |project: &str| {
        let tasks = world.get("ada", &format!("/projects/{project}/tasks?opt_fields=name,custom_fields.name,custom_fields.display_value"));
        let mut text = tasks.text;
        for task in tasks.json["data"].as_array().unwrap() {
            text = text.replace(task["gid"].as_str().unwrap(), "");
        }
        text
    };
    let job = world.post(
        "ada",
        &format!("/projects/{moss}/duplicate"),
        json!({"name": "Copy", "team": world.gid("gardeners").to_string()}),
    );
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let original = show(&moss.to_string());
    assert!(
        original.contains("\"display_value\":\"Lush\""),
        "{original}"
    );
    assert_eq!(show(&new_project(&job)), original);
}

/// Returns the number of edges of a relation that lead to a node.
async fn edges(
    store: &dyn GraphStore,
    to: Gid,
    rel: workgraph_core::model::registry::Relation,
) -> usize {
    let key = ViewerKey {
        user: to,
        service: None,
    };
    let want = ReadQuery::of(key).incoming_edges(to, rel, 10_000);
    store.load(&want).await.unwrap().sources(to, rel).len()
}

#[test]
fn what_jobs_leave_is_removed_soon_and_they_after_a_month() {
    for kind in KINDS {
        let world = world(kind, 130);
        let (done, running) = (duplicate(&world, "ada"), duplicate(&world, "ada"));
        let job = Gid::parse(&done.gid()).unwrap();
        let Ok(NextJob::Job(mut leased_job)) = world.run(world.api.lease_next_job()) else {
            panic!("jobs wait");
        };
        while let JobProgress::Continues(next) =
            world.run(world.api.run_job_step(&leased_job)).unwrap()
        {
            leased_job = next;
        }
        die_after(&world, 5);
        let other = Gid::parse(&running.gid()).unwrap();
        let left = || world.run(edges(&*world.graph, job, rel::COPIED));
        let before = world.run(edges(&*world.graph, other, rel::COPIED));
        let copied = left();
        assert!(copied > 200 && before > 0);
        // One step at a time, so that no other request waits for long.
        assert_eq!(world.run(world.api.cleanup_jobs(1)).unwrap(), 1);
        assert_eq!(left(), copied - 100);
        world.run(world.api.cleanup_jobs(100)).unwrap();
        assert_eq!(left(), 0);
        assert_eq!(
            world.run(edges(&*world.graph, other, rel::COPIED)),
            before,
            "goes on"
        );
        assert_eq!(
            world.run(world.api.cleanup_jobs(100)).unwrap(),
            0,
            "not yet"
        );
        assert_eq!(status(&world, &done.gid()), "succeeded");
        world.advance(31);
        world.work();
        assert_eq!(status(&world, &running.gid()), "succeeded");
        world.advance(31 * 24 * 3600);
        world.run(world.api.cleanup_jobs(100)).unwrap();
        for job in [done, running] {
            let gone = world.get("ada", &format!("/jobs/{}", job.gid()));
            assert_eq!(gone.status, 404, "{}", gone.text);
            let copy = world.get("ada", &format!("/projects/{}", new_project(&job)));
            assert_eq!(copy.status, 200, "what it made stays");
        }
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

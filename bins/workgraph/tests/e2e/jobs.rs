//! Kills the server with SIGKILL while a job copies a project, again and again.
//!
//! The promise: the job goes on where its last checkpoint ended, so in the end the copy is the original, without gaps
//! and without doubles. `WORKGRAPH_KILL_POINTS` sets the number of kills in a job, `WORKGRAPH_KILL_SEED` their
//! instants.
use crate::common::{
    Folder, Seeded, Server, WIDE, admin, binary, clock, command, is_about_one_node, pause, run,
};
use serde_json::{Value, json};
use std::io::Write as _;

/// Tasks of the project, half of them with two subtasks: a job of about ten steps.
const TASKS: usize = 400;

pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| {
        v.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {v}"))
    })
}

/// Carries out actions, ten to a batch. Returns the gids of the objects they made.
fn batch(server: &Server, actions: &[Value]) -> Vec<String> {
    let mut made = Vec::new();
    for ten in actions.chunks(10) {
        let body = json!({"data": {"actions": ten}});
        for outcome in server
            .data("POST", "/batch", Some(&body))
            .as_array()
            .unwrap()
        {
            assert_eq!(outcome["status_code"], 201, "{outcome}");
            made.push(outcome["body"]["data"]["gid"].as_str().unwrap().to_owned());
        }
    }
    made
}

pub(crate) fn plant(server: &Server) -> String {
    let project = server.project("Forest");
    let task = |n: usize| {
        json!({"relative_path": "/tasks", "method": "post",
        "data": {"name": format!("tree {n}"), "projects": [project]}})
    };
    let trees = batch(server, &(0..TASKS).map(task).collect::<Vec<_>>());
    let branches = trees.iter().step_by(2).flat_map(|tree| {
        ["left", "right"].map(|side| {
            json!({"relative_path": format!("/tasks/{tree}/subtasks"), "method": "post",
                "data": {"name": format!("{side} of {tree}")}})
        })
    });
    batch(server, &branches.collect::<Vec<_>>());
    project
}

/// Returns the names of the tasks in order, each with those of its subtasks. Creates of one batch are in no order, so
/// the order of the original counts.
fn lines(server: &Server, project: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut path = format!("/projects/{project}/tasks?limit=100&opt_fields=name,num_subtasks");
    loop {
        let page = server.ask("GET", &path, None).json();
        for task in page["data"].as_array().unwrap() {
            let mut line = task["name"].as_str().unwrap().to_owned();
            if task["num_subtasks"] != 0 {
                let below = format!("/tasks/{}/subtasks", task["gid"].as_str().unwrap());
                for sub in server.data("GET", &below, None).as_array().unwrap() {
                    line.push_str(&format!(" + {}", sub["name"].as_str().unwrap()));
                }
            }
            out.push(line);
        }
        match page["next_page"]["path"].as_str() {
            Some(next) => next.clone_into(&mut path),
            None => return out,
        }
    }
}

fn duplicate(server: &Server, project: &str) -> (String, String) {
    let body = json!({"data": {"name": "Copy", "include": "task_subtasks,task_dependencies"}});
    let path = format!("/projects/{project}/duplicate");
    let job = server.data("POST", &path, Some(&body));
    let gid = |v: &Value| v["gid"].as_str().unwrap().to_owned();
    (gid(&job), gid(&job["new_project"]))
}

pub(crate) fn status(server: &Server, job: &str) -> String {
    let job = server.data("GET", &format!("/jobs/{job}"), None);
    job["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_job_survives_sigkill_without_gaps_and_without_doubles() {
    if is_about_one_node("another node waits for the lease of each killed one, as in cluster::") {
        return;
    }
    let seed = setting("WORKGRAPH_KILL_SEED", 1);
    let points = usize::try_from(setting("WORKGRAPH_KILL_POINTS", 12)).unwrap();
    let folder = Folder::new("jobs");
    let mut server = Server::start(&folder, WIDE);
    let project = plant(&server);
    let original = lines(&server, &project);
    assert_eq!(original.len(), TASKS);
    let (began, mut random) = (clock(), Seeded(seed));
    let (mut kills, mut inside, mut jobs) = (0, 0, 0);
    while inside < points {
        let (job, copy) = duplicate(&server, &project);
        jobs += 1;
        loop {
            pause(random.below(60) as u64);
            server.kill();
            kills += 1;
            server = Server::start(&folder, WIDE);
            let now = status(&server, &job);
            assert_ne!(now, "failed", "seed {seed}, kill {kills}");
            if now == "succeeded" {
                break;
            }
            inside += 1;
            // Sooner or later it must be let go on.
            if random.below(4) == 0 {
                break;
            }
        }
        for _ in 0..2_000 {
            if status(&server, &job) == "succeeded" {
                break;
            }
            pause(10);
        }
        assert_eq!(
            status(&server, &job),
            "succeeded",
            "seed {seed}, kill {kills}"
        );
        assert_eq!(lines(&server, &copy), original, "seed {seed}, kill {kills}");
        server.data("DELETE", &format!("/projects/{copy}"), None);
    }
    let check = run_check(&folder, &mut server);
    assert!(check, "seed {seed}: the store is sound in the end");
    // Not through a macro, whose output would only be seen of a failed test.
    let _shown = writeln!(
        std::io::stderr(),
        "seed {seed}: {kills} kills, {inside} of them inside of a job; {jobs} jobs, 0 gaps, 0 doubles; {:.1} s",
        began.elapsed().as_secs_f64(),
    );
}

/// The first of two copies takes longer than asking for the second.
#[test]
fn how_many_jobs_a_user_may_have_changes_while_the_server_runs() {
    let folder = Folder::new("jobs-limit");
    let server = Server::start(&folder, WIDE);
    let path = format!("/projects/{}/duplicate", plant(&server));
    let shown = admin(&folder, &["limits", "set", "jobs=1"]);
    assert_eq!(shown["settings"]["jobs"], "1");
    if folder.shared().is_some() {
        // The other nodes take it over within five seconds.
        pause(6_000);
    }
    let body = json!({"data": {"name": "Copy"}});
    let start = || server.ask("POST", &path, Some(&body)).status;
    assert_eq!([start(), start()], [201, 429]);
    let wrong = run(&folder, &["admin", "limits", "set", "jobs=0"]);
    assert!(!wrong.status.success());
}

/// Starts a server with a project, and a job that exports it and waits for a worker.
fn waiting(folder: &Folder) -> (Server, String, String) {
    let server = Server::start(folder, &[WIDE, &[("run_jobs", "false")]].concat());
    let project = server.project("Forest");
    let body = json!({"data": {"parent": project}});
    let job = server.data("POST", "/exports/graph", Some(&body));
    let job = job["gid"].as_str().unwrap().to_owned();
    (server, project, job)
}

fn ends_as(server: &Server, job: &str, end: &str) -> bool {
    (0..2_000).any(|_| {
        let over = status(server, job) == end;
        if !over {
            pause(10);
        }
        over
    })
}

/// S99.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds have its switch")]
fn a_job_that_ends_the_process_fails_when_it_is_taken_up_a_third_time_and_the_server_stands() {
    if is_about_one_node("the process that ends is one of several") {
        return;
    }
    let folder = Folder::new("jobs-abort");
    let (mut server, project, job) = waiting(&folder);
    assert_eq!(server.stop(), Some(0));
    let deadly = || {
        let mut program = command(&binary());
        program.env("WORKGRAPH_TEST_ABORT", &project);
        program
    };
    for _ in 0..2 {
        let mut child = Server::spawn(deadly(), &folder, WIDE);
        let mut ended = None;
        for _ in 0..20_000 {
            ended = child.try_wait().unwrap();
            if ended.is_some() {
                break;
            }
            pause(1);
        }
        let ended = ended.unwrap_or_else(|| panic!("it lives: {}", folder.log()));
        assert_eq!(ended.code(), None, "it was aborted");
    }
    let mut server = Server::start_by(deadly(), &folder, WIDE);
    assert!(ends_as(&server, &job, "failed"), "{}", folder.log());
    let other = server.project("Meadow");
    let body = json!({"data": {"parent": other}});
    let next = server.data("POST", "/exports/graph", Some(&body));
    let next = next["gid"].as_str().unwrap();
    assert!(ends_as(&server, next, "succeeded"), "{}", folder.log());
    assert!(server.lives());
    assert!(folder.log().contains("2 times in a row"));
}

#[test]
fn jobs_wait_where_they_are_not_carried_out_and_can_be_cancelled() {
    let folder = Folder::new("jobs-cancel");
    let (mut server, _, job) = waiting(&folder);
    for list in [&["jobs"][..], &["jobs", "list"]] {
        let jobs = admin(&folder, list);
        assert_eq!(jobs[0]["gid"], *job);
        assert_eq!(jobs[0]["status"], "not_started");
        assert_eq!(jobs[0]["take_ups"], 0);
    }
    let cancelled = admin(&folder, &["jobs", "cancel", &job]);
    assert_eq!(cancelled, json!({"gid": job, "cancelled": true}));
    assert_eq!(status(&server, &job), "failed");
    assert_eq!(admin(&folder, &["jobs"]), json!([]));
    for wrong in [job.as_str(), "1", "x"] {
        let again = run(&folder, &["admin", "jobs", "cancel", wrong]);
        assert!(!again.status.success());
    }
    // Without a running server as well.
    let body = json!({"data": {"parent": server.project("Meadow")}});
    let next = server.data("POST", "/exports/graph", Some(&body));
    let next = next["gid"].as_str().unwrap();
    assert_eq!(server.stop(), Some(0));
    admin(&folder, &["jobs", "cancel", next]);
    let server = Server::start(&folder, WIDE);
    assert_eq!(status(&server, next), "failed");
}

fn run_check(folder: &Folder, server: &mut Server) -> bool {
    assert_eq!(server.stop(), Some(0));
    run(folder, &["check"]).status.success()
}

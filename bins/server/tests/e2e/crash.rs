//! Kills the server with SIGKILL under write load, again and again, and looks at what is left.
//!
//! The promise: a write that was acknowledged is there, and a write that was not is there as a whole
//! or not at all. `WORKGRAPH_KILL_POINTS` sets how often it is killed, `WORKGRAPH_KILL_SEED` what else
//! happens.
use crate::common::{
    Folder, Line, Seeded, Server, WIDE, binary, clock, command, pause, request, run,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// Connections that write at the same time.
const WRITERS: usize = 4;
/// Kills after which the work goes on in a new project, so that its listing stays short.
const PER_PROJECT: usize = 20;
/// Kills after which a new data folder is begun.
const PER_FOLDER: usize = 200;
const FIELDS: &str =
    "name,notes,completed,due_on,assignee,assignee_section,followers,memberships.section,projects";

/// What a task must look like.
#[derive(Clone, Debug, Default, PartialEq)]
struct Task {
    gid: String,
    name: String,
    notes: String,
    completed: bool,
    due_on: String,
    section: String,
    comments: Vec<String>,
    /// How many stories of each kind the changes must have left.
    stories: Stories,
    deleted: bool,
    touched: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stories {
    renamed: usize,
    described: usize,
    dated: usize,
    marked: usize,
}

/// A write that was sent and may not have been answered.
#[derive(Clone, Debug)]
enum Write {
    Create(Task),
    /// Everything about a task changes in one request.
    Change(usize, Task),
    Comment(usize, String),
    Move(usize, String),
    Delete(usize),
}

/// The scene that writers share.
#[derive(Clone, Debug)]
struct Scene {
    port: u16,
    token: String,
    me: String,
    other: String,
    project: String,
    sections: [String; 2],
}

/// What one writer has done.
#[derive(Clone, Debug, Default)]
struct Diary {
    tasks: Vec<Task>,
    open: Option<Write>,
    acknowledged: usize,
}

impl Scene {
    fn new(server: &Server, name: &str) -> Self {
        let project = server.project(name);
        let section = |name: &str| {
            let body = json!({"data": {"name": name}});
            server.data(
                "POST",
                &format!("/projects/{project}/sections"),
                Some(&body),
            )["gid"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let sections = [section("First"), section("Second")];
        let me = server.data("GET", "/users/me", None)["gid"]
            .as_str()
            .unwrap()
            .to_owned();
        let users = server.data(
            "GET",
            &format!("/workspaces/{}/users", server.workspace("paid")),
            None,
        );
        let other = users
            .as_array()
            .unwrap()
            .iter()
            .find(|u| u["gid"] != me.as_str())
            .unwrap();
        let other = other["gid"].as_str().unwrap().to_owned();
        Self {
            port: server.port,
            token: server.token().to_owned(),
            me,
            other,
            project,
            sections,
        }
    }

    /// The request of a write.
    fn request(&self, diary: &Diary, write: &Write) -> Vec<u8> {
        let gid = |at: usize| diary.tasks[at].gid.as_str();
        let (method, path, data) = match write {
            Write::Create(task) => {
                let place = json!([{"project": self.project, "section": task.section}]);
                let data = json!({"name": task.name, "notes": task.notes, "due_on": task.due_on, "memberships": place,
                    "assignee": "me", "followers": [self.other]});
                ("POST", "/tasks".to_owned(), Some(data))
            }
            Write::Change(at, task) => {
                let data = json!({"name": task.name, "notes": task.notes, "due_on": task.due_on, "completed": task.completed});
                ("PUT", format!("/tasks/{}", gid(*at)), Some(data))
            }
            Write::Comment(at, text) => (
                "POST",
                format!("/tasks/{}/stories", gid(*at)),
                Some(json!({"text": text})),
            ),
            Write::Move(at, section) => (
                "POST",
                format!("/sections/{section}/addTask"),
                Some(json!({"task": gid(*at)})),
            ),
            Write::Delete(at) => ("DELETE", format!("/tasks/{}", gid(*at)), None),
        };
        request(
            method,
            &path,
            &self.token,
            data.map(|d| json!({"data": d})).as_ref(),
        )
    }

    /// Writes until the connection breaks, or so often.
    fn write(
        &self,
        mut diary: Diary,
        mut random: Seeded,
        label: &str,
        most: usize,
        acks: &Sender<()>,
    ) -> Diary {
        let Ok(mut line) = Line::open(self.port) else {
            return diary;
        };
        for number in 0..most {
            let write = diary.next(self, &mut random, &format!("{label}-{number}"));
            let bytes = self.request(&diary, &write);
            diary.open = Some(write);
            let Ok(reply) = line.ask(&bytes) else {
                return diary;
            };
            assert!(
                reply.status < 300,
                "{:?}: {} {}",
                diary.open,
                reply.status,
                reply.text()
            );
            let write = diary.open.take().unwrap();
            let gid = reply.json()["data"]["gid"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            diary.done(write, &gid);
            diary.acknowledged += 1;
            // The other end is gone once the kill is decided.
            let _heard = acks.send(());
        }
        diary
    }
}

impl Diary {
    /// The next write: half of them creates.
    fn next(&self, scene: &Scene, random: &mut Seeded, label: &str) -> Write {
        let live: Vec<usize> = (0..self.tasks.len())
            .filter(|i| !self.tasks[*i].deleted)
            .collect();
        let kind = random.below(12);
        if live.is_empty() || kind < 5 {
            let section = scene.sections[random.below(2)].clone();
            let due_on = date(random);
            return Write::Create(Task {
                name: format!("made {label}"),
                notes: label.to_owned(),
                due_on,
                section,
                ..Task::default()
            });
        }
        let at = live[random.below(live.len())];
        match kind {
            5..=7 => {
                let mut task = self.tasks[at].clone();
                (task.name, task.notes) = (format!("changed {label}"), format!("notes {label}"));
                task.stories.renamed += 1;
                task.stories.described += 1;
                let due_on = date(random);
                task.stories.dated += usize::from(due_on != task.due_on);
                task.due_on = due_on;
                task.completed = !task.completed;
                task.stories.marked += 1;
                Write::Change(at, task)
            }
            8 | 9 => Write::Comment(at, format!("said {label}")),
            10 => {
                let from = &self.tasks[at].section;
                let to = scene.sections.iter().find(|s| *s != from);
                Write::Move(at, to.unwrap().clone())
            }
            _ => Write::Delete(at),
        }
    }

    /// Notes a write that took effect.
    fn done(&mut self, write: Write, gid: &str) {
        let at = match write {
            Write::Create(task) => {
                self.tasks.push(Task {
                    gid: gid.to_owned(),
                    ..task
                });
                self.tasks.len() - 1
            }
            Write::Change(at, task) => {
                self.tasks[at] = task;
                at
            }
            Write::Comment(at, text) => {
                self.tasks[at].comments.push(text);
                at
            }
            Write::Move(at, section) => {
                self.tasks[at].section = section;
                at
            }
            Write::Delete(at) => {
                self.tasks[at].deleted = true;
                at
            }
        };
        self.tasks[at].touched = true;
    }
}

fn date(random: &mut Seeded) -> String {
    format!(
        "2031-{:02}-{:02}",
        1 + random.below(12),
        1 + random.below(28)
    )
}

/// What is left after a kill, as the restarted server tells it.
struct Rest<'a> {
    line: Line,
    scene: &'a Scene,
    tasks: HashMap<String, Value>,
    complaints: Vec<String>,
}

impl<'a> Rest<'a> {
    /// Reads the listing of the project, page by page.
    fn read(scene: &'a Scene) -> Self {
        let mut rest = Self {
            line: Line::open(scene.port).unwrap(),
            scene,
            tasks: HashMap::new(),
            complaints: Vec::new(),
        };
        let mut path = format!(
            "/projects/{}/tasks?limit=100&opt_fields={FIELDS}",
            scene.project
        );
        loop {
            let page = rest.get(&path).1;
            for task in page["data"].as_array().unwrap() {
                if rest
                    .tasks
                    .insert(text(&task["gid"]), task.clone())
                    .is_some()
                {
                    rest.complaints.push(format!("listed twice: {task}"));
                }
            }
            match page["next_page"]["path"].as_str() {
                Some(next) => next.clone_into(&mut path),
                None => return rest,
            }
        }
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        let reply = self
            .line
            .ask(&request("GET", path, &self.scene.token, None))
            .unwrap();
        (reply.status, reply.json())
    }

    fn stories(&mut self, gid: &str) -> Vec<(String, String)> {
        let mut path = format!("/tasks/{gid}/stories?limit=100&opt_fields=resource_subtype,text");
        let mut stories = Vec::new();
        loop {
            let (status, page) = self.get(&path);
            if status != 200 {
                self.complaints
                    .push(format!("the stories of {gid}: {status} {page}"));
                return stories;
            }
            stories.extend(
                page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|s| (text(&s["resource_subtype"]), text(&s["text"]))),
            );
            match page["next_page"]["path"].as_str() {
                Some(next) => next.clone_into(&mut path),
                None => return stories,
            }
        }
    }

    /// Finds out whether the write that was under way took effect, and notes it if it did.
    fn settle(&mut self, diary: &mut Diary) -> bool {
        let Some(write) = diary.open.take() else {
            return false;
        };
        let found = |gid: &str| self.tasks.get(gid);
        let gid = match &write {
            Write::Create(task) => {
                let mut same = self
                    .tasks
                    .values()
                    .filter(|t| t["name"] == task.name.as_str())
                    .map(|t| text(&t["gid"]));
                same.next()
            }
            Write::Change(at, task) => {
                let gid = &diary.tasks[*at].gid;
                found(gid)
                    .filter(|t| t["name"] == task.name.as_str())
                    .map(|_| gid.clone())
            }
            Write::Move(at, section) => {
                let gid = &diary.tasks[*at].gid;
                found(gid)
                    .filter(|t| t["memberships"][0]["section"]["gid"] == section.as_str())
                    .map(|_| gid.clone())
            }
            Write::Delete(at) => {
                let gid = &diary.tasks[*at].gid;
                found(gid).is_none().then(|| gid.clone())
            }
            Write::Comment(at, said) => {
                let gid = diary.tasks[*at].gid.clone();
                self.stories(&gid)
                    .iter()
                    .any(|(_, text)| text == said)
                    .then_some(gid)
            }
        };
        let at = match &write {
            Write::Create(_) => None,
            Write::Change(at, _)
            | Write::Comment(at, _)
            | Write::Move(at, _)
            | Write::Delete(at) => Some(*at),
        };
        if let Some(at) = at {
            // What did not take effect must have left nothing.
            diary.tasks[at].touched = true;
        }
        gid.map(|gid| diary.done(write, &gid)).is_some()
    }

    /// Compares a task with what it must look like.
    fn compare(&mut self, task: &Task) {
        let gid = task.gid.as_str();
        if task.deleted {
            if self.tasks.contains_key(gid)
                || (task.touched && self.get(&format!("/tasks/{gid}")).0 != 404)
            {
                self.complaints.push(format!("deleted and back: {task:?}"));
            }
            return;
        }
        let Some(found) = self.tasks.get(gid) else {
            let alone = self.get(&format!("/tasks/{gid}?opt_fields={FIELDS}"));
            self.complaints.push(format!(
                "not in its project: {task:?}; by itself: {} {}",
                alone.0, alone.1
            ));
            return;
        };
        let mut followers: Vec<_> = found["followers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| text(&f["gid"]))
            .collect();
        followers.sort();
        let mut expected = vec![self.scene.me.clone(), self.scene.other.clone()];
        expected.sort();
        let sections: Vec<_> = found["memberships"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| text(&m["section"]["gid"]))
            .collect();
        let projects: Vec<_> = found["projects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| text(&m["gid"]))
            .collect();
        let right = [
            ("name", found["name"] == task.name.as_str()),
            ("notes", found["notes"] == task.notes.as_str()),
            ("completed", found["completed"] == task.completed),
            ("due_on", found["due_on"] == task.due_on.as_str()),
            (
                "assignee",
                found["assignee"]["gid"] == self.scene.me.as_str(),
            ),
            (
                "assignee_section",
                found["assignee_section"]["gid"].is_string(),
            ),
            ("followers", followers == expected),
            ("memberships", sections == [task.section.as_str()]),
            ("projects", projects == [self.scene.project.as_str()]),
        ];
        let wrong: Vec<_> = right
            .iter()
            .filter(|(_, fits)| !fits)
            .map(|(name, _)| *name)
            .collect();
        if !wrong.is_empty() {
            self.complaints
                .push(format!("{wrong:?} differ: {found} is not {task:?}"));
        }
        if task.touched {
            self.compare_stories(task);
        }
    }

    fn compare_stories(&mut self, task: &Task) {
        let stories = self.stories(&task.gid);
        let count = |kinds: &[&str]| {
            stories
                .iter()
                .filter(|(kind, _)| kinds.contains(&kind.as_str()))
                .count()
        };
        let comments: Vec<_> = stories
            .iter()
            .filter(|(kind, _)| kind == "comment_added")
            .map(|(_, text)| text.clone())
            .collect();
        let found = Stories {
            renamed: count(&["name_changed"]),
            described: count(&["notes_changed"]),
            dated: count(&["due_date_changed"]),
            marked: count(&["marked_complete", "marked_incomplete"]),
        };
        let born = (count(&["added_to_project"]), count(&["assigned"])) == (1, 1);
        if found != task.stories || comments != task.comments || !born {
            self.complaints
                .push(format!("stories differ: {stories:?} do not fit {task:?}"));
        }
    }

    /// Compares the whole project with all diaries.
    fn compare_all(&mut self, diaries: &[Diary]) {
        let mut live = 0;
        for task in diaries.iter().flat_map(|d| &d.tasks) {
            live += usize::from(!task.deleted);
            self.compare(task);
        }
        if self.complaints.is_empty() && self.tasks.len() != live {
            self.complaints.push(format!(
                "{} tasks are listed, {live} were made",
                self.tasks.len()
            ));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Counts over all kills.
#[derive(Debug, Default)]
struct Sum {
    acknowledged: usize,
    under_way: usize,
    took_effect: usize,
}

/// Lets the writers write and ends the server at a moment that the seed decides.
fn strike(
    scene: &Scene,
    diaries: &mut [Diary],
    random: &mut Seeded,
    label: &str,
    end: impl FnOnce(),
) {
    let (acks, heard) = mpsc::channel();
    let (moment, spins) = (1 + random.below(60), random.below(40_000));
    let hands: Vec<_> = diaries
        .iter_mut()
        .enumerate()
        .map(|(number, diary)| {
            let (scene, diary, acks) = (scene.clone(), std::mem::take(diary), acks.clone());
            let (random, label) = (Seeded(random.next()), format!("{label}-{number}"));
            thread::spawn(move || scene.write(diary, random, &label, usize::MAX, &acks))
        })
        .collect();
    drop(acks);
    // Ends early only if every writer met something unexpected, which join tells.
    let _acknowledged = heard.iter().take(moment).count();
    let spun = Arc::new(AtomicU32::new(0));
    for _ in 0..spins {
        spun.fetch_add(1, Ordering::Relaxed);
    }
    end();
    for (diary, hand) in diaries.iter_mut().zip(hands) {
        *diary = hand.join().unwrap();
    }
}

/// Kills a server on one folder this often.
fn campaign(seed: u64, first: usize, points: usize, sum: &mut Sum) {
    let folder = Folder::new("crash");
    let settings = [WIDE, &[("walk_cap", "0"), ("http.drain_timeout", "1s")]].concat();
    let mut server = Server::start(&folder, &settings);
    let mut past: Vec<(Scene, Vec<Diary>)> = Vec::new();
    let mut scene = Scene::new(&server, "Kill 0");
    let mut diaries = vec![Diary::default(); WRITERS];
    for point in first..first + points {
        let mut random = Seeded(seed.wrapping_mul(1_000_003).wrapping_add(point as u64));
        if point > first && (point - first).is_multiple_of(PER_PROJECT) {
            let next = Scene::new(&server, &format!("Kill {point}"));
            past.push((
                std::mem::replace(&mut scene, next),
                std::mem::replace(&mut diaries, vec![Diary::default(); WRITERS]),
            ));
        }
        for task in diaries.iter_mut().flat_map(|d| &mut d.tasks) {
            task.touched = false;
        }
        strike(
            &scene,
            &mut diaries,
            &mut random,
            &point.to_string(),
            || server.kill(),
        );
        let check = run(&folder, &["check"]);
        assert!(
            check.status.success(),
            "seed {seed}, kill {point}: check: {check:?}"
        );
        server = Server::start(&folder, &settings);
        scene.port = server.port;
        let mut rest = Rest::read(&scene);
        for diary in &mut diaries {
            sum.acknowledged += std::mem::take(&mut diary.acknowledged);
            sum.under_way += usize::from(diary.open.is_some());
            sum.took_effect += usize::from(rest.settle(diary));
        }
        rest.compare_all(&diaries);
        fail(seed, point, &rest.complaints);
    }
    past.push((scene, diaries));
    for (mut scene, mut diaries) in past {
        scene.port = server.port;
        for task in diaries.iter_mut().flat_map(|d| &mut d.tasks) {
            task.touched = true;
        }
        let mut rest = Rest::read(&scene);
        rest.compare_all(&diaries);
        fail(seed, first + points, &rest.complaints);
    }
    assert_eq!(
        server.stop(),
        Some(0),
        "the server ends by itself in the end"
    );
    let check = run(&folder, &["check"]);
    assert!(
        check.status.success(),
        "seed {seed}: check in the end: {check:?}"
    );
}

fn fail(seed: u64, point: usize, complaints: &[String]) {
    if !complaints.is_empty() {
        let list = complaints.iter().fold(String::new(), |mut out, c| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {c}");
            out
        });
        panic!(
            "seed {seed}, kill {point}: {} writes are lost or half applied:\n{list}",
            complaints.len()
        );
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| {
        v.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {v}"))
    })
}

/// B67. An object is there with its history and its places, or not at all.
#[test]
fn acknowledged_writes_survive_sigkill_and_no_change_is_half_applied() {
    let seed = setting("WORKGRAPH_KILL_SEED", 1);
    let points = usize::try_from(setting("WORKGRAPH_KILL_POINTS", 12)).unwrap();
    let (began, mut sum) = (clock(), Sum::default());
    for first in (0..points).step_by(PER_FOLDER) {
        campaign(seed, first, PER_FOLDER.min(points - first), &mut sum);
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(
            std::io::stderr(),
            "seed {seed}: {} of {points} kills, {} writes acknowledged, 0 lost; {} under way, {} of them there as a whole, none in part; {:.1} s",
            (first + PER_FOLDER).min(points),
            sum.acknowledged,
            sum.under_way,
            sum.took_effect,
            began.elapsed().as_secs_f64(),
        );
    }
    assert!(sum.acknowledged >= points, "{sum:?}");
}

#[test]
fn a_stop_answers_what_was_begun() {
    let folder = Folder::new("stop");
    let mut server = Server::start(&folder, WIDE);
    let mut scene = Scene::new(&server, "Stop");
    for round in 0..3 {
        let mut diaries = vec![Diary::default(); WRITERS];
        let mut code = None;
        strike(
            &scene,
            &mut diaries,
            &mut Seeded(round),
            &round.to_string(),
            || code = server.stop(),
        );
        assert_eq!(code, Some(0), "round {round}: {}", folder.log());
        server = Server::start(&folder, WIDE);
        scene.port = server.port;
        let mut rest = Rest::read(&scene);
        for diary in &mut diaries {
            // What a connection carried when it was closed was not read, so it has no effect.
            assert!(
                !rest.settle(diary),
                "round {round}: a write took effect and was not answered"
            );
        }
        rest.compare_all(&diaries);
        fail(round, 0, &rest.complaints);
        scene = Scene::new(&server, "Stop again");
    }
}

#[test]
fn a_first_start_that_was_killed_is_whole_or_refused() {
    let (mut whole, mut refused) = (0, 0);
    for round in 0..8u64 {
        let folder = Folder::new("first");
        let mut child = Server::spawn(command(&binary()), &folder, WIDE);
        pause(Seeded(round).next() % 150);
        child.kill().unwrap();
        child.wait().unwrap();
        let second = Server::spawn(command(&binary()), &folder, WIDE);
        match Server::wait(second, &folder) {
            Ok(mut server) => {
                let path = format!("/projects?workspace={}", server.workspace("paid"));
                assert_eq!(
                    server.data("GET", &path, None).as_array().unwrap().len(),
                    2,
                    "round {round}"
                );
                assert!(
                    server.token().len() > 20 && server.demo("/free_token").len() > 20,
                    "round {round}"
                );
                assert_eq!(server.stop(), Some(0));
                let check = run(&folder, &["check"]);
                assert!(check.status.success(), "round {round}: {check:?}");
                whole += 1;
            }
            Err(status) => {
                assert_eq!(status.code(), Some(1), "round {round}: {}", folder.log());
                assert!(
                    folder.log().contains("broken off"),
                    "round {round}: {}",
                    folder.log()
                );
                refused += 1;
            }
        }
    }
    assert_eq!(whole + refused, 8);
}

/// What is wrong, with which task, and how it comes about.
type Flaw = (&'static str, usize, fn(&mut Task));

#[test]
fn the_comparison_notices_whatever_is_lost_or_half_applied() {
    let folder = Folder::new("twin");
    let server = Server::start(&folder, WIDE);
    let scene = Scene::new(&server, "Twin");
    let (acks, _heard) = mpsc::channel();
    let diary = scene.write(Diary::default(), Seeded(3), "twin", 60, &acks);
    assert_eq!(diary.acknowledged, 60);
    let complaints = |diary: Diary| {
        let mut rest = Rest::read(&scene);
        rest.compare_all(&[diary]);
        rest.complaints.len()
    };
    assert_eq!(complaints(diary.clone()), 0, "what was written is there");
    let at = diary
        .tasks
        .iter()
        .position(|t| !t.deleted && !t.comments.is_empty())
        .unwrap();
    let gone = diary.tasks.iter().position(|t| t.deleted).unwrap();
    let flaws: &[Flaw] = &[
        ("a lost task", at, |t| t.gid.push('1')),
        ("a lost name", at, |t| t.name.push('x')),
        ("lost notes", at, |t| t.notes.push('x')),
        ("a lost date", at, |t| t.due_on.push('x')),
        ("a lost completion", at, |t| t.completed = !t.completed),
        ("a lost move", at, |t| t.section.push('1')),
        ("a lost comment", at, |t| t.comments.push("lost".to_owned())),
        ("half a comment", at, |t| t.comments.clear()),
        ("a name without its story", at, |t| t.stories.renamed += 1),
        ("notes without their story", at, |t| {
            t.stories.described += 1
        }),
        ("a date without its story", at, |t| t.stories.dated += 1),
        ("a completion without its story", at, |t| {
            t.stories.marked += 1
        }),
        ("a lost deletion", at, |t| t.deleted = true),
        ("a deletion too many", gone, |t| t.deleted = false),
    ];
    for (flaw, at, change) in flaws {
        let mut flawed = diary.clone();
        change(&mut flawed.tasks[*at]);
        assert!(complaints(flawed) > 0, "{flaw} is not noticed");
    }
    let mut flawed = diary;
    flawed.tasks.remove(at);
    assert!(
        complaints(flawed) > 0,
        "a task that nobody made is not noticed"
    );
}

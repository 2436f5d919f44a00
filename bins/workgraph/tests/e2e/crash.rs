//! Kills the server with SIGKILL under write load, again and again, and compares the graph with the acknowledged
//! writes.
//!
//! The promise: a write that was acknowledged is there, and a write that was not is there as a whole or not at all.
//! `WORKGRAPH_KILL_POINTS` sets the number of kills, `WORKGRAPH_KILL_SEED` all other choices.
mod campaign;
mod comparison;

use crate::common::{
    Folder, RawConnection, Seeded, Server, WIDE, binary, clock, command, pause, request, run,
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

/// Expected state of a task.
#[derive(Clone, Debug, Default, PartialEq)]
struct Task {
    gid: String,
    name: String,
    notes: String,
    completed: bool,
    due_on: String,
    section: String,
    comments: Vec<String>,
    /// Number of stories of each kind that the changes must have left.
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

/// Scene that the writers share.
#[derive(Clone, Debug)]
struct Scene {
    port: u16,
    token: String,
    me: String,
    other: String,
    project: String,
    sections: [String; 2],
}

/// Acknowledged writes of one writer, and the write under way.
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

    /// Returns the request of a write.
    fn request(&self, diary: &Diary, write: &Write) -> Vec<u8> {
        let gid = |at: usize| diary.tasks[at].gid.as_str();
        let (method, path, data) = match write {
            Write::Create(task) => {
                let membership = json!([{"project": self.project, "section": task.section}]);
                let data = json!({"name": task.name, "notes": task.notes, "due_on": task.due_on, "memberships": membership,
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

    /// Writes until the connection breaks, or the given number of times.
    fn write(
        &self,
        mut diary: Diary,
        mut random: Seeded,
        label: &str,
        most: usize,
        acks: &Sender<()>,
    ) -> Diary {
        let Ok(mut connection) = RawConnection::open(self.port) else {
            return diary;
        };
        for number in 0..most {
            let write = diary.next(self, &mut random, &format!("{label}-{number}"));
            let bytes = self.request(&diary, &write);
            diary.open = Some(write);
            let Ok(reply) = connection.ask(&bytes) else {
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
    /// Returns the next write: half of them creates.
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

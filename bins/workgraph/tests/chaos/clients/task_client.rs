//! Client that makes tasks, changes those of all clients, and reads them at any node.
use super::{Client, gid};
use crate::common::pause;
use crate::history::{Act, Found, Outcome};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// Number of the latest tasks that are changed and read.
const RECENT: usize = 6;

/// Returns the name of a task with a value.
pub(crate) fn name(value: u64) -> String {
    format!("v{value}")
}

/// Returns the value of a task.
pub(crate) fn value(task: &Value) -> Option<u64> {
    task["name"].as_str()?.strip_prefix('v')?.parse().ok()
}

impl Client {
    /// Makes tasks, changes and reads them until the history is over.
    pub(crate) fn work_on_tasks(&mut self) {
        while !self.shared.is_over() {
            let node = self.any_node();
            let turn = self.random.below(20);
            let recent = self.recent_task();
            let outcome = match (turn, recent) {
                (0..=4, _) | (_, None) => self.create(node),
                (5..=11, Some(task)) => self.change(node, task),
                (_, Some(task)) => self.read(node, task),
            };
            let millis = if matches!(outcome, Outcome::Done(_)) {
                10
            } else {
                30
            };
            pause(self.random.below(millis) as u64);
        }
    }

    fn recent_task(&mut self) -> Option<String> {
        let tasks = self.shared.tasks.lock().unwrap();
        let recent = &tasks[tasks.len().saturating_sub(RECENT)..];
        if recent.is_empty() {
            return None;
        }
        Some(recent[self.random.below(recent.len())].clone())
    }

    fn new_value(&self) -> u64 {
        self.shared.next_value.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a task.
    pub(crate) fn create(&mut self, node: usize) -> Outcome {
        let value = self.new_value();
        let body = json!({"data": {"name": name(value), "projects": [self.shared.project]}});
        let asked = ("POST", "/tasks", Some(&body));
        let outcome = self.ask(node, Act::Create { value }, asked, gid);
        if let Outcome::Done(Found::Gid(gid)) = &outcome {
            self.shared.tasks.lock().unwrap().push(gid.clone());
        }
        outcome
    }

    fn change(&mut self, node: usize, task: String) -> Outcome {
        let value = self.new_value();
        let body = json!({"data": {"name": name(value)}});
        let path = format!("/tasks/{task}");
        let asked = ("PUT", &*path, Some(&body));
        self.ask(node, Act::Write { task, value }, asked, super::nothing)
    }

    fn read(&mut self, node: usize, task: String) -> Outcome {
        let path = format!("/tasks/{task}?opt_fields=name");
        let found = |json: &Value| value(&json["data"]).map(Found::Value);
        self.ask(node, Act::Read { task }, ("GET", &path, None), found)
    }
}

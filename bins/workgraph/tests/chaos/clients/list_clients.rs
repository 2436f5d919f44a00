//! Clients that read lists, each page at another node, and the stream of events.
use super::{Client, outcome};
use crate::common::pause;
use crate::history::{Act, Found, Outcome};
use crate::scene::NODES;
use serde_json::Value;
use std::sync::atomic::Ordering;

/// Returns the gids of a list.
fn gids(list: &Value) -> Vec<String> {
    let gid = |item: &Value| item["gid"].as_str().map(str::to_owned);
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(gid)
        .collect()
}

impl Client {
    /// Reads lists until the history is over.
    pub(crate) fn read_lists(&mut self) {
        while !self.shared.is_over() {
            let is_static = self.random.below(2) == 0;
            self.list(is_static);
            pause(20 + self.random.below(80) as u64);
        }
    }

    /// Reads a whole list, each page at another node.
    pub(crate) fn list(&mut self, is_static: bool) -> Outcome {
        let node = self.any_node();
        self.record(node, Act::List { is_static }, |client| {
            client.pages(node, is_static)
        })
    }

    fn pages(&mut self, node: usize, is_static: bool) -> Outcome {
        let (project, limit) = if is_static {
            (&self.shared.access.static_project, 7)
        } else {
            (&self.shared.project, 40)
        };
        let mut path = format!("/projects/{project}/tasks?limit={limit}&opt_fields=gid");
        let mut all = Vec::new();
        for turn in 0.. {
            let reply = self.api((node + turn) % NODES, "GET", &path, None);
            let page = outcome(reply, |json| {
                let next = json["next_page"]["path"].as_str().unwrap_or_default();
                let page = [vec![next.to_owned()], gids(&json["data"])].concat();
                Some(Found::Gids(page))
            });
            let Outcome::Done(Found::Gids(mut page)) = page else {
                return page;
            };
            all.extend(page.drain(1..));
            match page.pop() {
                Some(next) if !next.is_empty() => path = next,
                _ => break,
            }
        }
        Outcome::Done(Found::Gids(all))
    }

    /// Reads the stream of the project's events, each pull at another node, until nothing happens any more. Returns the
    /// tasks that it says were added, in order.
    pub(crate) fn read_events(&mut self, sync: &str) -> Vec<String> {
        let (mut sync, mut added) = (sync.to_owned(), Vec::new());
        let mut is_last = false;
        for turn in 0.. {
            let path = format!("/events?resource={}&sync={sync}", self.shared.project);
            let reply = self.api(turn % NODES, "GET", &path, None);
            let Some(reply) = reply.filter(|reply| reply.status == 200) else {
                pause(50);
                continue;
            };
            let json = reply.json();
            let project = self.shared.project.as_str();
            let events = json["data"].as_array().into_iter().flatten();
            let of_project = events.filter(|event| {
                event["action"] == "added"
                    && event["type"] == "task"
                    && event["parent"]["gid"] == project
            });
            added.extend(
                of_project.filter_map(|e| e["resource"]["gid"].as_str().map(str::to_owned)),
            );
            json["sync"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut sync);
            if json["has_more"] != true {
                if is_last {
                    break;
                }
                // One more pull after the end: nothing happens any more.
                is_last = self.shared.is_settled.load(Ordering::Relaxed);
                pause(60);
            }
        }
        added
    }
}

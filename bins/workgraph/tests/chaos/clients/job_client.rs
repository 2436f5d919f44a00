//! Client that starts jobs: copies of a project, more than may be active at once, and exports.
use super::{Client, gid, outcome};
use crate::common::{clock, pause};
use crate::history::{Act, Found, Outcome};
use crate::scene::NODES;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;
use std::thread;
use std::time::Duration;

/// Copies that are asked for at once; five may be active.
const VOLLEY: usize = 7;
/// Longest wait for a job, which may have to wait for the end of a lease or two.
const PATIENCE: Duration = Duration::from_secs(120);

impl Client {
    /// Starts copies and exports until the history is over, and sees them to their ends.
    pub(crate) fn run_jobs(&mut self) {
        for turn in 0.. {
            let jobs = self.start_copies(turn);
            self.export();
            for job in &jobs {
                self.await_job(job);
            }
            for _ in 0..100 {
                if self.shared.is_over() {
                    return;
                }
                pause(50);
            }
        }
    }

    /// Asks for many copies at the same time. Returns the jobs.
    fn start_copies(&mut self, turn: usize) -> Vec<String> {
        let starters: Vec<_> = (0..VOLLEY)
            .map(|number| {
                let mut client = Self::new(&self.shared, self.random.next());
                let name = format!("copy {turn}-{number}");
                thread::spawn(move || {
                    let project = &client.shared.access.static_project;
                    let path = format!("/projects/{project}/duplicate");
                    let body = json!({"data": {"name": name, "include": "task_notes"}});
                    let asked = ("POST", &*path, Some(&body));
                    client.ask(number % NODES, Act::Copy { name }, asked, gid)
                })
            })
            .collect();
        let outcomes = starters.into_iter().map(|starter| starter.join().unwrap());
        let jobs: Vec<String> = outcomes
            .filter_map(|outcome| match outcome {
                Outcome::Done(Found::Gid(job)) => Some(job),
                _ => None,
            })
            .collect();
        for job in &jobs {
            self.job(job);
        }
        jobs
    }

    fn job(&mut self, job: &str) -> Option<String> {
        let node = self.any_node();
        let path = format!("/jobs/{job}");
        let act = Act::Job {
            job: job.to_owned(),
        };
        let status = |json: &Value| Some(Found::Text(json["data"]["status"].as_str()?.to_owned()));
        match self.ask(node, act, ("GET", &path, None), status) {
            Outcome::Done(Found::Text(status)) => Some(status),
            _ => None,
        }
    }

    fn await_job(&mut self, job: &str) {
        let begun = clock();
        while begun.elapsed() < PATIENCE {
            if matches!(self.job(job).as_deref(), Some("succeeded" | "failed")) {
                return;
            }
            pause(150);
        }
    }

    /// Exports the static project.
    pub(crate) fn export(&mut self) -> Outcome {
        let node = self.any_node();
        self.record(node, Act::Export, |client| client.export_from(node))
    }

    fn export_from(&mut self, node: usize) -> Outcome {
        let body = json!({"data": {"parent": self.shared.access.static_project}});
        let asked = self.api(node, "POST", "/exports/graph", Some(&body));
        let started = outcome(asked, gid);
        let Outcome::Done(Found::Gid(job)) = started else {
            return started;
        };
        let (path, begun) = (format!("/jobs/{job}"), clock());
        while begun.elapsed() < PATIENCE {
            pause(50);
            let node = self.any_node();
            let reply = self.api(node, "GET", &path, None);
            let Some(reply) = reply.filter(|reply| reply.status == 200) else {
                continue;
            };
            let job = reply.json()["data"].clone();
            if job["status"] == "failed" {
                return Outcome::Done(Found::Text("failed".to_owned()));
            }
            let url = job["new_graph_export"]["download_url"].as_str();
            if let Some(file) = url.and_then(|url| self.fetch(node, url)) {
                return Outcome::Done(Found::Text(file));
            }
        }
        Outcome::Done(Found::Text("it has no end".to_owned()))
    }

    /// Returns a file in plain.
    fn fetch(&mut self, node: usize, url: &str) -> Option<String> {
        let path = &url[url.find("/-/")?..];
        let bytes = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let reply = self.send(node, bytes.as_bytes())?;
        let mut text = String::new();
        let read = GzDecoder::new(&*reply.body).read_to_string(&mut text);
        (reply.status == 200 && read.is_ok()).then_some(text)
    }
}

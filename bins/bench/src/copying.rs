//! Copying a project: how fast a job goes.

use std::time::Duration;

use serde_json::json;

use crate::child::Server;
use crate::graph::{self, Graph, gid_of};
use crate::http::Client;
use crate::measure::Figure;
use crate::{Result, clock};

/// How many tasks the project has.
const TASKS: u64 = 10_000;
/// How many objects a job makes in one commit.
pub(crate) const STEP: i64 = 100;
/// How long a copy may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A project to be copied.
pub(crate) struct Original {
    project: String,
    tasks: u64,
}

impl Original {
    /// Makes it; no larger than the graph.
    pub(crate) fn make(client: &Client, graph: &Graph) -> Result<Self> {
        let tasks = TASKS.min(graph.tasks.len() as u64);
        let (project, make) = graph.project(client, "Benchmark original")?;
        graph::fill(client, make, tasks)?;
        Ok(Self { project, tasks })
    }

    /// Copies it with all that its tasks have: tasks a second.
    pub(crate) fn copy(&self, server: &Server, client: &Client) -> Result<Figure> {
        let include = "task_assignee,task_dates,task_followers,task_notes";
        let body = json!({"data": {"name": "Benchmark copy", "include": include}});
        let (began, before) = (clock::now(), server.cpu()?);
        let path = format!("/api/1.0/projects/{}/duplicate", self.project);
        let job = gid_of(&client.post(&path, &body)?)?;
        let path = format!("/api/1.0/jobs/{job}?opt_fields=status");
        loop {
            let job = client.get(&path)?;
            let time = clock::now().duration_since(began);
            match graph::member(job.get("data").unwrap_or(&job), "status")? {
                "succeeded" => {
                    let cpu = server.cpu()?.saturating_sub(before);
                    let tasks = self.tasks as f64;
                    return Ok(Figure {
                        rate: tasks / time.as_secs_f64(),
                        cpu: Some(cpu.as_secs_f64() * 1e6 / tasks),
                        ..Figure::default()
                    });
                }
                "failed" => return Err("a copy of a project failed".into()),
                _ if time > PATIENCE => return Err("a copy of a project does not end".into()),
                _ => clock::pause(Duration::from_millis(10)),
            }
        }
    }
}

//! Copying a project, which measures the speed of a job.

use anyhow::{Result, bail};
use std::time::Duration;

use serde_json::json;

use crate::bench_clock;
use crate::graph_builder;
use crate::graph_builder::{Graph, gid_of};
use crate::http_client::BenchClient;
use crate::measure::Figure;
use crate::server_process::ServerProcess;

/// Number of tasks in the project.
const TASKS: u64 = 10_000;
/// Number of objects that a job creates in one commit.
pub(crate) const STEP: i64 = 100;
/// Timeout of a copy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Project that the benchmark copies.
pub(crate) struct CopySource {
    project: String,
    tasks: u64,
}

impl CopySource {
    /// Creates the project, which is at most as large as the graph.
    pub(crate) fn make(client: &BenchClient, graph: &Graph) -> Result<Self> {
        let tasks = TASKS.min(graph.tasks.len() as u64);
        let (project, make) = graph.project(client, "Benchmark original")?;
        graph_builder::fill(client, make, tasks)?;
        Ok(Self { project, tasks })
    }

    /// Copies the project with all data of its tasks. The rate is in tasks per second.
    pub(crate) fn copy(&self, server: &ServerProcess, client: &BenchClient) -> Result<Figure> {
        let include = "task_assignee,task_dates,task_followers,task_notes";
        let body = json!({"data": {"name": "Benchmark copy", "include": include}});
        let (began, before) = (bench_clock::now(), server.cpu()?);
        let path = format!("/api/1.0/projects/{}/duplicate", self.project);
        let job = gid_of(&client.post(&path, &body)?)?;
        let path = format!("/api/1.0/jobs/{job}?opt_fields=status");
        loop {
            let job = client.get(&path)?;
            let time = bench_clock::now().duration_since(began);
            match graph_builder::member(job.get("data").unwrap_or(&job), "status")? {
                "succeeded" => {
                    let cpu = server.cpu()?.saturating_sub(before);
                    let tasks = self.tasks as f64;
                    return Ok(Figure {
                        rate: tasks / time.as_secs_f64(),
                        cpu: Some(cpu.as_secs_f64() * 1e6 / tasks),
                        ..Figure::default()
                    });
                }
                "failed" => bail!("a copy of a project failed"),
                _ if time > PATIENCE => bail!("a copy of a project does not end"),
                _ => bench_clock::pause(Duration::from_millis(10)),
            }
        }
    }
}

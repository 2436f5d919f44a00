//! The effect of long reads on short ones: the latency of light reads alone, and in parallel with connections that repeat
//! the longest possible reads.

use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bench_rows::Bound;
use crate::bench_run::Bench;
use crate::graph_builder;
use crate::graph_builder::NESTED;
use crate::loadgen::{self, LoadEnd, LoadResult, LoadSpec, RequestMaker};
use crate::measure::median;
use crate::measurements::gets;
use crate::report::ReportLine;

/// Name of these rows for `--only`.
const NAME: &str = "long-reads";
/// Connections that repeat long reads.
const LONG: usize = 8;
/// Time for which the long reads run before the light reads begin, and their minimum duration.
const LEAD: Duration = Duration::from_millis(500);

/// Measures the rows: the 99th percentile of a light read relative to that without long reads, and that of the liveness check.
pub(crate) fn measure(bench: &Bench<'_>) -> Result<Vec<ReportLine>> {
    if !bench.wanted(NAME) {
        return Ok(Vec::new());
    }
    let (token, addr) = (&bench.client.token, bench.server.addr);
    let tasks = bench.graph.tasks.iter();
    let tasks = tasks.map(|gid| format!("/api/1.0/tasks/{gid}")).collect();
    let light = gets(token, Arc::new(tasks));
    let live = gets(token, Arc::new(vec!["/-/livez".to_owned()]));
    let long = gets(
        &graph_builder::other_token(&bench.data)?,
        Arc::new(paths(bench)?),
    );
    let (mut times, mut alone, mut beside, mut lives) = (vec![], vec![], vec![], vec![]);
    for round in 1..=bench.args.rounds {
        println!("{NAME}: round {round}");
        let before = run(addr, 1, bench.time(), &light)?;
        let time = LEAD + bench.time() * 2 + LEAD;
        let (during, check) = std::thread::scope(|threads| {
            let long = threads.spawn(|| run(addr, LONG, time, &long));
            run(addr, 1, LEAD, &light)?;
            let during = run(addr, 1, bench.time(), &light)?;
            let check = run(addr, 1, bench.time(), &live)?;
            match long.join() {
                Ok(long) => long?,
                Err(_) => bail!("the long reads broke off"),
            };
            Ok::<_, anyhow::Error>((during, check))
        })?;
        times.push(during.p99 / before.p99.max(1.0));
        alone.push(before.p99);
        beside.push(during.p99);
        lives.push(check.p99 / 1_000.0);
    }
    let of = |figures: &[f64]| median(figures).context("no rounds");
    Ok(vec![
        ReportLine::absolute(
            &format!(
                "p99 of GET one task beside {LONG} connections of another token's long reads ({:.0} us), as a multiple of that alone ({:.0} us)",
                of(&beside)?,
                of(&alone)?
            ),
            of(&times)?,
            None,
            "x",
            Bound::AtMost(5.0, 2.0),
        ),
        ReportLine::absolute(
            "p99 of /-/livez beside the same",
            of(&lives)?,
            None,
            "ms",
            Bound::AtMost(100.0, 10.0),
        ),
    ])
}

/// Returns the paths of long reads: counts of a project, searches that match many tasks, and pages with all records
/// that their rows link to.
fn paths(bench: &Bench<'_>) -> Result<Vec<String>> {
    let project = &bench.graph.project;
    let counts = "num_tasks,num_incomplete_tasks,num_completed_tasks";
    let first = bench.graph.tasks.first().context("no tasks")?;
    let task = bench
        .client
        .get(&format!("/api/1.0/tasks/{first}?opt_fields=workspace"))?;
    let workspace = task
        .pointer("/data/workspace/gid")
        .and_then(|gid| gid.as_str())
        .context("a task without a workspace")?;
    let mut paths = vec![
        format!(
            "/api/1.0/workspaces/{workspace}/tasks/search?completed=false&sort_by=likes&limit=100&opt_fields={NESTED}"
        ),
        format!(
            "/api/1.0/projects/{project}/tasks?limit=100&opt_fields={NESTED},projects.members.name,projects.followers.name,\
             custom_fields,memberships.project.members.workspaces.name,notes,stories"
        ),
    ];
    // Projects with too many tasks are not counted.
    if bench.graph.tasks.len() < 50_000 {
        paths.push(format!(
            "/api/1.0/projects/{project}/task_counts?opt_fields={counts}"
        ));
    }
    Ok(paths)
}

/// Runs a load on the server without pinning threads to processors.
fn run(
    addr: SocketAddr,
    connections: usize,
    time: Duration,
    make: &Arc<RequestMaker>,
) -> Result<LoadResult> {
    let outcome = loadgen::run(LoadSpec {
        addr,
        connections,
        stop: LoadEnd::After(time),
        seed: None,
        pace: None,
        make: Arc::clone(make),
        seen: None,
    })?;
    match &outcome.sample {
        Some(sample) if outcome.failed() > 0 => bail!("{NAME}: {sample}"),
        _ => Ok(outcome),
    }
}

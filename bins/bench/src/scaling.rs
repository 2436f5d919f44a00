//! The share of their ratios that rows keep as the graph grows: two servers, with a large graph and a small one, in the
//! same rounds.

use anyhow::Result;
use std::fs;
use std::path::Path;

use crate::bench_cli::{GraphFolders, RunArgs};
use crate::bench_rows::BenchResult;
use crate::bench_rows::ROWS;
use crate::bench_run::Bench;
use crate::report::ReportLine;

/// Names of the rows that must keep their ratios.
const ROWS_KEPT: [&str; 2] = ["task-random", "page-nested"];

/// Measures the rows of [`ROWS_KEPT`] on the graph of a run, and on a new graph with the given number of tasks.
pub(crate) fn measure(
    large: &mut Bench<'_>,
    folder: &Path,
    binary: &Path,
    tasks: u64,
) -> Result<Vec<ReportLine>> {
    let rows = ROWS.iter().filter(|row| ROWS_KEPT.contains(&row.name));
    let rows: Vec<_> = rows.filter(|row| large.wanted(row.name)).collect();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let args = RunArgs {
        tasks,
        folders: GraphFolders {
            graph: None,
            ..large.args.folders.clone()
        },
        // Start-up and memory of this server are not measured.
        only: Some(String::from("none")),
        ..large.args.clone()
    };
    let folder = folder.join("beside");
    fs::create_dir_all(&folder)?;
    let mut small = Bench::start(&args, &folder, binary)?;
    let mut lines = Vec::new();
    for row in rows {
        let jobs = (large.job(row)?, small.job(row)?);
        large.fetch()?;
        small.fetch()?;
        let (mut here, mut there) = (Vec::new(), Vec::new());
        // This round is not counted: it takes a while until as much of a large file is mapped as of a small one.
        large.step(&jobs.0, 0)?;
        small.step(&jobs.1, 0)?;
        for round in 1..=large.args.rounds {
            println!("{} on both graphs: round {round}", row.name);
            here.push(large.step(&jobs.0, round)?);
            there.push(small.step(&jobs.1, round)?);
        }
        let [here, there] = [here, there].map(|rounds| BenchResult { row, rounds });
        lines.push(ReportLine::kept(&here, &there, tasks));
    }
    small.stop()?;
    large.notes.push(format!(
        "What rows keep of their ratios: a server with {tasks} tasks beside the one with {}, both measured in each round.",
        large.args.tasks
    ));
    Ok(lines)
}

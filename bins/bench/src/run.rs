//! The run: finds the server, measures it next to the ceilings, or only the ceilings, and prints the results.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::bench_cli::RunArgs;
use crate::bench_run::Bench;
use crate::count_report::counts_markdown;
use crate::expected_counts::ExpectedCounts;
use crate::group_commit::{CommitContent, GROUP};
use crate::measure::{self, Figure};
use crate::report::{self, ReportLine};
use crate::server_process::ServerProcess;
use crate::sqlite_baseline::{BaselineGraph, GraphShape};
use crate::{group_commit, long_reads, measurements, procfs, scaling};

/// Measures the selected rows, prints the table and writes the report.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let machine = procfs::machine();
    println!("{machine}");
    let folder = ScratchDir::make(&args.folders.data)?;
    let lines = match binary(args.server.as_deref())? {
        Some(binary) => {
            let mut bench = Bench::start(args, &folder.0, &binary)?;
            let kept = match args.beside {
                Some(tasks) => scaling::measure(&mut bench, &folder.0, &binary, tasks)?,
                None => Vec::new(),
            };
            let stalled = long_reads::measure(&bench)?;
            let (mut lines, notes) = bench.measure()?;
            lines.extend(stalled);
            lines.extend(kept);
            if args.only.is_none() {
                let how = format!(
                    "{} tasks; medians of {} interleaved rounds of {} s for each row and its ceiling, the load \
                     generator on the same machine. \"CPU\" is processor time of the server (or of the bare loop) for each \
                     request, page or row.",
                    args.tasks, args.rounds, args.seconds
                );
                let counts = counts_markdown(&ExpectedCounts::read(&args.counts)?, args.tasks);
                let measured = (&*machine, &*how);
                write(
                    &args.out,
                    &report::markdown(&counts, measured, &lines, &notes),
                )?;
            }
            lines
        }
        None => {
            println!("no workgraph binary beside this program and no --server: ceilings only");
            ceilings(args, &folder.0)?
        }
    };
    if lines.is_empty() {
        bail!("no row has such a name");
    }
    print!("{}", report::terminal(&lines));
    Ok(())
}

/// Scratch folder that is removed at the end of the run.
pub(crate) struct ScratchDir(pub(crate) PathBuf);

impl ScratchDir {
    pub(crate) fn make(under: &Path) -> Result<Self> {
        let path = under.join(std::process::id().to_string());
        fs::create_dir_all(&path)?;
        Ok(Self(path.canonicalize()?))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // If the folder can't be removed, it is only scratch data in the target folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the given server, or the one next to this program, if it exists.
pub(crate) fn binary(named: Option<&Path>) -> Result<Option<PathBuf>> {
    if let Some(path) = named {
        let found = path.canonicalize();
        return found
            .map(Some)
            .with_context(|| format!("--server {}", path.display()));
    }
    let beside = std::env::current_exe()?.with_file_name("workgraph");
    Ok(beside.is_file().then_some(beside))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Measures the ceilings without a server to compare.
fn ceilings(args: &RunArgs, folder: &Path) -> Result<Vec<ReportLine>> {
    let shape = GraphShape {
        tasks: args.tasks,
        users: 20,
        followers: 2,
        sections: 10,
        body: 300,
    };
    let scratch = BaselineGraph::build(folder, shape)?;
    let time = Duration::from_secs_f64(args.seconds);
    let make = measurements::gets("none", Arc::new(vec!["/api/1.0/tasks/1".to_owned()]));
    let (small, page) = (
        ServerProcess::bare(folder, "small", 1200)?,
        ServerProcess::bare(folder, "page", 40_000)?,
    );
    type Step<'a> = Box<dyn Fn() -> Result<Figure> + 'a>;
    let load = |server, connections| -> Step<'_> {
        let make = &make;
        Box::new(move || measure::load(server, connections, time, make))
    };
    let commit = |grain| -> Step<'_> {
        Box::new(move || group_commit::run(folder, time, shape, (grain, GROUP)))
    };
    let steps: [(&str, Step<'_>); 7] = [
        ("bare hyper, 1.2 kB, 16 connections", load(&small, 16)),
        ("bare hyper, 1.2 kB, 1 connection", load(&small, 1)),
        ("bare hyper, 40 kB, 16 connections", load(&page, 16)),
        (
            "bare SQLite point read",
            Box::new(|| scratch.point_reads(time)),
        ),
        (
            "bare SQLite nested page",
            Box::new(|| scratch.nested_pages(time)),
        ),
        ("bare group commit by 64", commit(CommitContent::Row)),
        (
            "bare group commit by 64 of all rows of a task",
            commit(CommitContent::Task),
        ),
    ];
    let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); steps.len()];
    for _ in 0..args.rounds {
        for ((_, step), rounds) in steps.iter().zip(&mut figures) {
            rounds.push(step()?);
        }
    }
    let lines = steps.iter().zip(&figures);
    Ok(lines
        .map(|((what, _), rounds)| ReportLine::ceiling(what, &Figure::median(rounds)))
        .collect())
}

//! Two builds of the server beside each other: the same requests to both, in short turns, on copies of one graph.
//!
//! A figure of one run differs from that of the next by more than a change of the code does. Turns of a fraction of a
//! second meet the same moments of the machine, so their ratios tell what a change costs.

use anyhow::{Context, Result, bail};
use std::fs;
use std::time::Duration;

use crate::bench_cli::{CompareArgs, RunArgs};
use crate::bench_rows::{BenchRow, ROWS};
use crate::bench_run::Bench;
use crate::measure::{self, median};
use crate::measurements::LoadRequests;
use crate::procfs;
use crate::run::{ScratchDir, binary};

/// Compares all rows that were asked for, and prints the ratios of processor time: 1 is as good, less is slower.
pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    println!("{}", procfs::machine());
    let scratch = ScratchDir::make(&args.data)?;
    let now = binary(args.server.as_deref())?.context("no server: name one with --server")?;
    let before = args.before.canonicalize();
    let before = before.with_context(|| format!("--before {}", args.before.display()))?;
    let graph = args.graph.clone().unwrap_or(scratch.0.join("kept"));
    let common = RunArgs {
        server: None,
        server_env: Vec::new(),
        tasks: args.tasks,
        graph: Some(graph),
        rounds: args.rounds,
        seconds: args.seconds,
        out: scratch.0.join("unwritten"),
        beside: None,
        // Start-up and memory are not compared.
        only: Some("none".to_owned()),
        data: args.data.clone(),
    };
    // The older one builds the graph: it could not open a folder of the newer one.
    let folders = ["before", "now"].map(|name| scratch.0.join(name));
    for folder in &folders {
        fs::create_dir_all(folder)?;
    }
    let mut before = Bench::start(&common, &folders[0], &before)?;
    let mut now = Bench::start(&common, &folders[1], &now)?;
    println!("| row | before, us | now, us | before / now: median | mean |\n|---|---|---|---|---|");
    for row in ROWS {
        if args
            .only
            .as_deref()
            .is_none_or(|only| row.name.contains(only))
        {
            println!("{}", compare(row, args, &mut before, &mut now)?);
        }
    }
    before.stop()?;
    now.stop()
}

/// Measures one row. Returns its line of the table.
fn compare(
    row: &'static BenchRow,
    args: &CompareArgs,
    before: &mut Bench<'_>,
    now: &mut Bench<'_>,
) -> Result<String> {
    let jobs = (now.job(row)?, before.job(row));
    let (now_job, before_job) = match jobs {
        (now, Ok(before)) => (now, before),
        (_, Err(reason)) => return Ok(format!("| {} | {reason:#} | | | |", row.name)),
    };
    let (Some(new), Some(old)) = (now.requests(&now_job)?, before.requests(&before_job)?) else {
        return Ok(format!("| {} | not of requests alone | | | |", row.name));
    };
    now.fetch()?;
    before.fetch()?;
    let time = Duration::from_secs_f64(args.seconds);
    let (mut figures, mut ratios) = ((Vec::new(), Vec::new()), Vec::new());
    for round in 0..args.rounds {
        let turn = |bench: &Bench<'_>, requests: &LoadRequests| -> Result<f64> {
            let figure = measure::load(&bench.server, requests.connections, time, &requests.make)?;
            if !figure.errors.is_empty() {
                bail!("{}: {:?}", row.name, figure.errors);
            }
            figure.cpu.context("no request was answered")
        };
        // Sides take turns in going first.
        let (old, new) = if round.is_multiple_of(2) {
            let old = turn(before, &old)?;
            (old, turn(now, &new)?)
        } else {
            let new = turn(now, &new)?;
            (turn(before, &old)?, new)
        };
        figures.0.push(old);
        figures.1.push(new);
        ratios.push(old / new);
    }
    let [old, new] = [figures.0, figures.1].map(|side| median(&side).unwrap_or_default());
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let middle = median(&ratios).unwrap_or_default();
    Ok(format!(
        "| {} | {old:.1} | {new:.1} | {middle:.3} | {mean:.3} |",
        row.name
    ))
}

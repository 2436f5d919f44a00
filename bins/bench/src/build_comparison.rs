//! Comparison of two builds of the server: both get the same requests, in short turns, on copies of one graph.
//!
//! Figures of different runs differ by more than the effect of a code change. Turns of a fraction of a
//! second share the same conditions of the machine, so their ratios show the cost of a change.

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

/// Compares the selected rows, and prints the ratios of processor time: 1 is equal, less is slower.
pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    println!("{}", procfs::machine());
    let scratch = ScratchDir::make(&args.folders.data)?;
    let now = binary(args.server.as_deref())?.context("no server: name one with --server")?;
    let before = args.before.canonicalize();
    let before = before.with_context(|| format!("--before {}", args.before.display()))?;
    let mut folders = args.folders.clone();
    // Both servers work on copies of one graph.
    folders.graph.get_or_insert(scratch.0.join("kept"));
    let common = RunArgs::unmeasured(args.tasks, folders);
    let rows: Vec<_> = ROWS
        .iter()
        .filter(|row| {
            args.only
                .as_deref()
                .is_none_or(|only| row.name.contains(only))
        })
        .collect();
    let mut pairs: Vec<Pairs> = rows.iter().map(|_| Pairs::default()).collect();
    for start in 0..args.starts {
        let folders = ["before", "now"].map(|name| scratch.0.join(format!("{name}-{start}")));
        for folder in &folders {
            fs::create_dir_all(folder)?;
        }
        // The older build creates the graph, since it could not open a folder of the newer one.
        let mut before = Bench::start(&common, &folders[0], &before)?;
        let mut now = Bench::start(&common, &folders[1], &now)?;
        for (row, pairs) in rows.iter().zip(&mut pairs) {
            pairs.measure(row, args, &mut before, &mut now)?;
        }
        before.stop()?;
        now.stop()?;
        for folder in &folders {
            fs::remove_dir_all(folder)?;
        }
    }
    println!(
        "| row | before, us | now, us | before / now: median | mean | of each start |\n|---|---|---|---|---|---|"
    );
    for (row, pairs) in rows.iter().zip(&pairs) {
        println!("| {} | {} |", row.name, pairs.shown());
    }
    Ok(())
}

/// Figures of one row from all starts.
#[derive(Default)]
struct Pairs {
    before: Vec<f64>,
    now: Vec<f64>,
    /// Ratios of the pairs, by starts.
    ratios: Vec<Vec<f64>>,
    /// Reason why the row can't be compared.
    refused: Option<String>,
}

impl Pairs {
    /// Measures the pairs of one start.
    fn measure(
        &mut self,
        row: &'static BenchRow,
        args: &CompareArgs,
        before: &mut Bench<'_>,
        now: &mut Bench<'_>,
    ) -> Result<()> {
        let jobs = (now.job(row)?, before.job(row));
        let (now_job, before_job) = match jobs {
            (now, Ok(before)) => (now, before),
            (_, Err(reason)) => {
                self.refused = Some(format!("{reason:#}"));
                return Ok(());
            }
        };
        let (Some(new), Some(old)) = (now.requests(&now_job)?, before.requests(&before_job)?)
        else {
            self.refused = Some("not of requests alone".to_owned());
            return Ok(());
        };
        now.fetch()?;
        before.fetch()?;
        let time = Duration::from_secs_f64(args.seconds);
        let mut ratios = Vec::new();
        for round in 0..args.rounds {
            let turn = |bench: &Bench<'_>, requests: &LoadRequests| -> Result<f64> {
                let connections = requests.connections;
                let figure = measure::load(&bench.server, connections, time, &requests.make)?;
                if !figure.errors.is_empty() {
                    bail!("{}: {:?}", row.name, figure.errors);
                }
                figure.cpu.context("no request was answered")
            };
            // The two sides alternate in going first.
            let (old, new) = if round.is_multiple_of(2) {
                let old = turn(before, &old)?;
                (old, turn(now, &new)?)
            } else {
                let new = turn(now, &new)?;
                (turn(before, &old)?, new)
            };
            self.before.push(old);
            self.now.push(new);
            ratios.push(old / new);
        }
        self.ratios.push(ratios);
        Ok(())
    }

    /// Returns the cells of the row, or the reason why there are none.
    fn shown(&self) -> String {
        if let Some(reason) = &self.refused {
            return format!("{reason} | | | |");
        }
        let middle = |of: &[f64]| median(of).unwrap_or_default();
        let all: Vec<f64> = self.ratios.iter().flatten().copied().collect();
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        let starts = self.ratios.iter().map(|of| format!("{:.2}", middle(of)));
        format!(
            "{:.1} | {:.1} | {:.3} | {mean:.3} | {}",
            middle(&self.before),
            middle(&self.now),
            middle(&all),
            starts.collect::<Vec<_>>().join(" ")
        )
    }
}

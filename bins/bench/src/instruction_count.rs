//! Counts of instructions: fixed requests to the server under callgrind, compared with expected counts.
//!
//! Rates depend on the machine and on its other work. The number of user-space instructions is nearly the same in each run,
//! so a change of a few percent shows in a single run. The kernel's work is not counted.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::bench_cli::{CountArgs, RunArgs};
use crate::bench_clock;
use crate::bench_rows::ROWS;
use crate::bench_run::Bench;
use crate::callgrind::{Callgrind, InstructionProfile};
use crate::count_rows::{COUNT_ROWS, CountRow};
use crate::expected_counts::{CountChange, CountContext, ExpectedCounts, RowCount};
use crate::loadgen::{self, LoadEnd, LoadSpec, RequestMaker};
use crate::run::{ScratchDir, binary};
use crate::server_process::ServerProcess;

/// Seed of the requests before the counted ones; the counted parts use the seeds after it.
const SEED: u64 = 11;
/// Processor time within [`QUIET_FOR`] below which a server does nothing by itself.
const QUIET: Duration = Duration::from_millis(20);
const QUIET_FOR: Duration = Duration::from_millis(300);
/// Maximum number of checks until a server is quiet.
const LOOKS: usize = 200;

/// Maximum number of recounts of rows that have more instructions than expected.
const RECOUNTS: usize = 2;
/// Divisor of the number of requests in a quick run.
const QUICK: u64 = 4;
/// Factor of the tolerance of a quick run, which is less exact.
const QUICK_TOLERANCE: u64 = 5;

/// Counts the selected rows, prints them beside the expected counts, and fails if one has more.
pub(crate) fn run(args: &CountArgs) -> Result<()> {
    let server = binary(args.server.as_deref())?.context("no server: name one with --server")?;
    let rows: Vec<&CountRow> = COUNT_ROWS
        .iter()
        .filter(|row| args.all || !row.needs_large_graph)
        .filter(|row| row.is_quick || !args.quick)
        .filter(|row| {
            args.only
                .as_deref()
                .is_none_or(|only| row.name.contains(only))
        })
        .collect();
    if rows.is_empty() {
        bail!("--only: no row has such a name; see count_rows.rs");
    }
    let context = CountContext {
        build: build_of(&server, args.build.as_deref())?,
        tasks: args.tasks,
    };
    let mut expected = ExpectedCounts::read(&args.expected)?;
    // Two builds are compared with each other, instead of with the list. The older one comes first: it could not open a graph that
    // the newer one has built.
    let before = match &args.before {
        Some(before) => {
            let before = before.canonicalize();
            Some(counts(args, &before.context("--before")?, &rows)?)
        }
        None => None,
    };
    let mut now = counts(args, &server, &rows)?;
    if before.is_none() && !args.bless {
        count_again(args, &server, (&rows, &mut now), |row| {
            expected.get(&context, row.name)
        })?;
    }
    println!(
        "| row | instructions | before | now / before | floor | aim |\n|---|---|---|---|---|---|"
    );
    let (mut unlisted, mut differing) = (Vec::new(), Vec::new());
    for (at, (row, count)) in rows.iter().zip(&now).enumerate() {
        let then = match &before {
            Some(before) => before.get(at),
            None => expected.get(&context, row.name),
        };
        let shown = shown(count, then);
        println!("| {} | {shown} | {} | {} |", row.name, row.floor, row.aim);
        let Some(then) = then else {
            unlisted.push(row.name);
            continue;
        };
        let tolerance = match before {
            Some(_) => args.tolerance,
            None => tolerance(args, row),
        };
        let change = CountChange::of(count.total, then.total, tolerance);
        if change != CountChange::Within {
            differing.push((row.name, change, count.moved(then, args.functions)));
        }
    }
    for (row, change, moved) in &differing {
        println!("\n{row}: {}. Functions that differ most:", change.text());
        for (function, by) in moved {
            println!("{by:+10} {function}");
        }
    }
    if args.bless {
        for (row, count) in rows.iter().zip(now) {
            expected.put(&context, row.name, count);
        }
        fs::write(&args.expected, expected.text())?;
        println!("\nwrote {}", args.expected.display());
    } else if before.is_none() {
        let list = args.expected.display();
        if !unlisted.is_empty() {
            bail!(
                "{list} has no count of {unlisted:?} for this build and graph; write it with --bless"
            );
        }
        if differing
            .iter()
            .any(|(_, change, _)| *change == CountChange::More)
        {
            bail!(
                "a request takes more instructions than {list} says; if that is right, write the list again with --bless"
            );
        }
    }
    Ok(())
}

/// Returns the tolerance of a row in the comparison with the list.
fn tolerance(args: &CountArgs, row: &CountRow) -> u64 {
    match args.quick {
        true => row.tolerance * QUICK_TOLERANCE,
        false => row.tolerance,
    }
}

/// Recounts rows with more instructions than expected, and keeps the lower counts. A busy machine makes a server do
/// additional work, whereas a more expensive request takes more instructions each time.
fn count_again<'e>(
    args: &CountArgs,
    server: &Path,
    (rows, counted): (&[&CountRow], &mut [RowCount]),
    expected: impl Fn(&CountRow) -> Option<&'e RowCount>,
) -> Result<()> {
    for _ in 0..RECOUNTS {
        let pairs = rows.iter().zip(counted.iter_mut());
        let more = pairs.filter(|(row, count)| {
            expected(row).is_some_and(|then| {
                let change = CountChange::of(count.total, then.total, tolerance(args, row));
                change == CountChange::More
            })
        });
        let (more, kept): (Vec<&CountRow>, Vec<&mut RowCount>) =
            more.map(|(row, count)| (*row, count)).unzip();
        if more.is_empty() {
            break;
        }
        for (kept, again) in kept.into_iter().zip(counts(args, server, &more)?) {
            if again.total < kept.total {
                *kept = again;
            }
        }
    }
    Ok(())
}

/// Returns the name of the build: the given one, or the name of the server's folder.
fn build_of(server: &Path, named: Option<&str>) -> Result<String> {
    let folder = || Some(server.parent()?.file_name()?.to_str()?.to_owned());
    let name = named.map(str::to_owned).or_else(folder);
    name.context("name the build of the server with --build")
}

/// Returns the cells of a row: the count, the earlier count, and their ratio.
fn shown(count: &RowCount, then: Option<&RowCount>) -> String {
    match then {
        Some(then) => format!(
            "{} | {} | {:.3}",
            count.total,
            then.total,
            count.total as f64 / then.total.max(1) as f64
        ),
        None => format!("{} | - | -", count.total),
    }
}

/// Starts a server under callgrind, and counts the rows one after the other.
fn counts(args: &CountArgs, server: &Path, rows: &[&CountRow]) -> Result<Vec<RowCount>> {
    let scratch = ScratchDir::make(&args.folders.data)?;
    let common = RunArgs::unmeasured(args.tasks, args.folders.clone());
    let mut callgrind = Callgrind::new(&scratch.0);
    let mut bench = Bench::start_under(&common, &scratch.0, server, &callgrind.command())?;
    let mut counts = Vec::new();
    for row in rows {
        let count = match args.quick {
            true => row.requests / QUICK,
            false => row.requests,
        };
        let bench_row = ROWS.iter().find(|bench| bench.name == row.bench_row);
        let job = bench.job(bench_row.context("a row without requests")?)?;
        let requests = bench
            .requests(&job)?
            .context("a row of more than requests")?;
        let send = |seed, count| send(&bench, row.connections, seed, count, &requests.make);
        let part = (count / row.parts).max(1);
        let pid = bench.server.pid();
        callgrind.set_counting(pid, true)?;
        send(SEED, part)?;
        wait_until_quiet(&bench.server)?;
        let mut least: Option<(u64, PathBuf)> = None;
        for seed in SEED + 1..=SEED + row.parts {
            let counted = callgrind.count(pid, || send(seed, part));
            let counted = counted.with_context(|| row.name)?;
            if least.as_ref().is_none_or(|least| counted.0 < least.0) {
                least = Some(counted);
            }
        }
        callgrind.set_counting(pid, false)?;
        let (_, profile) = least.context("no part was counted")?;
        let profile = InstructionProfile::parse(&fs::read_to_string(profile)?)?;
        counts.push(RowCount::of(&profile, part));
    }
    bench.stop()?;
    Ok(counts)
}

/// Waits until a server has finished its own work after its start, or after other requests.
fn wait_until_quiet(server: &ServerProcess) -> Result<()> {
    for _ in 0..LOOKS {
        let before = server.cpu()?;
        bench_clock::pause(QUIET_FOR);
        if server.cpu()?.saturating_sub(before) < QUIET {
            return Ok(());
        }
    }
    bail!("the server is never idle")
}

/// Sends a number of requests, all of which must succeed.
fn send(
    bench: &Bench<'_>,
    connections: usize,
    seed: u64,
    count: u64,
    make: &Arc<RequestMaker>,
) -> Result<()> {
    let outcome = loadgen::run(LoadSpec {
        addr: bench.server.addr,
        connections,
        stop: LoadEnd::Count(count),
        seed: Some(seed),
        pace: None,
        make: Arc::clone(make),
        seen: None,
    })?;
    if !outcome.errors.is_empty() {
        bail!("{:?}, the first: {:?}", outcome.errors, outcome.sample);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_the_folder_of_the_server_unless_it_is_named() {
        let server = Path::new("/target/dist/workgraph");
        assert_eq!(build_of(server, None).unwrap(), "dist");
        assert_eq!(build_of(server, Some("mine")).unwrap(), "mine");
        assert!(build_of(Path::new("/"), None).is_err());
    }
}

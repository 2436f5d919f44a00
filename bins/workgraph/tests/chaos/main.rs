//! Histories of clients against three real nodes over one PostgreSQL and one Redis, under faults that a seed decides.
//!
//! `properties` has what must hold for each of them. A history is made of real processes, so the same seed gives the
//! same faults and the same choices of the clients, but not the same order of events to the microsecond.
//!
//! - `WORKGRAPH_CHAOS_SEED` is the seed of the first history;
//! - `WORKGRAPH_CHAOS_HISTORIES`, for the long form, is their number, and `WORKGRAPH_CHAOS_SECONDS` the time in which
//!   each has clients at work;
//! - `WORKGRAPH_CHAOS_KILLS` is the number of nodes that are killed in each of them, which other faults follow;
//! - `WORKGRAPH_CHAOS_KEEP` is a folder for the histories with violations, and for the figures so far;
//! - `WORKGRAPH_CHAOS_MINUTES` is the time after which none of them begins any more;
//! - `WORKGRAPH_CHAOS_LANES` is the number of histories that run at the same time: most of one is waiting for leases.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]

mod clients;
#[expect(
    dead_code,
    unused_imports,
    reason = "the end-to-end tests use the rest of it"
)]
#[path = "../e2e/common.rs"]
mod common;
mod end_state;
mod figures;
mod history;
mod nemesis;
mod node;
mod permits;
#[path = "../../../../crates/server/tests/support/postgres_server.rs"]
mod postgres_server;
mod properties;
mod receiver;
mod relay;
#[expect(dead_code, reason = "the end-to-end tests use it")]
#[path = "../../../../crates/server/tests/support/round_robin.rs"]
mod round_robin;
mod run;
mod scene;
mod store_checks;
mod template;
mod web;

use figures::Figures;
use nemesis::{Bounds, plan};
use properties::violations;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use template::{Template, template};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {text}"))
    })
}

/// Prints a line where it is seen of a test that passes, too.
fn say(line: &str) {
    let _shown = writeln!(std::io::stderr(), "{line}");
}

/// Runs a history and adds it to the figures.
fn examine(
    template: &Template,
    seed: u64,
    bounds: &Bounds,
    figures: &Mutex<Figures>,
) -> Vec<String> {
    let begun = common::clock();
    let Some(history) = run::run(template, seed, bounds) else {
        return Vec::new();
    };
    let found = violations(&history);
    figures.lock().unwrap().add(&history, found.len());
    let counts = (
        history.entries.len(),
        history.faults.len(),
        history.deliveries.len(),
    );
    let (requests, faults, deliveries) = counts;
    say(&format!(
        "seed {seed}: {requests} requests, {faults} faults, {deliveries} deliveries, {} violations, {:.1} s",
        found.len(),
        begun.elapsed().as_secs_f64()
    ));
    for violation in &found {
        say(&format!("seed {seed}: {violation}"));
    }
    if let Ok(folder) = std::env::var("WORKGRAPH_CHAOS_KEEP") {
        let folder = std::path::Path::new(&folder);
        let sums = figures.lock().unwrap().to_string();
        std::fs::write(folder.join("figures"), sums).unwrap();
        if !found.is_empty() {
            let text = format!("{history:#?}");
            std::fs::write(folder.join(format!("history-{seed}")), text).unwrap();
        }
    }
    found
}

/// S915. S927. S929. `just chaos-minute` kills twenty nodes in a minute.
#[test]
fn many_kills_and_a_failover_break_no_promise() {
    let Some(template) = template() else { return };
    let seed = setting("WORKGRAPH_CHAOS_SEED", 1);
    let kills = setting("WORKGRAPH_CHAOS_KILLS", 7);
    let bounds = Bounds {
        seconds: setting("WORKGRAPH_CHAOS_SECONDS", 18),
        kills: kills as usize,
        others: (kills * 2 / 5) as usize,
        with_failover: true,
        longest_stop: 1_500,
    };
    let figures = Mutex::default();
    let found = examine(template, seed, &bounds, &figures);
    say(&figures.into_inner().unwrap().to_string());
    assert_eq!(found, Vec::<String>::new(), "{:?}", plan(seed, &bounds));
}

/// Returns the bounds of a history of the long form: half as many other faults as kills, a failover for every 40 kills,
/// and in every 25th history a stop that may outlast every lease.
const fn short(seed: u64, seconds: u64, kills: u64) -> Bounds {
    Bounds {
        seconds,
        kills: kills as usize,
        others: (kills / 2 + seed % 2) as usize,
        with_failover: seed * kills % 40 < kills,
        longest_stop: if seed.is_multiple_of(25) {
            40_000
        } else {
            2_000
        },
    }
}

/// `just chaos` runs a thousand.
#[test]
fn many_histories_break_no_promise() {
    let Some(template) = template() else { return };
    let first = setting("WORKGRAPH_CHAOS_SEED", 1);
    let histories = setting("WORKGRAPH_CHAOS_HISTORIES", 2);
    let seconds = setting("WORKGRAPH_CHAOS_SECONDS", 6);
    let kills = setting("WORKGRAPH_CHAOS_KILLS", 2);
    let time = Duration::from_mins(setting("WORKGRAPH_CHAOS_MINUTES", 24 * 60));
    let begun = common::clock();
    let (next, figures, failed) = (AtomicU64::new(0), Mutex::default(), Mutex::new(Vec::new()));
    thread::scope(|lanes| {
        for _ in 0..setting("WORKGRAPH_CHAOS_LANES", 4) {
            lanes.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= histories || begun.elapsed() > time {
                        return;
                    }
                    let seed = first + number;
                    let bounds = short(seed, seconds, kills);
                    // One that could not be run must not end the others.
                    let found = catch_unwind(AssertUnwindSafe(|| {
                        examine(template, seed, &bounds, &figures)
                    }));
                    if !matches!(&found, Ok(found) if found.is_empty()) {
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    say(&figures.into_inner().unwrap().to_string());
    assert_eq!(
        failed.into_inner().unwrap(),
        Vec::<u64>::new(),
        "seeds with violations, or that could not be run"
    );
}

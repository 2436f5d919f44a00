//! Figures of many histories: faults, violations, and how long recovery takes.
use crate::history::{Act, Delivery, Entry, FaultWindow, Found, History, Micros, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// Gap between deliveries from which on they waited for a lease to end.
const FAILOVER_MIN: Micros = 1_000_000;
const SECOND: Micros = 1_000_000;

/// Sums over histories.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) histories: usize,
    pub(crate) violations: usize,
    requests: usize,
    lost: usize,
    deliveries: usize,
    faults: BTreeMap<String, usize>,
    /// Refusals by status, those apart that are a client's own fault.
    refused: BTreeMap<u16, usize>,
    /// Waits for the first delivery after the kill of the node that made them, if nothing else went wrong meanwhile.
    failovers: Vec<Micros>,
    /// Those in which other faults followed.
    longer_failovers: Vec<Micros>,
    /// Requests at other nodes while one was killed: all, and those that took less than a second.
    survivors: [usize; 2],
    /// The slower ones, by their kind and the fault before the kill.
    slow: BTreeMap<String, usize>,
    /// Waits for the first write at each node after PostgreSQL answered again.
    recoveries: Vec<Micros>,
    /// Nodes without a write until the next fault, or until the clients stopped.
    unseen: usize,
}

impl Figures {
    /// Adds a history.
    pub(crate) fn add(&mut self, history: &History, violations: usize) {
        self.histories += 1;
        self.violations += violations;
        self.requests += history.entries.len();
        self.deliveries += history.deliveries.len();
        for fault in &history.faults {
            *self.faults.entry(fault.name.clone()).or_default() += 1;
        }
        for entry in &history.entries {
            match entry.outcome {
                Outcome::Lost => self.lost += 1,
                Outcome::Refused { status, .. } => *self.refused.entry(status).or_default() += 1,
                Outcome::Done(_) => {}
            }
        }
        for (wait, is_alone) in failovers(history) {
            if is_alone {
                self.failovers.push(wait);
            } else {
                self.longer_failovers.push(wait);
            }
        }
        for fault in history.faults.iter().filter(|fault| fault.name == "kill") {
            self.count_survivors(history, fault);
        }
        let restarts =
            |fault: &&FaultWindow| matches!(&*fault.name, "kill of PostgreSQL" | "failover");
        for fault in history.faults.iter().filter(restarts) {
            for wait in recoveries(history, fault) {
                match wait {
                    Some(wait) => self.recoveries.push(wait),
                    None => self.unseen += 1,
                }
            }
        }
    }

    fn count_survivors(&mut self, history: &History, fault: &FaultWindow) {
        let during = |entry: &&Entry| entry.begun >= fault.begun && entry.begun < fault.ended;
        let other = |entry: &&Entry| Some(entry.node) != fault.node;
        // Those that are many requests, or go to several nodes, say nothing about one.
        let single = |entry: &&Entry| !matches!(entry.act, Act::List { .. } | Act::Export);
        for entry in history
            .entries
            .iter()
            .filter(during)
            .filter(other)
            .filter(single)
        {
            self.survivors[0] += 1;
            if entry.ended - entry.begun < SECOND {
                self.survivors[1] += 1;
                continue;
            }
            let act = format!("{:?}", entry.act);
            let act = act.split(' ').next().unwrap_or_default();
            let before = history.faults.iter().rfind(|f| f.begun < fault.begun);
            let before = before.map_or("nothing", |fault| &fault.name);
            let name = format!("{act} after {before}");
            *self.slow.entry(name).or_default() += 1;
        }
    }
}

/// Returns the waits for deliveries that a kill made longer than a moment; true for those in which nothing else happened.
/// A wait begins when there is something to deliver.
fn failovers(history: &History) -> Vec<(Micros, bool)> {
    let mut waits = Vec::new();
    let mut deliveries: Vec<&Delivery> = history.deliveries.iter().collect();
    deliveries.sort_unstable_by_key(|delivery| delivery.begun);
    for pair in deliveries.windows(2) {
        let (last, next) = (pair[0].begun, pair[1].begun);
        let during = |fault: &&FaultWindow| fault.begun < next && fault.ended > last;
        let faults: Vec<_> = history.faults.iter().filter(during).collect();
        let kill = faults
            .iter()
            .find(|fault| fault.name == "kill" && fault.begun >= last);
        let Some(kill) = kill else { continue };
        let begun = kill.begun.max(first_change(history, pair[1], last));
        let wait = next.saturating_sub(begun);
        if wait > FAILOVER_MIN {
            waits.push((wait, faults.len() == 1));
        }
    }
    waits
}

/// Returns the time at which the first of the changes of which a delivery tells may have been made, of those after a time.
fn first_change(history: &History, delivery: &Delivery, after: Micros) -> Micros {
    let tasks: BTreeSet<&str> = delivery.events.iter().map(|e| e.task.as_str()).collect();
    let changes = history
        .done()
        .filter(|(entry, found)| match (&entry.act, found) {
            (Act::Create { .. }, Found::Gid(task)) | (Act::Write { task, .. }, _) => {
                tasks.contains(task.as_str())
            }
            _ => false,
        });
    let ended = changes.map(|(entry, _)| entry.ended);
    ended.filter(|at| *at > after).min().unwrap_or(after)
}

/// Returns how long each node took to make the first write after the database was back; `None` for one that made none until
/// the next fault, or until the clients stopped.
fn recoveries(history: &History, fault: &FaultWindow) -> Vec<Option<Micros>> {
    let next = history
        .faults
        .iter()
        .map(|other| other.begun)
        .find(|at| *at > fault.begun);
    let next = next.unwrap_or(Micros::MAX).min(history.worked);
    let is_write = |entry: &&Entry| matches!(entry.act, Act::Create { .. } | Act::Write { .. });
    let done = |entry: &&Entry| matches!(entry.outcome, Outcome::Done(_));
    let first = |node: usize| {
        let entries = history.entries.iter().filter(|entry| entry.node == node);
        let ended = entries
            .filter(is_write)
            .filter(done)
            .map(|entry| entry.ended);
        ended.filter(|at| *at > fault.ended).min()
    };
    let waits = (0..history.nodes).map(|node| first(node).filter(|at| *at < next));
    waits.map(|at| Some(at? - fault.ended)).collect()
}

/// Returns the count, the median, the 99th percentile and the greatest of waits, in text.
fn waits(waits: &[Micros]) -> String {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    let at = |share: usize| {
        let place = (sorted.len() * share / 100).min(sorted.len().saturating_sub(1));
        sorted
            .get(place)
            .map_or(0.0, |micros| *micros as f64 / SECOND as f64)
    };
    let (median, late, most) = (at(50), at(99), at(100));
    format!(
        "{} times, p50 {median:.2} s, p99 {late:.2} s, max {most:.2} s",
        sorted.len()
    )
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} histories, {} violations",
            self.histories, self.violations
        )?;
        writeln!(
            f,
            "  {} requests, {} deliveries",
            self.requests, self.deliveries
        )?;
        writeln!(f, "  faults: {:?}", self.faults)?;
        writeln!(
            f,
            "  without a whole reply: {}; refused, by status: {:?}",
            self.lost, self.refused
        )?;
        writeln!(
            f,
            "  webhooks went on at another node: {}; with other faults meanwhile: {}",
            waits(&self.failovers),
            waits(&self.longer_failovers)
        )?;
        let [all, fast] = self.survivors;
        let share = 100.0 * fast as f64 / all.max(1) as f64;
        writeln!(
            f,
            "  requests at other nodes during a kill under 1 s: {share:.2} % of {all}"
        )?;
        writeln!(f, "  the slower ones: {:?}", self.slow)?;
        write!(
            f,
            "  first write at a node after PostgreSQL was back: {}; none before the next fault or the end: {}",
            waits(&self.recoveries),
            self.unseen
        )
    }
}

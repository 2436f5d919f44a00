//! Figures of many histories: faults, violations, and how long recovery takes.
use crate::history::{Act, Entry, FaultWindow, History, Micros, Outcome};
use std::collections::BTreeMap;

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
    /// Waits for the first write at each node after PostgreSQL answered again.
    recoveries: Vec<Micros>,
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
            self.recoveries.extend(recoveries(history, fault));
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
            self.survivors[1] += usize::from(entry.ended - entry.begun < SECOND);
        }
    }
}

/// Returns the waits for deliveries that a kill made longer than a moment; true for those in which nothing else happened.
fn failovers(history: &History) -> Vec<(Micros, bool)> {
    let mut waits = Vec::new();
    let mut begun: Vec<Micros> = history
        .deliveries
        .iter()
        .map(|delivery| delivery.begun)
        .collect();
    begun.sort_unstable();
    for pair in begun.windows(2) {
        let during = |fault: &&FaultWindow| fault.begun < pair[1] && fault.ended > pair[0];
        let faults: Vec<_> = history.faults.iter().filter(during).collect();
        let kill = faults
            .iter()
            .find(|fault| fault.name == "kill" && fault.begun >= pair[0]);
        let wait = kill.map(|fault| (pair[1] - fault.begun, faults.len() == 1));
        waits.extend(wait.filter(|(wait, _)| *wait > FAILOVER_MIN));
    }
    waits
}

/// Returns how long each node took to make the first write after the database was back, until the next fault.
fn recoveries(history: &History, fault: &FaultWindow) -> Vec<Micros> {
    let next = history
        .faults
        .iter()
        .map(|other| other.begun)
        .find(|at| *at > fault.begun);
    let next = next.unwrap_or(Micros::MAX);
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
    let waits = (0..history.nodes).filter_map(first).filter(|at| *at < next);
    waits.map(|at| at - fault.ended).collect()
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
        write!(
            f,
            "  first write at a node after PostgreSQL was back: {}",
            waits(&self.recoveries)
        )
    }
}

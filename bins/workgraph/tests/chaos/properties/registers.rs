//! Each task as a register: its value is written and read by all clients at all nodes.
use crate::history::{Act, Entry, Found, History, Micros, Outcome};
use std::collections::{BTreeMap, HashSet};

/// Operations of a task that are tried in every order; more would not fit into the set of those that are done.
const OPERATIONS_MAX: usize = 128;
const NEVER: Micros = Micros::MAX;

/// Write of a value or read of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Operation {
    is_write: bool,
    value: u64,
    begun: Micros,
    /// [`NEVER`] for a write of which nobody knows whether it took effect.
    ended: Micros,
}

/// Returns true if a write with this outcome may have taken effect or not. A 503 says that it has not.
fn is_unknown(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Lost | Outcome::Refused { status: 500, .. }
    )
}

fn operation(entry: &Entry) -> Option<(&str, Operation)> {
    let operation = |is_write, value, ended| Operation {
        is_write,
        value,
        begun: entry.begun,
        ended,
    };
    match (&entry.act, &entry.outcome) {
        (Act::Create { value }, Outcome::Done(Found::Gid(task))) => {
            Some((task, operation(true, *value, entry.ended)))
        }
        (Act::Write { task, value }, Outcome::Done(_)) => {
            Some((task, operation(true, *value, entry.ended)))
        }
        (Act::Write { task, value }, outcome) if is_unknown(outcome) => {
            Some((task, operation(true, *value, NEVER)))
        }
        (Act::Read { task }, Outcome::Done(Found::Value(value))) => {
            Some((task, operation(false, *value, entry.ended)))
        }
        _ => None,
    }
}

/// Returns the operations of each task; the last is a read of its value in the end, if it is there.
fn operations(history: &History) -> BTreeMap<&str, Vec<Operation>> {
    let mut all: BTreeMap<&str, Vec<Operation>> = BTreeMap::new();
    for (task, operation) in history.entries.iter().filter_map(operation) {
        all.entry(task).or_default().push(operation);
    }
    for (task, operations) in &mut all {
        if let Some(value) = history.end.tasks.get(*task) {
            operations.push(Operation {
                is_write: false,
                value: *value,
                begun: NEVER - 1,
                ended: NEVER - 1,
            });
        }
        decide_unknown(operations);
    }
    all
}

/// Decides about the writes of which nobody knows whether they took effect: one whose value was read did so before the end
/// of that read, and what the others did explains nothing.
fn decide_unknown(operations: &mut Vec<Operation>) {
    let mut first_read: BTreeMap<u64, Micros> = BTreeMap::new();
    for read in operations.iter().filter(|o| !o.is_write) {
        let ended = first_read.entry(read.value).or_insert(read.ended);
        *ended = read.ended.min(*ended);
    }
    for write in operations.iter_mut().filter(|o| o.ended == NEVER) {
        if let Some(read) = first_read.get(&write.value) {
            write.ended = *read;
        }
    }
    operations.retain(|o| o.ended != NEVER);
}

pub(crate) fn is_linearizable(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for (task, operations) in operations(history) {
        if operations.len() > OPERATIONS_MAX {
            wrong.push(format!(
                "task {task} has {} operations, which are too many",
                operations.len()
            ));
        } else if !has_order(&operations) {
            wrong.push(format!("no order explains task {task}: {operations:?}"));
        }
    }
    wrong
}

/// Returns true if the operations have an order that keeps those apart that did not overlap, and in which each read finds
/// the last write before it.
fn has_order(operations: &[Operation]) -> bool {
    let needed = (0..operations.len()).map(|at| 1_u128 << at);
    let needed: u128 = needed.sum();
    let mut seen: HashSet<(u128, u64)> = HashSet::new();
    // Values count from 1, so nothing was written yet.
    let mut open = vec![(0_u128, 0_u64)];
    while let Some((done, value)) = open.pop() {
        if done & needed == needed {
            return true;
        }
        if !seen.insert((done, value)) {
            continue;
        }
        let left = || {
            operations
                .iter()
                .enumerate()
                .filter(|(at, _)| done & (1 << at) == 0)
        };
        let first_end = left().map(|(_, o)| o.ended).min().unwrap_or(NEVER);
        for (at, operation) in left().filter(|(_, o)| o.begun <= first_end) {
            if operation.is_write {
                open.push((done | 1 << at, operation.value));
            } else if operation.value == value {
                open.push((done | 1 << at, value));
            }
        }
    }
    false
}

/// Returns why a read is too old: a value that was overwritten before it began.
fn staleness(operations: &[Operation], read: &Operation) -> Option<String> {
    let written = operations
        .iter()
        .find(|o| o.is_write && o.value == read.value)?;
    // A write is known to have taken effect when it is acknowledged, or when its value is read.
    let known = operations.iter().filter(|o| o.ended < read.begun);
    let later = known.filter(|o| o.value != read.value).find(|o| {
        let write = operations.iter().find(|w| w.is_write && w.value == o.value);
        write.is_some_and(|write| write.begun > written.ended)
    })?;
    Some(format!("{read:?} after {later:?}"))
}

fn stale(history: &History, is_last: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (task, operations) in operations(history) {
        let reads = operations.iter().filter(|o| !o.is_write);
        for read in reads.filter(|o| (o.begun == NEVER - 1) == is_last) {
            if let Some(why) = staleness(&operations, read) {
                wrong.push(format!("task {task}: {why}"));
            }
        }
    }
    wrong
}

pub(crate) fn last_write_stands(history: &History) -> Vec<String> {
    stale(history, true)
}

pub(crate) fn reads_are_fresh(history: &History) -> Vec<String> {
    stale(history, false)
}

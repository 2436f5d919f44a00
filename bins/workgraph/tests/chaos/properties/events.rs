//! Events as webhooks and streams tell of them.
use crate::history::{Act, Delivery, EventId, History};
use std::collections::{BTreeMap, BTreeSet};

/// Field that writes change.
const FIELD: &str = "name";

pub(crate) fn all_are_delivered(history: &History) -> Vec<String> {
    let answered = history
        .deliveries
        .iter()
        .filter(|delivery| delivery.is_answered);
    let told: BTreeSet<&EventId> = answered.flat_map(|delivery| &delivery.events).collect();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for event in told {
        *counts.entry((&event.task, &event.what)).or_default() += 1;
    }
    let count = |task: &str, what: &str| counts.get(&(task, what)).copied().unwrap_or(0);
    let mut writes: BTreeMap<&str, usize> = BTreeMap::new();
    for (entry, _) in history.done() {
        if let Act::Write { task, .. } = &entry.act {
            *writes.entry(task).or_default() += 1;
        }
    }
    let mut wrong = Vec::new();
    for task in history.end.tasks.keys() {
        let (added, wrote) = (
            count(task, "added"),
            writes.get(task.as_str()).copied().unwrap_or(0),
        );
        if added != 1 {
            wrong.push(format!("task {task} was added {added} times"));
        }
        if count(task, FIELD) < wrote {
            wrong.push(format!(
                "task {task}: {} of {wrote} changes",
                count(task, FIELD)
            ));
        }
    }
    wrong
}

pub(crate) fn come_in_order(history: &History) -> Vec<String> {
    let mut sorted: Vec<&Delivery> = history.deliveries.iter().collect();
    sorted.sort_by_key(|delivery| delivery.begun);
    let (mut seen, mut last, mut wrong) = (BTreeSet::new(), (0, 0), Vec::new());
    for event in sorted.iter().flat_map(|delivery| &delivery.events) {
        if seen.insert(event.id) {
            if event.id < last {
                wrong.push(format!("{:?} came after {last:?}", event.id));
            }
            last = last.max(event.id);
        }
    }
    wrong
}

pub(crate) fn repeat_for_a_reason(history: &History) -> Vec<String> {
    let mut first: BTreeMap<(u64, u64), &Delivery> = BTreeMap::new();
    let mut wrong = Vec::new();
    for delivery in &history.deliveries {
        let repeated = delivery
            .events
            .iter()
            .find_map(|event| first.get(&event.id));
        if let Some(before) = repeated {
            // The result of an answered attempt is lost with its node or on the way to the database.
            let during = |begun, ended| begun < delivery.begun && before.begun < ended;
            let fault = history
                .faults
                .iter()
                .find(|fault| during(fault.begun, fault.ended));
            if before.is_answered && fault.is_none() {
                wrong.push(format!("{delivery:?} after {before:?}"));
            }
        }
        for event in &delivery.events {
            first.insert(event.id, delivery);
        }
    }
    wrong
}

pub(crate) fn stream_is_whole(history: &History) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &history.streamed {
        *counts.entry(task).or_default() += 1;
    }
    let tasks = history.end.tasks.keys();
    let count = |task: &str| counts.get(task).copied().unwrap_or(0);
    let wrong = tasks.filter(|task| count(task) != 1);
    wrong
        .map(|task| format!("task {task} was added {} times", count(task)))
        .collect()
}

pub(crate) fn positions_only_grow(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for pair in history.end.positions.windows(2) {
        let ([_, to], [from, _]) = (pair[0], pair[1]);
        if from < to {
            wrong.push(format!(
                "a delivery from {from:?} was stored after one to {to:?}"
            ));
        }
    }
    wrong
}

//! Acknowledged work, its numbers and its audit rows in the store.
use crate::history::{Act, Found, History, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds of the Unix epoch from which gids count.
const EPOCH_MS: u64 = 1_735_689_600_000;

pub(crate) fn acknowledged_is_there(history: &History) -> Vec<String> {
    let missing = history
        .created()
        .filter(|(gid, _)| !history.end.tasks.contains_key(*gid));
    missing
        .map(|(gid, entry)| format!("task {gid} of {entry:?} is gone"))
        .collect()
}

pub(crate) fn numbers_are_dense(history: &History) -> Vec<String> {
    let end = &history.end;
    let mut wrong = Vec::new();
    let expected = end.journal_base + 1..;
    for ((seq, _), expected) in end.journal.iter().zip(expected) {
        if *seq != expected {
            wrong.push(format!("commit {seq} is where {expected} should be"));
            break;
        }
    }
    for pair in end.audit.windows(2) {
        let [(seq, at, gid), (next_seq, next_at, next_gid)] = [pair[0], pair[1]];
        if next_seq != seq + 1 || next_at < at || next_gid <= gid {
            wrong.push(format!("audit rows {pair:?}"));
        }
    }
    wrong
}

pub(crate) fn commits_differ(history: &History) -> Vec<String> {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    for (seq, gids) in &history.end.journal {
        for gid in gids {
            first.entry(gid).or_insert(*seq);
        }
    }
    let (mut wrong, mut seen) = (Vec::new(), BTreeMap::new());
    for (gid, _) in history.created() {
        match first.get(gid) {
            None => wrong.push(format!("no commit names task {gid}")),
            Some(seq) => {
                if let Some(other) = seen.insert(seq, gid) {
                    wrong.push(format!("commit {seq} made tasks {gid} and {other}"));
                }
            }
        }
    }
    wrong
}

pub(crate) fn acts_are_audited(history: &History) -> Vec<String> {
    let exported = history.done().filter(|(entry, _)| entry.act == Act::Export);
    let (exported, rows) = (exported.count(), history.end.audited_exports);
    let mut wrong = history.end.failed_checks.clone();
    if rows < exported {
        wrong.push(format!(
            "{exported} exports were made, and {rows} rows say so"
        ));
    }
    wrong
}

pub(crate) fn gids_differ(history: &History) -> Vec<String> {
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for entry in &history.entries {
        if let Outcome::Done(Found::Gid(gid)) = &entry.outcome
            && !seen.insert(gid)
        {
            wrong.push(format!(
                "{gid} was given twice, the second time for {:?}",
                entry.act
            ));
        }
    }
    wrong
}

pub(crate) fn gids_are_leased(history: &History) -> Vec<String> {
    let leases: BTreeMap<u64, u64> = history.end.leases.iter().copied().collect();
    let is_leased = |gid: &str| {
        let gid: u64 = gid.parse().unwrap_or_default();
        let (number, at) = ((gid >> 8) & 31, (gid >> 13) + EPOCH_MS);
        leases.get(&number).is_some_and(|until| at < *until)
    };
    let late = history.created().filter(|(gid, _)| !is_leased(gid));
    late.map(|(gid, entry)| format!("{gid} of {entry:?}, leases {leases:?}"))
        .collect()
}

//! Jobs, which take effect once, and limits, which all nodes share.
use crate::history::{Act, Entry, Found, History, Micros, Outcome};
use crate::template::STATIC_TASKS;
use std::collections::BTreeMap;

/// Time in which a quota is admitted.
const WINDOW: Micros = 60_000_000;
/// Longest time after which a request whose reply was lost can still be counted.
const LATE_MAX: Micros = 10_000_000;
/// Jobs of a user that may be active.
const JOBS_MAX: usize = 5;

pub(crate) fn quota_is_shared(history: &History) -> Vec<String> {
    let limits = &history.limits;
    let parts = if limits.is_local {
        // Each node has its part beside what Redis admits, and knows nothing of that part after a start.
        (limits.quota.div_ceil(history.nodes)) * (history.nodes + limits.restarts)
    } else {
        0
    };
    let bound = limits.quota * (1 + limits.flushes) + parts;
    let mut wrong = Vec::new();
    for wanted in 0..2 {
        let admitted = history.done().map(|(entry, _)| entry);
        let mut admitted: Vec<&Entry> = admitted
            .filter(|entry| matches!(entry.act, Act::Limited { key, .. } if key == wanted))
            .collect();
        admitted.sort_by_key(|entry| entry.begun);
        for (at, first) in admitted.iter().enumerate() {
            let later = admitted[at..].iter();
            let count = later
                .filter(|entry| entry.ended < first.begun + WINDOW)
                .count();
            if count > bound {
                wrong.push(format!(
                    "{count} of {bound} from {} on, key {wanted}",
                    first.begun
                ));
                break;
            }
        }
    }
    wrong
}

pub(crate) fn waits_are_true(history: &History) -> Vec<String> {
    let limits = &history.limits;
    if limits.is_local || limits.flushes > 0 {
        return Vec::new();
    }
    let is_limited = |entry: &&Entry, wanted: usize| matches!(entry.act, Act::Limited { key, .. } if key == wanted);
    // What an answer costs is taken after it is made, also of one that was lost on the way.
    let is_lost = |key: usize, at: Micros| {
        let mut entries = history
            .entries
            .iter()
            .filter(|entry| is_limited(entry, key));
        entries.any(|e| e.outcome == Outcome::Lost && e.begun < at && at < e.ended + LATE_MAX)
    };
    let mut wrong = Vec::new();
    for entry in &history.entries {
        if let Act::Limited { key, waited: true } = entry.act
            && matches!(entry.outcome, Outcome::Refused { status: 429, .. })
            && !is_lost(key, entry.begun)
        {
            wrong.push(format!("{entry:?}"));
        }
    }
    wrong
}

pub(crate) fn permits_are_capped(history: &History) -> Vec<String> {
    let limits = &history.limits;
    let most = |[reads, writes]: &&[u32; 2]| *reads > limits.read_cap || *writes > limits.write_cap;
    let wrong = history.permits.iter().filter(most);
    wrong
        .map(|counts| format!("{counts:?} reads and writes in flight"))
        .collect()
}

pub(crate) fn few_jobs_are_active(history: &History) -> Vec<String> {
    let started = history
        .done()
        .filter_map(|(entry, found)| match (&entry.act, found) {
            (Act::Copy { .. }, Found::Gid(job)) => Some((job.as_str(), entry.ended)),
            _ => None,
        });
    let mut active: BTreeMap<&str, (Micros, Micros)> =
        started.map(|(job, at)| (job, (at, at))).collect();
    for (entry, found) in history.done() {
        if let (Act::Job { job }, Found::Text(status)) = (&entry.act, found)
            && matches!(status.as_str(), "not_started" | "in_progress")
            && let Some((_, until)) = active.get_mut(job.as_str())
        {
            *until = (*until).max(entry.begun);
        }
    }
    let spans: Vec<_> = active
        .values()
        .filter(|(from, until)| until > from)
        .collect();
    let count = |at: Micros| {
        spans
            .iter()
            .filter(|(from, until)| *from <= at && at < *until)
            .count()
    };
    let most = spans
        .iter()
        .map(|(from, _)| count(*from))
        .max()
        .unwrap_or(0);
    let wrong = (most > JOBS_MAX).then(|| format!("{most} at the same time"));
    wrong.into_iter().collect()
}

pub(crate) fn jobs_take_effect_once(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in &history.entries {
        let Act::Copy { name } = &entry.act else {
            continue;
        };
        let copies = history.end.copies.get(name).map_or(&[][..], Vec::as_slice);
        let expected = match &entry.outcome {
            Outcome::Done(_) => 1..=1,
            Outcome::Lost | Outcome::Refused { status: 500, .. } => 0..=1,
            Outcome::Refused { .. } => 0..=0,
        };
        if !expected.contains(&copies.len()) || copies.iter().any(|tasks| *tasks != STATIC_TASKS) {
            wrong.push(format!("{entry:?} left copies with {copies:?} tasks"));
        }
    }
    wrong
}

pub(crate) fn exports_are_equal(history: &History) -> Vec<String> {
    let last = history.end.export.as_deref().unwrap_or_default();
    let mut wrong = Vec::new();
    for (entry, found) in history.done() {
        if let (Act::Export, Found::Text(text)) = (&entry.act, found)
            && text != last
        {
            let differ = text
                .bytes()
                .zip(last.bytes())
                .position(|(one, other)| one != other);
            let from = differ
                .unwrap_or(text.len().min(last.len()))
                .saturating_sub(100);
            let part = |text: &str| -> String {
                String::from_utf8_lossy(text.as_bytes().get(from..).unwrap_or_default())
                    .chars()
                    .take(300)
                    .collect()
            };
            let (one, other) = (part(text), part(last));
            wrong.push(format!(
                "the export of {} at {from}: {one} instead of {other}",
                entry.begun
            ));
        }
    }
    wrong
}

//! Replies of several nodes as one service's.
use crate::history::{Act, Found, History, Outcome};
use std::collections::BTreeSet;

pub(crate) fn lists_are_whole(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for (entry, found) in history.done() {
        let (Act::List { is_static }, Found::Gids(gids)) = (&entry.act, found) else {
            continue;
        };
        if *is_static {
            if *gids != history.end.static_order {
                wrong.push(format!("the static list at {} is {gids:?}", entry.begun));
            }
            continue;
        }
        let listed: BTreeSet<&str> = gids.iter().map(String::as_str).collect();
        if listed.len() != gids.len() {
            wrong.push(format!("the list at {} has some twice", entry.begun));
        }
        let before = history
            .created()
            .filter(|(_, made)| made.ended < entry.begun);
        for (gid, _) in before.filter(|(gid, _)| !listed.contains(gid)) {
            wrong.push(format!("task {gid} is not in the list at {}", entry.begun));
        }
        for gid in gids
            .iter()
            .filter(|gid| !history.end.tasks.contains_key(*gid))
        {
            wrong.push(format!("task {gid} is in the list at {} only", entry.begun));
        }
    }
    wrong
}

pub(crate) fn caches_change_nothing(history: &History) -> Vec<String> {
    let differ = |bodies: &[String]| bodies.iter().any(|body| Some(body) != bodies.last());
    let wrong = history
        .end
        .replies
        .iter()
        .filter(|(_, bodies)| differ(bodies));
    wrong
        .map(|(path, bodies)| format!("{path}: {bodies:?}"))
        .collect()
}

pub(crate) fn refusals_have_reasons(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in &history.entries {
        let Outcome::Refused { status, reason } = &entry.outcome else {
            continue;
        };
        let is_expected = matches!(
            (&entry.act, status),
            (_, 429 | 500 | 503) | (Act::Probe { .. }, 401) | (Act::Redeem { .. }, 400)
        );
        if !is_expected || reason.is_empty() {
            wrong.push(format!("{entry:?}"));
        }
    }
    wrong
}

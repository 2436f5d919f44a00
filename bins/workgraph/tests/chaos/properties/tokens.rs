//! Codes, tokens and page tokens at all nodes.
use crate::history::{Act, Entry, History, Micros, Outcome};
use std::collections::BTreeMap;

/// Returns the requests that gave a token back, by the token.
fn revocations(history: &History) -> BTreeMap<usize, &Entry> {
    let revoked = history.entries.iter().filter_map(|entry| match entry.act {
        Act::Revoke { token } => Some((token, entry)),
        _ => None,
    });
    revoked.collect()
}

pub(crate) fn revoked_is_dead(history: &History) -> Vec<String> {
    let revoked = revocations(history);
    let dead_since = |token: &usize| -> Option<Micros> {
        let entry = revoked.get(token)?;
        matches!(entry.outcome, Outcome::Done(_)).then_some(entry.ended)
    };
    let mut wrong = Vec::new();
    for (entry, _) in history.done() {
        if let Act::Probe { token } = &entry.act
            && dead_since(token).is_some_and(|since| entry.begun > since)
        {
            wrong.push(format!("{entry:?} after it was revoked"));
        }
    }
    wrong
}

pub(crate) fn codes_work_once(history: &History) -> Vec<String> {
    let mut codes: BTreeMap<usize, Vec<&Outcome>> = BTreeMap::new();
    for entry in &history.entries {
        if let Act::Redeem { code } = entry.act {
            codes.entry(code).or_default().push(&entry.outcome);
        }
    }
    let mut wrong = Vec::new();
    for (code, outcomes) in codes {
        let done = outcomes
            .iter()
            .filter(|o| matches!(o, Outcome::Done(_)))
            .count();
        let is_clear = |outcome: &&Outcome| {
            matches!(
                outcome,
                Outcome::Done(_)
                    | Outcome::Refused {
                        status: 400..=428,
                        ..
                    }
            )
        };
        if done > 1 || (done == 0 && outcomes.iter().all(is_clear)) {
            wrong.push(format!("code {code} was redeemed {done} times"));
        }
    }
    wrong
}

pub(crate) fn tokens_are_good_everywhere(history: &History) -> Vec<String> {
    let revoked = revocations(history);
    let is_wrong = |entry: &&Entry| match (&entry.act, &entry.outcome) {
        (Act::Probe { token }, Outcome::Refused { status: 401, .. }) => revoked
            .get(token)
            .is_some_and(|revoked| entry.ended < revoked.begun),
        (
            Act::List { .. },
            Outcome::Refused {
                status: 400..=428, ..
            },
        ) => true,
        _ => false,
    };
    history
        .entries
        .iter()
        .filter(is_wrong)
        .map(|entry| format!("{entry:?}"))
        .collect()
}

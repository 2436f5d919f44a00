//! Rules about the requests of a client.
use crate::stand_in::client_history::ClientHistory;
use crate::stand_in::request_log::LoggedRequest;
use crate::stand_in::rule_outcome::RuleOutcome;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

/// Parameter with the page token of a list.
const OFFSET: &str = "offset";

/// Returns the text that names a request in a verdict.
fn named(request: &LoggedRequest) -> String {
    let number = request.number;
    format!("request {number}, {} {}", request.method, request.path)
}

/// Returns true if two requests seem to be the same: method, path, query and size of the body.
fn is_same(one: &LoggedRequest, other: &LoggedRequest) -> bool {
    (&one.method, &one.path, one.length) == (&other.method, &other.path, other.length)
}

/// Returns the refused requests with the time until which the client has to wait.
fn waits(history: &ClientHistory) -> impl Iterator<Item = (&LoggedRequest, SystemTime)> {
    let refused = history.requests.iter().filter(|one| one.status == 429);
    refused.filter_map(|one| {
        let wait: u64 = one.retry_after.as_ref()?.parse().ok()?;
        Some((one, one.at.checked_add(Duration::from_secs(wait))?))
    })
}

/// Returns `Broken` with the first text. If there is none, returns `Holds`, or `Skipped` if nothing was judged.
fn verdict(
    was_judged: bool,
    mut broken: impl Iterator<Item = String>,
    skipped: &'static str,
) -> RuleOutcome {
    match broken.next() {
        Some(why) => RuleOutcome::Broken(why),
        None if was_judged => RuleOutcome::Holds,
        None => RuleOutcome::Skipped(skipped),
    }
}

pub(super) fn retry_after(history: &ClientHistory) -> RuleOutcome {
    let early = waits(history).filter_map(|(refused, until)| {
        let again = history
            .after(refused)
            .find(|later| is_same(refused, later))?;
        let missing = until.duration_since(again.at).ok()?;
        (!missing.is_zero()).then(|| {
            let seconds = missing.as_secs_f64();
            format!(
                "{} came {seconds:.1} s before the end of the wait",
                named(again)
            )
        })
    });
    verdict(
        waits(history).next().is_some(),
        early,
        "no request was refused with 429: use up a limit (`/-/limits`)",
    )
}

pub(super) fn no_early_requests(history: &ClientHistory) -> RuleOutcome {
    let early = waits(history).filter_map(|(refused, until)| {
        let mut later = history.after(refused);
        let again = later.find(|later| later.status == 429 && later.at < until)?;
        Some(format!(
            "{} was refused while the wait after request {} ran",
            named(again),
            refused.number
        ))
    });
    verdict(
        waits(history).next().is_some(),
        early,
        "no request was refused with 429: use up a limit (`/-/limits`)",
    )
}

pub(super) fn no_retry_of_refusals(history: &ClientHistory) -> RuleOutcome {
    let is_refusal = |one: &&LoggedRequest| {
        matches!(
            one.status,
            400 | 402 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 451
        ) && !one.operation.is_empty()
    };
    let repeated = history.requests.iter().filter(is_refusal);
    let repeated = repeated.filter_map(|refused| {
        let next = history.after(refused).next()?;
        let again = is_same(refused, next).then_some(next)?;
        let status = refused.status;
        Some(format!(
            "{} was sent again right after {status}",
            named(again)
        ))
    });
    verdict(
        history.requests.iter().any(|one| is_refusal(&one)),
        repeated,
        "no request was refused with a 4xx but 401, 412 and 429: add a fault (`{\"error\": \"payment_required\"}`)",
    )
}

pub(super) fn pages_by_next_page(history: &ClientHistory) -> RuleOutcome {
    let paged = || {
        history
            .requests
            .iter()
            .filter(|one| one.next_offset.is_some())
    };
    let left = paged().filter_map(|page| {
        let wanted = page.next_offset.as_deref();
        let list = page.path_without(OFFSET);
        let is_next = |later: &LoggedRequest| {
            later.parameter(OFFSET).as_deref() == wanted && later.path_without(OFFSET) == list
        };
        let mut later = history.after(page);
        (!later.any(is_next))
            .then(|| format!("{} has a next page, which was not read", named(page)))
    });
    verdict(
        paged().next().is_some(),
        left,
        "no list had more than one page: make more objects, or ask with a small `limit`",
    )
}

pub(super) fn no_invented_offsets(history: &ClientHistory) -> RuleOutcome {
    let mut given: BTreeSet<(_, &str)> = BTreeSet::new();
    let (mut broken, mut was_judged) = (None, false);
    for request in &history.requests {
        if let Some(offset) = request.parameter(OFFSET) {
            was_judged = true;
            let is_known = given.contains(&(request.token, &*offset));
            if !is_known && broken.is_none() {
                broken = Some(format!(
                    "{} has an offset that no reply had",
                    named(request)
                ));
            }
        }
        if let Some(next) = &request.next_offset {
            given.insert((request.token, next));
        }
    }
    verdict(was_judged, broken.into_iter(), "no request had an offset")
}

pub(super) fn keeps_sync_tokens(history: &ClientHistory) -> RuleOutcome {
    let mut last: BTreeMap<_, &str> = BTreeMap::new();
    let (mut broken, mut was_judged) = (None, false);
    let events = history.requests.iter();
    for request in events.filter(|one| one.operation == "getEvents") {
        let key = (request.token, request.parameter("resource"));
        if let Some(wanted) = last.get(&key) {
            was_judged = true;
            let sent = request.parameter("sync");
            if sent.as_deref() != Some(*wanted) && broken.is_none() {
                broken = Some(format!("{} has not the last sync token", named(request)));
            }
        }
        if let Some(sync) = &request.sync {
            last.insert(key, sync);
        }
    }
    verdict(
        was_judged,
        broken.into_iter(),
        "events of no resource were asked for twice",
    )
}

pub(super) fn looks_before_repeating(history: &ClientHistory) -> RuleOutcome {
    let is_lost = |one: &&LoggedRequest| {
        let is_unknown = one.is_cut || matches!(one.status, 500 | 502 | 504);
        one.method == "POST" && !one.operation.is_empty() && is_unknown
    };
    let repeated = history.requests.iter().filter(is_lost).filter_map(|lost| {
        let mut later = history.after(lost);
        let next = later.find(|later| later.method == "GET" || is_same(lost, later))?;
        let again = is_same(lost, next).then_some(next)?;
        Some(format!(
            "{} was sent again without a look at what request {} had done",
            named(again),
            lost.number
        ))
    });
    verdict(
        history.requests.iter().any(|one| is_lost(&one)),
        repeated,
        "the outcome of no create was lost: add a fault (`{\"cut\": \"after_commit\"}`)",
    )
}

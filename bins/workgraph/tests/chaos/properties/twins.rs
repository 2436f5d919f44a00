//! A small history for which everything holds, and changes that break one property each.
use super::{PROPERTIES, violations};
use crate::history::{
    Act, Delivery, EndState, Entry, EventId, Found, History, LimitFacts, Micros, Outcome,
};
use crate::template::STATIC_TASKS;
use std::collections::{BTreeMap, BTreeSet};

const FIRST: &str = "3331111111111111";
const SECOND: &str = "3332222222222222";

fn entry(begun: Micros, act: Act, found: Found) -> Entry {
    Entry {
        node: 0,
        begun,
        ended: begun + 5,
        act,
        outcome: Outcome::Done(found),
    }
}

fn refused(status: u16) -> Outcome {
    Outcome::Refused {
        status,
        reason: "why".to_owned(),
    }
}

fn text(text: &str) -> Found {
    Found::Text(text.to_owned())
}

fn write(task: &str, value: u64) -> Act {
    Act::Write {
        task: task.to_owned(),
        value,
    }
}

fn read(task: &str) -> Act {
    Act::Read {
        task: task.to_owned(),
    }
}

fn copy(number: usize) -> Act {
    Act::Copy {
        name: format!("copy {number}"),
    }
}

fn event(commit: u64, task: &str, what: &str) -> EventId {
    EventId {
        id: (commit, 0),
        task: task.to_owned(),
        what: what.to_owned(),
    }
}

fn delivery(begun: Micros, event: EventId) -> Delivery {
    Delivery {
        begun,
        ended: begun + 3,
        events: vec![event],
        is_answered: true,
    }
}

/// Returns a history for which every property holds.
fn good() -> History {
    let both = || Found::Gids(vec![FIRST.to_owned(), SECOND.to_owned()]);
    let gid = |gid: &str| Found::Gid(gid.to_owned());
    let fixed: Vec<String> = (0..STATIC_TASKS).map(|n| n.to_string()).collect();
    let mut entries = vec![
        entry(10, Act::Create { value: 1 }, gid(FIRST)),
        entry(20, Act::Create { value: 2 }, gid(SECOND)),
        entry(30, write(FIRST, 3), Found::Nothing),
        entry(40, read(FIRST), Found::Value(3)),
        entry(50, read(SECOND), Found::Value(2)),
        entry(60, Act::List { is_static: false }, both()),
        entry(
            70,
            Act::List { is_static: true },
            Found::Gids(fixed.clone()),
        ),
        entry(80, Act::Redeem { code: 0 }, Found::Nothing),
        entry(80, Act::Redeem { code: 0 }, Found::Nothing),
        entry(90, Act::Probe { token: 0 }, Found::Nothing),
        entry(100, Act::Revoke { token: 0 }, Found::Nothing),
        entry(110, Act::Probe { token: 0 }, Found::Nothing),
        entry(120, Act::Export, text("{}")),
        entry(
            130,
            Act::Limited {
                key: 0,
                waited: false,
            },
            Found::Nothing,
        ),
        entry(
            140,
            Act::Limited {
                key: 0,
                waited: false,
            },
            Found::Nothing,
        ),
        entry(
            150,
            Act::Limited {
                key: 0,
                waited: true,
            },
            Found::Nothing,
        ),
    ];
    entries[8].outcome = refused(400);
    entries[11].outcome = refused(401);
    entries[14].outcome = refused(429);
    entries[15].begun += 60_000_000;
    entries[15].ended += 60_000_000;
    for job in 0..5 {
        entries.push(entry(
            200,
            copy(job),
            Found::Gid(format!("444000000000000{job}")),
        ));
        let job = format!("444000000000000{job}");
        entries.push(entry(220, Act::Job { job }, text("in_progress")));
    }
    let named = |gid: &str| BTreeSet::from([gid.to_owned()]);
    let tasks = BTreeMap::from([(FIRST.to_owned(), 3), (SECOND.to_owned(), 2)]);
    let gid = |gid: &str| gid.parse::<u64>().unwrap();
    let lease = |task: &str| ((gid(task) >> 8) & 31, (gid(task) >> 13) + 1_735_689_600_001);
    History {
        nodes: 3,
        entries,
        deliveries: vec![
            delivery(16, event(4, FIRST, "added")),
            delivery(26, event(5, SECOND, "added")),
            delivery(36, event(6, FIRST, "name")),
        ],
        streamed: vec![FIRST.to_owned(), SECOND.to_owned()],
        permits: vec![[0, 0], [1, 2]],
        limits: LimitFacts {
            quota: 1,
            write_cap: 2,
            read_cap: 2,
            ..LimitFacts::default()
        },
        end: EndState {
            tasks,
            static_order: fixed,
            copies: (0..5)
                .map(|n| (format!("copy {n}"), vec![STATIC_TASKS]))
                .collect(),
            journal: vec![(4, named(FIRST)), (5, named(SECOND)), (6, named(FIRST))],
            journal_base: 3,
            audit: vec![(1, 10, 100), (2, 10, 101), (3, 11, 102)],
            audited_exports: 1,
            positions: vec![[(3, 0), (4, 1)], [(4, 1), (6, 1)]],
            leases: vec![lease(FIRST), lease(SECOND)],
            replies: vec![("/users/me".to_owned(), vec!["{}".to_owned(); 3])],
            export: Some("{}".to_owned()),
            ..EndState::default()
        },
        ..History::default()
    }
}

pub(super) fn lose_a_task(history: &mut History) {
    history.end.tasks.remove(SECOND);
}
pub(super) fn undo_a_write(history: &mut History) {
    history.end.tasks.insert(FIRST.to_owned(), 1);
}
pub(super) fn skip_a_commit(history: &mut History) {
    history.end.journal[2].0 += 1;
}
pub(super) fn share_a_commit(history: &mut History) {
    let (_, gids) = history.end.journal.remove(1);
    history.end.journal[0].1.extend(gids);
}
pub(super) fn read_what_nobody_wrote(history: &mut History) {
    history.entries[3].outcome = Outcome::Done(Found::Value(2));
}
/// A cache that missed a commit.
pub(super) fn read_an_old_value(history: &mut History) {
    history.entries[3].outcome = Outcome::Done(Found::Value(1));
}
pub(super) fn use_a_revoked_token(history: &mut History) {
    history.entries[11].outcome = Outcome::Done(Found::Nothing);
}
pub(super) fn redeem_twice(history: &mut History) {
    history.entries[8].outcome = Outcome::Done(Found::Nothing);
}
/// Each node with a limit of its own.
pub(super) fn admit_too_many(history: &mut History) {
    history.entries[14].outcome = Outcome::Done(Found::Nothing);
}
pub(super) fn refuse_after_the_wait(history: &mut History) {
    history.entries[15].outcome = refused(429);
}
pub(super) fn give_one_permit_more(history: &mut History) {
    history.permits.push([0, 3]);
}
pub(super) fn start_six_jobs(history: &mut History) {
    let job = "4440000000000005".to_owned();
    history
        .end
        .copies
        .insert("copy 5".to_owned(), vec![STATIC_TASKS]);
    history
        .entries
        .push(entry(201, copy(5), Found::Gid(job.clone())));
    history
        .entries
        .push(entry(221, Act::Job { job }, text("in_progress")));
}
pub(super) fn copy_twice(history: &mut History) {
    history
        .end
        .copies
        .insert("copy 0".to_owned(), vec![STATIC_TASKS; 2]);
}
pub(super) fn change_an_export(history: &mut History) {
    history.end.export = Some("{ }".to_owned());
}
/// A lease that moved on without its position.
pub(super) fn lose_an_event(history: &mut History) {
    history.deliveries.pop();
}
pub(super) fn swap_deliveries(history: &mut History) {
    let events = std::mem::take(&mut history.deliveries[0].events);
    history.deliveries[0].events = std::mem::replace(&mut history.deliveries[1].events, events);
}
/// Two nodes that hold the same lease.
pub(super) fn repeat_a_delivery(history: &mut History) {
    let mut again = history.deliveries[0].clone();
    again.begun += 2;
    history.deliveries.insert(1, again);
}
pub(super) fn lose_from_the_stream(history: &mut History) {
    history.streamed.pop();
}
pub(super) fn forget_an_audit_row(history: &mut History) {
    history.end.audited_exports = 0;
}
pub(super) fn share_a_gid(history: &mut History) {
    history.entries[1].outcome = history.entries[0].outcome.clone();
}
pub(super) fn skip_a_page(history: &mut History) {
    history.entries[5].outcome = Outcome::Done(Found::Gids(vec![SECOND.to_owned()]));
}
pub(super) fn answer_from_an_old_cache(history: &mut History) {
    history.end.replies[0].1[0] = "{\"old\":1}".to_owned();
}
pub(super) fn refuse_a_page_token(history: &mut History) {
    history.entries[6].outcome = refused(400);
}
/// A node that stored its result without looking whether another one went on.
pub(super) fn deliver_from_an_old_position(history: &mut History) {
    history.end.positions.push([(3, 0), (4, 1)]);
}
pub(super) fn give_a_gid_too_late(history: &mut History) {
    for (_, until) in &mut history.end.leases {
        *until -= 10;
    }
}
pub(super) fn refuse_without_a_reason(history: &mut History) {
    let reason = String::new();
    history.entries[14].outcome = Outcome::Refused {
        status: 429,
        reason,
    };
}

/// A history for which everything holds has no violations, and each change of it is noticed.
#[test]
fn each_property_notices_its_broken_twin() {
    assert_eq!(violations(&good()), Vec::<String>::new());
    for property in PROPERTIES {
        let mut history = good();
        (property.break_it)(&mut history);
        let found = (property.check)(&history);
        assert!(!found.is_empty(), "{} is not noticed", property.name);
    }
}

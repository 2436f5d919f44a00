//! Tests of the table of event kinds, and of rows that are appended one after another.
use super::*;
use std::collections::BTreeSet;

fn gid(n: u64) -> Gid {
    Gid::new(n).unwrap()
}

fn row(at: i64) -> AuditRow {
    AuditRow {
        gid: gid(1),
        time: Time::from_millis(at),
        workspace: gid(7),
        kind: event_kinds::TASK_DELETED,
        actor_type: ActorType::User,
        actor: Some(gid(8)),
        resource: gid(9),
        body: "\"actor\":{}".into(),
    }
}

#[test]
fn types_have_names_and_numbers_of_their_own_and_are_found_by_both() {
    let names: BTreeSet<&str> = event_kinds::ALL.iter().map(|k| k.name).collect();
    let codes: BTreeSet<u8> = event_kinds::ALL.iter().map(|k| k.code).collect();
    assert_eq!(
        (names.len(), codes.len()),
        (event_kinds::ALL.len(), event_kinds::ALL.len())
    );
    for kind in event_kinds::ALL {
        assert_eq!(AuditEventKind::parse(kind.name), Some(*kind));
        assert_eq!(AuditEventKind::from_code(kind.code), Some(*kind));
    }
    let names: Vec<&str> = event_kinds::ALL.iter().map(|kind| kind.name).collect();
    assert_eq!(names, event_kinds::NAMES);
    let names: Vec<&str> = ActorType::ALL.iter().map(|ty| ty.name()).collect();
    assert_eq!(names, ActorType::NAMES);
    assert_eq!(AuditEventKind::parse("task_created"), None);
    for ty in ActorType::ALL {
        assert_eq!(ActorType::parse(ty.name()), Some(*ty));
        assert_eq!(ActorType::from_code(*ty as u8), Some(*ty));
    }
}

#[test]
fn a_row_is_neither_before_the_last_one_nor_has_its_gid() {
    const NOW: i64 = 1_768_469_400_000;
    let first = row(NOW).appended_after(Some((gid(5), Time::from_millis(NOW - 9))));
    assert_eq!(
        (first.time.millis(), first.gid),
        (NOW, first_gid(Time::from_millis(NOW)))
    );
    // Rows of the same millisecond, and one from after the clock went back.
    let mut last = (first.gid, first.time);
    for at in [NOW, NOW, NOW - 60_000] {
        let next = row(at).appended_after(Some(last));
        assert_eq!(next.time.millis(), NOW);
        assert_eq!(next.gid.get(), last.0.get() + 1);
        last = (next.gid, next.time);
    }
}

#[test]
fn a_time_before_1970_gives_the_gids_of_its_first_millisecond() {
    let first = first_gid(Time::from_millis(0));
    for early in [Time::MIN, Time::from_millis(-1)] {
        assert_eq!(first_gid(early), first);
    }
    assert!(first < first_gid(Time::from_millis(1_768_469_400_000)));
}

#[test]
fn every_part_of_a_row_is_in_what_its_digest_covers() {
    let one = row(0);
    let change = |change: fn(&mut AuditRow)| {
        let mut other = one.clone();
        change(&mut other);
        other.digest_input()
    };
    let others = [
        change(|r| r.gid = gid(2)),
        change(|r| r.time = Time::from_millis(1)),
        change(|r| r.workspace = gid(2)),
        change(|r| r.kind = event_kinds::PROJECT_DELETED),
        change(|r| r.actor_type = ActorType::Asana),
        change(|r| r.actor = None),
        change(|r| r.resource = gid(2)),
        change(|r| r.body = "\"actor\":{ }".into()),
    ];
    let all: BTreeSet<Vec<u8>> = others.into_iter().chain([one.digest_input()]).collect();
    assert_eq!(all.len(), 9);
}

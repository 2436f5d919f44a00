//! Tests of the date rules, one row a rule.
use super::Patch::{Absent, Null, Set};
use super::{ScheduleError as E, *};

const SAME: SchedulePatch = SchedulePatch {
    start_on: Absent,
    start_at: Absent,
    due_on: Absent,
    due_at: Absent,
};
const NONE: Schedule = Schedule {
    start_on: None,
    start_at: None,
    due_on: None,
    due_at: None,
};

fn on(day: u32) -> Date {
    Date::new(2026, 3, day).unwrap()
}

fn at(day: u32, hour: i64) -> Time {
    on(day).start().add_millis(hour * 3_600_000)
}

fn days(start: Option<u32>, due: Option<u32>) -> Schedule {
    Schedule {
        start_on: start.map(on),
        due_on: due.map(on),
        ..NONE
    }
}

fn times(start: Option<Time>, due: Time) -> Schedule {
    Schedule {
        start_on: start.map(Date::of),
        start_at: start,
        due_on: Some(Date::of(due)),
        due_at: Some(due),
    }
}

#[test]
fn tasks() {
    let (ran, timed) = (days(Some(2), Some(9)), times(Some(at(2, 8)), at(9, 8)));
    let cases: &[(&str, Schedule, SchedulePatch, Result<Schedule, E>)] = &[
        ("nothing said, nothing changes", timed, SAME, Ok(timed)),
        (
            "due_on and due_at exclude each other",
            NONE,
            SchedulePatch {
                due_on: Set(on(1)),
                due_at: Set(at(1, 9)),
                ..SAME
            },
            Err(E::TwoDues),
        ),
        (
            "null beside a value is no second due",
            NONE,
            SchedulePatch {
                due_on: Null,
                due_at: Set(at(1, 9)),
                ..SAME
            },
            Ok(times(None, at(1, 9))),
        ),
        (
            "a due day replaces a due time",
            times(None, at(9, 8)),
            SchedulePatch {
                due_on: Set(on(4)),
                due_at: Null,
                ..SAME
            },
            Ok(days(None, Some(4))),
        ),
        (
            "due_on is the UTC day of due_at",
            NONE,
            SchedulePatch {
                due_at: Set(at(5, 23)),
                ..SAME
            },
            Ok(times(None, at(5, 23))),
        ),
        (
            "start_on and start_at exclude each other",
            NONE,
            SchedulePatch {
                start_on: Set(on(1)),
                start_at: Set(at(1, 1)),
                due_at: Set(at(2, 2)),
                ..SAME
            },
            Err(E::TwoStarts),
        ),
        (
            "start_on needs a due in the request",
            ran,
            SchedulePatch {
                start_on: Set(on(3)),
                ..SAME
            },
            Err(E::StartOnNeedsDue),
        ),
        (
            "a cleared due is no due",
            ran,
            SchedulePatch {
                start_on: Set(on(3)),
                due_on: Null,
                ..SAME
            },
            Err(E::StartOnNeedsDue),
        ),
        (
            "start_on with due_on",
            NONE,
            SchedulePatch {
                start_on: Set(on(3)),
                due_on: Set(on(3)),
                ..SAME
            },
            Ok(days(Some(3), Some(3))),
        ),
        (
            "start_on with due_at",
            NONE,
            SchedulePatch {
                start_on: Set(on(3)),
                due_at: Set(at(3, 7)),
                ..SAME
            },
            Ok(Schedule {
                start_on: Some(on(3)),
                ..times(None, at(3, 7))
            }),
        ),
        (
            "start_at needs due_at in the request",
            timed,
            SchedulePatch {
                start_at: Set(at(3, 1)),
                ..SAME
            },
            Err(E::StartAtNeedsDueAt),
        ),
        (
            "start_at is not content with due_on",
            NONE,
            SchedulePatch {
                start_at: Set(at(3, 1)),
                due_on: Set(on(5)),
                ..SAME
            },
            Err(E::StartAtNeedsDueAt),
        ),
        (
            "start_at with due_at",
            NONE,
            SchedulePatch {
                start_at: Set(at(3, 1)),
                due_at: Set(at(3, 2)),
                ..SAME
            },
            Ok(times(Some(at(3, 1)), at(3, 2))),
        ),
        (
            "start_at after due_at",
            NONE,
            SchedulePatch {
                start_at: Set(at(3, 2)),
                due_at: Set(at(3, 1)),
                ..SAME
            },
            Err(E::StartAfterDue),
        ),
        (
            "start_on after due_on",
            NONE,
            SchedulePatch {
                start_on: Set(on(3)),
                due_on: Set(on(2)),
                ..SAME
            },
            Err(E::StartAfterDue),
        ),
        (
            "a due moved before the start that stays",
            ran,
            SchedulePatch {
                due_on: Set(on(1)),
                ..SAME
            },
            Err(E::StartAfterDue),
        ),
        (
            "a due moved, the start stays",
            timed,
            SchedulePatch {
                due_at: Set(at(4, 4)),
                ..SAME
            },
            Ok(times(Some(at(2, 8)), at(4, 4))),
        ),
        (
            "a due day leaves the start its day only",
            timed,
            SchedulePatch {
                due_on: Set(on(4)),
                ..SAME
            },
            Ok(days(Some(2), Some(4))),
        ),
        (
            "due_on null clears everything",
            timed,
            SchedulePatch {
                due_on: Null,
                ..SAME
            },
            Ok(NONE),
        ),
        (
            "due_at null clears everything",
            timed,
            SchedulePatch {
                due_at: Null,
                ..SAME
            },
            Ok(NONE),
        ),
        (
            "due_at null leaves a due day alone",
            ran,
            SchedulePatch {
                due_at: Null,
                ..SAME
            },
            Ok(ran),
        ),
        (
            "start_on null clears the start",
            timed,
            SchedulePatch {
                start_on: Null,
                ..SAME
            },
            Ok(times(None, at(9, 8))),
        ),
        (
            "start_at null clears the start",
            timed,
            SchedulePatch {
                start_at: Null,
                ..SAME
            },
            Ok(times(None, at(9, 8))),
        ),
        (
            "start_at null leaves a start day alone",
            ran,
            SchedulePatch {
                start_at: Null,
                ..SAME
            },
            Ok(ran),
        ),
    ];
    for (rule, current, change, expected) in cases {
        assert_eq!(
            apply_schedule(*current, *change, false),
            *expected,
            "{rule}"
        );
    }
}

#[test]
fn milestones_have_no_start() {
    let change = SchedulePatch {
        start_on: Set(on(1)),
        due_on: Set(on(2)),
        ..SAME
    };
    assert_eq!(apply_schedule(NONE, change, true), Err(E::MilestoneStart));
    let change = SchedulePatch {
        start_on: Null,
        due_on: Set(on(2)),
        ..SAME
    };
    assert_eq!(apply_schedule(NONE, change, true), Ok(days(None, Some(2))));
    assert_eq!(
        apply_schedule(days(Some(1), Some(2)), SAME, true),
        Ok(days(None, Some(2)))
    );
}

#[test]
fn projects() {
    let span = |start: Option<u32>, due: Option<u32>| ProjectDates {
        start_on: start.map(on),
        due_on: due.map(on),
    };
    let ask = |start_on, due_on| ProjectDatesPatch { start_on, due_on };
    let ran = span(Some(2), Some(9));
    let cases = [
        (
            "nothing said, nothing changes",
            ran,
            ask(Absent, Absent),
            Ok(ran),
        ),
        (
            "start_on needs due_on in the request",
            ran,
            ask(Set(on(3)), Absent),
            Err(E::ProjectStartNeedsDueOn),
        ),
        (
            "start_on with due_on",
            span(None, None),
            ask(Set(on(3)), Set(on(4))),
            Ok(span(Some(3), Some(4))),
        ),
        (
            "start_on differs from due_on",
            ran,
            ask(Set(on(3)), Set(on(3))),
            Err(E::ProjectSameDay),
        ),
        (
            "a due moved onto the start that stays",
            ran,
            ask(Absent, Set(on(2))),
            Err(E::ProjectSameDay),
        ),
        (
            "start_on after due_on",
            ran,
            ask(Set(on(4)), Set(on(3))),
            Err(E::StartAfterDue),
        ),
        (
            "due_on alone",
            ran,
            ask(Absent, Set(on(5))),
            Ok(span(Some(2), Some(5))),
        ),
        (
            "clearing the due clears the start",
            ran,
            ask(Absent, Null),
            Ok(span(None, None)),
        ),
        (
            "clearing the start",
            ran,
            ask(Null, Absent),
            Ok(span(None, Some(9))),
        ),
    ];
    for (rule, current, change, expected) in cases {
        assert_eq!(apply_project_dates(current, change), expected, "{rule}");
    }
}

#[test]
fn the_message_for_two_dues() {
    assert_eq!(
        E::TwoDues.to_string(),
        "You may only provide one of due_on or due_at!"
    );
}

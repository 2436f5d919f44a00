use crate::decision_scene::{DecisionScene, saved, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{time_tracking, timesheet};
use workgraph_core::model::time::Date;
use workgraph_core::storage::ListPosition;

/// More entries than a week may have.
const MANY: usize = 2_000;
const CREATE: &str = "createTimesheetApprovalStatus";
const UPDATE: &str = "updateTimesheetApprovalStatus";

fn week_of(scene: &DecisionScene, user: Gid) -> Value {
    json!({
        "workspace": scene.acme,
        "user": user,
        "start_date": "2026-03-02",
        "end_date": "2026-03-08",
    })
}

/// Begins the approval of the member's week.
fn begun(scene: &DecisionScene) -> Gid {
    let week = scene.done(scene.bob, CREATE, scene.acme, week_of(scene, scene.bob));
    subject(&week).gid
}

fn state(word: &str) -> Value {
    json!({"approval_status": word})
}

#[test]
fn a_week_begins_on_a_monday_and_ends_on_its_sunday() {
    let scene = DecisionScene::new();
    let with = |field: &str, day: &str| {
        let mut week = week_of(&scene, scene.bob);
        week[field] = json!(day);
        scene.decide(scene.bob, CREATE, scene.acme, week)
    };
    let refused = with("start_date", "2026-03-03").unwrap_err().message;
    assert!(
        refused.contains("start_date: 2026-03-03 is not a Monday"),
        "{refused}"
    );
    for day in ["2026-03-07", "2026-03-15"] {
        let refused = with("end_date", day).unwrap_err().message;
        assert!(refused.contains("end_date: It is not the Sunday of the week of 2026-03-02"));
    }
    assert!(with("end_date", "2026-03-08").is_ok());
}

#[test]
fn only_admins_keep_the_timesheets_of_other_users() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let eve = scene.given(|fixture| fixture.member(acme, "Eve", Role::Member));
    let refused = scene.refused(scene.bob, CREATE, acme, week_of(&scene, eve));
    assert!(
        refused.contains("keep the timesheets of this user"),
        "{refused}"
    );
    for by in [eve, scene.ann] {
        let week = scene
            .decide(by, CREATE, acme, week_of(&scene, eve))
            .unwrap();
        assert_eq!(subject(&week).get(timesheet::USER), Some(eve));
    }
}

#[test]
fn a_week_of_a_user_has_one_approval() {
    let scene = DecisionScene::new();
    let week = begun(&scene);
    let refused = scene.refused(scene.ann, CREATE, scene.acme, week_of(&scene, scene.bob));
    assert!(
        refused.contains(&format!("has an approval status already: {week}")),
        "{refused}"
    );
    let other_user = scene.decide(scene.ann, CREATE, scene.acme, week_of(&scene, scene.ann));
    assert_eq!(written(&other_user.unwrap(), rel::WEEK_IN_LIST).len(), 1);
    let mut next = week_of(&scene, scene.bob);
    next["start_date"] = json!("2026-03-09");
    next["end_date"] = json!("2026-03-15");
    let next = scene.decide(scene.bob, CREATE, scene.acme, next);
    assert_eq!(written(&next.unwrap(), rel::WEEK_IN_LIST).len(), 1);
}

#[test]
fn a_week_is_approved_after_it_is_submitted() {
    let scene = DecisionScene::new();
    let week = begun(&scene);
    let refused = scene.refused(scene.ann, UPDATE, week, state("approved"));
    assert!(
        refused.contains("is draft does not become approved; next is submitted"),
        "{refused}"
    );
    let submitted = scene.done(scene.bob, UPDATE, week, state("submitted"));
    let status = subject(&submitted).get(timesheet::APPROVAL_STATUS);
    assert_eq!(status.as_deref(), Some("SUBMITTED"));
    let approved = scene.done(scene.ann, UPDATE, week, state("approved"));
    let status = subject(&approved).get(timesheet::APPROVAL_STATUS);
    assert_eq!(status.as_deref(), Some("APPROVED"));
    let refused = scene.refused(scene.ann, UPDATE, week, state("rejected"));
    assert!(
        refused.contains("is approved does not become rejected; next is draft"),
        "{refused}"
    );
}

#[test]
fn a_rejected_week_is_submitted_again() {
    let scene = DecisionScene::new();
    let week = begun(&scene);
    scene.done(scene.bob, UPDATE, week, state("submitted"));
    scene.done(scene.ann, UPDATE, week, state("rejected"));
    let refused = scene.refused(scene.ann, UPDATE, week, state("approved"));
    assert!(refused.contains("next is draft or submitted"), "{refused}");
    assert!(
        scene
            .decide(scene.bob, UPDATE, week, state("draft"))
            .is_ok()
    );
    assert!(
        scene
            .decide(scene.bob, UPDATE, week, state("submitted"))
            .is_ok()
    );
}

#[test]
fn only_admins_approve_reject_and_reopen() {
    let scene = DecisionScene::new();
    let week = begun(&scene);
    scene.done(scene.bob, UPDATE, week, state("submitted"));
    for word in ["approved", "rejected"] {
        let refused = scene.refused(scene.bob, UPDATE, week, state(word));
        assert!(
            refused.contains("Only admins of the workspace approve"),
            "{refused}"
        );
    }
    assert!(
        scene
            .decide(scene.bob, UPDATE, week, state("draft"))
            .is_ok()
    );
    scene.done(scene.ann, UPDATE, week, state("approved"));
    let refused = scene.refused(scene.bob, UPDATE, week, state("draft"));
    assert!(refused.contains("reopen approved ones"), "{refused}");
    assert!(
        scene
            .decide(scene.ann, UPDATE, week, state("draft"))
            .is_ok()
    );
}

#[test]
fn a_week_is_changed_by_its_user_and_admins() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let eve = scene.given(|fixture| fixture.member(acme, "Eve", Role::Member));
    let week = begun(&scene);
    let refused = scene.refused(eve, UPDATE, week, state("submitted"));
    assert!(refused.contains("do not have access"), "{refused}");
    assert!(
        scene
            .decide(scene.ann, UPDATE, week, state("submitted"))
            .is_ok()
    );
}

#[test]
fn the_entries_of_a_week_share_its_state() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let week = begun(&scene);
    let entry = |by, day: &str| {
        let body = json!({"duration_minutes": 60, "entered_on": day});
        let created = scene.done(by, "createTimeTrackingEntry", task, body);
        subject(&created).gid
    };
    let within = [
        entry(scene.bob, "2026-03-02"),
        entry(scene.bob, "2026-03-08"),
    ];
    entry(scene.bob, "2026-03-09");
    entry(scene.ann, "2026-03-02");
    let submitted = scene
        .decide(scene.bob, UPDATE, week, state("submitted"))
        .unwrap();
    assert_eq!(submitted.changes.node_writes.len(), 1 + within.len());
    for entry in within {
        let status = saved(&submitted, entry)
            .unwrap()
            .get(time_tracking::APPROVAL_STATUS);
        assert_eq!(status.as_deref(), Some("SUBMITTED"));
    }
}

#[test]
fn the_state_of_a_week_is_that_of_one_workspace() {
    let mut scene = DecisionScene::new();
    let bob = scene.bob;
    let task = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(bob, other, Role::Member);
        fixture.task(other, "Elsewhere", bob)
    });
    let body = json!({"duration_minutes": 60, "entered_on": "2026-03-02"});
    let entry = scene.done(bob, "createTimeTrackingEntry", task, body);
    let week = begun(&scene);
    let submitted = scene.decide(bob, UPDATE, week, state("submitted")).unwrap();
    assert_eq!(subject(&submitted).gid, week);
    assert_eq!(saved(&submitted, subject(&entry).gid), None);
}

#[test]
fn a_week_with_too_many_entries_keeps_its_state() {
    let mut scene = DecisionScene::new();
    let (acme, bob) = (scene.acme, scene.bob);
    let week = begun(&scene);
    let monday = Date::parse("2026-03-02").unwrap();
    scene.given(|fixture| {
        for _ in 0..MANY {
            let entry = fixture.node(Type::TimeTrackingEntry, Some(acme), |_, _| ());
            let on = ListPosition::Rank(monday.days().into());
            fixture.link(entry, rel::TIME_OF_USER, bob, on, None);
        }
    });
    let refused = scene.refused(bob, UPDATE, week, state("submitted"));
    assert!(refused.contains("entries of tracked time"), "{refused}");
}

use crate::decision_scene::{DecisionScene, node, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{budget, task, time_tracking};
use workgraph_core::storage::ListPosition;

const CREATE: &str = "createTimeTrackingEntry";
const UPDATE: &str = "updateTimeTrackingEntry";
const DELETE: &str = "deleteTimeTrackingEntry";

/// Stores an entry of the member; returns it with the decision.
fn tracked(scene: &DecisionScene, task: Gid, body: Value) -> (Gid, Decision) {
    let decision = scene.done(scene.bob, CREATE, task, body);
    (decision.subject.unwrap(), decision)
}

/// Brings the week of the member around the present day through some states.
fn week(scene: &DecisionScene, states: &[&str]) {
    let days = json!({"workspace": scene.acme, "user": scene.bob, "start_date": "2026-01-12", "end_date": "2026-01-18"});
    let week = scene.done(scene.bob, "createTimesheetApprovalStatus", scene.acme, days);
    let week = week.subject.unwrap();
    for state in states {
        let body = json!({"approval_status": state});
        scene.done(scene.ann, "updateTimesheetApprovalStatus", week, body);
    }
}

#[test]
fn an_entry_has_minutes_within_bounds() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let minutes = |minutes: i64| json!({"duration_minutes": minutes});
    let refused = |body| scene.refused(scene.bob, CREATE, water, body);
    assert!(refused(minutes(0)).contains("duration_minutes: Out of range"));
    let most = time_tracking::MINUTES_MAX;
    assert!(refused(minutes(most + 1)).contains("duration_minutes: Out of range"));
    let (entry, _) = tracked(&scene, water, minutes(most));
    assert!(
        scene
            .refused(scene.bob, UPDATE, entry, minutes(0))
            .contains("Out of range")
    );
}

#[test]
fn an_entry_has_no_archived_category_unless_it_has_it_already() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let new = json!({"name": "Digging", "workspace": scene.acme});
    let digging = scene.done(scene.ann, "createTimeTrackingCategory", scene.acme, new);
    let digging = digging.subject.unwrap();
    let with = json!({"duration_minutes": 7, "categories": [digging]});
    let (entry, made) = tracked(&scene, water, with.clone());
    assert_eq!(written(&made, rel::TIME_CATEGORIES), [(entry, digging)]);
    let archived = json!({"is_archived": true});
    scene.done(scene.ann, "updateTimeTrackingCategory", digging, archived);
    let refused = scene.refused(scene.bob, CREATE, water, with);
    assert!(refused.contains("categories: Archived time tracking category"));
    let body = json!({"duration_minutes": 8, "categories": [digging]});
    let kept = scene.decide(scene.bob, UPDATE, entry, body).unwrap();
    assert_eq!(node(&kept, entry).get(time_tracking::DURATION), 8);
}

#[test]
fn the_entries_of_an_approved_week_do_not_change() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (entry, _) = tracked(&scene, water, json!({"duration_minutes": 7}));
    week(&scene, &["submitted", "approved"]);
    let approved = "The timesheet of this week is approved";
    let refused = |operation, on, body| scene.refused(scene.bob, operation, on, body);
    let body = json!({"duration_minutes": 8});
    assert!(refused(UPDATE, entry, body.clone()).contains(approved));
    assert!(refused(DELETE, entry, json!({})).contains(approved));
    assert!(refused(CREATE, water, body).contains(approved));
}

#[test]
fn an_entry_does_not_move_into_an_approved_week() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    week(&scene, &["submitted", "approved"]);
    let next_week = json!({"duration_minutes": 7, "entered_on": "2026-01-19"});
    let (entry, made) = tracked(&scene, water, next_week);
    let state = node(&made, entry).get(time_tracking::APPROVAL_STATUS);
    assert_eq!(state.as_deref(), Some("DRAFT"));
    let sunday = json!({"entered_on": "2026-01-18"});
    let refused = scene.refused(scene.bob, UPDATE, entry, sunday);
    assert!(refused.contains("The timesheet of this week is approved"));
    let tuesday = json!({"entered_on": "2026-01-20"});
    let moved = scene.decide(scene.bob, UPDATE, entry, tuesday).unwrap();
    assert_eq!(node(&moved, entry).version, 2);
}

#[test]
fn an_entry_is_of_the_present_day_and_the_first_project_of_its_task() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (entry, made) = tracked(&scene, water, json!({"duration_minutes": 7}));
    let new = node(&made, entry);
    let day = new.get(time_tracking::ENTERED_ON).unwrap();
    assert_eq!(day.to_string(), "2026-01-15");
    assert_eq!(new.get(time_tracking::ATTRIBUTABLE_TO), Some(scene.garden));
    assert_eq!(new.get(time_tracking::CREATED_BY), Some(scene.bob));
    let to_none = json!({"duration_minutes": 7, "attributable_to": null});
    let (entry, made) = tracked(&scene, water, to_none);
    assert_eq!(node(&made, entry).get(time_tracking::ATTRIBUTABLE_TO), None);
}

#[test]
fn only_its_editors_attribute_time_to_another_project() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let attic = scene.given(|fixture| {
        let attic = fixture.private_project(acme, "Attic", ann);
        fixture.share(attic, acme, bob, Level::Commenter);
        attic
    });
    let to_attic = json!({"duration_minutes": 7, "attributable_to": attic});
    let refused = scene.refused(bob, CREATE, water, to_attic.clone());
    assert!(refused.contains("do not have permission to change this project"));
    scene.given(|fixture| {
        let section = fixture.section_in(attic);
        fixture.link(
            water,
            rel::SECTION,
            section,
            ListPosition::Last,
            Some(attic),
        );
    });
    let (entry, made) = tracked(&scene, water, to_attic);
    assert_eq!(
        node(&made, entry).get(time_tracking::ATTRIBUTABLE_TO),
        Some(attic)
    );
}

#[test]
fn a_task_has_the_sum_of_its_entries() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let sum = |decision: &Decision| {
        node(decision, water)
            .raw("actual_time_minutes")
            .map(str::to_owned)
    };
    let (entry, first) = tracked(&scene, water, json!({"duration_minutes": 7}));
    assert_eq!(sum(&first).as_deref(), Some("7"));
    let (_, second) = tracked(&scene, water, json!({"duration_minutes": 5}));
    assert_eq!(sum(&second).as_deref(), Some("12"));
    let changed = scene.done(scene.bob, UPDATE, entry, json!({"duration_minutes": 9}));
    assert_eq!(sum(&changed).as_deref(), Some("14"));
    let less = scene.done(scene.bob, DELETE, entry, json!({}));
    assert_eq!(sum(&less).as_deref(), Some("5"));
    assert_eq!(less.changes.trashed, [entry]);
}

#[test]
fn a_task_without_entries_has_no_time() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (entry, _) = tracked(&scene, water, json!({"duration_minutes": 7}));
    let none = scene.decide(scene.bob, DELETE, entry, json!({})).unwrap();
    assert_eq!(node(&none, water).raw(task::ACTUAL_TIME.def.name), None);
}

#[test]
fn an_entry_of_others_is_changed_only_by_admins() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (entry, _) = tracked(&scene, water, json!({"duration_minutes": 7}));
    let (eve, ..) = scene.member("Eve");
    let body = json!({"duration_minutes": 8});
    let refused = scene.refused(eve, UPDATE, entry, body.clone());
    assert!(refused.contains("do not have permission to change this time tracking entry"));
    let changed = scene.decide(scene.ann, UPDATE, entry, body).unwrap();
    assert_eq!(
        node(&changed, entry).get(time_tracking::CREATED_BY),
        Some(scene.bob)
    );
}

#[test]
fn a_new_entry_takes_the_state_of_its_week() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    week(&scene, &["submitted"]);
    let (entry, made) = tracked(&scene, water, json!({"duration_minutes": 7}));
    let state = node(&made, entry).get(time_tracking::APPROVAL_STATUS);
    assert_eq!(state.as_deref(), Some("SUBMITTED"));
}

#[test]
fn a_project_counts_the_time_attributed_to_it() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let to_none = json!({"duration_minutes": 7, "attributable_to": null});
    let (_, uncounted) = tracked(&scene, water, to_none);
    assert!(written(&uncounted, rel::PROJECT_TOTALS).is_empty());
    let (_, counted) = tracked(&scene, water, json!({"duration_minutes": 7}));
    let [(project, totals)] = written(&counted, rel::PROJECT_TOTALS)[..] else {
        panic!("one project counts it");
    };
    assert_eq!(project, scene.garden);
    let stored = node(&counted, totals).get(budget::USER_TOTALS).to_owned();
    assert!(stored.contains(&scene.bob.to_string()), "{stored}");
}

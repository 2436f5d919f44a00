use crate::decision_scene::{DecisionScene, saved, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{budget::ESTIMATE, capacity};

/// Returns the body of an allocation of a user for a week.
fn week_of(user: Gid, project: Gid) -> Value {
    json!({
        "parent": project,
        "assignee": user,
        "start_date": "2026-03-02",
        "end_date": "2026-03-08",
    })
}

fn allocated(scene: &DecisionScene) -> Gid {
    let body = week_of(scene.bob, scene.garden);
    let created = scene.done(scene.bob, "createAllocation", scene.garden, body);
    assert_eq!(subject(&created).get(capacity::CREATED_BY), Some(scene.bob));
    subject(&created).gid
}

#[test]
fn an_allocation_ends_on_its_first_day_or_later() {
    let scene = DecisionScene::new();
    let allocation = allocated(&scene);
    let until = |day: &str| json!({"end_date": day});
    let refused = scene.refused(
        scene.bob,
        "updateAllocation",
        allocation,
        until("2026-03-01"),
    );
    assert!(refused.contains("end_date: 2026-03-01 is before start_date 2026-03-02"));
    let changed = scene.decide(
        scene.bob,
        "updateAllocation",
        allocation,
        until("2026-03-02"),
    );
    assert!(changed.is_ok());
}

#[test]
fn an_allocation_keeps_days_assignee_and_project() {
    let scene = DecisionScene::new();
    let allocation = allocated(&scene);
    for field in ["start_date", "end_date", "assignee", "parent"] {
        let refused = scene.refused(
            scene.bob,
            "updateAllocation",
            allocation,
            json!({field: null}),
        );
        assert!(
            refused.contains(&format!("{field}: Missing input")),
            "{refused}"
        );
    }
    let to_ann = json!({"assignee": scene.ann});
    let changed = scene
        .decide(scene.bob, "updateAllocation", allocation, to_ann)
        .unwrap();
    assert_eq!(
        written(&changed, rel::ALLOCATED_USER),
        [(allocation, scene.ann)]
    );
}

#[test]
fn an_effort_has_a_known_type_and_a_value_that_is_not_negative() {
    let scene = DecisionScene::new();
    let allocation = allocated(&scene);
    let effort = |kind: &str, value: i64| json!({"effort": {"type": kind, "value": value}});
    for wrong in [effort("days", 1), effort("hours", -1)] {
        let refused = scene.refused(scene.bob, "updateAllocation", allocation, wrong);
        assert!(refused.contains("effort: Not an effort"), "{refused}");
    }
    let changed = scene.done(
        scene.bob,
        "updateAllocation",
        allocation,
        effort("hours", 0),
    );
    let stored = subject(&changed).raw(capacity::EFFORT.def.name);
    assert_eq!(stored, Some(r#"{"type":"hours","value":0}"#));
    let unknown = scene.decide(
        scene.bob,
        "updateAllocation",
        allocation,
        json!({"effort": null}),
    );
    assert_eq!(
        subject(&unknown.unwrap()).raw(capacity::EFFORT.def.name),
        None
    );
}

#[test]
fn an_allocation_moves_only_to_a_project_that_the_caller_changes() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let (seen, open) = scene.given(|fixture| {
        let seen = fixture.private_project(acme, "Seen", ann);
        fixture.share(seen, acme, bob, Level::Commenter);
        (seen, fixture.project(acme, "Open", ann))
    });
    let allocation = allocated(&scene);
    let to = |project: Gid| json!({"parent": project});
    let refused = scene.refused(bob, "updateAllocation", allocation, to(seen));
    assert!(
        refused.contains("do not have permission to change this project"),
        "{refused}"
    );
    let moved = scene
        .decide(bob, "updateAllocation", allocation, to(open))
        .unwrap();
    assert_eq!(written(&moved, rel::ALLOCATION_OF), [(allocation, open)]);
}

#[test]
fn only_a_user_of_the_workspace_is_allocated() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let body = week_of(eve, scene.garden);
    let refused = scene.refused(scene.ann, "createAllocation", scene.garden, body);
    assert!(
        refused.contains("assignee: Not a user in Workspace"),
        "{refused}"
    );
}

#[test]
fn planned_minutes_move_with_their_allocation() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let other = scene.given(|fixture| fixture.project(acme, "Other", ann));
    let [from, to] = [scene.garden, other].map(|project| {
        let estimate = json!({"source": "capacity_plans"});
        let body = json!({"parent": project, "budget_type": "time", "estimate": estimate});
        let created = scene.done(ann, "createBudget", project, body);
        subject(&created).gid
    });
    let mut body = week_of(scene.bob, scene.garden);
    body["effort"] = json!({"type": "percent", "value": 50});
    let created = scene.done(ann, "createAllocation", scene.garden, body);
    let to_other = json!({"parent": other});
    let moved = scene.decide(ann, "updateAllocation", subject(&created).gid, to_other);
    let moved = moved.unwrap();
    let estimate = |budget| saved(&moved, budget).unwrap().raw(ESTIMATE.def.name);
    assert!(estimate(from).unwrap().contains(r#""value":0"#));
    assert!(estimate(to).unwrap().contains(r#""value":1200"#));
}

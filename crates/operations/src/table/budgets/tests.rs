use crate::decision_scene::{DecisionScene, saved, subject};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::{Opaque, TypedField};
use workgraph_core::model::resources::budget::{ACTUAL, ESTIMATE, TOTAL};

fn new(scene: &DecisionScene, of: &str) -> Value {
    json!({"parent": scene.garden, "budget_type": of})
}

fn budget(scene: &DecisionScene, body: Value) -> Gid {
    let created = scene.done(scene.ann, "createBudget", scene.garden, body);
    subject(&created).gid
}

/// Returns a part of a group of a budget that a decision writes.
fn part(decision: &Decision, budget: Gid, group: TypedField<Opaque>, name: &str) -> Value {
    let written = saved(decision, budget).unwrap().raw(group.def.name);
    let mut group: Value = serde_json::from_str(written.unwrap()).unwrap();
    group[name].take()
}

/// Tracks an hour of a user on a task of the project.
fn tracked(scene: &DecisionScene, by: Gid, task: Gid, billing: &str) -> Decision {
    let hour = json!({"duration_minutes": 60, "billable_status": billing});
    scene.done(by, "createTimeTrackingEntry", task, hour)
}

/// Allocates a user for ten hours of a week.
fn allocated(scene: &DecisionScene, user: Gid) -> Decision {
    let body = json!({
        "parent": scene.garden,
        "assignee": user,
        "start_date": "2026-03-02",
        "end_date": "2026-03-08",
        "effort": {"type": "hours", "value": 10},
    });
    scene.done(scene.ann, "createAllocation", scene.garden, body)
}

#[test]
fn only_the_admins_of_a_project_keep_its_budgets() {
    let scene = DecisionScene::new();
    let refused = scene.refused(scene.bob, "createBudget", scene.garden, new(&scene, "time"));
    assert!(
        refused.contains("do not have permission to administer"),
        "{refused}"
    );
    let budget = budget(&scene, new(&scene, "time"));
    let refused = scene.refused(scene.bob, "deleteBudget", budget, json!({}));
    assert!(
        refused.contains("do not have access to this budget"),
        "{refused}"
    );
}

#[test]
fn the_total_of_a_budget_is_not_negative() {
    let scene = DecisionScene::new();
    let with_total = |value: i64| json!({"parent": scene.garden, "budget_type": "time", "total": {"value": value}});
    let refused = scene.refused(scene.ann, "createBudget", scene.garden, with_total(-1));
    assert!(refused.contains("total.value: It is negative"), "{refused}");
    let budget = budget(&scene, with_total(0));
    let less = json!({"total": {"value": -0.5}});
    let refused = scene.refused(scene.ann, "updateBudget", budget, less);
    assert!(refused.contains("total.value: It is negative"), "{refused}");
}

#[test]
fn a_project_has_one_budget_of_each_type() {
    let scene = DecisionScene::new();
    let first = budget(&scene, new(&scene, "time"));
    let refused = scene.refused(scene.ann, "createBudget", scene.garden, new(&scene, "time"));
    assert!(
        refused.contains(&format!("a budget of time already: {first}")),
        "{refused}"
    );
    let cost = budget(&scene, new(&scene, "cost"));
    let refused = scene.refused(scene.ann, "createBudget", scene.garden, new(&scene, "cost"));
    assert!(
        refused.contains(&format!("a budget of cost already: {cost}")),
        "{refused}"
    );
    let deleted = scene.done(scene.ann, "deleteBudget", first, json!({}));
    assert_eq!(deleted.changes.trashed, [first]);
    assert!(
        scene
            .decide(scene.ann, "createBudget", scene.garden, new(&scene, "time"))
            .is_ok()
    );
}

#[test]
fn a_change_of_a_group_keeps_its_other_parts() {
    let scene = DecisionScene::new();
    let mut body = new(&scene, "time");
    body["total"] = json!({"value": 600});
    let budget = budget(&scene, body);
    let enabled = json!({"total": {"enabled": true}});
    let changed = scene
        .decide(scene.ann, "updateBudget", budget, enabled)
        .unwrap();
    assert_eq!(part(&changed, budget, TOTAL, "value"), 600);
    assert_eq!(part(&changed, budget, TOTAL, "enabled"), true);
}

#[test]
fn only_budgets_of_time_have_a_unit() {
    let scene = DecisionScene::new();
    for (of, unit) in [("time", json!("minutes")), ("cost", json!(null))] {
        let created = scene.decide(scene.ann, "createBudget", scene.garden, new(&scene, of));
        let created = created.unwrap();
        let budget = subject(&created).gid;
        for group in [ESTIMATE, ACTUAL, TOTAL] {
            assert_eq!(part(&created, budget, group, "units"), unit);
        }
    }
}

#[test]
fn a_new_budget_has_the_time_that_was_tracked_before() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    tracked(&scene, scene.bob, task, "billable");
    let created = scene.decide(scene.ann, "createBudget", scene.garden, new(&scene, "time"));
    let created = created.unwrap();
    assert_eq!(part(&created, subject(&created).gid, ACTUAL, "value"), 60);
}

#[test]
fn a_budget_of_time_has_the_minutes_of_all_users() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let budget = budget(&scene, new(&scene, "time"));
    tracked(&scene, scene.ann, task, "billable");
    let second = tracked(&scene, scene.bob, task, "nonBillable");
    assert_eq!(part(&second, budget, ACTUAL, "value"), 120);
    let deleted = scene.decide(
        scene.bob,
        "deleteTimeTrackingEntry",
        subject(&second).gid,
        json!({}),
    );
    assert_eq!(part(&deleted.unwrap(), budget, ACTUAL, "value"), 60);
}

#[test]
fn a_budget_counts_the_time_that_its_filter_keeps() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let budget = budget(&scene, new(&scene, "time"));
    tracked(&scene, scene.ann, task, "billable");
    tracked(&scene, scene.ann, task, "billable");
    tracked(&scene, scene.ann, task, "nonBillable");
    tracked(&scene, scene.ann, task, "notApplicable");
    let counted = |filter: &str| {
        let filter = json!({"actual": {"billable_status_filter": filter}});
        let changed = scene.done(scene.ann, "updateBudget", budget, filter);
        part(&changed, budget, ACTUAL, "value")
    };
    assert_eq!(counted("billable"), 120);
    assert_eq!(counted("non_billable"), 60);
    assert_eq!(counted("any"), 240);
}

#[test]
fn a_budget_of_cost_follows_the_rates_of_users() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let budget = budget(&scene, new(&scene, "cost"));
    let unrated = tracked(&scene, scene.bob, task, "billable");
    assert_eq!(saved(&unrated, budget), None);
    let body = json!({"parent": scene.garden, "resource": scene.bob, "rate": 30});
    let rated = scene.done(scene.ann, "createRate", scene.garden, body);
    assert_eq!(part(&rated, budget, ACTUAL, "value"), 30);
    let rate = subject(&rated).gid;
    let raised = scene.done(scene.ann, "updateRate", rate, json!({"rate": 40.5}));
    assert_eq!(part(&raised, budget, ACTUAL, "value"), 40.5);
    let deleted = scene
        .decide(scene.ann, "deleteRate", rate, json!({}))
        .unwrap();
    assert_eq!(part(&deleted, budget, ACTUAL, "value"), 0);
}

#[test]
fn an_estimate_counts_allocations_if_they_are_its_source() {
    let scene = DecisionScene::new();
    let mut body = new(&scene, "time");
    body["estimate"] = json!({"source": "capacity_plans"});
    let budget = budget(&scene, body);
    let planned = allocated(&scene, scene.bob);
    assert_eq!(part(&planned, budget, ESTIMATE, "value"), 600);
    let none = json!({"estimate": {"source": "none"}});
    let changed = scene
        .decide(scene.ann, "updateBudget", budget, none)
        .unwrap();
    assert_eq!(part(&changed, budget, ESTIMATE, "value"), 0);
    let deleted = scene.decide(
        scene.ann,
        "deleteAllocation",
        subject(&planned).gid,
        json!({}),
    );
    assert_eq!(part(&deleted.unwrap(), budget, ESTIMATE, "value"), 0);
}

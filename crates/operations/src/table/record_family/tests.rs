use crate::decision_scene::{DecisionScene, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::workspace;

fn budget_of(project: Gid) -> Value {
    json!({"parent": project, "budget_type": "time"})
}

/// Adds a member of the workspace with a level on a private project of the admin.
fn member_of_project(scene: &mut DecisionScene, level: Level) -> (Gid, Gid) {
    let (acme, ann) = (scene.acme, scene.ann);
    scene.given(|fixture| {
        let (eve, project) = (
            fixture.member(acme, "Eve", Role::Member),
            fixture.private_project(acme, "Hidden", ann),
        );
        fixture.share(project, acme, eve, level);
        (eve, project)
    })
}

fn allocation(scene: &DecisionScene, project: Gid) -> Value {
    json!({
        "parent": project,
        "assignee": scene.ann,
        "start_date": "2026-03-02",
        "end_date": "2026-03-08",
    })
}

#[test]
fn a_family_may_be_for_paid_workspaces_only() {
    let mut scene = DecisionScene::new();
    let (ann, garden) = (scene.ann, scene.garden);
    let created = scene.decide(ann, "createBudget", garden, budget_of(garden));
    assert!(created.is_ok());
    scene.edit(scene.acme, |draft| draft.set(workspace::PLAN, "free"));
    let refused = scene.refused(ann, "createBudget", garden, budget_of(garden));
    assert!(
        refused.contains("not available for free users"),
        "{refused}"
    );
}

#[test]
fn a_record_needs_a_level_on_its_parent() {
    let mut scene = DecisionScene::new();
    let (eve, project) = member_of_project(&mut scene, Level::Commenter);
    let body = allocation(&scene, project);
    let refused = scene.refused(eve, "createAllocation", project, body.clone());
    assert!(
        refused.contains("do not have permission to change this project"),
        "{refused}"
    );
    let refused = scene.refused(scene.bob, "createAllocation", project, body.clone());
    assert!(
        refused.contains("do not have access to this project"),
        "{refused}"
    );
    let created = scene
        .decide(scene.ann, "createAllocation", project, body)
        .unwrap();
    let record = subject(&created);
    assert_eq!(record.workspace, Some(scene.acme));
    assert_eq!(
        written(&created, rel::ALLOCATION_OF),
        [(record.gid, project)]
    );
}

#[test]
fn only_editors_change_and_delete_a_record() {
    let mut scene = DecisionScene::new();
    let (eve, project) = member_of_project(&mut scene, Level::Commenter);
    let body = allocation(&scene, project);
    let created = scene.done(scene.ann, "createAllocation", project, body);
    let record = subject(&created).gid;
    let change = json!({"end_date": "2026-03-09"});
    let refused = scene.refused(eve, "updateAllocation", record, change.clone());
    assert!(
        refused.contains("do not have permission to change this allocation"),
        "{refused}"
    );
    assert!(
        scene
            .decide(scene.ann, "updateAllocation", record, change)
            .is_ok()
    );
    let refused = scene.refused(eve, "deleteAllocation", record, json!({}));
    assert!(
        refused.contains("do not have permission to change this allocation"),
        "{refused}"
    );
    let deleted = scene.decide(scene.ann, "deleteAllocation", record, json!({}));
    assert_eq!(deleted.unwrap().changes.trashed, [record]);
}

#[test]
fn who_may_not_create_a_record_learns_nothing_about_its_fields() {
    let mut scene = DecisionScene::new();
    let (eve, project) = member_of_project(&mut scene, Level::Editor);
    let mut body = budget_of(project);
    body["budget_type"] = json!("length");
    let refused = scene.refused(eve, "createBudget", project, body.clone());
    assert!(
        refused.contains("do not have permission to administer"),
        "{refused}"
    );
    let refused = scene.refused(scene.ann, "createBudget", project, body);
    assert!(refused.contains("budget_type: "), "{refused}");
}

#[test]
fn a_like_needs_less_than_a_change() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Harvest", "workspace": scene.acme});
    let goal = subject(&scene.done(scene.ann, "createGoal", scene.acme, body)).gid;
    let seat = json!({"parent": goal, "member": scene.bob, "access_level": "commenter"});
    scene.done(scene.ann, "createMembership", goal, seat);
    let like = json!({"liked": true});
    let liked = scene.decide(scene.bob, "updateGoal", goal, like).unwrap();
    assert_eq!(written(&liked, rel::STORY_LIKES), [(goal, scene.bob)]);
    let both = json!({"liked": true, "name": "Crop"});
    let refused = scene.refused(scene.bob, "updateGoal", goal, both);
    assert!(
        refused.contains("do not have permission to change this goal"),
        "{refused}"
    );
}

#[test]
fn a_new_record_has_no_custom_fields_yet() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let (field, _) =
        scene.given(|fixture| fixture.custom_field(acme, "Crop", CustomFieldType::Text, &[]));
    let values = json!({field.to_string(): "Beans"});
    let body = json!({"name": "Harvest", "workspace": acme, "custom_fields": values});
    let refused = scene.refused(scene.ann, "createGoal", acme, body);
    assert!(refused.contains("is not on given object"), "{refused}");
}

#[test]
fn a_record_has_both_days_in_their_order() {
    let scene = DecisionScene::new();
    let mut body = allocation(&scene, scene.garden);
    body["end_date"] = json!("2026-03-01");
    let refused = scene.refused(scene.ann, "createAllocation", scene.garden, body.clone());
    assert!(refused.contains("end_date: 2026-03-01 is before start_date 2026-03-02"));
    body["start_date"] = json!("2026-03-01");
    let created = scene.done(scene.ann, "createAllocation", scene.garden, body);
    let record = subject(&created).gid;
    let refused = scene.refused(
        scene.ann,
        "updateAllocation",
        record,
        json!({"end_date": null}),
    );
    assert!(refused.contains("end_date: Missing input"), "{refused}");
}

#[test]
fn a_record_that_stays_as_it_is_writes_nothing() {
    let scene = DecisionScene::new();
    let body = allocation(&scene, scene.garden);
    let created = scene.done(scene.ann, "createAllocation", scene.garden, body);
    let same = json!({"end_date": "2026-03-08"});
    let changed = scene.decide(scene.ann, "updateAllocation", subject(&created).gid, same);
    assert!(changed.unwrap().changes.is_empty());
}

use crate::decision_scene::{DecisionScene, node, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::goal_relationship::{SUBTYPE, SUPPORTERS_MAX};
use workgraph_core::storage::ListPosition;

const ADD: &str = "addSupportingRelationship";
const REMOVE: &str = "removeSupportingRelationship";
const WEIGHT: &str = "contribution_weight";

fn goal(scene: &DecisionScene, name: &str) -> Gid {
    let body = json!({"name": name, "workspace": scene.acme});
    scene.made(scene.ann, "createGoal", scene.acme, body)
}

fn by(supporter: Gid) -> Value {
    json!({"supporting_resource": supporter})
}

#[test]
fn a_goal_does_not_support_a_goal_that_supports_it() {
    let scene = DecisionScene::new();
    let (year, quarter) = (goal(&scene, "Year"), goal(&scene, "Quarter"));
    let added = scene.done(scene.ann, ADD, year, by(quarter));
    assert_eq!(written(&added, rel::SUPPORTS), [(quarter, year)]);
    for (supported, supporter) in [(quarter, year), (year, year)] {
        let ring = scene.refused(scene.ann, ADD, supported, by(supporter));
        assert!(ring.contains("cannot support itself, or a goal that supports it"));
    }
}

#[test]
fn a_relationship_says_if_the_supporter_is_a_goal() {
    let scene = DecisionScene::new();
    let (year, quarter) = (goal(&scene, "Year"), goal(&scene, "Quarter"));
    let subtype = |supporter: Gid| {
        let added = scene.decide(scene.ann, ADD, year, by(supporter)).unwrap();
        let word = node(&added, added.subject.unwrap()).get(SUBTYPE);
        word.unwrap().into_owned()
    };
    assert_eq!(subtype(quarter), "subgoal");
    assert_eq!(subtype(scene.garden), "supporting_work");
}

#[test]
fn a_supporter_and_its_goal_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let (year, ann) = (goal(&scene, "Year"), scene.ann);
    let club = scene.second_workspace();
    let elsewhere = scene.given(|fixture| fixture.project(club, "Elsewhere", ann));
    let refused = scene.refused(ann, ADD, year, by(elsewhere));
    assert!(
        refused.contains("Not an object of the goal's workspace"),
        "{refused}"
    );
    scene.done(ann, ADD, year, by(scene.garden));
}

#[test]
fn a_supporter_that_the_goal_has_moves_and_gets_the_weight() {
    let scene = DecisionScene::new();
    let (year, quarter) = (goal(&scene, "Year"), goal(&scene, "Quarter"));
    let relationship = scene.made(scene.ann, ADD, year, by(quarter));
    scene.done(scene.ann, ADD, year, by(scene.garden));
    let add = |body| scene.decide(scene.ann, ADD, year, body).unwrap();
    assert!(add(by(quarter)).changes.is_empty());
    let beside_itself = json!({"supporting_resource": quarter, "insert_after": quarter});
    assert!(add(beside_itself).changes.is_empty());
    let moved = add(json!({"supporting_resource": quarter, "insert_after": scene.garden}));
    assert_eq!(moved.subject, Some(relationship));
    assert_eq!(
        moved.changes.edge_writes[0].position,
        ListPosition::After(scene.garden)
    );
    let weighed = add(json!({"supporting_resource": quarter, "contribution_weight": 0.5}));
    assert!(written(&weighed, rel::SUPPORTS).is_empty());
    assert_eq!(node(&weighed, relationship).raw(WEIGHT), Some("0.5"));
}

#[test]
fn a_supporter_stands_beside_one_of_its_goal() {
    let scene = DecisionScene::new();
    let (year, quarter) = (goal(&scene, "Year"), goal(&scene, "Quarter"));
    let before = json!({"supporting_resource": scene.garden, "insert_before": quarter});
    let refused = scene.refused(scene.ann, ADD, year, before.clone());
    assert!(
        refused.contains("insert_before: Unknown object"),
        "{refused}"
    );
    scene.done(scene.ann, ADD, year, by(quarter));
    let added = scene.done(scene.ann, ADD, year, before);
    assert_eq!(
        added.changes.edge_writes[0].position,
        ListPosition::Before(quarter)
    );
}

#[test]
fn a_supporter_stands_beside_none_that_the_caller_does_not_see() {
    let mut scene = DecisionScene::new();
    let (year, ann, bob) = (goal(&scene, "Year"), scene.ann, scene.bob);
    let (secret, _) = scene.shared_project(ann, Level::Admin);
    let editor = json!({"parent": year, "member": bob, "access_level": "editor"});
    scene.done(ann, "createMembership", year, editor);
    scene.done(ann, ADD, year, by(secret));
    let after = json!({"supporting_resource": scene.garden, "insert_after": secret});
    let refused = scene.refused(bob, ADD, year, after.clone());
    assert!(
        refused.contains("insert_after: Unknown object"),
        "{refused}"
    );
    scene.done(ann, ADD, year, after);
}

#[test]
fn a_goal_has_a_limited_number_of_supporters() {
    let mut scene = DecisionScene::new();
    let (year, last, acme) = (goal(&scene, "Year"), goal(&scene, "Last"), scene.acme);
    scene.given(|fixture| {
        for _ in 1..SUPPORTERS_MAX {
            let project = fixture.node(Type::Project, Some(acme), |_, _| ());
            fixture.link(project, rel::SUPPORTS, year, ListPosition::Last, None);
        }
    });
    scene.done(scene.ann, ADD, year, by(last));
    let refused = scene.refused(scene.ann, ADD, year, by(scene.garden));
    assert!(
        refused.contains("Too many: a goal has at most"),
        "{refused}"
    );
    scene.done(scene.ann, REMOVE, year, by(last));
    scene.done(scene.ann, ADD, year, by(scene.garden));
}

#[test]
fn only_a_supporter_is_removed_with_its_relationship() {
    let scene = DecisionScene::new();
    let year = goal(&scene, "Year");
    let refused = scene.refused(scene.ann, REMOVE, year, by(scene.garden));
    assert!(refused.contains("Does not support the goal"), "{refused}");
    let relationship = scene.made(scene.ann, ADD, year, by(scene.garden));
    let removed = scene.done(scene.ann, REMOVE, year, by(scene.garden));
    assert_eq!(removed.changes.trashed, [relationship]);
    let edge = [(scene.garden, rel::SUPPORTS, year)];
    assert_eq!(removed.changes.edge_removals, edge);
}

#[test]
fn a_relationship_keeps_its_weight_unless_another_is_given() {
    let scene = DecisionScene::new();
    let year = goal(&scene, "Year");
    let relationship = scene.made(scene.ann, ADD, year, by(scene.garden));
    let change = |body| scene.decide(scene.ann, "updateGoalRelationship", relationship, body);
    assert!(change(json!({})).unwrap().changes.is_empty());
    let null = change(json!({"contribution_weight": null})).unwrap_err();
    assert!(
        null.message
            .starts_with("contribution_weight: Cannot be null"),
        "{null}"
    );
    let changed = change(json!({"contribution_weight": 0.25})).unwrap();
    assert_eq!(node(&changed, relationship).raw(WEIGHT), Some("0.25"));
}

use crate::decision_scene::{DecisionScene, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::goal;

fn goal_with(scene: &DecisionScene, field: &str, value: impl Into<Value>) -> Value {
    json!({"name": "Harvest", "workspace": scene.acme, field: value.into()})
}

fn refused(scene: &DecisionScene, body: Value) -> String {
    scene.refused(scene.ann, "createGoal", scene.acme, body)
}

fn categories<const N: usize>(scene: &mut DecisionScene) -> [Gid; N] {
    let acme = scene.acme;
    scene.given(|fixture| {
        std::array::from_fn(|_| fixture.node(Type::TimeTrackingCategory, Some(acme), |_, _| ()))
    })
}

#[test]
fn a_linked_node_is_in_the_workspace_of_the_record() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let (own, foreign) = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(ann, other, Role::Member);
        (
            fixture.team(acme, "Own", ann),
            fixture.team(other, "Foreign", ann),
        )
    });
    let reason = refused(&scene, goal_with(&scene, "team", foreign.to_string()));
    assert!(
        reason.contains("team: Not a team of the same workspace"),
        "{reason}"
    );
    let body = goal_with(&scene, "team", own.to_string());
    let created = scene.decide(ann, "createGoal", acme, body).unwrap();
    assert_eq!(subject(&created).get(goal::TEAM), Some(own));
}

#[test]
fn a_linked_node_is_visible_to_the_caller() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let team = scene.given(|fixture| fixture.team(acme, "Secret", ann));
    let body = goal_with(&scene, "team", team.to_string());
    let reason = scene.refused(scene.bob, "createGoal", acme, body.clone());
    assert!(
        reason.contains("do not have access to this team"),
        "{reason}"
    );
    assert!(scene.decide(ann, "createGoal", acme, body).is_ok());
}

#[test]
fn a_time_period_is_in_every_workspace() {
    let mut scene = DecisionScene::new();
    let period = scene.given(|fixture| fixture.node(Type::TimePeriod, None, |_, _| ()));
    let body = goal_with(&scene, "time_period", period.to_string());
    let created = scene
        .decide(scene.ann, "createGoal", scene.acme, body)
        .unwrap();
    assert_eq!(subject(&created).get(goal::TIME_PERIOD), Some(period));
}

#[test]
fn a_linked_user_belongs_to_the_workspace_of_the_record() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let reason = refused(&scene, goal_with(&scene, "owner", eve.to_string()));
    assert!(
        reason.contains("owner: Not a user in Workspace"),
        "{reason}"
    );
    let body = goal_with(&scene, "owner", "bob@example.com");
    let created = scene
        .decide(scene.ann, "createGoal", scene.acme, body)
        .unwrap();
    assert_eq!(subject(&created).get(goal::OWNER), Some(scene.bob));
}

#[test]
fn null_ends_a_link() {
    let scene = DecisionScene::new();
    let body = goal_with(&scene, "owner", scene.bob.to_string());
    let goal = scene.done(scene.ann, "createGoal", scene.acme, body);
    let goal = subject(&goal).gid;
    let ended = scene.decide(scene.ann, "updateGoal", goal, json!({"owner": null}));
    assert_eq!(subject(&ended.unwrap()).get(goal::OWNER), None);
}

#[test]
fn a_node_is_linked_once() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let [digging] = categories(&mut scene);
    let body = json!({"duration_minutes": 60, "categories": [digging, digging]});
    let created = scene
        .decide(scene.bob, "createTimeTrackingEntry", task, body)
        .unwrap();
    let entry = subject(&created).gid;
    assert_eq!(written(&created, rel::TIME_CATEGORIES), [(entry, digging)]);
}

#[test]
fn new_links_replace_those_from_before() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let [digging, watering, weeding] = categories(&mut scene);
    let body = json!({"duration_minutes": 60, "categories": [digging, watering]});
    let created = scene.done(scene.bob, "createTimeTrackingEntry", task, body);
    let entry = subject(&created).gid;
    let body = json!({"categories": [watering, weeding]});
    let changed = scene
        .decide(scene.bob, "updateTimeTrackingEntry", entry, body)
        .unwrap();
    assert_eq!(
        changed.changes.edge_removals,
        [(entry, rel::TIME_CATEGORIES, digging)]
    );
    assert_eq!(written(&changed, rel::TIME_CATEGORIES), [(entry, weeding)]);
    let recorded: Vec<Gid> = changed
        .changes
        .change_records
        .iter()
        .map(|record| record.gid)
        .collect();
    assert_eq!(recorded, [entry, entry]);
}

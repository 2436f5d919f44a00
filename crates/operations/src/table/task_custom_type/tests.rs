use crate::decision_scene::{DecisionScene, node};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::resources::{custom_type, task};
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};

/// Stores a custom type of the garden; returns it with its statuses: open, waiting and done.
fn custom_type(scene: &mut DecisionScene, workspace: Gid, projects: &[Gid]) -> (Gid, [Gid; 3]) {
    let words = ["Open:incomplete", "Waiting:incomplete", "Done:complete"];
    let statuses = words.map(|word| NewStatus::parse(word).unwrap());
    scene.given(|fixture| {
        fixture.with(|work| {
            let bug = create_custom_type(work, workspace, projects, "Bug", &statuses).unwrap();
            let node = work
                .changes
                .node_writes
                .iter()
                .find(|write| write.node.gid == bug);
            let statuses = custom_type::statuses(&node.unwrap().node);
            (bug, [statuses[0].0, statuses[1].0, statuses[2].0])
        })
    })
}

/// Stores a custom type of the garden, and a task.
fn bug_scene() -> (DecisionScene, Gid, Gid, [Gid; 3]) {
    let mut scene = DecisionScene::new();
    let [leak] = scene.tasks();
    let (acme, garden) = (scene.acme, scene.garden);
    let (bug, statuses) = custom_type(&mut scene, acme, &[garden]);
    (scene, leak, bug, statuses)
}

fn changed(scene: &DecisionScene, task: Gid, body: Value) -> Decision {
    scene.done(scene.ann, "updateTask", task, body)
}

fn refused(scene: &DecisionScene, task: Gid, body: Value) -> String {
    scene.refused(scene.ann, "updateTask", task, body)
}

#[test]
fn a_task_with_a_custom_type_gets_its_subtype_and_first_status() {
    let (scene, leak, bug, [open, ..]) = bug_scene();
    let decision = changed(&scene, leak, json!({"custom_type": bug}));
    let task = node(&decision, leak);
    assert_eq!(
        task.get(task::SUBTYPE).as_deref(),
        Some(custom_type::SUBTYPE)
    );
    assert_eq!(task.get(task::CUSTOM_TYPE_STATUS), Some(open));
}

#[test]
fn a_custom_type_is_of_the_same_workspace() {
    let (mut scene, leak, ..) = bug_scene();
    let club = scene.second_workspace();
    let ann = scene.ann;
    let project = scene.given(|fixture| fixture.project(club, "Cellar", ann));
    let (foreign, _) = custom_type(&mut scene, club, &[project]);
    let refused = refused(&scene, leak, json!({"custom_type": foreign}));
    assert!(refused.contains("custom_type: Not a custom type of the same workspace"));
}

#[test]
fn a_custom_type_is_of_a_project_of_the_task() {
    let (mut scene, leak, ..) = bug_scene();
    let (acme, ann) = (scene.acme, scene.ann);
    let cellar = scene.given(|fixture| fixture.project(acme, "Cellar", ann));
    let (other, _) = custom_type(&mut scene, acme, &[cellar]);
    let not_of_project = "custom_type: Not a custom type of a project of the task";
    let refused_change = refused(&scene, leak, json!({"custom_type": other}));
    assert!(refused_change.contains(not_of_project), "{refused_change}");
    let new =
        |projects: Value| json!({"workspace": acme, "projects": projects, "custom_type": other});
    let refused = scene.refused(ann, "createTask", acme, new(json!([scene.garden])));
    assert!(refused.contains(not_of_project), "{refused}");
    scene.done(ann, "createTask", acme, new(json!([cellar])));
    scene.done(ann, "createTask", acme, new(json!([])));
}

#[test]
fn the_subtype_fits_the_custom_type() {
    let (scene, leak, bug, _) = bug_scene();
    let milestone = json!({"custom_type": bug, "resource_subtype": "milestone"});
    assert!(refused(&scene, leak, milestone).contains("Only tasks with resource_subtype custom"));
    let alone = json!({"resource_subtype": "custom"});
    assert!(refused(&scene, leak, alone).contains("A task with this subtype has a custom_type"));
    let both = json!({"custom_type": bug, "resource_subtype": "custom"});
    let decision = changed(&scene, leak, both);
    assert_eq!(node(&decision, leak).get(task::CUSTOM_TYPE), Some(bug));
}

#[test]
fn a_task_loses_its_custom_type_with_the_subtype_and_the_subtype_with_it() {
    let (scene, leak, bug, _) = bug_scene();
    changed(&scene, leak, json!({"custom_type": bug}));
    let plain = changed(&scene, leak, json!({"resource_subtype": "default_task"}));
    assert_eq!(node(&plain, leak).get(task::CUSTOM_TYPE), None);
    assert_eq!(node(&plain, leak).get(task::CUSTOM_TYPE_STATUS), None);
    changed(&scene, leak, json!({"custom_type": bug}));
    let untyped = changed(&scene, leak, json!({"custom_type": null}));
    let subtype = node(&untyped, leak).get(task::SUBTYPE);
    assert_eq!(subtype.as_deref(), Some("default_task"));
}

#[test]
fn a_status_completes_and_reopens_a_task() {
    let (scene, leak, bug, [_, waiting, done]) = bug_scene();
    let body = json!({"custom_type": bug, "custom_type_status_option": done});
    assert!(node(&changed(&scene, leak, body), leak).get(task::COMPLETED));
    let body = json!({"custom_type_status_option": waiting});
    assert!(!node(&changed(&scene, leak, body), leak).get(task::COMPLETED));
    let both = json!({"custom_type_status_option": done, "completed": false});
    assert!(refused(&scene, leak, both).contains("completed: It contradicts the status"));
}

#[test]
fn a_status_follows_completion_and_else_stays() {
    let (scene, leak, bug, [open, waiting, done]) = bug_scene();
    changed(
        &scene,
        leak,
        json!({"custom_type": bug, "custom_type_status_option": waiting}),
    );
    let status = |body| node(&changed(&scene, leak, body), leak).get(task::CUSTOM_TYPE_STATUS);
    assert_eq!(
        status(json!({"completed": false, "name": "Leak"})),
        Some(waiting)
    );
    assert_eq!(status(json!({"completed": true})), Some(done));
    assert_eq!(status(json!({"completed": false})), Some(open));
}

#[test]
fn a_status_is_one_of_the_custom_type() {
    let (mut scene, leak, bug, [open, ..]) = bug_scene();
    let acme = scene.acme;
    let (_, [foreign, ..]) = custom_type(&mut scene, acme, &[]);
    let body = json!({"custom_type_status_option": open});
    assert!(refused(&scene, leak, body).contains("Only tasks with a custom type have one"));
    let body = json!({"custom_type": bug, "custom_type_status_option": foreign});
    assert!(refused(&scene, leak, body).contains(&format!(
        "Not a status of the task's custom type: {foreign}"
    )));
}

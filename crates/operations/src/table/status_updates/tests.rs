use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::status_update::{self, CURRENT_STATUS_UPDATE};
use workgraph_core::model::resources::{goal, project};

const CREATE: &str = "createStatusForObject";
const CREATE_OLD_FORM: &str = "createProjectStatusForProject";
const DELETE: &str = "deleteStatus";

/// Returns the body of a status update of an object.
fn about(parent: Gid, status_type: &str) -> Value {
    json!({"parent": parent, "status_type": status_type, "text": "News"})
}

/// Stores a status update of the project.
fn status(scene: &DecisionScene, by: Gid, status_type: &str) -> Gid {
    scene.made(by, CREATE, scene.garden, about(scene.garden, status_type))
}

#[test]
fn a_status_update_says_something() {
    let scene = DecisionScene::new();
    let garden = scene.garden;
    let create = |more: Value| {
        let body = with(json!({"parent": garden, "status_type": "on_track"}), more);
        scene.decide(scene.ann, CREATE, garden, body)
    };
    for nothing in [
        json!({}),
        json!({"text": " "}),
        json!({"html_text": "<body> </body>"}),
    ] {
        let refused = create(nothing).unwrap_err().message;
        assert_eq!(refused, "text: Missing input");
    }
    let link = format!("<body><a data-asana-gid=\"{garden}\"/></body>");
    for text in [json!({"text": "News"}), json!({"html_text": link})] {
        let made = create(text).unwrap();
        assert_eq!(
            written(&made, rel::STATUS_OF),
            [(made.subject.unwrap(), garden)]
        );
    }
}

#[test]
fn a_project_status_may_be_a_colour_alone() {
    let scene = DecisionScene::new();
    let status_type = |body| {
        let made = scene
            .decide(scene.ann, CREATE_OLD_FORM, scene.garden, body)
            .unwrap();
        let word = node(&made, made.subject.unwrap()).get(status_update::STATUS_TYPE);
        word.unwrap().into_owned()
    };
    assert_eq!(status_type(json!({"color": "yellow"})), "at_risk");
    assert_eq!(status_type(json!({"text": "News"})), "on_track");
}

#[test]
fn a_status_update_has_a_state_that_its_object_can_have() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Harvest", "workspace": scene.acme});
    let goal = scene.made(scene.ann, "createGoal", scene.acme, body);
    let project = scene.refused(scene.ann, CREATE, goal, about(scene.garden, "achieved"));
    assert!(project.starts_with("status_type: "), "{project}");
    let refused = scene.refused(scene.ann, CREATE, goal, about(goal, "complete"));
    assert!(refused.starts_with("status_type: "), "{refused}");
    let made = scene.done(scene.ann, CREATE, goal, about(goal, "achieved"));
    let status = node(&made, goal).get(goal::STATUS);
    assert_eq!(status.as_deref(), Some("achieved"));
}

#[test]
fn a_status_update_without_a_title_names_its_day() {
    let scene = DecisionScene::new();
    let title = |more: Value| {
        let body = with(about(scene.garden, "on_track"), more);
        let made = scene.decide(scene.ann, CREATE, scene.garden, body).unwrap();
        let text = node(&made, made.subject.unwrap()).get(status_update::TITLE);
        text.unwrap().into_owned()
    };
    assert_eq!(title(json!({})), "Status Update - Jan 15");
    assert_eq!(title(json!({"title": "Frost"})), "Frost");
}

#[test]
fn only_an_editor_posts_a_status_update() {
    let mut scene = DecisionScene::new();
    let (ann, bob) = (scene.ann, scene.bob);
    let (secret, _) = scene.shared_project(bob, Level::Commenter);
    let refused = scene.refused(bob, CREATE, secret, about(secret, "on_track"));
    assert_eq!(
        refused,
        "You do not have permission to change this project."
    );
    let made = scene.done(ann, CREATE, secret, about(secret, "on_track"));
    assert_eq!(node(&made, made.subject.unwrap()).ty, Type::StatusUpdate);
}

#[test]
fn the_newest_status_update_completes_or_reopens_a_project() {
    let scene = DecisionScene::new();
    let garden = scene.garden;
    let post = |word| scene.done(scene.ann, CREATE, garden, about(garden, word));
    let done = post("complete");
    let completed = node(&done, garden);
    assert!(completed.get(project::COMPLETED));
    assert_eq!(completed.get(project::COMPLETED_BY), Some(scene.ann));
    assert_eq!(completed.get(CURRENT_STATUS_UPDATE), done.subject);
    let again = post("on_track");
    let reopened = node(&again, garden);
    assert!(!reopened.get(project::COMPLETED));
    assert_eq!(reopened.get(project::COMPLETED_BY), None);
}

#[test]
fn only_the_author_or_an_admin_deletes_a_status_update() {
    let scene = DecisionScene::new();
    let (by_ann, by_bob) = (
        status(&scene, scene.ann, "on_track"),
        status(&scene, scene.bob, "on_track"),
    );
    let delete = |by, status| scene.decide(by, DELETE, status, json!({}));
    let refused = delete(scene.bob, by_ann).unwrap_err().message;
    assert_eq!(refused, "You may only delete your own status updates.");
    assert_eq!(delete(scene.bob, by_bob).unwrap().changes.trashed, [by_bob]);
    assert_eq!(delete(scene.ann, by_bob).unwrap().changes.trashed, [by_bob]);
}

#[test]
fn without_the_newest_status_update_the_one_before_counts() {
    let scene = DecisionScene::new();
    let garden = scene.garden;
    let first = status(&scene, scene.ann, "complete");
    let second = status(&scene, scene.ann, "on_track");
    let older = scene.decide(scene.ann, DELETE, first, json!({})).unwrap();
    assert!(
        older.changes.node_writes.is_empty(),
        "the current one stays"
    );
    let deleted = scene.done(scene.ann, DELETE, second, json!({}));
    let completed = node(&deleted, garden);
    assert_eq!(completed.get(CURRENT_STATUS_UPDATE), Some(first));
    assert!(completed.get(project::COMPLETED));
    let last = scene.done(scene.ann, DELETE, first, json!({}));
    let open = node(&last, garden);
    assert_eq!(open.get(CURRENT_STATUS_UPDATE), None);
    assert!(!open.get(project::COMPLETED));
}

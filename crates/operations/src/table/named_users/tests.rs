use crate::decision_scene::{DecisionScene, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;

fn followers(user: impl Into<Value>) -> Value {
    json!({"followers": [user.into()]})
}

/// Adds a user whom nobody in the workspace knows.
fn stranger(scene: &mut DecisionScene) -> Gid {
    scene.given(|fixture| fixture.user("Eve", "eve@example.org"))
}

#[test]
fn an_added_user_is_the_caller_or_a_known_user_of_the_workspace() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    stranger(&mut scene);
    let add = |name: &str| scene.decide(scene.bob, "addFollowersForTask", task, followers(name));
    for (name, user) in [("me", scene.bob), ("ann@example.com", scene.ann)] {
        assert_eq!(written(&add(name).unwrap(), rel::FOLLOWERS), [(task, user)]);
    }
    let reason = add("eve@example.org").unwrap_err().message;
    assert!(reason.contains("followers: Unknown object"), "{reason}");
}

#[test]
fn an_added_user_is_not_only_in_another_workspace() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let eve = scene.neighbor();
    let refused = scene.refused(
        scene.ann,
        "addFollowersForTask",
        task,
        json!({"followers": [eve]}),
    );
    assert!(
        refused.contains("followers: Not a user in Workspace"),
        "{refused}"
    );
}

#[test]
fn a_user_in_a_list_is_removed_by_callers_who_do_not_know_them() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let eve = stranger(&mut scene);
    let eve_follows = json!({"followers": [eve]});
    let refused = scene.refused(
        scene.bob,
        "removeFollowerForTask",
        task,
        eve_follows.clone(),
    );
    assert!(refused.contains("followers: Unknown object"), "{refused}");
    scene.link(task, rel::FOLLOWERS, eve);
    let removed = scene.decide(scene.bob, "removeFollowerForTask", task, eve_follows);
    assert_eq!(
        removed.unwrap().changes.edge_removals,
        [(task, rel::FOLLOWERS, eve)]
    );
}

#[test]
fn a_service_account_adds_itself() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let robot = stranger(&mut scene);
    scene.service = Some(scene.acme);
    let added = scene.decide(robot, "addFollowersForTask", task, followers("me"));
    assert_eq!(written(&added.unwrap(), rel::FOLLOWERS), [(task, robot)]);
    scene.service = None;
    let refused = scene.refused(
        scene.ann,
        "addFollowersForTask",
        task,
        json!({"followers": [robot]}),
    );
    assert!(refused.contains("followers: Unknown object"), "{refused}");
}

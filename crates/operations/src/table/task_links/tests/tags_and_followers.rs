use crate::decision_scene::{DecisionScene, stories, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role, follower_rank};
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ListPosition;

#[test]
fn a_tag_is_added_once() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let [task] = scene.tasks();
    let tag = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    let added = scene.done(scene.ann, "addTagForTask", task, json!({"tag": tag}));
    assert_eq!(written(&added, rel::TAGS), [(task, tag)]);
    let again = scene.decide(scene.ann, "addTagForTask", task, json!({"tag": tag}));
    assert!(again.unwrap().changes.is_empty());
}

#[test]
fn a_follower_belongs_to_the_workspace() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let club = scene.second_workspace();
    let eve = scene.given(|fixture| fixture.member(club, "Eve", Role::Member));
    let follow = |user| json!({"followers": [user]});
    let refused = scene.refused(scene.ann, "addFollowersForTask", task, follow(eve));
    assert!(
        refused.starts_with("followers: Not a user in Workspace"),
        "{refused}"
    );
    let followed = scene.decide(scene.ann, "addFollowersForTask", task, follow(scene.bob));
    assert_eq!(
        written(&followed.unwrap(), rel::FOLLOWERS),
        [(task, scene.bob)]
    );
}

#[test]
fn a_tag_belongs_to_the_workspace_of_its_tasks() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let club = scene.second_workspace();
    let tag = scene.given(|fixture| fixture.tag(club, "wet"));
    let refused = scene.refused(scene.ann, "addTagForTask", water, json!({"tag": tag}));
    assert!(
        refused.contains("tag: Not a tag of the task's workspace"),
        "{refused}"
    );
}

#[test]
fn a_tag_that_a_task_has_is_removed_once() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let [water] = scene.tasks();
    let tag = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    scene.link(water, rel::TAGS, tag);
    let removed = scene.done(scene.ann, "removeTagForTask", water, json!({"tag": tag}));
    assert_eq!(removed.changes.edge_removals, [(water, rel::TAGS, tag)]);
    assert_eq!(stories(&removed), ["removed_from_tag"]);
    let again = scene.decide(scene.ann, "removeTagForTask", water, json!({"tag": tag}));
    assert!(again.unwrap().changes.is_empty());
}

#[test]
fn a_guest_removes_a_tag_that_only_the_task_shows() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let [water] = scene.tasks();
    let tag = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    let guest = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    scene.done(
        scene.ann,
        "addFollowersForTask",
        water,
        json!({"followers": [guest]}),
    );
    let add = scene.refused(guest, "addTagForTask", water, json!({"tag": tag}));
    assert!(add.contains("do not have access to this tag"), "{add}");
    scene.link(water, rel::TAGS, tag);
    let removed = scene.decide(guest, "removeTagForTask", water, json!({"tag": tag}));
    assert_eq!(
        removed.unwrap().changes.edge_removals,
        [(water, rel::TAGS, tag)]
    );
}

#[test]
fn a_follower_is_added_once_and_gets_the_higher_level() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (ann, bob) = (scene.ann, scene.bob);
    let follow = |by| {
        scene.done(
            by,
            "addFollowersForTask",
            water,
            json!({"followers": [bob, bob]}),
        )
    };
    let own = follow(bob);
    assert_eq!(written(&own, rel::FOLLOWERS), [(water, bob)]);
    assert_eq!(stories(&own), ["follower_added"]);
    let raised = follow(ann);
    assert_eq!(written(&raised, rel::FOLLOWERS), [(water, bob)]);
    assert!(stories(&raised).is_empty());
    assert!(follow(ann).changes.is_empty());
}

#[test]
fn a_viewer_of_a_task_removes_only_themselves() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let tidy = scene.given(|fixture| {
        let attic = fixture.private_project(acme, "Attic", ann);
        fixture.share(attic, acme, bob, Level::Viewer);
        let section = fixture.section_in(attic);
        fixture.task_in(section, "Tidy", ann)
    });
    let on_their_own = ListPosition::Rank(follower_rank(None));
    for user in [ann, bob] {
        scene.given(|fixture| fixture.link(tidy, rel::FOLLOWERS, user, on_their_own, None));
    }
    let remove = |user: Gid| {
        let body = json!({"followers": [user]});
        scene.decide(bob, "removeFollowerForTask", tidy, body)
    };
    let other = remove(ann).map(|_| ()).unwrap_err().message;
    assert!(other.contains("do not have permission to comment on this task"));
    let removals = remove(bob).unwrap().changes.edge_removals;
    assert_eq!(removals, [(tidy, rel::FOLLOWERS, bob)]);
}

#[test]
fn only_users_who_follow_are_removed() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let remove = |user: Gid| {
        let body = json!({"followers": [user]});
        scene.decide(scene.ann, "removeFollowerForTask", water, body)
    };
    let unknown = remove(eve).map(|_| ()).unwrap_err().message;
    assert!(unknown.contains("followers: Unknown object"), "{unknown}");
    assert!(remove(scene.bob).unwrap().changes.is_empty());
    scene.done(
        scene.bob,
        "addFollowersForTask",
        water,
        json!({"followers": ["me"]}),
    );
    let removed = remove(scene.bob).unwrap();
    assert_eq!(
        removed.changes.edge_removals,
        [(water, rel::FOLLOWERS, scene.bob)]
    );
}

use crate::decision_scene::{DecisionScene, subject};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::rel;

fn of(user: Gid, workspace: Gid) -> Value {
    json!({"user_gid": user, "workspace": workspace})
}

#[test]
fn a_user_changes_only_the_own_user() {
    let scene = DecisionScene::new();
    let name = json!({"name": "Robert"});
    let refused = scene.refused(scene.ann, "updateUser", scene.bob, name.clone());
    assert!(refused.contains("only change your own user"));
    let changed = scene.decide(scene.bob, "updateUser", scene.bob, name);
    assert_eq!(subject(&changed.unwrap()).title(), "Robert");
}

#[test]
fn a_user_has_a_name() {
    let scene = DecisionScene::new();
    let refused = scene.refused(scene.bob, "updateUser", scene.bob, json!({"name": "  "}));
    assert!(refused.contains("name: Cannot be empty"), "{refused}");
    let same = scene.decide(scene.bob, "updateUser", scene.bob, json!({"name": "Bob"}));
    assert!(same.unwrap().changes.is_empty());
}

#[test]
fn a_user_is_found_only_in_a_workspace_of_theirs() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let found = |user| {
        scene.look_up(
            scene.ann,
            "getUserForWorkspace",
            scene.acme,
            of(user, scene.acme),
        )
    };
    assert_eq!(found(scene.bob).unwrap(), scene.bob);
    assert_eq!(
        found(eve).unwrap_err().message,
        format!("user: Unknown object: {eve}")
    );
}

#[test]
fn a_user_is_changed_only_in_a_workspace_of_theirs() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let name = |user: Gid| json!({"user_gid": user, "name": "Anna"});
    let refused = scene.refused(scene.ann, "updateUserForWorkspace", scene.acme, name(eve));
    assert!(refused.contains("Unknown object"), "{refused}");
    let refused = scene.refused(
        scene.ann,
        "updateUserForWorkspace",
        scene.acme,
        name(scene.bob),
    );
    assert!(refused.contains("only change your own user"));
    let changed = scene.decide(
        scene.ann,
        "updateUserForWorkspace",
        scene.acme,
        name(scene.ann),
    );
    assert_eq!(subject(&changed.unwrap()).title(), "Anna");
}

#[test]
fn a_user_has_a_task_list_in_each_of_their_workspaces() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let list = |user| {
        scene.look_up(
            scene.ann,
            "getUserTaskListForUser",
            user,
            of(user, scene.acme),
        )
    };
    assert!(list(scene.bob).is_ok());
    assert_ne!(list(scene.bob), list(scene.ann));
    assert!(
        list(eve)
            .unwrap_err()
            .message
            .contains("user_task_list: Unknown object")
    );
}

#[test]
fn a_guest_finds_only_their_own_task_list() {
    let mut scene = DecisionScene::new();
    let (acme, garden, ann) = (scene.acme, scene.garden, scene.ann);
    let gus = scene.given(|fixture| {
        let gus = fixture.member(acme, "Gus", Role::Guest);
        fixture.share(garden, acme, gus, Level::Viewer);
        gus
    });
    let list = |by, user| scene.look_up(by, "getUserTaskListForUser", user, of(user, acme));
    assert!(
        list(gus, ann)
            .unwrap_err()
            .message
            .contains("do not have access")
    );
    assert_eq!(list(ann, gus), list(gus, gus));
}

#[test]
fn a_user_lists_only_their_own_favorites() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob, garden) = (scene.acme, scene.ann, scene.bob, scene.garden);
    let elsewhere = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(ann, other, Role::Member);
        fixture.project(other, "Elsewhere", ann)
    });
    let [task] = scene.tasks();
    for favorite in [garden, elsewhere, task] {
        scene.link(ann, rel::FAVORITES, favorite);
    }
    let projects = json!({"workspace": acme, "resource_type": "project"});
    let list = |by| scene.listed(by, "getFavoritesForUser", ann, projects.clone());
    assert_eq!(list(ann).unwrap(), [garden]);
    let refused = list(bob).unwrap_err().message;
    assert!(
        refused.contains("only list your own favorites"),
        "{refused}"
    );
}

#[test]
fn users_are_listed_by_team_or_workspace_or_all_that_the_caller_shares_one_with() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let eve = scene.neighbor();
    let team = scene.given(|fixture| fixture.team(acme, "Gardeners", ann));
    let list = |inputs| scene.listed(ann, "getUsers", acme, inputs).unwrap();
    assert_eq!(list(json!({"team": team, "workspace": acme})), [ann]);
    assert_eq!(list(json!({"workspace": acme})), [ann, bob]);
    assert_eq!(list(json!({})), [ann, bob, eve]);
}

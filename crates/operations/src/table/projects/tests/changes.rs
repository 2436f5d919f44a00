//! Tests of changes of projects, and of their statuses.
use super::team;
use crate::decision_scene::{DecisionScene, node, written};
use serde_json::json;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{project, status_update, workspace};

const CHANGE: &str = "updateProject";

#[test]
fn only_an_admin_gives_a_project_another_owner() {
    let scene = DecisionScene::new();
    let body = json!({"owner": scene.bob});
    let refused = scene.refused(scene.bob, CHANGE, scene.garden, body.clone());
    assert_eq!(
        refused,
        "You do not have permission to administer this project."
    );
    scene.done(scene.bob, CHANGE, scene.garden, json!({"name": "Park"}));
    let changed = scene.done(scene.ann, CHANGE, scene.garden, body);
    let owner = node(&changed, scene.garden).get(project::OWNER);
    assert_eq!(owner, Some(scene.bob));
}

#[test]
fn only_who_shares_a_project_changes_who_sees_it() {
    let mut scene = DecisionScene::new();
    let growers = team(&mut scene);
    let hidden = json!({"privacy_setting": "private"});
    let shared = json!({"team": growers});
    for body in [&hidden, &shared] {
        scene
            .decide(scene.bob, CHANGE, scene.garden, body.clone())
            .unwrap();
    }
    let admins = json!({"minimum_access_level_for_sharing": "admin"});
    scene.done(scene.ann, CHANGE, scene.garden, admins);
    for body in [hidden, shared] {
        let refused = scene.refused(scene.bob, CHANGE, scene.garden, body);
        assert_eq!(refused, "You do not have permission to share this project.");
    }
}

#[test]
fn nobody_gives_new_members_more_than_they_have() {
    let scene = DecisionScene::new();
    let usual = |level: &str| json!({"default_access_level": level});
    let above = scene.refused(scene.bob, CHANGE, scene.garden, usual("admin"));
    assert!(
        above.contains("a level above your own access level"),
        "{above}"
    );
    scene.done(scene.bob, CHANGE, scene.garden, usual("viewer"));
}

#[test]
fn a_new_team_takes_the_place_of_the_one_before() {
    let mut scene = DecisionScene::new();
    let (before, after) = (team(&mut scene), team(&mut scene));
    scene.done(scene.ann, CHANGE, scene.garden, json!({"team": before}));
    let change = |body| scene.decide(scene.ann, CHANGE, scene.garden, body).unwrap();
    let same = change(json!({"team": before}));
    assert!(same.changes.is_empty());
    let moved = change(json!({"team": after}));
    assert_eq!(written(&moved, rel::TEAM), [(scene.garden, after)]);
    let left = [(scene.garden, rel::TEAM, before)];
    assert_eq!(moved.changes.edge_removals, left);
}

#[test]
fn only_a_project_outside_of_organizations_has_no_team() {
    let mut scene = DecisionScene::new();
    let (acme, before) = (scene.acme, team(&mut scene));
    scene.done(scene.ann, CHANGE, scene.garden, json!({"team": before}));
    let alone = json!({"team": null});
    let refused = scene.refused(scene.ann, CHANGE, scene.garden, alone.clone());
    assert_eq!(refused, "Missing required team field");
    scene.edit(acme, |draft| draft.set(workspace::IS_ORGANIZATION, false));
    let alone = scene.done(scene.ann, CHANGE, scene.garden, alone);
    let left = [(scene.garden, rel::TEAM, before)];
    assert_eq!(alone.changes.edge_removals, left);
}

#[test]
fn a_project_may_leave_its_appearance_and_sections_to_its_admins() {
    let mut scene = DecisionScene::new();
    let (ann, bob, garden) = (scene.ann, scene.bob, scene.garden);
    let section = scene.given(|fixture| fixture.section_in(garden));
    scene.done(
        ann,
        "createSectionForProject",
        garden,
        json!({"name": "Paths"}),
    );
    let of_admins = json!({"minimum_access_level_for_customization": "admin"});
    scene.done(ann, CHANGE, garden, of_admins);
    for (operation, on, body) in [
        (CHANGE, garden, json!({"color": "dark-red"})),
        ("createSectionForProject", garden, json!({"name": "Beds"})),
        ("updateSection", section, json!({"name": "Beds"})),
        ("deleteSection", section, json!({})),
    ] {
        let refused = scene.refused(bob, operation, on, body.clone());
        assert_eq!(
            refused,
            "You do not have permission to administer this project."
        );
        scene.decide(ann, operation, on, body).unwrap();
    }
    scene.done(bob, CHANGE, garden, json!({"name": "Park"}));
}

#[test]
fn a_change_without_effect_does_not_touch_a_project() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    scene.done(scene.ann, CHANGE, garden, json!({"name": "Park"}));
    let (acme, ann) = (scene.acme, scene.ann);
    let old = scene.given(|fixture| {
        fixture.node(Type::Project, Some(acme), |draft, _| {
            draft.set(project::NAME, "Old");
            draft.set(project::OWNER, ann);
        })
    });
    let rename = |name: &str| {
        scene
            .decide(ann, CHANGE, old, json!({"name": name}))
            .unwrap()
    };
    assert!(rename("Old").changes.is_empty());
    let now = scene
        .decide(ann, CHANGE, old, json!({"name": "New"}))
        .unwrap()
        .changes
        .time;
    assert_eq!(
        node(&rename("New"), old).get(project::MODIFIED_AT),
        Some(now)
    );
}

#[test]
fn a_status_in_a_project_becomes_its_current_one() {
    let scene = DecisionScene::new();
    let body = json!({"current_status": {"color": "red", "text": "Frost"}});
    let changed = scene.done(scene.ann, CHANGE, scene.garden, body);
    let (status, of) = written(&changed, rel::STATUS_OF)[0];
    assert_eq!(of, scene.garden);
    let garden = node(&changed, scene.garden);
    assert_eq!(
        garden.get(status_update::CURRENT_STATUS_UPDATE),
        Some(status)
    );
    let word = node(&changed, status).get(status_update::STATUS_TYPE);
    assert_eq!(word.as_deref(), Some("off_track"));
    let faulty = json!({"current_status": {"color": "pink"}});
    let refused = scene.refused(scene.ann, CHANGE, scene.garden, faulty);
    assert!(refused.starts_with("current_status: color"), "{refused}");
}

#[test]
fn a_new_project_may_have_a_status() {
    let mut scene = DecisionScene::new();
    let growers = team(&mut scene);
    let create = |more| {
        let body = super::in_team(growers, more);
        scene
            .decide(scene.ann, "createProject", growers, body)
            .unwrap()
    };
    let red = create(json!({"current_status": {"color": "red"}}));
    let of: Vec<_> = written(&red, rel::STATUS_OF)
        .into_iter()
        .map(|(_, of)| of)
        .collect();
    assert_eq!(of, [red.subject.unwrap()]);
    assert!(written(&create(json!({})), rel::STATUS_OF).is_empty());
}

#[test]
fn who_does_not_see_a_project_does_not_count_its_tasks() {
    let mut scene = DecisionScene::new();
    let (secret, _) = scene.shared_project(scene.ann, Level::Admin);
    let count = |by| {
        let parameters = [("project_gid", secret.to_string())];
        scene.found(by, "getTaskCountsForProject", &parameters)
    };
    let refused = count(scene.bob).unwrap_err().message;
    assert_eq!(refused, "You do not have access to this project.");
    assert_eq!(count(scene.ann).unwrap(), secret);
}

#[test]
fn a_viewer_changes_no_project() {
    let mut scene = DecisionScene::new();
    let (ann, bob) = (scene.ann, scene.bob);
    let (secret, _) = scene.shared_project(bob, Level::Commenter);
    let refused = scene.refused(bob, CHANGE, secret, json!({"name": "Park"}));
    assert_eq!(
        refused,
        "You do not have permission to change this project."
    );
    scene.done(ann, CHANGE, secret, json!({"name": "Park"}));
}

use crate::decision_scene::{DecisionScene, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::team;

const SAVE: &str = "projectSaveAsTemplate";

/// Returns the body of a new template, with more properties.
fn new_template(more: Value) -> Value {
    with(json!({"name": "Pattern", "public": true}), more)
}

/// Stores a team of the admin.
fn team(scene: &mut DecisionScene, name: &str) -> Gid {
    let (acme, ann) = (scene.acme, scene.ann);
    scene.given(|fixture| fixture.team(acme, name, ann))
}

#[test]
fn a_copy_has_the_team_of_the_original_unless_another_is_named() {
    let mut scene = DecisionScene::new();
    let (growers, cooks) = (team(&mut scene, "Growers"), team(&mut scene, "Cooks"));
    let team_of_copy = |more| {
        let made = scene.decide(scene.ann, SAVE, scene.garden, new_template(more));
        let edges = written(&made.unwrap(), rel::TEMPLATE_TEAM);
        edges.first().map(|(_, team)| *team)
    };
    assert_eq!(team_of_copy(json!({})), None);
    scene.done(
        scene.ann,
        "updateProject",
        scene.garden,
        json!({"team": growers}),
    );
    assert_eq!(team_of_copy(json!({})), Some(growers));
    assert_eq!(team_of_copy(json!({"team": cooks})), Some(cooks));
}

#[test]
fn a_copy_goes_into_a_team_whose_content_the_caller_manages() {
    let mut scene = DecisionScene::new();
    let (growers, acme, bob) = (team(&mut scene, "Growers"), scene.acme, scene.bob);
    scene.given(|fixture| fixture.join_team(bob, growers, acme));
    let into_team = || new_template(json!({"team": growers}));
    scene.decide(bob, SAVE, scene.garden, into_team()).unwrap();
    let admins = json!({"team_content_management_access_level": "only_team_admins"});
    scene.done(scene.ann, "updateTeam", growers, admins);
    let refused = scene.refused(bob, SAVE, scene.garden, into_team());
    assert_eq!(refused, "You may not create projects in this team.");
    scene.done(scene.ann, SAVE, scene.garden, into_team());
}

#[test]
fn a_copy_and_its_team_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let (growers, ann) = (team(&mut scene, "Growers"), scene.ann);
    let club = scene.second_workspace();
    let others = scene.given(|fixture| fixture.team(club, "Others", ann));
    let save = |team: Gid| {
        let body = new_template(json!({"team": team}));
        scene.decide(ann, SAVE, scene.garden, body)
    };
    let refused = save(others).unwrap_err().message;
    assert_eq!(refused, "team: Not a team of that workspace");
    assert_eq!(
        written(&save(growers).unwrap(), rel::TEMPLATE_TEAM).len(),
        1
    );
}

#[test]
fn a_guest_copies_into_a_team_alone() {
    let mut scene = DecisionScene::new();
    let (growers, acme, garden) = (team(&mut scene, "Growers"), scene.acme, scene.garden);
    let gil = scene.guest();
    scene.given(|fixture| {
        fixture.share(garden, acme, gil, Level::Editor);
        fixture.join_team(gil, growers, acme);
    });
    let refused = scene.refused(gil, SAVE, garden, new_template(json!({})));
    assert!(refused.contains("name one of them (team)"), "{refused}");
    scene
        .decide(scene.bob, SAVE, garden, new_template(json!({})))
        .unwrap();
    scene.done(gil, SAVE, garden, new_template(json!({"team": growers})));
}

#[test]
fn a_caller_who_does_not_see_the_team_makes_a_copy_without_one() {
    let mut scene = DecisionScene::new();
    let hidden = team(&mut scene, "Growers");
    scene.edit(hidden, |draft| draft.set(team::VISIBILITY, "secret"));
    let (garden, bob) = (scene.garden, scene.bob);
    scene.link(garden, rel::TEAM, hidden);
    let copy = scene.decide(bob, SAVE, garden, new_template(json!({})));
    assert!(written(&copy.unwrap(), rel::TEMPLATE_TEAM).is_empty());
}

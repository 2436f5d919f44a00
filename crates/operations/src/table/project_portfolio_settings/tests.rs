use crate::decision_scene::{DecisionScene, node};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::custom_field_values::gids;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::portfolio;

const CHANGE: &str = "updateProjectPortfolioSetting";

/// Stores a portfolio with the project, and returns it with the setting.
fn beds(scene: &DecisionScene) -> (Gid, Gid) {
    let body = json!({"name": "Beds", "workspace": scene.acme, "public": true});
    let beds = scene.made(scene.ann, "createPortfolio", scene.acme, body);
    let item = json!({"item": scene.garden});
    let added = scene.done(scene.ann, "addItemForPortfolio", beds, item);
    let mut edges = added.changes.edge_writes.iter();
    let setting = edges.find(|edge| edge.rel == rel::ITEM_OF).unwrap().aux;
    (beds, setting.unwrap())
}

fn inherited(on: bool) -> Value {
    json!({"is_access_control_inherited": on})
}

/// Returns the portfolios that give access to a project.
fn givers(project: &Node) -> Vec<Gid> {
    gids(project.raw("access_from").unwrap_or("[]")).collect()
}

#[test]
fn a_portfolio_gives_access_to_its_projects() {
    let scene = DecisionScene::new();
    let (beds, setting) = beds(&scene);
    let on = scene.done(scene.ann, CHANGE, setting, inherited(true));
    assert_eq!(givers(node(&on, scene.garden)), [beds]);
    assert!(node(&on, setting).get(portfolio::IS_INHERITED));
    let off = scene.done(scene.ann, CHANGE, setting, inherited(false));
    assert!(givers(node(&off, scene.garden)).is_empty());
}

#[test]
fn only_who_shares_a_project_lets_a_portfolio_into_it() {
    let scene = DecisionScene::new();
    let (beds, setting) = beds(&scene);
    scene.done(
        scene.ann,
        "createMembership",
        beds,
        json!({"parent": beds,
        "member": scene.bob, "access_level": "editor"}),
    );
    scene
        .decide(scene.bob, CHANGE, setting, inherited(true))
        .unwrap();
    let admins = json!({"minimum_access_level_for_sharing": "admin"});
    scene.done(scene.ann, "updateProject", scene.garden, admins);
    let refused = scene.refused(scene.bob, CHANGE, setting, inherited(true));
    assert_eq!(refused, "You do not have permission to share this project.");
}

#[test]
fn only_an_editor_of_a_portfolio_gives_its_members_access() {
    let scene = DecisionScene::new();
    let (_, setting) = beds(&scene);
    let refused = scene.refused(scene.bob, CHANGE, setting, inherited(true));
    assert_eq!(
        refused,
        "You do not have permission to change this portfolio."
    );
    scene.done(scene.ann, CHANGE, setting, inherited(true));
    let off = scene.done(scene.bob, CHANGE, setting, inherited(false));
    assert!(
        givers(node(&off, scene.garden)).is_empty(),
        "who shares the project ends it"
    );
}

#[test]
fn who_does_not_see_a_portfolio_changes_no_setting_of_it() {
    let mut scene = DecisionScene::new();
    let body = json!({"name": "Secret", "workspace": scene.acme});
    let secret = scene.made(scene.ann, "createPortfolio", scene.acme, body);
    let added = scene.done(
        scene.ann,
        "addItemForPortfolio",
        secret,
        json!({"item": scene.garden}),
    );
    let setting = added.changes.edge_writes[0].aux.unwrap();
    let refused = scene.refused(scene.bob, CHANGE, setting, inherited(false));
    assert!(refused.contains("You do not have access"), "{refused}");
    let (garden, acme, bob) = (scene.garden, scene.acme, scene.bob);
    scene.done(scene.ann, CHANGE, setting, inherited(true));
    scene.given(|fixture| fixture.share(garden, acme, bob, Level::Admin));
    scene.done(bob, CHANGE, setting, inherited(false));
}

#[test]
fn a_setting_names_the_user_who_gave_access() {
    let scene = DecisionScene::new();
    let (_, setting) = beds(&scene);
    let on = scene.done(scene.ann, CHANGE, setting, inherited(true));
    let giver = node(&on, setting).get(portfolio::GIVEN_BY);
    assert_eq!(giver, Some(scene.ann));
}

#[test]
fn who_repeats_a_setting_does_not_become_its_giver() {
    let scene = DecisionScene::new();
    let (beds, setting) = beds(&scene);
    let editor = json!({"parent": beds, "member": scene.bob, "access_level": "editor"});
    scene.done(scene.ann, "createMembership", beds, editor);
    scene.done(scene.ann, CHANGE, setting, inherited(true));
    let again = scene.decide(scene.bob, CHANGE, setting, inherited(true));
    let writes = again.unwrap().changes.node_writes;
    assert!(writes.iter().all(|write| write.node.gid != setting));
}

use crate::decision_scene::{DecisionScene, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::portfolio::ITEMS_MAX;
use workgraph_core::storage::ListPosition;

const ADD: &str = "addItemForPortfolio";
const REMOVE: &str = "removeItemForPortfolio";

fn portfolio(scene: &DecisionScene, name: &str) -> Gid {
    let body = json!({"name": name, "workspace": scene.acme});
    scene.made(scene.ann, "createPortfolio", scene.acme, body)
}

fn item(gid: Gid) -> Value {
    json!({"item": gid})
}

#[test]
fn a_portfolio_is_in_none_of_its_items() {
    let scene = DecisionScene::new();
    let (outer, inner) = (portfolio(&scene, "Outer"), portfolio(&scene, "Inner"));
    let added = scene.done(scene.ann, ADD, outer, item(inner));
    assert_eq!(written(&added, rel::ITEM_OF), [(inner, outer)]);
    for (portfolio, held) in [(inner, outer), (inner, inner)] {
        let ring = scene.refused(scene.ann, ADD, portfolio, item(held));
        assert!(ring.contains("cannot be an item of itself, or of one of its items"));
    }
}

#[test]
fn an_item_is_added_once() {
    let scene = DecisionScene::new();
    let beds = portfolio(&scene, "Beds");
    let added = scene.done(scene.ann, ADD, beds, item(scene.garden));
    assert_eq!(written(&added, rel::ITEM_OF), [(scene.garden, beds)]);
    let again = scene.decide(scene.ann, ADD, beds, item(scene.garden));
    assert!(again.unwrap().changes.is_empty());
}

#[test]
fn a_project_in_a_portfolio_has_a_setting_and_loses_it_there() {
    let scene = DecisionScene::new();
    let (beds, inner) = (portfolio(&scene, "Beds"), portfolio(&scene, "Inner"));
    let of_portfolio = scene.done(scene.ann, ADD, beds, item(inner));
    assert!(of_portfolio.changes.node_writes.is_empty());
    let of_project = scene.done(scene.ann, ADD, beds, item(scene.garden));
    let setting = &of_project.changes.node_writes[0].node;
    assert_eq!(setting.ty, Type::ProjectPortfolioSetting);
    let removed = scene.done(scene.ann, REMOVE, beds, item(scene.garden));
    assert_eq!(removed.changes.trashed, [setting.gid]);
    assert_eq!(
        removed.changes.edge_removals,
        [(scene.garden, rel::ITEM_OF, beds)]
    );
}

#[test]
fn a_project_that_leaves_a_portfolio_is_closed_to_its_members() {
    let scene = DecisionScene::new();
    let beds = portfolio(&scene, "Beds");
    let added = scene.done(scene.ann, ADD, beds, item(scene.garden));
    let setting = added.changes.edge_writes[0].aux.unwrap();
    let on = json!({"is_access_control_inherited": true});
    scene.done(scene.ann, "updateProjectPortfolioSetting", setting, on);
    let removed = scene.done(scene.ann, REMOVE, beds, item(scene.garden));
    let garden = &removed.changes.node_writes[0].node;
    assert_eq!(
        (garden.gid, garden.raw("access_from")),
        (scene.garden, None)
    );
}

#[test]
fn an_item_and_its_portfolio_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let (beds, ann) = (portfolio(&scene, "Beds"), scene.ann);
    let club = scene.second_workspace();
    let elsewhere = scene.given(|fixture| fixture.project(club, "Elsewhere", ann));
    let refused = scene.refused(ann, ADD, beds, item(elsewhere));
    assert!(
        refused.contains("Not an object of the portfolio's workspace"),
        "{refused}"
    );
    scene.done(ann, ADD, beds, item(scene.garden));
}

#[test]
fn an_item_stands_beside_one_of_its_portfolio() {
    let scene = DecisionScene::new();
    let (beds, other) = (portfolio(&scene, "Beds"), portfolio(&scene, "Other"));
    let before = |gid: Gid| json!({"item": scene.garden, "insert_before": gid});
    let refused = scene.refused(scene.ann, ADD, beds, before(other));
    assert!(
        refused.contains("insert_before: Unknown object"),
        "{refused}"
    );
    scene.done(scene.ann, ADD, beds, item(other));
    let added = scene.done(scene.ann, ADD, beds, before(other));
    let position = added.changes.edge_writes[0].position;
    assert_eq!(position, ListPosition::Before(other));
}

#[test]
fn an_item_stands_beside_none_that_the_caller_does_not_see() {
    let mut scene = DecisionScene::new();
    let (beds, ann, bob) = (portfolio(&scene, "Beds"), scene.ann, scene.bob);
    let (secret, _) = scene.shared_project(ann, Level::Admin);
    let editor = json!({"parent": beds, "member": bob, "access_level": "editor"});
    scene.done(ann, "createMembership", beds, editor);
    scene.done(ann, ADD, beds, item(secret));
    let after = json!({"item": scene.garden, "insert_after": secret});
    let refused = scene.refused(bob, ADD, beds, after.clone());
    assert!(
        refused.contains("insert_after: Unknown object"),
        "{refused}"
    );
    scene.done(ann, ADD, beds, after);
}

#[test]
fn an_item_that_the_portfolio_has_only_moves() {
    let scene = DecisionScene::new();
    let (beds, inner) = (portfolio(&scene, "Beds"), portfolio(&scene, "Inner"));
    scene.done(scene.ann, ADD, beds, item(scene.garden));
    scene.done(scene.ann, ADD, beds, item(inner));
    let after = |gid: Gid| {
        let body = json!({"item": scene.garden, "insert_after": gid});
        scene.decide(scene.ann, ADD, beds, body).unwrap().changes
    };
    let moved = after(inner);
    assert_eq!(moved.edge_writes[0].position, ListPosition::After(inner));
    assert!(moved.node_writes.is_empty() && moved.edge_writes[0].aux.is_some());
    assert!(after(scene.garden).is_empty());
}

#[test]
fn a_portfolio_has_a_limited_number_of_items() {
    let mut scene = DecisionScene::new();
    let (beds, acme, ann) = (portfolio(&scene, "Beds"), scene.acme, scene.ann);
    let last = portfolio(&scene, "Last");
    scene.given(|fixture| {
        for _ in 1..ITEMS_MAX {
            let project = fixture.node(Type::Project, Some(acme), |_, _| ());
            fixture.link(project, rel::ITEM_OF, beds, ListPosition::Last, None);
        }
    });
    scene.done(ann, ADD, beds, item(last));
    let refused = scene.refused(ann, ADD, beds, item(scene.garden));
    assert!(
        refused.contains("Too many: a portfolio has at most"),
        "{refused}"
    );
    scene.done(ann, REMOVE, beds, item(last));
    scene.done(ann, ADD, beds, item(scene.garden));
}

#[test]
fn only_an_item_is_removed() {
    let scene = DecisionScene::new();
    let beds = portfolio(&scene, "Beds");
    let refused = scene.refused(scene.ann, REMOVE, beds, item(scene.garden));
    assert!(
        refused.contains("item: Not an item of the portfolio"),
        "{refused}"
    );
    scene.done(scene.ann, ADD, beds, item(scene.garden));
    let removed = scene.done(scene.ann, REMOVE, beds, item(scene.garden));
    assert_eq!(
        removed.changes.edge_removals,
        [(scene.garden, rel::ITEM_OF, beds)]
    );
}

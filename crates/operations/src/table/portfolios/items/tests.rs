use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;

fn portfolio(scene: &DecisionScene, name: &str) -> Gid {
    let body = json!({"name": name, "workspace": scene.acme});
    let made = scene.done(scene.ann, "createPortfolio", scene.acme, body);
    made.subject.unwrap()
}

#[test]
fn a_portfolio_is_in_none_of_its_items() {
    let scene = DecisionScene::new();
    let (outer, inner) = (portfolio(&scene, "Outer"), portfolio(&scene, "Inner"));
    let add = |item: Gid| json!({"item": item});
    scene.done(scene.ann, "addItemForPortfolio", outer, add(inner));
    let ring = scene.refused(scene.ann, "addItemForPortfolio", inner, add(outer));
    assert!(ring.contains("cannot be an item of itself, or of one of its items"));
}

#[test]
fn an_item_is_added_once() {
    let scene = DecisionScene::new();
    let beds = portfolio(&scene, "Beds");
    let body = json!({"item": scene.garden});
    let added = scene.done(scene.ann, "addItemForPortfolio", beds, body.clone());
    assert_eq!(written(&added, rel::ITEM_OF), [(scene.garden, beds)]);
    let again = scene.decide(scene.ann, "addItemForPortfolio", beds, body);
    assert!(again.unwrap().changes.is_empty());
}

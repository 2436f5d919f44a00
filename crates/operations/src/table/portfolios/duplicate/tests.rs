use crate::decision_scene::{DecisionScene, node, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::portfolio;
use workgraph_core::rules::sharing::PORTFOLIOS;

const DUPLICATE: &str = "duplicatePortfolio";

/// Stores a portfolio that the workspace sees, with the member as an editor.
fn beds(scene: &DecisionScene) -> Gid {
    let body =
        json!({"name": "Beds", "workspace": scene.acme, "public": true, "color": "light-red"});
    let beds = scene.made(scene.ann, "createPortfolio", scene.acme, body);
    let body = json!({"parent": beds, "member": scene.bob, "access_level": "editor"});
    scene.done(scene.ann, "createMembership", beds, body);
    beds
}

fn copy(decision: &Decision) -> &Node {
    let mut nodes = decision.changes.node_writes.iter().map(|write| &write.node);
    nodes.find(|node| node.ty == Type::Portfolio).unwrap()
}

fn with_parts(parts: Value) -> Value {
    json!({"name": "Copy", "include": parts})
}

#[test]
fn guests_duplicate_no_portfolios() {
    let mut scene = DecisionScene::new();
    let (beds, acme) = (beds(&scene), scene.acme);
    let gil = scene.guest();
    scene.given(|fixture| {
        fixture.with(|work| PORTFOLIOS.join(work, gil, beds, acme, Level::Viewer));
    });
    let refused = scene.refused(gil, DUPLICATE, beds, json!({"name": "Copy"}));
    assert!(
        refused.contains("permission to create portfolios"),
        "{refused}"
    );
    let copied = scene.done(scene.bob, DUPLICATE, beds, json!({"name": "Copy"}));
    assert_eq!(copy(&copied).get(portfolio::NAME).as_deref(), Some("Copy"));
}

#[test]
fn a_view_only_member_duplicates_no_portfolios() {
    let mut scene = DecisionScene::new();
    let (beds, vic) = (beds(&scene), scene.view_only_member());
    let refused = scene.refused(vic, DUPLICATE, beds, json!({"name": "Copy"}));
    assert!(
        refused.contains("permission to create portfolios"),
        "{refused}"
    );
    scene.done(scene.bob, DUPLICATE, beds, json!({"name": "Copy"}));
}

#[test]
fn a_copy_belongs_to_who_makes_it() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let copied = scene.done(scene.bob, DUPLICATE, beds, json!({"name": "Copy"}));
    let new = copy(&copied);
    assert_eq!(new.get(portfolio::OWNER), Some(scene.bob));
    assert_eq!(new.get(portfolio::COLOR).as_deref(), Some("light-red"));
    assert_eq!(written(&copied, rel::MEMBERS), [(new.gid, scene.bob)]);
    let job = node(&copied, copied.subject.unwrap());
    assert_eq!(job.ty, Type::Job);
}

#[test]
fn a_copy_has_the_permissions_if_it_is_asked_for_them() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let privacy = |parts| {
        let copied = scene
            .decide(scene.ann, DUPLICATE, beds, with_parts(parts))
            .unwrap();
        let word = copy(&copied).get(portfolio::PRIVACY);
        word.unwrap().into_owned()
    };
    assert_eq!(privacy(json!(["members"])), "members_only");
    assert_eq!(privacy(json!(["permissions"])), portfolio::PUBLIC_TO_DOMAIN);
}

#[test]
fn a_copy_has_the_members_if_it_is_asked_for_them() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let body = with_parts(json!(["members"]));
    let copied = scene.done(scene.bob, DUPLICATE, beds, body);
    let new = copy(&copied).gid;
    let mut members = written(&copied, rel::MEMBERS);
    members.sort();
    assert_eq!(members, [(new, scene.ann), (new, scene.bob)], "each once");
}

#[test]
fn a_copy_has_the_custom_fields_that_its_maker_sees() {
    let mut scene = DecisionScene::new();
    let (beds, acme) = (beds(&scene), scene.acme);
    let open = scene.given(|fixture| {
        let text = CustomFieldType::Text;
        fixture.custom_field(acme, "Open", text, &[]).0
    });
    let hidden = json!({"workspace": acme, "name": "Hidden", "resource_subtype": "text",
        "privacy_setting": "private"});
    let hidden = scene.made(scene.ann, "createCustomField", acme, hidden);
    for field in [open, hidden] {
        let body = json!({"custom_field": field});
        scene.done(scene.ann, "addCustomFieldSettingForPortfolio", beds, body);
    }
    let copied = scene.done(scene.bob, DUPLICATE, beds, json!({"name": "Copy"}));
    let new = copy(&copied).gid;
    assert_eq!(written(&copied, rel::FIELD_ON), [(open, new)]);
}

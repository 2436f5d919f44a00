use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::portfolio;

const CREATE: &str = "createPortfolio";
const CHANGE: &str = "updatePortfolio";

/// Stores a portfolio of the admin, with the member as an editor.
fn beds(scene: &DecisionScene) -> Gid {
    let body = json!({"name": "Beds", "workspace": scene.acme});
    let beds = scene.made(scene.ann, CREATE, scene.acme, body);
    let body = json!({"parent": beds, "member": scene.bob, "access_level": "editor"});
    scene.done(scene.ann, "createMembership", beds, body);
    beds
}

#[test]
fn who_creates_a_portfolio_owns_and_administers_it() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Beds", "workspace": scene.acme});
    let made = scene.done(scene.bob, CREATE, scene.acme, body);
    let beds = made.subject.unwrap();
    assert_eq!(node(&made, beds).get(portfolio::OWNER), Some(scene.bob));
    assert_eq!(written(&made, rel::MEMBERS), [(beds, scene.bob)]);
}

#[test]
fn users_list_only_their_own_portfolios() {
    let scene = DecisionScene::new();
    let list = |owner: &str| {
        let query = format!("workspace={}{owner}", scene.acme);
        scene.described(scene.bob, "getPortfolios", &query)
    };
    let of_ann = list(&format!("&owner={}", scene.ann));
    assert_eq!(
        of_ann.unwrap_err().message,
        "You may only list your own portfolios."
    );
    assert_eq!(list("").unwrap().page.filters.len(), 1, "their owner");
    list("&owner=me").unwrap();
    list(&format!("&owner={}", scene.bob)).unwrap();
}

#[test]
fn a_free_workspace_has_no_portfolios() {
    let mut scene = DecisionScene::new();
    let free = scene.free_workspace();
    let create = |workspace: Gid| {
        let body = json!({"name": "Beds", "workspace": workspace});
        scene.decide(scene.ann, CREATE, workspace, body)
    };
    assert_eq!(create(free).unwrap_err().message, super::PREMIUM);
    create(scene.acme).unwrap();
}

#[test]
fn guests_create_no_portfolios() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let gil = scene.guest();
    let body = json!({"name": "Beds", "workspace": acme});
    let refused = scene.refused(gil, CREATE, acme, body.clone());
    assert_eq!(
        refused,
        "You do not have permission to change this workspace."
    );
    scene.done(scene.bob, CREATE, acme, body);
}

#[test]
fn the_old_form_of_the_privacy_counts_without_the_new_one() {
    let scene = DecisionScene::new();
    let privacy = |more: Value| {
        let body = with(json!({"name": "Beds", "workspace": scene.acme}), more);
        let made = scene.decide(scene.ann, CREATE, scene.acme, body).unwrap();
        let word = node(&made, made.subject.unwrap()).get(portfolio::PRIVACY);
        word.unwrap().into_owned()
    };
    assert_eq!(privacy(json!({})), "members_only");
    assert_eq!(
        privacy(json!({"public": true})),
        portfolio::PUBLIC_TO_DOMAIN
    );
    let both = json!({"public": true, "privacy_setting": "members_only"});
    assert_eq!(privacy(both), "members_only");
}

#[test]
fn the_days_of_a_portfolio_are_in_order() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let days = |start: &str, due: &str| json!({"start_on": start, "due_on": due});
    let late = scene.refused(scene.ann, CHANGE, beds, days("2026-03-02", "2026-03-01"));
    assert_eq!(late, "The start must not be after the due date");
    let changed = scene.done(scene.ann, CHANGE, beds, days("2026-03-01", "2026-03-02"));
    let due = node(&changed, beds).get(portfolio::DUE_ON).unwrap();
    assert_eq!(due.to_string(), "2026-03-02");
}

#[test]
fn an_editor_of_a_portfolio_gives_new_members_no_more_than_they_have() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let usual = |level: &str| json!({"default_access_level": level});
    let above = scene.refused(scene.bob, CHANGE, beds, usual("admin"));
    assert!(
        above.contains("a level above your own access level"),
        "{above}"
    );
    scene
        .decide(scene.bob, CHANGE, beds, usual("editor"))
        .unwrap();
    scene.done(scene.ann, CHANGE, beds, usual("admin"));
}

#[test]
fn an_update_may_repeat_the_owner_but_not_change_them() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let owner = |user: Gid| json!({"owner": user, "name": "Plots"});
    let refused = scene.refused(scene.ann, CHANGE, beds, owner(scene.bob));
    assert_eq!(refused, "owner: Cannot write this property");
    let renamed = scene.done(scene.ann, CHANGE, beds, owner(scene.ann));
    assert_eq!(
        node(&renamed, beds).get(portfolio::NAME).as_deref(),
        Some("Plots")
    );
}

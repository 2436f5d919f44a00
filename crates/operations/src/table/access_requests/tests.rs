use crate::decision_scene::{DecisionScene, node, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::access_request::{MESSAGE, STATUS};
use workgraph_core::model::resources::membership;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::RowFilter;

const ASK: &str = "createAccessRequest";
const APPROVE: &str = "approveAccessRequest";
const REJECT: &str = "rejectAccessRequest";

/// Returns a private project of the admin, and the member's request of access to it.
fn requested(scene: &mut DecisionScene) -> (Gid, Gid) {
    let (acme, ann) = (scene.acme, scene.ann);
    let secret = scene.given(|fixture| fixture.private_project(acme, "Secret", ann));
    let body = json!({"target": secret});
    (secret, scene.made(scene.bob, ASK, secret, body))
}

#[test]
fn a_request_of_access_is_made_once() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let body = json!({"target": secret});
    let again = scene.decide(scene.bob, ASK, secret, body).unwrap();
    assert_eq!(again.subject, Some(request));
    assert!(again.changes.is_empty());
}

#[test]
fn who_has_access_does_not_ask_for_it() {
    let mut scene = DecisionScene::new();
    let (secret, _) = requested(&mut scene);
    let body = json!({"target": scene.garden, "message": "Please"});
    let refused = scene.refused(scene.bob, ASK, secret, body);
    assert_eq!(refused, "target: You have access to this project already");
    let (acme, bob) = (scene.acme, scene.bob);
    let hidden = json!({"name": "Hidden", "workspace": acme});
    let hidden = scene.made(scene.ann, "createPortfolio", acme, hidden);
    let body = json!({"target": hidden, "message": "Please"});
    let asked = scene.done(bob, ASK, hidden, body);
    let request = asked.subject.unwrap();
    assert_eq!(written(&asked, rel::ACCESS_REQUESTS), [(hidden, bob)]);
    assert_eq!(
        node(&asked, request).get(MESSAGE).as_deref(),
        Some("Please")
    );
}

#[test]
fn nobody_asks_for_access_in_a_workspace_of_others() {
    let mut scene = DecisionScene::new();
    let elsewhere = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        let kim = fixture.member(other, "Kim", Role::Member);
        fixture.private_project(other, "Elsewhere", kim)
    });
    let refused = scene.refused(scene.bob, ASK, elsewhere, json!({"target": elsewhere}));
    assert_eq!(refused, "You do not have access to this project.");
    requested(&mut scene);
}

#[test]
fn nobody_asks_for_access_in_a_free_workspace() {
    let mut scene = DecisionScene::new();
    let free = scene.free_workspace();
    let hidden = scene.given(|fixture| {
        let kim = fixture.member(free, "Kim", Role::Member);
        fixture.private_project(free, "Hidden", kim)
    });
    let refused = scene.refused(scene.ann, ASK, hidden, json!({"target": hidden}));
    assert_eq!(refused, super::PREMIUM);
    requested(&mut scene);
}

#[test]
fn users_list_their_own_requests_without_access_to_the_target() {
    let mut scene = DecisionScene::new();
    let (secret, _) = requested(&mut scene);
    let list = |user: &str| {
        let query = format!("target={secret}{user}");
        scene
            .described(scene.bob, "getAccessRequests", &query)
            .unwrap()
    };
    let is_open = |user: &str| match list(user).page.filters.as_slice() {
        [RowFilter::LinksTo(filter)] => filter.unseen,
        other => panic!("{other:?}"),
    };
    let (all, own) = (list(""), list("&user=me"));
    assert_eq!((all.anchor, own.anchor), ("target", "user"));
    assert!(all.page.filters.is_empty());
    assert!(is_open("&user=me") && !is_open(&format!("&user={}", scene.ann)));
}

#[test]
fn an_approved_request_shares_the_project() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let approved = scene.done(scene.ann, APPROVE, request, json!({}));
    assert_eq!(written(&approved, rel::MEMBERS), [(secret, scene.bob)]);
    let removed = [(secret, rel::ACCESS_REQUESTS, scene.bob)];
    assert_eq!(approved.changes.edge_removals, removed);
    let status = node(&approved, request).get(STATUS);
    assert_eq!(status.as_deref(), Some("approved"));
}

#[test]
fn a_rejected_request_shares_nothing() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let rejected = scene.done(scene.ann, REJECT, request, json!({}));
    assert!(written(&rejected, rel::MEMBERS).is_empty());
    let status = node(&rejected, request).get(STATUS);
    assert_eq!(status.as_deref(), Some("denied"));
    let again = scene.made(scene.bob, ASK, secret, json!({"target": secret}));
    assert_ne!(again, request, "who was rejected may ask again");
}

#[test]
fn a_request_is_decided_once() {
    let mut scene = DecisionScene::new();
    let (_, request) = requested(&mut scene);
    scene
        .decide(scene.ann, APPROVE, request, json!({}))
        .unwrap();
    scene.done(scene.ann, REJECT, request, json!({}));
    for operation in [APPROVE, REJECT] {
        let again = scene.refused(scene.ann, operation, request, json!({}));
        assert_eq!(again, "This access request was denied already.");
    }
}

#[test]
fn who_asks_for_access_does_not_approve_it() {
    let mut scene = DecisionScene::new();
    let (_, request) = requested(&mut scene);
    let approved = scene.refused(scene.bob, APPROVE, request, json!({}));
    assert!(
        approved.contains("administer this access request"),
        "{approved}"
    );
    scene.done(scene.ann, APPROVE, request, json!({}));
}

#[test]
fn an_approval_makes_nobody_an_admin() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let level = |usual: &str| {
        let body = json!({"default_access_level": usual});
        scene.done(scene.ann, "updateProject", secret, body);
        let approved = scene
            .decide(scene.ann, APPROVE, request, json!({}))
            .unwrap();
        let edges = approved.changes.edge_writes.iter();
        let membership = edges.filter_map(|edge| edge.aux).next().unwrap();
        let word = node(&approved, membership).get(membership::ACCESS_LEVEL);
        word.unwrap().into_owned()
    };
    assert_eq!(level("admin"), "editor");
    assert_eq!(level("viewer"), "viewer");
}

#[test]
fn an_approved_member_stays_a_member_as_before() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let (acme, bob) = (scene.acme, scene.bob);
    scene.given(|fixture| fixture.share(secret, acme, bob, Level::Viewer));
    let approved = scene.done(scene.ann, APPROVE, request, json!({}));
    assert!(written(&approved, rel::MEMBERS).is_empty());
    assert_eq!(approved.changes.node_writes.len(), 1, "the request");
}

#[test]
fn a_request_of_a_user_who_left_is_rejected() {
    let mut scene = DecisionScene::new();
    let (_, request) = requested(&mut scene);
    let (acme, bob) = (scene.acme, scene.bob);
    scene.given(|fixture| {
        let role = MembershipRole::of(Role::Member);
        fixture.with(|work| membership_rules::leave_workspace(work, bob, acme, None, role));
    });
    let approved = scene.refused(scene.ann, APPROVE, request, json!({}));
    assert!(
        approved.contains("does not belong to the workspace any more"),
        "{approved}"
    );
    scene.done(scene.ann, REJECT, request, json!({}));
}

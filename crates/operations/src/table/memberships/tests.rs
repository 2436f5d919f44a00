use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::membership;
use workgraph_core::storage::RowFilter;

const JOIN: &str = "createMembership";
const CHANGE: &str = "updateMembership";
const LEAVE: &str = "deleteMembership";

/// Returns the body that shares a node with a user or team.
fn share(parent: Gid, member: Gid, level: &str) -> Value {
    json!({"parent": parent, "member": member, "access_level": level})
}

fn at_level(level: &str) -> Value {
    json!({"access_level": level})
}

/// Stores a custom field of the workspace.
fn field(scene: &mut DecisionScene) -> Gid {
    let acme = scene.acme;
    let text = CustomFieldType::Text;
    scene.given(|fixture| fixture.custom_field(acme, "Height", text, &[]).0)
}

#[test]
fn a_member_of_the_workspace_joins_a_project_once() {
    let scene = DecisionScene::new();
    let body = share(scene.garden, scene.bob, "editor");
    let joined = scene.done(scene.ann, JOIN, scene.garden, body.clone());
    assert_eq!(written(&joined, rel::MEMBERS), [(scene.garden, scene.bob)]);
    let again = scene.decide(scene.ann, JOIN, scene.garden, body).unwrap();
    assert!(again.changes.is_empty());
    assert_eq!(again.subject, joined.subject);
}

#[test]
fn nobody_from_outside_the_workspace_joins() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let club = scene.second_workspace();
    let (kim, others, growers) = scene.given(|fixture| {
        let kim = fixture.member(club, "Kim", Role::Member);
        let others = fixture.team(club, "Others", ann);
        (kim, others, fixture.team(acme, "Growers", ann))
    });
    for outside in [kim, others] {
        let refused = scene.refused(ann, JOIN, ann, share(scene.garden, outside, "viewer"));
        assert!(
            refused.contains("member: Not a user or team in Workspace"),
            "{refused}"
        );
    }
    let joined = scene.done(ann, JOIN, ann, share(scene.garden, growers, "viewer"));
    assert_eq!(written(&joined, rel::MEMBERS), [(scene.garden, growers)]);
}

#[test]
fn a_list_of_memberships_is_of_an_object_or_of_a_team() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let growers = scene.given(|fixture| fixture.team(acme, "Growers", ann));
    let list = |query: String| scene.described(ann, "getMemberships", &query);
    let anchor = |query| list(query).unwrap().anchor;
    let nothing = list(String::new()).unwrap_err().message;
    assert_eq!(nothing, "parent: Missing input");
    assert_eq!(anchor(format!("parent={}", scene.garden)), "parent");
    assert_eq!(anchor(format!("member={growers}")), "member");
    let other = list(format!("member={growers}&resource_subtype=goal_membership"));
    assert!(
        other
            .unwrap_err()
            .message
            .contains("it is project_membership")
    );
    list(format!(
        "member={growers}&resource_subtype=project_membership"
    ))
    .unwrap();
}

#[test]
fn a_member_named_by_an_address_is_looked_up_first() {
    let scene = DecisionScene::new();
    let list = |member: &str| {
        let query = format!("parent={}&member={member}", scene.garden);
        let listed = scene
            .described(scene.ann, "getMemberships", &query)
            .unwrap();
        let [RowFilter::OtherEnd(gid)] = listed.page.filters[..] else {
            panic!("{:?}", listed.page.filters);
        };
        (listed.anchor, gid)
    };
    assert_eq!(list("bob@example.com"), ("member", scene.garden));
    assert_eq!(list(&scene.bob.to_string()), ("parent", scene.bob));
}

#[test]
fn an_editor_makes_nobody_an_admin() {
    let scene = DecisionScene::new();
    let (garden, bob) = (scene.garden, scene.bob);
    let refused = scene.refused(bob, JOIN, garden, share(garden, bob, "admin"));
    assert!(
        refused.contains("memberships above your own access level"),
        "{refused}"
    );
    scene.done(bob, JOIN, garden, share(garden, bob, "editor"));
}

#[test]
fn each_type_of_object_has_its_own_levels() {
    let mut scene = DecisionScene::new();
    let field = field(&mut scene);
    let join =
        |parent, level| scene.decide(scene.ann, JOIN, parent, share(parent, scene.bob, level));
    let of_project = join(scene.garden, "user").unwrap_err().message;
    assert!(of_project.contains("it is one of viewer, commenter, editor, admin"));
    let of_field = join(field, "viewer").unwrap_err().message;
    assert!(
        of_field.contains("it is one of user, editor, admin"),
        "{of_field}"
    );
    join(scene.garden, "viewer").unwrap();
    join(field, "user").unwrap();
}

#[test]
fn who_joins_without_a_level_gets_the_usual_one_of_the_object() {
    let scene = DecisionScene::new();
    let garden = scene.garden;
    let usual = json!({"default_access_level": "commenter"});
    scene.done(scene.ann, "updateProject", garden, usual);
    let level = |more: Value| {
        let body = with(json!({"parent": garden, "member": scene.bob}), more);
        let joined = scene.decide(scene.ann, JOIN, garden, body).unwrap();
        let word = node(&joined, joined.subject.unwrap()).get(membership::ACCESS_LEVEL);
        word.unwrap().into_owned()
    };
    assert_eq!(level(json!({})), "commenter");
    assert_eq!(level(json!({"role": "editor"})), "editor", "the old name");
    assert_eq!(
        level(json!({"role": "editor", "access_level": "viewer"})),
        "viewer"
    );
}

#[test]
fn if_admins_alone_share_a_project_editors_do_not() {
    let scene = DecisionScene::new();
    let (garden, ann, bob) = (scene.garden, scene.ann, scene.bob);
    let joined = scene.made(bob, JOIN, garden, share(garden, bob, "viewer"));
    let admins = json!({"minimum_access_level_for_sharing": "admin"});
    scene.done(ann, "updateProject", garden, admins);
    let refused = "You do not have permission to share this project.";
    assert_eq!(
        scene.refused(bob, JOIN, garden, share(garden, bob, "viewer")),
        refused
    );
    assert_eq!(
        scene.refused(bob, CHANGE, joined, at_level("editor")),
        refused
    );
    scene.done(ann, CHANGE, joined, at_level("editor"));
}

#[test]
fn a_custom_field_is_shared_by_its_admins_in_a_paid_workspace() {
    let mut scene = DecisionScene::new();
    let (field, acme, bob) = (field(&mut scene), scene.acme, scene.bob);
    let body = share(field, bob, "user");
    let editor = scene.refused(bob, JOIN, field, body.clone());
    assert_eq!(
        editor,
        "You do not have permission to share this custom field."
    );
    let gil = scene.guest();
    scene.given(|fixture| fixture.share_field(field, acme, gil, Level::Admin));
    assert_eq!(
        scene.refused(gil, JOIN, field, body.clone()),
        super::PREMIUM
    );
    scene.done(scene.ann, JOIN, field, body);
}

#[test]
fn a_new_level_is_stored_with_the_edge() {
    let scene = DecisionScene::new();
    let (garden, bob) = (scene.garden, scene.bob);
    let joined = scene.made(scene.ann, JOIN, garden, share(garden, bob, "viewer"));
    let change = |level| {
        scene
            .decide(scene.ann, CHANGE, joined, at_level(level))
            .unwrap()
    };
    assert!(change("viewer").changes.is_empty());
    let changed = change("editor");
    assert_eq!(written(&changed, rel::MEMBERS), [(garden, bob)]);
    let word = node(&changed, joined).get(membership::ACCESS_LEVEL);
    assert_eq!(word.as_deref(), Some("editor"));
}

#[test]
fn an_editor_neither_gives_nor_takes_the_level_of_an_admin() {
    let scene = DecisionScene::new();
    let (garden, ann, bob) = (scene.garden, scene.ann, scene.bob);
    let joined = scene.made(ann, JOIN, garden, share(garden, bob, "editor"));
    scene
        .decide(bob, CHANGE, joined, at_level("viewer"))
        .unwrap();
    let raised = scene.refused(bob, CHANGE, joined, at_level("admin"));
    assert!(
        raised.contains("memberships above your own access level"),
        "{raised}"
    );
    let admin = scene.made(ann, JOIN, garden, share(garden, ann, "editor"));
    let lowered = scene.refused(bob, CHANGE, admin, at_level("viewer"));
    assert!(
        lowered.contains("memberships above your own access level"),
        "{lowered}"
    );
    let removed = scene.refused(bob, LEAVE, admin, json!({}));
    assert!(
        removed.contains("memberships above your own access level"),
        "{removed}"
    );
}

#[test]
fn members_leave_a_project_alone_but_remove_others_only_if_they_share_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let (cat, ..) = scene.member("Cat");
    let (secret, of_bob) = scene.shared_project(bob, Level::Viewer);
    let of_cat = scene.given(|fixture| fixture.share(secret, acme, cat, Level::Viewer));
    let refused = scene.refused(bob, LEAVE, of_cat, json!({}));
    assert_eq!(refused, "You do not have permission to share this project.");
    let left = scene.done(bob, LEAVE, of_bob, json!({}));
    assert_eq!(left.changes.trashed, [of_bob]);
    assert!(
        left.changes
            .edge_removals
            .contains(&(secret, rel::MEMBERS, bob))
    );
    scene.done(ann, LEAVE, of_cat, json!({}));
}

#[test]
fn nobody_leaves_a_custom_field_alone() {
    let mut scene = DecisionScene::new();
    let field = field(&mut scene);
    let joined = scene.made(scene.ann, JOIN, field, share(field, scene.bob, "user"));
    let refused = scene.refused(scene.bob, LEAVE, joined, json!({}));
    assert_eq!(
        refused,
        "You do not have permission to share this custom field."
    );
    let removed = scene.done(scene.ann, LEAVE, joined, json!({}));
    assert_eq!(
        removed.changes.edge_removals,
        [(field, rel::MEMBERS, scene.bob)]
    );
}

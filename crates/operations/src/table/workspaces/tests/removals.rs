use super::user_named;
use crate::decision_scene::{DecisionScene, node};
use crate::operation::Decision;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{membership, project};
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::storage::{EdgeWrite, ListPosition};

#[test]
fn a_member_leaves_a_workspace_and_removes_nobody_else() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let eve = scene.given(|fixture| fixture.member(acme, "Eve", Role::Member));
    let refused = scene.refused(scene.bob, "removeUserForWorkspace", acme, user_named(eve));
    assert!(refused.contains("do not have permission to administer"));
    let left = scene.decide(eve, "removeUserForWorkspace", acme, user_named("me"));
    assert_eq!(
        left.unwrap().changes.edge_removals,
        [(eve, rel::WORKSPACES, acme)]
    );
}

#[test]
fn an_admin_leaves_a_workspace_only_by_another_admin() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let other = scene.given(|fixture| fixture.member(acme, "Eve", Role::Admin));
    let refused = scene.refused(scene.ann, "removeUserForWorkspace", acme, user_named("me"));
    assert!(refused.contains("Admins cannot remove themselves"));
    let removed = scene.decide(other, "removeUserForWorkspace", acme, user_named(scene.ann));
    let removed = removed.unwrap();
    assert!(
        removed
            .changes
            .edge_removals
            .contains(&(scene.ann, rel::WORKSPACES, acme))
    );
}

#[test]
fn only_a_user_of_the_workspace_is_removed_from_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let eve = scene.neighbor();
    let refused = scene.refused(ann, "removeUserForWorkspace", acme, user_named(eve));
    assert!(refused.contains("Not a user in Workspace"), "{refused}");
    let removed = scene.decide(ann, "removeUserForWorkspace", acme, user_named(scene.bob));
    let removals = removed.unwrap().changes.edge_removals;
    assert_eq!(removals, [(scene.bob, rel::WORKSPACES, acme)]);
}

#[test]
fn a_removed_user_leaves_teams_and_projects_of_this_workspace() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob, garden) = (scene.acme, scene.ann, scene.bob, scene.garden);
    let (team, seats) = scene.given(|fixture| {
        let team = fixture.team(acme, "Gardeners", ann);
        let in_team = fixture.join_team(bob, team, acme);
        let in_project = fixture.share(garden, acme, bob, Level::Editor);
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(bob, other, Role::Member);
        fixture.project(other, "Elsewhere", bob);
        (team, [in_team, in_project])
    });
    let removed = scene
        .decide(ann, "removeUserForWorkspace", acme, user_named(bob))
        .unwrap();
    let gone = [
        (bob, rel::WORKSPACES, acme),
        (team, rel::TEAM_MEMBERS, bob),
        (garden, rel::MEMBERS, bob),
        (garden, rel::PROJECT_FOLLOWERS, bob),
    ];
    assert_eq!(removed.changes.edge_removals, gone);
    assert_eq!(removed.changes.trashed[1..], seats);
    assert_eq!(removed.accounts, [bob]);
}

#[test]
fn the_role_of_a_removed_user_is_kept() {
    let scene = DecisionScene::new();
    let removed = scene.decide(
        scene.ann,
        "removeUserForWorkspace",
        scene.acme,
        user_named(scene.bob),
    );
    let removed = removed.unwrap();
    let seat = removed.changes.trashed[0];
    let rank = MembershipRole::of(Role::Member).rank();
    let kept = EdgeWrite {
        src: scene.bob,
        rel: rel::FORMER,
        dst: scene.acme,
        position: ListPosition::Rank(rank),
        aux: Some(seat),
    };
    assert_eq!(removed.changes.edge_writes, [kept]);
}

#[test]
fn a_view_only_member_who_returns_is_view_only_unless_an_admin_invites() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let (eve, seat) = scene.given(|fixture| {
        let eve = fixture.user("Eve", "eve@example.org");
        (eve, fixture.add_workspace_member(eve, acme, Role::Member))
    });
    scene.edit(seat, |draft| draft.set(membership::IS_VIEW_ONLY, true));
    scene.done(scene.ann, "removeUserForWorkspace", acme, user_named(eve));
    let view_only = |by| {
        let back = scene
            .decide(by, "addUserForWorkspace", acme, user_named(eve))
            .unwrap();
        let seat = &back.changes.node_writes[0].node;
        seat.get(membership::IS_VIEW_ONLY)
    };
    assert!(view_only(scene.bob));
    assert!(!view_only(scene.ann));
}

#[test]
fn who_removes_a_user_owns_what_they_owned() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let shed = scene.given(|fixture| fixture.private_project(acme, "Shed", bob));
    scene.edit(shed, |draft| draft.set(project::OWNER, bob));
    let removed = scene.decide(ann, "removeUserForWorkspace", acme, user_named(bob));
    let owner = |decision: &Decision| node(decision, shed).get(project::OWNER);
    assert_eq!(owner(&removed.unwrap()), Some(ann));
    let left = scene.decide(bob, "removeUserForWorkspace", acme, user_named(bob));
    assert_eq!(owner(&left.unwrap()), None);
}

use crate::decision_scene::{DecisionScene, node, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::membership;

const ADD: &str = "addMembersForProject";
const REMOVE: &str = "removeMembersForProject";
const FOLLOW: &str = "addFollowersForProject";
const UNFOLLOW: &str = "removeFollowersForProject";

fn members(user: Gid) -> Value {
    json!({"members": [user]})
}

fn followers(user: Gid) -> Value {
    json!({"followers": [user]})
}

/// Stores a portfolio that the workspace sees.
fn beds(scene: &DecisionScene) -> Gid {
    let body = json!({"name": "Beds", "workspace": scene.acme, "public": true});
    scene.made(scene.ann, "createPortfolio", scene.acme, body)
}

#[test]
fn a_user_becomes_a_member_once() {
    let scene = DecisionScene::new();
    let joined = scene.done(scene.ann, ADD, scene.garden, members(scene.bob));
    assert_eq!(written(&joined, rel::MEMBERS), [(scene.garden, scene.bob)]);
    let again = scene.decide(scene.ann, ADD, scene.garden, members(scene.bob));
    assert!(again.unwrap().changes.is_empty());
}

#[test]
fn new_members_and_followers_belong_to_the_workspace() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let member = scene.refused(scene.ann, ADD, scene.garden, members(eve));
    assert!(member.starts_with("members: "), "{member}");
    let follower = scene.refused(scene.ann, FOLLOW, scene.garden, followers(eve));
    assert!(follower.starts_with("followers: "), "{follower}");
    scene.done(scene.ann, FOLLOW, scene.garden, followers(scene.bob));
}

#[test]
fn a_follower_becomes_a_member_too() {
    let scene = DecisionScene::new();
    let (garden, bob) = (scene.garden, scene.bob);
    let follows = scene.done(scene.ann, FOLLOW, garden, followers(bob));
    assert_eq!(written(&follows, rel::MEMBERS), [(garden, bob)]);
    assert_eq!(written(&follows, rel::PROJECT_FOLLOWERS), [(garden, bob)]);
    let again = scene.decide(scene.ann, FOLLOW, garden, followers(bob));
    assert!(again.unwrap().changes.is_empty());
}

#[test]
fn a_member_who_follows_stays_a_member_as_before() {
    let mut scene = DecisionScene::new();
    let bob = scene.bob;
    let (secret, _) = scene.shared_project(bob, Level::Commenter);
    let follows = scene.done(bob, FOLLOW, secret, followers(bob));
    assert!(written(&follows, rel::MEMBERS).is_empty());
    assert_eq!(written(&follows, rel::PROJECT_FOLLOWERS), [(secret, bob)]);
}

#[test]
fn who_joins_gets_at_most_the_level_of_who_lets_them_in() {
    let scene = DecisionScene::new();
    let usual = json!({"default_access_level": "admin"});
    scene.done(scene.ann, "updateProject", scene.garden, usual);
    let level = |by, operation, body| {
        let joined = scene.decide(by, operation, scene.garden, body).unwrap();
        let membership = joined.changes.edge_writes[0].aux.unwrap();
        let word = node(&joined, membership).get(membership::ACCESS_LEVEL);
        word.unwrap().into_owned()
    };
    let (ann, bob) = (scene.ann, scene.bob);
    assert_eq!(level(ann, ADD, members(bob)), "admin");
    assert_eq!(level(bob, ADD, members(bob)), "editor");
    assert_eq!(level(ann, FOLLOW, followers(bob)), "admin");
    assert_eq!(level(bob, FOLLOW, followers(bob)), "editor");
}

#[test]
fn editors_alone_add_and_remove_others() {
    let mut scene = DecisionScene::new();
    let (bob, cat) = (scene.bob, scene.member("Cat").0);
    let (secret, _) = scene.shared_project(bob, Level::Commenter);
    for (operation, body, what) in [
        (ADD, members(cat), "the members of"),
        (FOLLOW, followers(cat), "who follows"),
        (UNFOLLOW, followers(cat), "who follows"),
    ] {
        let refused = scene.refused(bob, operation, secret, body.clone());
        let expected = format!("You do not have permission to change {what} this project.");
        assert_eq!(refused, expected);
        scene.done(scene.ann, operation, secret, body);
    }
    let left = scene.done(bob, REMOVE, secret, members(bob));
    assert_eq!(left.changes.edge_removals[0], (secret, rel::MEMBERS, bob));
}

#[test]
fn who_sees_a_project_may_not_follow_it_without_comments() {
    let mut scene = DecisionScene::new();
    let bob = scene.bob;
    let (secret, _) = scene.shared_project(bob, Level::Viewer);
    let refused = scene.refused(bob, FOLLOW, secret, followers(bob));
    assert!(refused.contains("comment on this project"), "{refused}");
    let (other, _) = scene.shared_project(bob, Level::Commenter);
    scene.done(bob, FOLLOW, other, followers(bob));
}

#[test]
fn if_admins_alone_share_a_project_others_let_nobody_in() {
    let mut scene = DecisionScene::new();
    let (garden, bob, cat) = (scene.garden, scene.bob, scene.member("Cat").0);
    scene.decide(bob, ADD, garden, members(bob)).unwrap();
    let admins = json!({"minimum_access_level_for_sharing": "admin"});
    scene.done(scene.ann, "updateProject", garden, admins);
    for (operation, body) in [(ADD, members(bob)), (FOLLOW, followers(bob))] {
        let refused = scene.refused(bob, operation, garden, body.clone());
        assert_eq!(refused, "You do not have permission to share this project.");
        scene.decide(scene.ann, operation, garden, body).unwrap();
    }
    scene.done(scene.ann, ADD, garden, members(cat));
    scene.decide(cat, FOLLOW, garden, followers(cat)).unwrap();
    let removed = scene.refused(bob, REMOVE, garden, members(cat));
    assert_eq!(removed, "You do not have permission to share this project.");
}

#[test]
fn who_sees_a_portfolio_does_not_join_it_alone() {
    let scene = DecisionScene::new();
    let (beds, bob) = (beds(&scene), scene.bob);
    let refused = scene.refused(bob, "addMembersForPortfolio", beds, members(bob));
    assert_eq!(
        refused,
        "You do not have permission to share this portfolio."
    );
    let joined = scene.done(scene.ann, "addMembersForPortfolio", beds, members(bob));
    assert_eq!(written(&joined, rel::MEMBERS), [(beds, bob)]);
    let left = scene.done(bob, "removeMembersForPortfolio", beds, members(bob));
    assert_eq!(left.changes.edge_removals[0], (beds, rel::MEMBERS, bob));
}

#[test]
fn who_sees_a_portfolio_does_not_change_its_members() {
    let scene = DecisionScene::new();
    let beds = beds(&scene);
    let operation = "removeMembersForPortfolio";
    scene.done(
        scene.ann,
        "addMembersForPortfolio",
        beds,
        members(scene.bob),
    );
    let added = scene.refused(
        scene.bob,
        "addMembersForPortfolio",
        beds,
        members(scene.ann),
    );
    assert_eq!(
        added,
        "You do not have permission to change the members of this portfolio."
    );
    let above = scene.refused(scene.bob, operation, beds, members(scene.ann));
    assert!(
        above.contains("members above your own access level"),
        "{above}"
    );
}

#[test]
fn nobody_removes_members_above_their_own_level() {
    let scene = DecisionScene::new();
    let (garden, ann, bob) = (scene.garden, scene.ann, scene.bob);
    let above = scene.refused(bob, REMOVE, garden, members(ann));
    assert!(
        above.contains("members above your own access level"),
        "{above}"
    );
    scene.done(ann, ADD, garden, members(bob));
    let removed = scene.done(ann, REMOVE, garden, members(bob));
    assert!(
        removed
            .changes
            .edge_removals
            .contains(&(garden, rel::MEMBERS, bob))
    );
}

#[test]
fn who_leaves_a_project_stops_following_it() {
    let scene = DecisionScene::new();
    let (garden, bob) = (scene.garden, scene.bob);
    let follows = scene.done(scene.ann, FOLLOW, garden, followers(bob));
    let joined = follows.changes.edge_writes.iter().find_map(|edge| edge.aux);
    let left = scene.done(bob, REMOVE, garden, members(bob));
    assert_eq!(Some(left.changes.trashed[0]), joined);
    let removed = [rel::MEMBERS, rel::PROJECT_FOLLOWERS].map(|rel| (garden, rel, bob));
    assert_eq!(left.changes.edge_removals, removed);
}

#[test]
fn who_only_sees_a_project_may_leave_it() {
    let mut scene = DecisionScene::new();
    let (bob, eve) = (scene.bob, scene.member("Eve").0);
    let (secret, _) = scene.shared_project(bob, Level::Viewer);
    scene.link(secret, rel::PROJECT_FOLLOWERS, bob);
    let unfollows = scene.decide(bob, UNFOLLOW, secret, followers(bob)).unwrap();
    let follower = (secret, rel::PROJECT_FOLLOWERS, bob);
    assert_eq!(unfollows.changes.edge_removals, [follower]);
    let leaves = scene.decide(bob, REMOVE, secret, members(bob)).unwrap();
    let member = (secret, rel::MEMBERS, bob);
    assert!(leaves.changes.edge_removals.contains(&member));
    let acme = scene.acme;
    scene.given(|fixture| fixture.share(secret, acme, eve, Level::Viewer));
    let refused = scene.refused(bob, REMOVE, secret, members(eve));
    assert!(
        refused.contains("do not have permission to change"),
        "{refused}"
    );
}

#[test]
fn who_stops_following_stays_a_member() {
    let scene = DecisionScene::new();
    let (garden, bob) = (scene.garden, scene.bob);
    scene.done(scene.ann, FOLLOW, garden, followers(bob));
    let stopped = scene.done(bob, UNFOLLOW, garden, followers(bob));
    assert_eq!(
        stopped.changes.edge_removals,
        [(garden, rel::PROJECT_FOLLOWERS, bob)]
    );
}

#[test]
fn a_user_who_is_no_member_is_removed_without_a_change() {
    let scene = DecisionScene::new();
    let removed = scene.decide(scene.ann, REMOVE, scene.garden, members(scene.bob));
    assert!(removed.unwrap().changes.is_empty());
    let stopped = scene.decide(scene.ann, UNFOLLOW, scene.garden, followers(scene.bob));
    assert!(stopped.unwrap().changes.is_empty());
}

#[test]
fn nobody_removes_users_whom_they_do_not_know() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let unknown = scene.refused(scene.ann, REMOVE, scene.garden, members(eve));
    assert!(unknown.contains("members: Unknown object"), "{unknown}");
    let (garden, acme) = (scene.garden, scene.acme);
    scene.given(|fixture| fixture.share(garden, acme, eve, Level::Viewer));
    let removed = scene.done(scene.ann, REMOVE, garden, members(eve));
    assert!(
        removed
            .changes
            .edge_removals
            .contains(&(garden, rel::MEMBERS, eve))
    );
}

#[test]
fn a_user_who_is_named_twice_joins_and_leaves_once() {
    let scene = DecisionScene::new();
    let (bob, garden) = (scene.bob, scene.garden);
    let twice = |field: &str| json!({ field: [bob, bob] });
    let joined = scene.done(scene.ann, ADD, garden, twice("members"));
    assert_eq!(written(&joined, rel::MEMBERS), [(garden, bob)]);
    let left = scene.done(scene.ann, REMOVE, garden, twice("members"));
    assert_eq!(left.changes.trashed.len(), 1);
    let followed = scene.done(scene.ann, FOLLOW, garden, twice("followers"));
    assert_eq!(written(&followed, rel::PROJECT_FOLLOWERS), [(garden, bob)]);
}

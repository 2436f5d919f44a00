use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{goal, membership};

const CREATE: &str = "createGoal";
const CHANGE: &str = "updateGoal";

/// Returns the body of a new goal, with more fields.
fn new_goal(scene: &DecisionScene, more: Value) -> Value {
    with(json!({"name": "Harvest", "workspace": scene.acme}), more)
}

/// Stores a goal of the admin.
fn harvest(scene: &DecisionScene) -> Gid {
    scene.made(scene.ann, CREATE, scene.acme, new_goal(scene, json!({})))
}

/// Stores a team that the workspace sees.
fn growers(scene: &mut DecisionScene) -> Gid {
    let (acme, ann) = (scene.acme, scene.ann);
    let team = scene.given(|fixture| fixture.team(acme, "Growers", ann));
    scene.done(ann, "updateTeam", team, json!({"visibility": "public"}));
    team
}

#[test]
fn a_new_goal_belongs_to_its_creator_unless_it_says_otherwise() {
    let scene = DecisionScene::new();
    let owner = |more| {
        let made = scene.decide(scene.ann, CREATE, scene.acme, new_goal(&scene, more));
        let made = made.unwrap();
        node(&made, made.subject.unwrap()).get(goal::OWNER)
    };
    assert_eq!(owner(json!({})), Some(scene.ann));
    assert_eq!(owner(json!({"owner": scene.bob})), Some(scene.bob));
    assert_eq!(owner(json!({"owner": null})), None);
}

#[test]
fn the_creator_and_the_followers_of_a_goal_become_members() {
    let scene = DecisionScene::new();
    let (ann, bob) = (scene.ann, scene.bob);
    let more = json!({"followers": [ann, bob], "default_access_level": "viewer"});
    let made = scene.done(ann, CREATE, ann, new_goal(&scene, more));
    let goal = made.subject.unwrap();
    assert_eq!(written(&made, rel::MEMBERS), [(goal, ann), (goal, bob)]);
    let edges = made.changes.edge_writes.iter();
    let levels = edges.filter(|edge| edge.rel == rel::MEMBERS).map(|edge| {
        let word = node(&made, edge.aux.unwrap()).get(membership::ACCESS_LEVEL);
        word.unwrap().into_owned()
    });
    assert_eq!(levels.collect::<Vec<_>>(), ["admin", "viewer"]);
}

#[test]
fn a_free_workspace_has_no_goals() {
    let mut scene = DecisionScene::new();
    let free = scene.free_workspace();
    let create = |workspace: Gid| {
        let body = json!({"name": "Harvest", "workspace": workspace});
        scene.decide(scene.ann, CREATE, workspace, body)
    };
    assert_eq!(create(free).unwrap_err().message, super::PREMIUM);
    create(scene.acme).unwrap();
}

#[test]
fn guests_create_no_goals() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let gil = scene.guest();
    let body = new_goal(&scene, json!({}));
    let refused = scene.refused(gil, CREATE, acme, body.clone());
    assert_eq!(
        refused,
        "You do not have permission to change this workspace."
    );
    scene.done(scene.bob, CREATE, acme, body);
}

#[test]
fn a_goal_is_one_of_its_workspace_or_of_a_team() {
    let mut scene = DecisionScene::new();
    let growers = growers(&mut scene);
    let create = |more| scene.decide(scene.ann, CREATE, growers, new_goal(&scene, more));
    let both = create(json!({"team": growers, "is_workspace_level": true}));
    assert!(
        both.unwrap_err()
            .message
            .contains("is not one of the workspace")
    );
    let neither = create(json!({"is_workspace_level": false}));
    assert!(neither.unwrap_err().message.contains("give a team, too"));
    let team = |more| {
        let made = create(more).unwrap();
        node(&made, made.subject.unwrap()).get(goal::TEAM)
    };
    assert_eq!(team(json!({"is_workspace_level": true})), None);
    let of_team = json!({"team": growers, "is_workspace_level": false});
    assert_eq!(team(of_team), Some(growers));
}

#[test]
fn a_goal_that_becomes_one_of_the_workspace_leaves_its_team() {
    let mut scene = DecisionScene::new();
    let growers = growers(&mut scene);
    let of_team = new_goal(&scene, json!({"team": growers}));
    let goal = scene.made(scene.ann, CREATE, growers, of_team);
    let body = json!({"is_workspace_level": true});
    let changed = scene.done(scene.ann, CHANGE, goal, body);
    assert_eq!(node(&changed, goal).get(goal::TEAM), None);
}

#[test]
fn only_members_of_a_team_give_it_goals() {
    let mut scene = DecisionScene::new();
    let (growers, acme, bob) = (growers(&mut scene), scene.acme, scene.bob);
    let of_team = new_goal(&scene, json!({"team": growers}));
    let refused = scene.refused(bob, CREATE, acme, of_team.clone());
    assert_eq!(refused, "You do not have permission to change this team.");
    scene.given(|fixture| fixture.join_team(bob, growers, acme));
    let made = scene.done(bob, CREATE, acme, of_team);
    let goal = node(&made, made.subject.unwrap());
    assert_eq!(goal.get(goal::TEAM), Some(growers));
}

#[test]
fn a_goal_and_its_team_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let ann = scene.ann;
    let club = scene.second_workspace();
    let others = scene.given(|fixture| fixture.team(club, "Others", ann));
    let refused = scene.refused(ann, CREATE, ann, new_goal(&scene, json!({"team": others})));
    assert_eq!(refused, "team: Not a team of the same workspace");
    let growers = growers(&mut scene);
    scene.done(ann, CREATE, ann, new_goal(&scene, json!({"team": growers})));
}

#[test]
fn only_a_goal_with_a_metric_has_a_status_that_is_written() {
    let scene = DecisionScene::new();
    let goal = harvest(&scene);
    let green = json!({"status": "green"});
    let refused = scene.refused(scene.ann, CHANGE, goal, green.clone());
    assert!(
        refused.contains("A goal without a metric has the status of"),
        "{refused}"
    );
    scene.done(scene.ann, "createGoalMetric", goal, json!({}));
    let changed = scene.done(scene.ann, CHANGE, goal, green);
    let status = node(&changed, goal).get(goal::STATUS);
    assert_eq!(status.as_deref(), Some("green"));
}

#[test]
fn only_an_admin_gives_a_goal_another_owner() {
    let scene = DecisionScene::new();
    let goal = harvest(&scene);
    let editor = json!({"parent": goal, "member": scene.bob, "access_level": "editor"});
    scene.done(scene.ann, "createMembership", goal, editor);
    let body = json!({"owner": scene.bob});
    let refused = scene.refused(scene.bob, CHANGE, goal, body.clone());
    assert_eq!(
        refused,
        "You do not have permission to administer this goal."
    );
    scene.done(
        scene.bob,
        CHANGE,
        goal,
        json!({"privacy_setting": "members_only"}),
    );
    let changed = scene.done(scene.ann, CHANGE, goal, body);
    assert_eq!(node(&changed, goal).get(goal::OWNER), Some(scene.bob));
}

#[test]
fn the_days_of_a_goal_are_in_order() {
    let scene = DecisionScene::new();
    let goal = harvest(&scene);
    let days = |start: &str, due: &str| json!({"start_on": start, "due_on": due});
    let late = scene.refused(scene.ann, CHANGE, goal, days("2026-03-02", "2026-03-01"));
    assert_eq!(late, "The start must not be after the due date");
    let changed = scene.done(scene.ann, CHANGE, goal, days("2026-03-01", "2026-03-02"));
    let due = node(&changed, goal).get(goal::DUE_ON).unwrap();
    assert_eq!(due.to_string(), "2026-03-02");
}

#[test]
fn who_sees_a_goal_follows_it_alone_but_adds_nobody() {
    let mut scene = DecisionScene::new();
    let (goal, bob) = (harvest(&scene), scene.bob);
    let cat = scene.member("Cat").0;
    let followers = |user: Gid| json!({"followers": [user]});
    let refused = scene.refused(bob, "addFollowers", goal, followers(cat));
    assert_eq!(
        refused,
        "You do not have permission to change who follows this goal."
    );
    let follows = scene.done(bob, "addFollowers", goal, followers(bob));
    assert_eq!(written(&follows, rel::PROJECT_FOLLOWERS), [(goal, bob)]);
    let stopped = scene.done(bob, "removeFollowers", goal, followers(bob));
    let removed = [(goal, rel::PROJECT_FOLLOWERS, bob)];
    assert_eq!(stopped.changes.edge_removals, removed);
}

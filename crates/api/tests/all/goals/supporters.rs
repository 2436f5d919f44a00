//! Supporters of a goal: their order and weights, and the progress that follows from them.
use super::{create, gid, list, ok};
use crate::world::{Answer, KINDS, World};
use serde_json::{Value, json};

/// Adds a supporter to a goal as ada; returns the relationship.
pub(super) fn support(world: &World, goal: &str, supporter: &str, more: Value) -> Answer {
    let mut data = json!({ "supporting_resource": supporter });
    for (name, value) in more.as_object().into_iter().flatten() {
        data[name] = value.clone();
    }
    let path = format!("{goal}/addSupportingRelationship");
    world.post("ada", &path, data)
}

/// S254. Each source, its supporters, and their weights.
#[test]
fn progress_follows_from_what_supports_a_goal() {
    for kind in KINDS {
        let world = World::new(kind);
        let (_, path) = create(&world, json!({}));
        let source = |source: &str, custom: bool| {
            let data = json!({"progress_source": source, "target_number_value": 100, "precision": 1,
                "is_custom_weight": custom});
            ok(world.post("ada", &format!("{path}/setMetric"), data));
        };
        let shown = || {
            let fields = "?opt_fields=metric.current_number_value,metric.current_display_value";
            let mut goal = ok(world.get("ada", &format!("{path}{fields}")));
            let metric = goal.json["data"]["metric"].take();
            let text = metric["current_display_value"].as_str().unwrap().to_owned();
            assert_eq!(metric["current_number_value"].as_f64(), text.parse().ok());
            text
        };
        // Goals, one of them with a computed metric of its own.
        source("subgoal_progress", false);
        assert_eq!(shown(), "0.0");
        let (half, half_path) = create(&world, json!({}));
        let data = json!({"target_number_value": 8, "current_number_value": 4});
        ok(world.post("ada", &format!("{half_path}/setMetric"), data));
        let (above, above_path) = create(&world, json!({}));
        let data = json!({"progress_source": "subgoal_progress"});
        ok(world.post("ada", &format!("{above_path}/setMetric"), data));
        ok(support(&world, &above_path, &half, json!({})));
        let (none, none_path) = create(&world, json!({}));
        for (goal, weight) in [(&half, 1.0), (&above, 0.5), (&none, 0.5)] {
            ok(support(
                &world,
                &path,
                goal,
                json!({"contribution_weight": weight}),
            ));
        }
        assert_eq!(shown(), "33.3");
        source("subgoal_progress", true);
        assert_eq!(shown(), "37.5");
        let data = json!({"parent": none, "text": "x", "status_type": "achieved"});
        ok(world.post("ada", "/status_updates", data));
        assert_eq!(shown(), "62.5");
        ok(world.call("ada", "DELETE", &none_path, &Value::Null));
        assert_eq!(shown(), "50.0");
        let by_hand = json!({"current_number_value": 3});
        let refused = world.post("ada", &format!("{path}/setMetricCurrentValue"), by_hand);
        assert_eq!(refused.status, 400, "{}", refused.text);
        // Tasks and milestones of a project.
        let team = gid(&world, "gardeners");
        let project = json!({"workspace": gid(&world, "orchid"), "team": team, "name": "Beds"});
        let project = ok(world.post("ada", "/projects", project)).gid();
        let task = |completed: bool, subtype: &str| {
            let data = json!({"projects": [project], "name": "Dig", "completed": completed,
                "resource_subtype": subtype});
            ok(world.post("ada", "/tasks", data)).gid()
        };
        ok(support(&world, &path, &project, json!({})));
        source("project_task_completion", false);
        assert_eq!(shown(), "0.0", "there are no tasks");
        task(true, "default_task");
        let open = task(false, "default_task");
        task(true, "milestone");
        task(false, "milestone");
        task(false, "milestone");
        assert_eq!(shown(), "40.0");
        source("project_milestone_completion", false);
        assert_eq!(shown(), "33.3");
        // Tasks alone.
        ok(support(&world, &path, &open, json!({})));
        ok(support(&world, &path, &gid(&world, "water"), json!({})));
        source("task_completion", false);
        assert_eq!(shown(), "0.0");
        let done = json!({"completed": true});
        ok(world.call("ada", "PUT", &format!("/tasks/{open}"), &done));
        assert_eq!(shown(), "50.0");
    }
}

/// S255. Added, moved, listed, weighed, removed and refused.
#[test]
fn supporters_of_a_goal_are_in_order() {
    for kind in KINDS {
        let world = World::new(kind);
        let (own, path) = create(&world, json!({}));
        let (sub, sub_path) = create(&world, json!({"name": "Bud"}));
        let [garden, works, water] = ["garden", "works", "water"].map(|name| gid(&world, name));
        let mut relationships = Vec::new();
        for supporter in [&sub, &garden, &works, &water] {
            let made = ok(support(&world, &path, supporter, json!({})));
            let shown = &made.json["data"];
            assert_eq!(shown["supporting_resource"]["gid"], **supporter);
            assert_eq!(shown["supported_goal"]["gid"], own);
            let subtype = if *supporter == sub {
                "subgoal"
            } else {
                "supporting_work"
            };
            assert_eq!(shown["resource_subtype"], subtype);
            assert_eq!(shown["contribution_weight"], 1);
            relationships.push(made.gid());
        }
        let listed = |more: &str| {
            let target = format!("/goal_relationships?supported_goal={own}{more}");
            ok(world.get("ada", &target)).gids()
        };
        let order = |order: [usize; 4]| order.map(|at| relationships[at].clone());
        assert_eq!(listed(""), order([0, 1, 2, 3]));
        assert_eq!(
            listed("&resource_subtype=subgoal"),
            order([0, 1, 2, 3])[..1]
        );
        assert_eq!(
            listed("&resource_subtype=supporting_work"),
            order([0, 1, 2, 3])[1..]
        );
        let moved = support(&world, &path, &water, json!({"insert_before": sub}));
        assert_eq!(ok(moved).gid(), relationships[3]);
        let moved = support(
            &world,
            &path,
            &sub,
            json!({"insert_after": garden, "contribution_weight": 0.25}),
        );
        assert_eq!(ok(moved).json["data"]["contribution_weight"], 0.25);
        assert_eq!(listed(""), order([3, 1, 0, 2]));
        // Of the supporters' side.
        assert_eq!(list(&world, "ada", &format!("project={garden}")), [&*own]);
        assert_eq!(
            list(&world, "ada", &format!("portfolio={works}&task={water}")),
            [&*own]
        );
        let moss = gid(&world, "moss");
        assert_eq!(
            list(&world, "ada", &format!("project={moss}&task={water}")),
            [""; 0]
        );
        let parents = format!("{sub_path}/parentGoals");
        assert_eq!(ok(world.get("ada", &parents)).gids(), [&*own]);
        for (supporter, more) in [
            (own.clone(), json!({})),
            (gid(&world, "quarry"), json!({})),
            (gid(&world, "thirsty"), json!({})),
            (garden.clone(), json!({"insert_before": moss})),
            (
                garden.clone(),
                json!({"insert_before": sub, "insert_after": water}),
            ),
            (garden.clone(), json!({"contribution_weight": 1.5})),
        ] {
            let refused = support(&world, &path, &supporter, more.clone());
            assert!(
                refused.status >= 400,
                "{supporter} {more}: {}",
                refused.text
            );
        }
        assert_eq!(
            support(&world, &sub_path, &own, json!({})).status,
            400,
            "a circle"
        );
        let weigh = |user: &str| {
            let at = format!("/goal_relationships/{}", relationships[1]);
            world.call(user, "PUT", &at, &json!({"contribution_weight": 0.5}))
        };
        assert_eq!(weigh("moe").status, 403);
        assert_eq!(ok(weigh("ada")).json["data"]["contribution_weight"], 0.5);
        let remove = || {
            let data = json!({"supporting_resource": garden});
            world.post("ada", &format!("{path}/removeSupportingRelationship"), data)
        };
        ok(remove());
        assert_eq!(remove().status, 400, "it supports the goal no longer");
        // A supporter that is deleted, and one that the reader does not see.
        ok(world.call("ada", "DELETE", &format!("/tasks/{water}"), &Value::Null));
        assert_eq!(listed(""), [&*relationships[0], &*relationships[2]]);
        let target = format!("/goal_relationships?supported_goal={own}");
        assert_eq!(ok(world.get("moe", &target)).gids(), [&*relationships[0]]);
        let hidden = format!("/goal_relationships/{}", relationships[2]);
        assert_eq!(world.get("moe", &hidden).status, 403);
        ok(world.call("ada", "DELETE", &path, &Value::Null));
        assert_eq!(
            world.get("ada", &hidden).status,
            403,
            "it went with the goal"
        );
        assert_eq!(ok(world.get("ada", &parents)).gids(), [""; 0]);
    }
}

#[test]
fn progress_counts_the_supporters_that_the_viewer_sees() {
    for kind in KINDS {
        let world = World::new(kind);
        let (_, path) = create(&world, json!({}));
        let metric = json!({"progress_source": "project_task_completion",
            "target_number_value": 100, "precision": 1});
        ok(world.post("ada", &format!("{path}/setMetric"), metric));
        let data = json!({"name": "Secret", "team": team(&world),
            "privacy_setting": "private"});
        let secret = ok(world.post("ada", "/projects", data)).gid();
        for completed in [true, false] {
            let data = json!({"name": "Plan", "projects": [secret], "completed": completed});
            ok(world.post("ada", "/tasks", data));
        }
        ok(support(&world, &path, &secret, json!({})));
        // A goal above shows no more of it.
        let (_, above) = create(&world, json!({}));
        let metric = json!({"progress_source": "subgoal_progress",
            "target_number_value": 100, "precision": 1});
        ok(world.post("ada", &format!("{above}/setMetric"), metric));
        let goal = path.trim_start_matches("/goals/");
        ok(support(&world, &above, goal, json!({})));
        for (user, percent) in [("ada", "50.0"), ("moe", "0.0")] {
            for goal in [&path, &above] {
                let fields = "?opt_fields=metric.current_display_value";
                let shown = ok(world.get(user, &format!("{goal}{fields}")));
                let value = &shown.json["data"]["metric"]["current_display_value"];
                assert_eq!(value, percent, "{user} {goal}");
            }
        }
    }
}

/// Makes a team of ada; returns its gid.
fn team(world: &World) -> String {
    let data = json!({"name": "Diggers", "organization": world.gid("orchid").to_string()});
    let made = world.post("ada", "/teams", data);
    assert_eq!(made.status, 201, "{}", made.text);
    made.gid()
}

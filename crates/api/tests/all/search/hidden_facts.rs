//! Conditions on what a task is linked to: they say nothing of objects that the viewer does not see.
use crate::world::{KINDS, World};
use serde_json::json;

/// Returns true if a search of a user finds a task.
fn finds(world: &World, user: &str, condition: &str, task: &str) -> bool {
    let orchid = world.gid("orchid");
    let found = world.get(
        user,
        &format!("/workspaces/{orchid}/tasks/search?{condition}"),
    );
    assert_eq!(found.status, 200, "{condition}: {}", found.text);
    found.gids().iter().any(|gid| gid == task)
}

#[test]
fn what_a_viewer_does_not_see_neither_blocks_nor_is_blocked() {
    for kind in KINDS {
        let world = World::new(kind);
        let create = |project: &str| {
            let data = json!({"name": "Plan", "projects": [project]});
            let made = world.post("ada", "/tasks", data);
            assert_eq!(made.status, 201, "{}", made.text);
            made.gid()
        };
        let data = json!({"name": "Secret", "team": team(&world),
            "privacy_setting": "private"});
        let secret = world.post("ada", "/projects", data).gid();
        let open = world.gid("garden").to_string();
        let waits_for = |task: &str, other: &str| {
            let data = json!({"dependencies": [other]});
            let done = world.post("ada", &format!("/tasks/{task}/addDependencies"), data);
            assert_eq!(done.status, 200, "{}", done.text);
        };
        let [before, between, after] = [&secret, &open, &secret].map(|project| create(project));
        waits_for(&between, &before);
        waits_for(&after, &between);
        for (condition, opposite) in [
            ("is_blocked=true", "is_blocked=false"),
            ("is_blocking=true", "is_blocking=false"),
        ] {
            for (user, sees) in [("ada", true), ("moe", false)] {
                let found = |condition: &str| finds(&world, user, condition, &between);
                assert_eq!(found(condition), sees, "{user} {condition}");
                assert_eq!(found(opposite), !sees, "{user} {opposite}");
            }
        }
        // What both see counts for both.
        let seen = create(&open);
        waits_for(&between, &seen);
        for user in ["ada", "moe"] {
            assert!(finds(&world, user, "is_blocked=true", &between), "{user}");
            assert!(finds(&world, user, "is_blocking=true", &seen), "{user}");
        }
    }
}

/// A follower of a subtask alone sees a task without a parent.
#[test]
fn a_parent_that_a_viewer_does_not_see_makes_no_subtask() {
    for kind in KINDS {
        let world = World::new(kind);
        let ok = |answer: crate::world::Answer| {
            assert!(answer.status < 300, "{}", answer.text);
            answer
        };
        let data = json!({"name": "Secret", "team": team(&world),
            "privacy_setting": "private"});
        let secret = world.post("ada", "/projects", data).gid();
        let data = json!({"name": "Whole", "projects": [secret]});
        let whole = ok(world.post("ada", "/tasks", data)).gid();
        let data = json!({"name": "Part"});
        let part = ok(world.post("ada", &format!("/tasks/{whole}/subtasks"), data)).gid();
        let moe = json!({"followers": [world.gid("moe").to_string()]});
        ok(world.post("ada", &format!("/tasks/{part}/addFollowers"), moe));
        assert_eq!(world.get("moe", &format!("/tasks/{whole}")).status, 403);
        for (user, sees) in [("ada", true), ("moe", false)] {
            let parent = world.get(user, &format!("/tasks/{part}?opt_fields=parent"));
            let shown = &ok(parent).json["data"]["parent"];
            assert_eq!(shown.is_object(), sees, "{user}: {shown}");
            for order in ["created_at", "modified_at", "due_date", "likes"] {
                for more in ["", "&completed=false", "&text=Part", "&projects.any=null"] {
                    let found = |condition: &str| {
                        let condition = format!("{condition}&sort_by={order}{more}");
                        finds(&world, user, &condition, &part)
                    };
                    let named = format!("{kind:?} {user} {order}{more}");
                    assert_eq!(found("is_subtask=true"), sees, "{named}");
                    assert_eq!(found("is_subtask=false"), !sees, "{named}");
                }
            }
        }
        // A task whose parent both see is a subtask for both.
        let buds = world.gid("water_buds").to_string();
        for user in ["ada", "moe"] {
            assert!(finds(&world, user, "is_subtask=true", &buds), "{user}");
            assert!(!finds(&world, user, "is_subtask=false", &buds), "{user}");
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

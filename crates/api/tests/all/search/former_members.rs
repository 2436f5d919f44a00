//! Former members: tasks still name them, and those who see the tasks may search by them.
use crate::world::{Kind, World};
use serde_json::json;

#[test]
fn conditions_may_name_a_user_who_left() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let world = World::new(kind);
        let (orchid, mel) = (world.gid("orchid"), world.gid("mel"));
        let body = json!({"data": {"workspace": orchid.to_string(), "name": "pruning",
            "assignee": mel.to_string(), "followers": [mel.to_string()]}});
        let made = world.post("ada", "/tasks", body["data"].clone());
        assert_eq!(made.status, 201, "{}", made.text);
        let task = made.gid();
        let leave = format!("/workspaces/{orchid}/removeUser");
        let left = world.post("ada", &leave, json!({"user": mel.to_string()}));
        assert_eq!(left.status, 200, "{}", left.text);
        let search = |reader: &str, condition: &str| {
            let path = format!("/workspaces/{orchid}/tasks/search?text=pruning&{condition}={mel}");
            world.get(reader, &path)
        };
        for (condition, is_found) in [
            ("assignee.any", true),
            ("assignee.not", false),
            ("followers.any", true),
            ("followers.not", false),
            ("created_by.any", false),
            ("created_by.not", true),
            ("assigned_by.any", false),
            ("liked_by.not", true),
            ("commented_on_by.not", true),
        ] {
            let found = search("ada", condition);
            assert_eq!(found.status, 200, "{condition}: {}", found.text);
            let gids: Vec<String> = found.gids().iter().map(ToString::to_string).collect();
            assert_eq!(gids.contains(&task), is_found, "{condition}: {gids:?}");
        }
        let record = world.get("ada", &format!("/users/{mel}"));
        assert_eq!(record.status, 200, "{}", record.text);
        let list = world.get("ada", &format!("/tasks?workspace={orchid}&assignee={mel}"));
        assert_eq!(list.status, 200, "{}", list.text);
        assert!(list.text.contains(&task), "{}", list.text);
        // An address names nobody who left: it would tell who has an account elsewhere.
        let named = world.get("ada", "/users/mel@orchid.test");
        assert_eq!(named.status, 404, "{}", named.text);
        // Nobody else learns that the user exists.
        let record = world.get("bob", &format!("/users/{mel}"));
        assert_ne!(record.status, 200, "{}", record.text);
    }
}

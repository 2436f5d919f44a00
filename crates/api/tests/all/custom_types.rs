//! Custom types of tasks.
use crate::world::{KINDS, World};
use serde_json::{Value, json};

/// S265.
#[test]
fn the_status_of_a_custom_type_and_completion_follow_from_each_other() {
    for kind in KINDS {
        let world = World::new(kind);
        let of = world.gid("orchid_custom_type").to_string();
        let types = world.get(
            "ada",
            &format!("/custom_types?project={}", world.gid("moss")),
        );
        assert!(types.gids().contains(&of));
        let shown = world.get("ada", &format!("/custom_types/{of}")).json["data"].take();
        let options = shown["status_options"].as_array().unwrap();
        let [open, done] = [0, 1].map(|at| options[at]["gid"].as_str().unwrap().to_owned());
        assert_eq!(options[1]["completion_state"], "complete");
        let task = format!("/tasks/{}", world.gid("lichen"));
        let fields = "opt_fields=resource_subtype,completed,custom_type,custom_type_status_option";
        let state = || {
            let task = world.get("ada", &format!("{task}?{fields}")).json["data"].take();
            let gid = |name: &str| task[name]["gid"].as_str().map(str::to_owned);
            let subtype = task["resource_subtype"].as_str().unwrap().to_owned();
            let completed = task["completed"] == true;
            (
                subtype,
                gid("custom_type"),
                gid("custom_type_status_option"),
                completed,
            )
        };
        let put = |data: Value| world.call("ada", "PUT", &task, &data).status;
        let custom = |status: &str, completed: bool| {
            let status = Some(status.to_owned());
            ("custom".to_owned(), Some(of.clone()), status, completed)
        };
        assert_eq!(put(json!({"resource_subtype": "custom"})), 400);
        assert_eq!(put(json!({"custom_type_status_option": done})), 400);
        assert_eq!(
            put(json!({"custom_type": of, "resource_subtype": "milestone"})),
            400
        );
        assert_eq!(put(json!({ "custom_type": of })), 200);
        assert_eq!(state(), custom(&open, false));
        assert_eq!(put(json!({ "custom_type_status_option": done })), 200);
        assert_eq!(state(), custom(&done, true));
        assert_eq!(put(json!({"completed": false})), 200);
        assert_eq!(state(), custom(&open, false));
        let conflict = json!({"completed": false, "custom_type_status_option": done});
        assert_eq!(put(conflict), 400);
        assert_eq!(put(json!({"custom_type_status_option": of})), 400);
        let found = |status: &str| {
            let of = format!("custom_types.{of}.custom_type_status_option.gid={status}");
            let search = format!("/workspaces/{}/tasks/search?{of}", world.gid("orchid"));
            world.get("ada", &search).gids().len()
        };
        assert_eq!((found(&open), found(&done)), (1, 0));
        assert_eq!(put(json!({"completed": true})), 200);
        assert_eq!((found(&open), found(&done)), (0, 1));
        assert_eq!(put(json!({"resource_subtype": "default_task"})), 200);
        assert_eq!(state(), ("default_task".to_owned(), None, None, true));
        assert_eq!((found(&open), found(&done)), (0, 0));
        assert_eq!(world.problems(), Vec::<String>::new());
        // Who does not see a project of the type does not see the type.
        assert_eq!(world.get("bob", &format!("/custom_types/{of}")).status, 403);
    }
}

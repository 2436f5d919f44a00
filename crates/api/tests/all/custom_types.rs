//! Custom types of tasks.
use crate::world::{KINDS, World};
use serde_json::{Value, json};
use workgraph_core::model::time::Time;
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};
use workgraph_core::storage::change_builder::ChangeBuilder;

/// Returns the status of the reply to a search by a status with another custom type than its own.
fn found_by_other_type(world: &World, status: &str) -> u16 {
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(None, Time::from_system(world.now()), &generate_gid);
    let statuses = ["Open:incomplete", "Answered:complete"];
    let statuses = statuses.map(|status| NewStatus::parse(status).unwrap());
    let (orchid, moss) = (world.gid("orchid"), world.gid("moss"));
    let other = create_custom_type(&mut work, orchid, &[moss], "Question", &statuses).unwrap();
    world.run(world.graph.commit(work.changes)).unwrap();
    let filter = format!("custom_types.{other}.custom_type_status_option.gid={status}");
    let search = format!("/workspaces/{}/tasks/search?{filter}", world.gid("orchid"));
    let reply = world.get("ada", &search);
    if reply.status == 400 {
        assert!(
            reply.message().contains("of this custom type"),
            "{}",
            reply.text
        );
    }
    reply.status
}

/// S265. S903.
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
        assert_eq!(found_by_other_type(&world, &open), 400);
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

//! Roles of templates, which are named after users.
use super::scene::scene;
use crate::world::KINDS;
use serde_json::json;
use workgraph_core::Gid;

/// S105. In the roles of a template, too.
#[test]
fn a_role_has_the_name_of_its_user_only_for_readers_who_see_the_user() {
    for kind in KINDS {
        let world = scene(kind);
        let team = world.gid("open_team");
        for (name, assignee) in [("Rake", "ada"), ("Mow", "nia")] {
            let assignee = world.gid(assignee);
            let meadow = world.gid("meadow");
            let task = json!({"name": name, "projects": [meadow], "assignee": assignee});
            assert_eq!(world.post("ada", "/tasks", task).status, 201);
        }
        let joined = world.post(
            "ada",
            &format!("/teams/{team}/addUser"),
            json!({"user": world.gid("gus")}),
        );
        assert_eq!(joined.status, 200, "{}", joined.text);
        let at = format!("/projects/{}/saveAsTemplate", world.gid("meadow"));
        let data = json!({"name": "Plan", "public": true, "team": team});
        let job = world.post("ada", &at, data);
        world.work();
        let made = job.json["data"]["new_project_template"]["gid"].as_str();
        let made = Gid::parse(made.unwrap()).unwrap();
        let roles = |reader: &str| {
            let answer = world.get(reader, &format!("/project_templates/{made}"));
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert!(
                reader != "gus" || !answer.text.contains("MEMBERS"),
                "{}",
                answer.text
            );
            let roles = answer.json["data"]["requested_roles"]
                .as_array()
                .unwrap()
                .clone();
            let names = roles
                .iter()
                .map(|role| role["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(roles("moe"), ["Ada of Orchid", "MEMBERS-nia"]);
        assert_eq!(roles("gus"), ["Ada of Orchid", "Role 2"]);
    }
}

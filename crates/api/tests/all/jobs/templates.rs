//! Templates: their removal, and the results of their instantiation.
use super::*;
use workgraph_core::model::registry::{CustomFieldType, Type};
use workgraph_core::model::resources::task_template;

/// Returns the number of tasks and sections of templates in the workspace.
fn left_of_templates(world: &World) -> (usize, usize) {
    let orchid = world.gid("orchid");
    let body = json!({ "organization": orchid.to_string() });
    let export = world.post("robot", "/organization_exports", body).gid();
    world.work();
    let records = world.files.records(&export);
    let of = |ty: &'static str| records.iter().filter(move |r| r["resource_type"] == ty);
    let sections = of("section").filter(|r| r["project"].is_null());
    (of("task_template_recipe").count(), sections.count())
}

#[test]
fn a_deleted_template_takes_its_tasks_along_step_by_step() {
    for kind in KINDS {
        let world = world(kind, 130);
        let at = format!("/projects/{}/saveAsTemplate", world.gid("forest"));
        let save = || {
            let data =
                json!({"name": "Wood", "public": true, "team": world.gid("gardeners").to_string()});
            let job = world.post("ada", &at, data);
            world.work();
            job.json["data"]["new_project_template"]["gid"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let (gone, stays) = (save(), save());
        let (both, sections) = left_of_templates(&world);
        let each = both / 2;
        assert!(each > 200 && both == 2 * each, "{both}");
        assert_eq!(sections, 6);
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        let done = world.call(
            "ada",
            "DELETE",
            &format!("/project_templates/{gone}"),
            &json!(null),
        );
        assert_eq!(done.status, 200, "{}", done.text);
        // One step at a time, so that no other request waits for long; finished work is never read again.
        assert_eq!(world.run(world.api.cleanup_jobs(1)).unwrap(), 1);
        let some = left_of_templates(&world).0;
        assert!(some < both && some > each, "{some} of {both}");
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        assert_eq!(left_of_templates(&world), (each, 3));
        let made = world.post(
            "ada",
            &format!("/project_templates/{stays}/instantiateProject"),
            json!({"name": "New wood"}),
        );
        world.work();
        assert_eq!(
            status(&world, &made.gid()),
            "succeeded",
            "the other is whole"
        );
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_deleted_project_takes_its_task_templates_along() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/task_templates/{}", world.gid("weeding"));
        assert_eq!(world.get("robot", &at).status, 200);
        let garden = format!("/projects/{}", world.gid("garden"));
        assert_eq!(
            world.call("ada", "DELETE", &garden, &json!(null)).status,
            200
        );
        assert_eq!(world.get("robot", &at).status, 404);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_template_deleted_while_it_is_filled_leaves_nothing() {
    for kind in KINDS {
        for steps in 1..6 {
            let world = world(kind, 60);
            let at = format!("/projects/{}/saveAsTemplate", world.gid("forest"));
            let team = world.gid("gardeners").to_string();
            let data = json!({"name": "Wood", "public": true, "team": team});
            let job = world.post("ada", &at, data);
            assert!(die_after(&world, steps));
            let made = job.json["data"]["new_project_template"]["gid"].as_str();
            let template = format!("/project_templates/{}", made.unwrap());
            let done = world.call("ada", "DELETE", &template, &json!(null));
            assert_eq!(done.status, 200, "{}", done.text);
            world.advance(31);
            world.work();
            assert_eq!(status(&world, &job.gid()), "failed");
            world.run(world.api.cleanup_jobs(1000)).unwrap();
            assert_eq!(left_of_templates(&world), (0, 0), "after {steps} steps");
            assert_eq!(world.problems(), Vec::<String>::new());
        }
    }
}

/// Returns a world with a task template whose recipe has every part that a recipe can have.
fn kitchen(kind: Kind) -> World {
    let world = World::build(kind, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let (garden, moss) = (names["garden"], names["moss"]);
        let shed = f.project(orchid, "Shed", ada);
        let shelf = f.section(shed, orchid, "Shelf");
        let (note, _) = f.custom_field(orchid, "Note", CustomFieldType::Text, &[]);
        let (secret, _) = f.custom_field(orchid, "Secret", CustomFieldType::Text, &[]);
        let (tool, tools) =
            f.custom_field(orchid, "Tool", CustomFieldType::MultiEnum, &["Hoe", "Rake"]);
        let (helper, _) = f.custom_field(orchid, "Helpers", CustomFieldType::People, &[]);
        for field in [note, secret, helper] {
            f.field_on(field, garden, orchid);
        }
        f.field_on(tool, shed, orchid);
        let at = |name: &str| names[name].to_string();
        let below: Vec<Value> = (0..45)
            .map(|n| json!({"name": format!("dig {n}"), "followers": [{"gid": at("moe")}]}))
            .collect();
        let recipe = json!({
            "name": "Plant",
            "task_resource_subtype": "milestone_task",
            "relative_due_on": 3,
            "due_time": "13:15:00.000Z",
            "followers": [{"gid": at("moe")}, {"gid": at("ben")}],
            "memberships": [
                {"gid": moss.to_string()},
                {"project": {"gid": shed.to_string()}, "section": {"gid": shelf.to_string()}},
            ],
            "custom_fields": [
                {"gid": note.to_string(), "text_value": "deep"},
                {"gid": secret.to_string(), "text_value": "gold"},
                {"gid": at("vigor"), "enum_value": {"gid": at("lush")}},
                {"gid": tool.to_string(), "multi_enum_values": [
                    {"gid": tools[1].to_string()}, {"gid": at("lush")}]},
                {"gid": helper.to_string(), "people_value": [
                    {"gid": at("ben")}, {"gid": at("moe")}]},
            ],
            "subtasks": below,
        });
        let plant = f.node(Type::TaskTemplate, Some(orchid), |draft, now| {
            draft.set(task_template::NAME, "Plant");
            draft.set(task_template::PROJECT, garden);
            draft.set(task_template::CREATED_AT, now);
            draft.set(task_template::TEMPLATE, recipe.to_string());
        });
        f.link(plant, rel::TEMPLATE_OF, garden, ListPosition::Rank(0), None);
        names.insert("plant".to_owned(), plant);
        names.insert("secret".to_owned(), secret);
    });
    let at = format!("/custom_fields/{}", world.gid("secret"));
    let shut = world.call("ada", "PUT", &at, &json!({"privacy_setting": "private"}));
    assert_eq!(shut.status, 200, "{}", shut.text);
    world
}

/// Returns the result of the template, as ada sees it.
fn planted(world: &World, user: &str, job: &Answer) -> Value {
    let done = world.get(user, &format!("/jobs/{}", job.gid()));
    assert_eq!(done.json["data"]["status"], "succeeded", "{}", done.text);
    let task = job.json["data"]["new_task"]["gid"].as_str().unwrap();
    let fields = "name,resource_subtype,due_on,due_at,followers.name,memberships.project.name,\
                  memberships.section.name,custom_fields.name,custom_fields.display_value";
    let task = world.get("ada", &format!("/tasks/{task}?opt_fields={fields}"));
    task.json["data"].clone()
}

fn names<'v>(list: &'v Value, path: &str) -> Vec<&'v str> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item.pointer(path).unwrap().as_str().unwrap())
        .collect()
}

fn plant(world: &World, user: &str) -> Answer {
    let at = format!("/task_templates/{}/instantiateTask", world.gid("plant"));
    let job = world.post(user, &at, json!({}));
    assert_eq!(job.status, 201, "{}", job.text);
    job
}

#[test]
fn a_recipe_is_followed_as_far_as_its_user_sees_and_edits() {
    for kind in KINDS {
        let world = kitchen(kind);
        let (mel, ada) = (plant(&world, "mel"), plant(&world, "ada"));
        world.work();
        let task = planted(&world, "mel", &mel);
        assert_eq!(task["resource_subtype"], "milestone");
        assert_eq!(task["due_at"], "2026-01-18T13:15:00.000Z");
        assert_eq!(task["due_on"], "2026-01-18");
        // A user who is no member of the workspace does not follow.
        assert_eq!(
            names(&task["followers"], "/name"),
            ["Mel of Orchid", "Moe of Orchid"]
        );
        let of = |task: &Value| -> Vec<String> {
            let places = &task["memberships"];
            let (a, b) = (
                names(places, "/project/name"),
                names(places, "/section/name"),
            );
            a.iter().zip(b).map(|(a, b)| format!("{a}/{b}")).collect()
        };
        // Moss is private to ada.
        assert_eq!(of(&task), ["Garden/Untitled section", "Shed/Shelf"]);
        let values = |task: &Value| -> Vec<(String, Value)> {
            let fields = task["custom_fields"].as_array().unwrap().iter();
            fields
                .map(|f| {
                    (
                        f["name"].as_str().unwrap().to_owned(),
                        f["display_value"].clone(),
                    )
                })
                .collect()
        };
        let value = |name: &str, value: Value| (name.to_owned(), value);
        let wanted = [
            value("Note", json!("deep")),
            value("Secret", json!(null)),
            value("Helpers", json!("Moe of Orchid")),
            value("Tool", json!("Rake")),
        ];
        assert_eq!(values(&task), wanted);
        let task = planted(&world, "ada", &ada);
        assert_eq!(of(&task).len(), 3);
        let mut wanted = wanted;
        wanted[1].1 = json!("gold");
        let shown = values(&task);
        assert!(wanted.iter().all(|v| shown.contains(v)), "{shown:?}");
        assert!(shown.contains(&value("Vigor", json!("Lush"))), "{shown:?}");
        // The values are found by search, too.
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_recipe_is_followed_once_whatever_stops_the_runner() {
    for kind in KINDS {
        let world = kitchen(kind);
        let whole = |job: &Answer| {
            let mut task = planted(&world, "ada", job);
            let at = format!("/tasks/{}/subtasks", task["gid"].as_str().unwrap());
            let below = world.get(
                "ada",
                &format!("{at}?limit=100&opt_fields=name,followers.name"),
            );
            let below = below.json["data"].as_array().unwrap().iter();
            let below: Vec<String> = below
                .map(|t| format!("{} {:?}", t["name"], names(&t["followers"], "/name")))
                .collect();
            task["gid"].take();
            (task, below)
        };
        let job = plant(&world, "ada");
        world.work();
        let wanted = whole(&job);
        assert_eq!(wanted.1.len(), 45);
        assert!(wanted.1[44].contains("Moe"), "{}", wanted.1[44]);
        let begin = || (&world, plant(&world, "ada"));
        let points = at_every_step(None, begin, |_, job, steps| {
            let mut made = whole(&job);
            // The clock has moved, and with it the day from which days are counted.
            for key in ["due_on", "due_at"] {
                made.0[key] = wanted.0[key].clone();
            }
            assert_eq!(made, wanted, "died after {steps} steps");
        });
        assert!(points >= 3, "{points} points");
    }
}

#[test]
fn a_template_that_is_gone_ends_the_job() {
    let world = kitchen(Kind::Memory);
    let job = plant(&world, "ada");
    let at = format!("/task_templates/{}", world.gid("plant"));
    assert_eq!(world.call("ada", "DELETE", &at, &json!(null)).status, 200);
    world.work();
    assert_eq!(status(&world, &job.gid()), "failed");
}

/// A number of a recipe is a decimal from its text to the value of the task, and rounded once.
#[test]
fn numbers_of_a_recipe_are_exact_and_have_the_decimals_of_their_field() {
    for kind in KINDS {
        let world = World::build(kind, Default::default(), |f, names| {
            let (orchid, garden) = (names["orchid"], names["garden"]);
            let numbers = [
                ("heavy", "76561198275305775.565"),
                ("light", "98.126"),
                ("written", "\"1e1\""),
            ];
            let mut values = Vec::new();
            for (name, number) in numbers {
                let (field, _) = f.custom_field(orchid, name, CustomFieldType::Number, &[]);
                f.field_on(field, garden, orchid);
                names.insert(name.to_owned(), field);
                values.push(format!(r#"{{"gid":"{field}","number_value":{number}}}"#));
            }
            let recipe = format!(
                r#"{{"name":"Weigh","html_description":"<body>x</body>","custom_fields":[{}]}}"#,
                values.join(",")
            );
            let plant = f.node(Type::TaskTemplate, Some(orchid), |draft, now| {
                draft.set(task_template::NAME, "Weigh");
                draft.set(task_template::PROJECT, garden);
                draft.set(task_template::CREATED_AT, now);
                draft.set(task_template::TEMPLATE, recipe);
            });
            f.link(plant, rel::TEMPLATE_OF, garden, ListPosition::Rank(0), None);
            names.insert("plant".to_owned(), plant);
        });
        for name in ["heavy", "light", "written"] {
            let field = format!("/custom_fields/{}", world.gid(name));
            let precision = world.call("ada", "PUT", &field, &json!({"precision": 2}));
            assert_eq!(precision.status, 200, "{}", precision.text);
        }
        let template = world.get("ada", &format!("/task_templates/{}", world.gid("plant")));
        let number = "\"number_value\":76561198275305775.565";
        assert!(template.text.contains(number), "{}", template.text);
        let job = plant(&world, "ada");
        world.work();
        let task = job.json["data"]["new_task"]["gid"].as_str().unwrap();
        let fields = "custom_fields.name,custom_fields.number_value";
        let task = world.get("ada", &format!("/tasks/{task}?opt_fields={fields}"));
        for (name, kept) in [
            ("heavy", "76561198275305775.57"),
            ("light", "98.13"),
            ("written", "10"),
        ] {
            let value = format!("\"name\":\"{name}\",\"number_value\":{kept}}}");
            assert!(task.text.contains(&value), "{value}: {}", task.text);
        }
    }
}

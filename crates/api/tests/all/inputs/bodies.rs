//! Bodies: lists as text, values as clients write them, null, and fields that would have no effect.
use super::{read, task, world, written};
use serde_json::{Value, json};

/// S128. Wherever the contract has an array of ids or words.
#[test]
fn a_list_may_be_text_with_commas() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let followers = |record: &Value| -> Vec<String> {
        let list = record["followers"].as_array().unwrap().iter();
        list.map(|f| f["gid"].as_str().unwrap().to_owned())
            .collect()
    };
    let (team, mel, moe) = (gid("gardeners"), gid("mel"), gid("moe"));
    let orchid = gid("orchid");
    for (path, list) in [
        (
            "/projects".to_owned(),
            json!(format!("{mel}, moe@orchid.test")),
        ),
        (
            format!("/teams/{team}/projects"),
            json!(format!("{mel},{moe}")),
        ),
        (format!("/workspaces/{orchid}/projects"), json!([mel, moe])),
    ] {
        let data = json!({"name": "Followed", "team": team, "followers": list});
        let made = written(&world, "POST", &path, &data);
        let all = followers(&made);
        assert!(all.contains(&mel) && all.contains(&moe), "{path}: {all:?}");
    }
    let data = json!({
        "name": "Listed", "projects": format!("{},{}", gid("garden"), gid("herbs")),
        "tags": gid("thirsty"), "followers": format!("{mel},me"),
    });
    let made = written(&world, "POST", "/tasks", &data);
    assert_eq!(made["projects"].as_array().unwrap().len(), 2);
    assert_eq!(made["tags"][0]["gid"], gid("thirsty"));
    assert!(followers(&made).contains(&mel));
    for wrong in [json!(1), json!({"a": 1}), json!(true)] {
        let answer = world.post("ada", "/tasks", json!({"name": "x", "projects": wrong}));
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(
            answer
                .message()
                .starts_with("projects: Value is not an array")
        );
    }
}

/// S128. A number, a date and a list of options as text; an empty text clears.
#[test]
fn values_of_custom_fields_are_read_as_clients_write_them() {
    let world = world();
    let (orchid, garden) = (
        world.gid("orchid").to_string(),
        world.gid("garden").to_string(),
    );
    let field = |kind: &str| {
        let mut data = json!({"workspace": orchid, "name": kind, "resource_subtype": kind});
        if kind == "number" {
            data["precision"] = json!(2);
        }
        if kind == "multi_enum" {
            data["enum_options"] = json!([{"name": "One"}, {"name": "Two"}]);
        }
        let made = written(&world, "POST", "/custom_fields", &data);
        let gid = made["gid"].as_str().unwrap().to_owned();
        let add = format!("/projects/{garden}/addCustomFieldSetting");
        written(&world, "POST", &add, &json!({"custom_field": gid}));
        (gid, made)
    };
    let (number, _) = field("number");
    let (date, _) = field("date");
    let (people, _) = field("people");
    let (choice, made) = field("multi_enum");
    let option = |at: usize| made["enum_options"][at]["gid"].as_str().unwrap().to_owned();
    let on = format!("/tasks/{}", task(&world, json!({"name": "Valued"})));
    let value = |field: &str, value: Value, part: &str| -> Value {
        let data = json!({"custom_fields": {field: value}});
        let shown = written(&world, "PUT", &on, &data);
        let fields = shown["custom_fields"].as_array().unwrap();
        let found = fields.iter().find(|f| f["gid"] == field).unwrap();
        found.pointer(part).cloned().unwrap()
    };
    assert_eq!(value(&number, json!("5.25"), "/number_value"), json!(5.25));
    assert_eq!(value(&number, json!(""), "/number_value"), Value::Null);
    let at = "2031-01-02T10:30:00Z";
    assert_eq!(
        value(&date, json!("2031-01-02"), "/date_value/date"),
        "2031-01-02"
    );
    assert_eq!(
        value(&date, json!(at), "/date_value/date_time"),
        "2031-01-02T10:30:00.000Z"
    );
    let dated = json!({"date_time": "2031-01-02T10:30"});
    assert_eq!(
        value(&date, dated, "/date_value/date_time"),
        "2031-01-02T10:30:00.000Z"
    );
    let both = format!("{},{}", option(0), option(1));
    let chosen = value(&choice, json!(both), "/multi_enum_values");
    assert_eq!(chosen.as_array().unwrap().len(), 2);
    let named = value(&people, json!("me,mel@orchid.test"), "/people_value");
    assert_eq!(named.as_array().unwrap().len(), 2);
    for (field, wrong, message) in [
        (&number, json!("five"), "number_value: Not a number: five"),
        (&number, json!("0x5"), "number_value: Not a number: 0x5"),
        (
            &date,
            json!("soon"),
            "date_value: Date-time must be in ISO-8601",
        ),
        (
            &choice,
            json!("One,Two"),
            "multi_enum_values: [0]: Unknown object: One",
        ),
    ] {
        let data = json!({"custom_fields": {field.as_str(): wrong}});
        let answer = world.call("ada", "PUT", &on, &data);
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.message().starts_with(message), "{}", answer.text);
    }
}

/// S136. For every record that can be created, in every optional field.
#[test]
fn null_for_what_may_be_left_out_of_a_new_record_is_nothing() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({
        "name": "Sparse", "projects": [gid("garden")], "completed": null, "liked": null, "parent": null,
        "resource_subtype": null, "assignee_status": null, "assignee": null, "due_on": null, "tags": null,
        "followers": null, "custom_fields": null, "external": null, "notes": null,
    });
    let made = written(&world, "POST", "/tasks", &data);
    assert_eq!(made["completed"], false);
    assert_eq!(made["resource_subtype"], "default_task");
    let data = json!({
        "name": "Sparse", "team": gid("gardeners"), "archived": null, "public": null, "default_view": null,
        "color": null, "privacy_setting": null, "default_access_level": null, "current_status": null,
        "custom_fields": {}, "followers": null, "owner": null,
    });
    let made = written(&world, "POST", "/projects", &data);
    assert_eq!(
        (&made["archived"], &made["default_view"]),
        (&json!(false), &json!("list"))
    );
    // In an existing record null would be a change, to no value.
    let water = format!("/tasks/{}", gid("water"));
    for field in ["completed", "resource_subtype"] {
        let answer = world.call("ada", "PUT", &water, &json!({ field: null }));
        assert!(
            answer
                .message()
                .starts_with(&format!("{field}: Cannot be null"))
        );
    }
    // A null beside a value does not give a position.
    let place = json!({"name": "First", "insert_before": gid("beds"), "insert_after": null});
    let section = written(
        &world,
        "POST",
        &format!("/projects/{}/sections", gid("garden")),
        &place,
    );
    let sections = read(&world, &format!("/projects/{}/sections", gid("garden"))).gids();
    assert_eq!(section["gid"], sections[0]);
}

/// S137. The field is refused by its name, and nothing is written; its present value may be sent back.
#[test]
fn what_would_have_no_effect_is_refused() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let (vigor, team) = (gid("vigor"), gid("gardeners"));
    let on = format!("Custom field with ID {vigor} is not on given object");
    let cannot = |name: &str| format!("{name}: Cannot write this property");
    let projects = [
        "/projects".to_owned(),
        format!("/projects/{}", gid("garden")),
    ];
    let tasks = ["/tasks".to_owned(), format!("/tasks/{}", gid("water"))];
    let users = [
        "/users/me".to_owned(),
        format!("/workspaces/{}/users/me", gid("orchid")),
    ];
    let before = world.events(0).len();
    for (paths, data, message) in [
        (
            &projects,
            json!({"custom_fields": {vigor.as_str(): gid("lush")}}),
            on.clone(),
        ),
        (
            &projects,
            json!({"current_status": {"gid": "12", "color": "green"}}),
            cannot("current_status"),
        ),
        (
            &projects,
            json!({"current_status_update": "12"}),
            cannot("current_status_update"),
        ),
        (
            &tasks,
            json!({"custom_type": "12"}),
            "custom_type: Unknown object: 12".to_owned(),
        ),
        (
            &tasks,
            json!({"custom_type_status_option": "12"}),
            "custom_type_status_option: Only tasks with a custom type have one".to_owned(),
        ),
        (&users, json!({"custom_fields": {vigor.as_str(): "x"}}), on),
    ] {
        for path in paths {
            let create = ["/projects", "/tasks"].contains(&path.as_str());
            let mut data = data.clone();
            if create {
                data["name"] = json!("Refused");
                data["team"] = json!(team);
                data["projects"] = json!([gid("garden")]);
            }
            let method = if create { "POST" } else { "PUT" };
            let answer = world.call("ada", method, path, &data);
            assert_eq!(
                (answer.status, answer.message()),
                (400, &*message),
                "{method} {path}"
            );
        }
    }
    assert_eq!(world.events(0).len(), before);
    let back = json!({"custom_fields": [], "current_status": null, "current_status_update": null});
    written(&world, "PUT", &projects[1], &back);
    written(&world, "PUT", &tasks[1], &json!({"custom_type": null}));
    written(&world, "PUT", &users[0], &json!({"custom_fields": []}));
}

/// S139.
#[test]
fn a_record_that_was_read_can_be_sent_back() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({"name": "Again", "team": gid("gardeners"), "followers": [gid("mel")], "due_on": "2031-01-02"});
    let project = written(&world, "POST", "/projects", &data)["gid"].take();
    let project = format!("/projects/{}", project.as_str().unwrap());
    let tag = json!({"name": "Again", "workspace": gid("orchid"), "followers": [gid("mel")]});
    let tag = written(&world, "POST", "/tags", &tag)["gid"].take();
    let tag = format!("/tags/{}", tag.as_str().unwrap());
    let team = format!("/teams/{}", gid("gardeners"));
    let before = world.events(0).len();
    for (path, fixed) in [
        (&project, &["followers", "workspace"][..]),
        (&tag, &["followers", "workspace"]),
        (&team, &["organization"]),
        (&format!("/sections/{}", gid("beds")), &[]),
    ] {
        let record = read(&world, path).json["data"].take();
        assert_eq!(written(&world, "PUT", path, &record), record, "{path}");
        assert_eq!(world.events(0).len(), before, "{path}");
        for name in fixed {
            // More items, fewer items, another one, none.
            let more = match &record[*name] {
                Value::Array(items) => json!([items[0], {"gid": gid("moe")}]),
                _ => json!(gid("basalt")),
            };
            for other in [more, json!([]), json!("12"), Value::Null] {
                let answer = world.call("ada", "PUT", path, &json!({ *name: other }));
                assert_eq!(answer.status, 400, "{path} {name} {other}: {}", answer.text);
                assert!(answer.message().starts_with(name), "{}", answer.text);
            }
        }
    }
    // In a task these fields are refused, whatever their value is.
    let task = format!("/tasks/{}", gid("water"));
    let record = read(&world, &task).json["data"].take();
    let answer = world.call(
        "ada",
        "PUT",
        &task,
        &json!({"projects": record["projects"]}),
    );
    assert_eq!(answer.message(), "projects: Cannot write this property");
}

/// An action on followers does not read the list of another one.
#[test]
fn each_action_on_people_reads_its_own_list() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let both = json!({"followers": [gid("vic")], "members": [gid("moe")]});
    let project = written(
        &world,
        "POST",
        "/projects",
        &json!({"name": "New", "team": gid("gardeners")}),
    );
    let path = format!("/projects/{}", project["gid"].as_str().unwrap());
    let gids = |record: &Value, field: &str| -> Vec<String> {
        let list = record[field].as_array().unwrap().iter();
        list.map(|user| user["gid"].as_str().unwrap().to_owned())
            .collect()
    };
    let added = written(&world, "POST", &format!("{path}/addFollowers"), &both);
    assert!(gids(&added, "followers").contains(&gid("vic")), "{added}");
    assert!(!gids(&added, "members").contains(&gid("moe")), "{added}");
    let removed = written(&world, "POST", &format!("{path}/removeFollowers"), &both);
    assert!(
        !gids(&removed, "followers").contains(&gid("vic")),
        "{removed}"
    );
    let added = written(&world, "POST", &format!("{path}/addMembers"), &both);
    assert!(gids(&added, "members").contains(&gid("moe")), "{added}");
}

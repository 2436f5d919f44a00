//! Bounds, races and copies of custom fields.
use super::*;

#[test]
fn a_record_that_was_read_can_be_sent_back() {
    let garden = Garden::new(Kind::Memory);
    let seed = Seed {
        text: "a".to_owned(),
        number: -0.5,
        picks: vec![0, 2],
        day: "2031-07-08".to_owned(),
    };
    let all = TYPES.iter().zip(&garden.fields);
    garden.write(
        &all.map(|(kind, f)| (f.clone(), garden.value(kind, &seed)))
            .collect(),
    );
    let before = garden.read();
    let at = format!("/tasks/{}?opt_fields=custom_fields", garden.task);
    let items = garden.world.get("ada", &at).json["data"]["custom_fields"].clone();
    // Clients have objects: options and users with their gids.
    let back = items.as_array().unwrap().iter().map(|item| {
        let parts = ["text", "number", "date", "enum", "people", "reference"];
        let value = parts.iter().find_map(|p| item.get(format!("{p}_value")));
        let value = value.or_else(|| item.get("multi_enum_values")).unwrap();
        (gid(item), value.clone())
    });
    garden.write(&back.collect());
    assert_eq!(garden.read(), before);
}

#[test]
fn texts_are_at_most_1024_characters() {
    let garden = Garden::new(Kind::Memory);
    let at = format!("/tasks/{}", garden.task);
    for (length, status) in [(1024, 200), (1025, 400)] {
        let values = json!({"custom_fields": {&garden.fields[0]: "é".repeat(length)}});
        let answer = garden.world.call("ada", "PUT", &at, &values);
        assert_eq!(answer.status, status, "{length}: {}", answer.text);
    }
}

#[test]
fn a_field_has_at_most_500_options_disabled_ones_included() {
    let world = World::new(Kind::Memory);
    let options = |count: usize| -> Value {
        let option = |n| json!({"name": format!("o{n}"), "enabled": n % 2 == 0});
        (0..count).map(option).collect()
    };
    let orchid = world.gid("orchid").to_string();
    let data = json!({"workspace": orchid, "name": "Many", "resource_subtype": "enum", "enum_options": options(501)});
    let many = world.post("ada", "/custom_fields", data);
    assert_eq!(many.status, 400, "{}", many.text);
    assert!(many.message().contains("at most 500"), "{}", many.text);
    let data = json!({"name": "Enough", "resource_subtype": "enum", "enum_options": options(499)});
    let to = format!("/custom_fields/{}/enum_options", gid(&field(&world, data)));
    let add = || world.post("ada", &to, json!({"name": "more"}));
    assert_eq!((add().status, add().status), (201, 400));
}

#[test]
fn a_project_has_at_most_twenty_fields_whoever_adds_them_at_once() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let world = World::new(kind);
        let fields: Vec<String> = (0..21)
            .map(|n| {
                let data = json!({"name": format!("F{n}"), "resource_subtype": "text"});
                gid(&field(&world, data))
            })
            .collect();
        for field in &fields[..19] {
            assert_eq!(on_garden(&world, field), 200);
        }
        let to = format!("/projects/{}/addCustomFieldSetting", world.gid("garden"));
        let add = |field: &String| post(to.clone(), json!({"custom_field": field}));
        let mut done = race(&world, add(&fields[19]), add(&fields[20]));
        done.sort_unstable();
        assert_eq!(done, [200, 400]);
    }
}

#[test]
fn a_field_added_twice_at_once_has_one_setting() {
    let world = World::new(Kind::Memory);
    let made = gid(&field(
        &world,
        json!({"name": "F", "resource_subtype": "text"}),
    ));
    let garden = world.gid("garden");
    let to = format!("/projects/{garden}/addCustomFieldSetting");
    let add = || post(to.clone(), json!({"custom_field": made}));
    assert_eq!(race(&world, add(), add()), [200, 200]);
    let settings = format!("/projects/{garden}/custom_field_settings");
    assert_eq!(world.get("ada", &settings).gids().len(), 1);
}

/// S137. A field that was read can be sent back; other operations write its options.
#[test]
fn options_in_an_update_say_what_is_so_or_are_refused() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/custom_fields/{}", world.gid("vigor"));
        let mut read = world.get("ada", &at).json["data"].clone();
        read["name"] = json!("Strength");
        let put = |options: &Value| {
            let mut data = read.clone();
            data["enum_options"] = options.clone();
            world.call("ada", "PUT", &at, &data)
        };
        let same = read["enum_options"].clone();
        let done = put(&same);
        assert_eq!(done.status, 200, "{}", done.text);
        assert_eq!(done.json["data"]["name"], "Strength");
        assert_eq!(done.json["data"]["enum_options"], same);
        let gids: Value = same
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["gid"].clone())
            .collect();
        assert_eq!(put(&gids).status, 200, "gids alone say the same");
        let with = |change: &dyn Fn(&mut Vec<Value>)| {
            let mut options = same.as_array().unwrap().clone();
            change(&mut options);
            Value::Array(options)
        };
        for other in [
            with(&|options| options.reverse()),
            with(&|options| drop(options.pop())),
            with(&|options| options.push(json!({"name": "New"}))),
            with(&|options| options[0]["name"] = json!("Other")),
            with(&|options| options[0]["enabled"] = json!(false)),
            json!([]),
            json!(null),
            json!("lush"),
        ] {
            let refused = put(&other);
            assert_eq!(refused.status, 400, "{other}: {}", refused.text);
            assert!(
                refused.message().starts_with("enum_options: "),
                "{}",
                refused.text
            );
            if other.is_array() {
                assert!(
                    refused.message().contains("PUT /enum_options/"),
                    "{}",
                    refused.text
                );
            }
        }
        assert_eq!(world.get("ada", &at).json["data"]["enum_options"], same);
    }
}

#[test]
fn the_last_two_options_are_not_both_disabled() {
    let world = World::new(Kind::Memory);
    let off = |option: &str| {
        let at = format!("/enum_options/{}", world.gid(option));
        ("ada", "PUT", at, json!({"enabled": false}))
    };
    let mut done = race(&world, off("lush"), off("wilted"));
    done.sort_unstable();
    assert_eq!(done, [200, 400]);
}

#[test]
fn values_of_two_fields_written_at_once_are_both_kept() {
    let garden = Garden::new(Kind::Memory);
    let put = |at: usize, value: Value| {
        let data = json!({"custom_fields": {&garden.fields[at]: value}});
        ("ada", "PUT", format!("/tasks/{}", garden.task), data)
    };
    let done = race(&garden.world, put(0, json!("a")), put(1, json!(2)));
    assert_eq!(done, [200, 200]);
    let read = garden.read();
    assert_eq!(read[&garden.fields[0]], json!("a"));
    assert_eq!(read[&garden.fields[1]], json!(2));
}

#[test]
fn two_fields_do_not_take_one_name_at_once() {
    let world = World::new(Kind::Memory);
    let orchid = world.gid("orchid").to_string();
    let add = || {
        let data = json!({"workspace": orchid, "name": "Same", "resource_subtype": "text"});
        post("/custom_fields".to_owned(), data)
    };
    let mut done = race(&world, add(), add());
    done.sort_unstable();
    assert_eq!(done, [201, 400]);
}

#[test]
fn a_task_in_two_projects_has_a_field_of_both_once() {
    let garden = Garden::new(Kind::Memory);
    let world = &garden.world;
    let (moss, task) = (world.gid("moss"), &garden.task);
    let to = format!("/projects/{moss}/addCustomFieldSetting");
    let again = world.post("ada", &to, json!({"custom_field": garden.fields[1]}));
    assert_eq!(again.status, 200, "{}", again.text);
    let put = world.post(
        "ada",
        &format!("/tasks/{task}/addProject"),
        json!({"project": moss.to_string()}),
    );
    assert_eq!(put.status, 200, "{}", put.text);
    let mut expected = garden.fields.clone();
    expected.push(world.gid("vigor").to_string());
    let fields = |token: &str| -> Vec<String> {
        let read = world.get(
            token,
            &format!("/tasks/{task}?opt_fields=custom_fields.enabled"),
        );
        let items = read.json["data"]["custom_fields"].as_array().unwrap();
        assert!(items.iter().all(|i| i["enabled"] == true), "{}", read.text);
        items.iter().map(gid).collect()
    };
    assert_eq!(fields("ada"), expected);
    // Every user who sees the task sees the field, but not that Moss has it.
    assert_eq!(fields("mel"), expected);
}

#[test]
fn changed_values_move_modified_at_and_are_in_the_journal() {
    let garden = Garden::new(Kind::Memory);
    let modified = || {
        let at = format!("/tasks/{}?opt_fields=modified_at", garden.task);
        garden.world.get("ada", &at).json["data"]["modified_at"].clone()
    };
    let before = modified();
    garden.world.advance(5);
    let after = garden.world.events(0).len() as u64;
    let values = BTreeMap::from([(garden.fields[0].clone(), json!("a"))]);
    garden.write(&values);
    assert_ne!(modified(), before);
    let written = garden.world.events(after);
    let facts = format!("{written:?}");
    assert!(facts.contains("field: \"custom_fields\""), "{facts}");
    garden.write(&values);
    let idle = garden.world.events(after + 1);
    assert!(idle.is_empty(), "the same again commits nothing");
}

#[test]
fn the_fields_of_a_task_list_are_the_assignees_own() {
    let garden = Garden::new(Kind::Sqlite);
    let world = &garden.world;
    let (list, task) = (world.gid("mel_list"), world.gid("rake"));
    let mood = field(world, json!({"name": "Mood", "resource_subtype": "text"}));
    let to = format!("/projects/{list}/addCustomFieldSetting");
    let add = |token: &str| world.post(token, &to, json!({"custom_field": gid(&mood)}));
    // Ada administers the workspace, but the list is Mel's.
    assert_eq!((add("ada").status, add("mel").status), (403, 200));
    let settings = format!("/projects/{list}/custom_field_settings");
    assert_eq!(world.get("mel", &settings).gids().len(), 1);
    assert_eq!(world.get("ada", &settings).gids().len(), 0);

    let put = |token: &str, data: Value| {
        let at = format!("/tasks/{task}?opt_fields=custom_fields.enabled");
        world.call(token, "PUT", &at, &data)
    };
    let value = json!({"custom_fields": {gid(&mood): "fine"}});
    assert_eq!(put("mel", value.clone()).status, 400, "not in the list yet");
    let mine = json!({"assignee": world.gid("mel").to_string()});
    assert_eq!(put("ada", mine).status, 200);
    assert_eq!(
        (put("ada", value.clone()).status, put("mel", value).status),
        (400, 200)
    );
    let last = |token: &str, path: &str| -> Value {
        let read = world.get(token, path);
        let data = &read.json["data"];
        let one = if data.is_array() { &data[0] } else { data };
        one["custom_fields"].as_array().unwrap().last().unwrap()["enabled"].clone()
    };
    let one = format!("/tasks/{task}?opt_fields=custom_fields.enabled");
    let page = format!("/user_task_lists/{list}/tasks?opt_fields=custom_fields.enabled");
    assert_eq!(last("mel", &one), json!(true));
    assert_eq!(last("mel", &page), json!(true));
    assert_eq!(last("ada", &one), json!(false));
}

#[test]
fn copies_have_the_fields_and_values_of_their_originals() {
    let garden = Garden::new(Kind::Sqlite);
    let world = &garden.world;
    let values = BTreeMap::from([
        (garden.fields[0].clone(), json!("a")),
        (garden.fields[2].clone(), json!(garden.options["enum"][1])),
    ]);
    garden.write(&values);
    let job = |at: String, data: Value, made: &str| -> String {
        let job = world.post("ada", &at, data);
        assert_eq!(job.status, 201, "{}", job.text);
        world.work();
        let read = world.get(
            "ada",
            &format!("/jobs/{}?opt_fields=status,{made}", job.gid()),
        );
        assert_eq!(read.json["data"]["status"], "succeeded", "{}", read.text);
        gid(&read.json["data"][made])
    };
    let shown = |path: String| -> Vec<Value> {
        let read = world.get("ada", &path);
        let data = &read.json["data"];
        let one = if data.is_array() { &data[0] } else { data };
        one["custom_fields"].as_array().unwrap().clone()
    };
    let parts = "opt_fields=custom_fields.display_value,custom_fields.enabled";
    let original = shown(format!("/tasks/{}?{parts}", garden.task));
    let copy = json!({"name": "Again", "include": "projects"});
    let task = job(
        format!("/tasks/{}/duplicate", garden.task),
        copy,
        "new_task",
    );
    assert_eq!(shown(format!("/tasks/{task}?{parts}")), original);
    let alone = job(
        format!("/tasks/{}/duplicate", garden.task),
        json!({"name": "Alone"}),
        "new_task",
    );
    assert_eq!(
        shown(format!("/tasks/{alone}?{parts}")),
        Vec::<Value>::new()
    );
    let project = job(
        format!("/projects/{}/duplicate", world.gid("garden")),
        json!({"name": "Garden too", "team": world.gid("gardeners").to_string()}),
        "new_project",
    );
    assert_eq!(
        shown(format!("/projects/{project}/tasks?{parts}")),
        original
    );
    assert_eq!(world.problems(), Vec::<String>::new());
}

#[test]
fn an_event_names_the_field_whose_value_changed() {
    let garden = Garden::new(Kind::Memory);
    let world = &garden.world;
    let at = format!("/events?resource={}", garden.task);
    let sync = world.get("ada", &at).json["sync"]
        .as_str()
        .unwrap()
        .to_owned();
    garden.write(&BTreeMap::from([
        (garden.fields[0].clone(), json!("a")),
        (garden.fields[1].clone(), json!(1)),
    ]));
    let read = world.get("ada", &format!("{at}&sync={sync}"));
    let changes: Vec<&Value> = read.json["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["change"]["field"] == "custom_fields")
        .map(|e| &e["change"])
        .collect();
    let named: Vec<String> = changes.iter().map(|c| gid(&c["new_value"])).collect();
    assert_eq!(named, garden.fields[..2], "{}", read.text);
    assert!(
        changes.iter().all(|c| c["action"] == "changed"),
        "{}",
        read.text
    );
}

#[test]
fn who_is_removed_from_the_workspace_has_no_membership_of_its_fields() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let world = World::new(kind);
        let data = json!({"name": "F", "resource_subtype": "text", "privacy_setting": "private"});
        let field = gid(&field(&world, data));
        let mel = world.gid("mel").to_string();
        let data = json!({"parent": field, "member": mel});
        let membership = world.post("ada", "/memberships", data).gid();
        let at = format!("/workspaces/{}", world.gid("orchid"));
        for step in ["removeUser", "addUser"] {
            let done = world.post(
                "ada",
                &format!("{at}/{step}"),
                json!({"user": "mel@orchid.test"}),
            );
            assert_eq!(done.status, 200, "{}", done.text);
        }
        let memberships = world.get("ada", &format!("/memberships?parent={field}"));
        assert_eq!(memberships.gids(), Vec::<String>::new());
        let gone = world.get("ada", &format!("/memberships/{membership}"));
        assert_eq!(gone.status, 404, "{}", gone.text);
        let shut = world.get("mel", &format!("/custom_fields/{field}"));
        assert_eq!(shut.status, 403, "{}", shut.text);
    }
}

/// The cached fields of a project and options of a field are those of the last commit.
#[test]
fn tasks_show_the_fields_and_options_of_the_moment() {
    for kind in KINDS {
        let garden = Garden::new(kind);
        let world = &garden.world;
        let project = world.gid("garden").to_string();
        let shown = || -> Vec<(String, Vec<String>)> {
            let of = "opt_fields=custom_fields.name,custom_fields.enum_options.name";
            let task = world.get("ada", &format!("/tasks/{}?{of}", garden.task));
            let names = |of: &Value| -> Vec<String> {
                let all = of.as_array().into_iter().flatten();
                all.map(|one| one["name"].as_str().unwrap().to_owned())
                    .collect()
            };
            let fields = &task.json["data"]["custom_fields"];
            let options = fields.as_array().unwrap().iter();
            let options = options.map(|field| names(&field["enum_options"]));
            names(fields).into_iter().zip(options).collect()
        };
        let all = shown();
        assert_eq!(all.len(), 7);
        assert_eq!(all[2].1, ["x", "y", "z"]);
        let change = |act: &str, data: Value| {
            let answer = world.post("ada", act, data);
            assert!(answer.status < 300, "{}", answer.text);
            shown()
        };
        let setting = |act: &str| format!("/projects/{project}/{act}CustomFieldSetting");
        let (first, choice) = (&garden.fields[0], &garden.fields[2]);
        assert_eq!(
            change(&setting("remove"), json!({"custom_field": first})),
            all[1..]
        );
        let settings = world.get("ada", &format!("/projects/{project}/custom_field_settings"));
        let second = &settings.json["data"][1]["gid"];
        let back = json!({"custom_field": first, "insert_after": second});
        let moved = change(&setting("add"), back);
        assert_eq!((moved.len(), &moved[2]), (7, &all[0]));
        let options = format!("/custom_fields/{choice}/enum_options");
        let more = change(&options, json!({"name": "w"}));
        assert_eq!(more[1].1, ["x", "y", "z", "w"]);
        let placed = json!({
            "enum_option": garden.options["enum"][2],
            "before_enum_option": garden.options["enum"][0],
        });
        let placed = change(&format!("{options}/insert"), placed);
        assert_eq!(placed[1].1, ["z", "x", "y", "w"]);
    }
}

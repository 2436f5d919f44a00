//! Names in what is told later and elsewhere, in what is found, in errors about names, and among guests.
use super::*;
use crate::hidden::history;

/// S111. What is told later and elsewhere: events, deliveries, files, copies.
#[test]
fn nothing_that_is_told_or_made_gives_away_a_name() {
    let place = Place::new();
    let world = &place.world;
    let gid = |name: &str| world.gid(name).to_string();
    let fields = everything(Type::Event);
    let mut polls = Vec::new();
    for (reader, words) in &READERS[..2] {
        for at in ["meadow", "second"] {
            let target = format!("/events?resource={}", gid(at));
            let sync = world.get(reader, &target).json["sync"]
                .as_str()
                .unwrap()
                .to_owned();
            polls.push((reader, words, format!("{target}&sync={sync}")));
        }
        world.hook(reader, "meadow", &format!("/echo/{reader}"), Value::Null);
    }
    history(world, "second");
    world.call(
        "ada",
        "PUT",
        &format!("/tasks/{}", gid("second")),
        &json!({"parent": gid("h_task")}),
    );
    world.deliver();
    for (reader, words, target) in polls {
        for fields in fields
            .iter()
            .map(|f| format!("&opt_fields={f},resource.text,parent.name"))
        {
            let answer = world.get(reader, &format!("{target}{fields}"));
            assert!(
                answer.json["data"]
                    .as_array()
                    .is_some_and(|all| all.len() > 20),
                "{}",
                answer.text
            );
            check(&answer, words, &target);
        }
        let sent = format!("{:?}", world.receiver.got(&format!("/echo/{reader}")));
        assert!(
            sent.len() > 1_000 && words.iter().all(|word| !sent.contains(word)),
            "{sent}"
        );
    }
    // Files of exports and a copy of the shared task, made by moe.
    let made = |target: &str, data: Value| {
        let job = world.post("moe", target, data);
        assert_eq!(job.status, 201, "{}", job.text);
        world.work();
        world.get("moe", &format!("/jobs/{}", job.gid())).json["data"].clone()
    };
    let graph = made("/exports/graph", json!({"parent": gid("meadow")}));
    let parts = json!([{"resource_type": "task"}, {"resource_type": "team"}]);
    let tasks = made(
        "/exports/resource",
        json!({"workspace": gid("orchid"), "export_request_parameters": parts}),
    );
    for file in [&graph["new_graph_export"], &tasks["new_resource_export"]] {
        let text = world.files.text(file["gid"].as_str().unwrap());
        assert!(
            text.contains("Private Link") && text.contains("a private project"),
            "{text}"
        );
        assert!(!text.contains("HIDDEN"), "{text}");
    }
    let include = "notes,assignee,subtasks,followers,tags,dates,parent,projects";
    let copy = made(
        &format!("/tasks/{}/duplicate", gid("shared")),
        json!({"name": "Copy", "include": include}),
    );
    let copy = Gid::parse(copy["new_task"]["gid"].as_str().unwrap()).unwrap();
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let view = world
        .run(world.graph.load(&Want::of(key).node(copy)))
        .unwrap();
    let body = view.node(copy).unwrap().body.replace("HIDDEN-words", "");
    assert!(
        body.contains("data-asana-gid") && !body.contains("HIDDEN"),
        "{body}"
    );
}

/// S111. A query for a hidden name is answered like one for a word that is nowhere.
#[test]
fn no_result_depends_on_a_hidden_name() {
    let place = Place::new();
    let world = &place.world;
    let orchid = world.gid("orchid");
    let kinds = [
        "custom_field",
        "project",
        "tag",
        "task",
        "team",
        "user",
        "project_template",
        "actor",
    ];
    let mut targets: Vec<String> = kinds
        .iter()
        .map(|kind| format!("/workspaces/{orchid}/typeahead?resource_type={kind}&count=100&query="))
        .collect();
    targets.push(format!("/workspaces/{orchid}/tasks/search?text="));
    let nowhere = |reader: &str, target: &str| world.get(reader, &format!("{target}Zzyzx")).text;
    let mut found = BTreeSet::new();
    for target in &targets {
        for (reader, words) in &READERS[..2] {
            for name in HIDDEN
                .iter()
                .chain(MEMBERS)
                .filter(|n| words.iter().any(|w| n.starts_with(w)))
            {
                let name = name.trim_end_matches('@');
                let answer = world.get(reader, &format!("{target}{name}"));
                assert_eq!(
                    answer.text,
                    nowhere(reader, target),
                    "{reader} {target}{name}"
                );
                let all = world.get("ada", &format!("{target}{name}"));
                found.extend((all.text != nowhere("ada", target)).then_some(name));
            }
        }
    }
    for name in [
        "HIDDEN-team",
        "HIDDEN-project",
        "HIDDEN-task",
        "HIDDEN-text",
        "MEMBERS-tag",
        "members-nia",
    ] {
        assert!(found.contains(name), "the twin finds {name}: {found:?}");
    }
    // And for a value of a hidden custom field.
    let date = world.gid("h_date");
    let ask = |reader: &str, day: &str| {
        let at = format!("/workspaces/{orchid}/tasks/search?custom_fields.{date}.value={day}");
        world.get(reader, &at).text
    };
    assert!(ask("ada", "2071-07-08").contains(&world.gid("shared").to_string()));
    for (reader, _) in &READERS[..2] {
        assert_eq!(
            ask(reader, "2071-07-08"),
            ask(reader, "2071-07-09"),
            "{reader}"
        );
    }
}

/// S109. The error for a name that is taken tells of fields that everybody sees.
#[test]
fn the_name_of_a_private_custom_field_is_free() {
    let place = Place::new();
    let world = &place.world;
    let field = |who: &str, name: &str, privacy: &str| {
        let data = json!({"workspace": world.gid("orchid").to_string(), "name": name,
            "resource_subtype": "text", "privacy_setting": privacy});
        world.post(who, "/custom_fields", data)
    };
    assert_eq!(field("moe", "HIDDEN-text", "public").status, 201);
    assert_eq!(field("moe", "HIDDEN-text", "private").status, 201);
    let again = field("moe", "HIDDEN-text", "public_with_guests");
    assert_eq!(again.status, 400, "{}", again.text);
    // Who opens a private one takes its name, and whoever closes one gives it up.
    let change = |name: &str, data: Value| {
        world
            .call(
                "ada",
                "PUT",
                &format!("/custom_fields/{}", world.gid(name)),
                &data,
            )
            .status
    };
    assert_eq!(change("h_text", json!({"privacy_setting": "public"})), 400);
    assert_eq!(change("h_text", json!({"name": "HIDDEN-new"})), 200);
    assert_eq!(change("h_text", json!({"privacy_setting": "public"})), 200);
    assert_eq!(field("moe", "HIDDEN-new", "public").status, 400);
    assert_eq!(change("h_text", json!({"privacy_setting": "private"})), 200);
    assert_eq!(field("moe", "HIDDEN-new", "public").status, 201);
}

/// S110. Whom and what guests see by themselves, and what they see of it where it is shared with them.
#[test]
fn guests_see_the_users_and_tags_that_they_share_something_with() {
    let place = Place::new();
    let world = &place.world;
    let (orchid, meadow) = (world.gid("orchid"), world.gid("meadow"));
    let users = [
        format!("/users?workspace={orchid}"),
        format!("/workspaces/{orchid}/users"),
        format!("/workspaces/{orchid}/typeahead?resource_type=user&count=100"),
    ];
    let gid = |name: &str| world.gid(name).to_string();
    for target in &users {
        let of = |reader: &str| BTreeSet::from_iter(world.get(reader, target).gids());
        // Ada made the meadow.
        assert_eq!(
            of("gus"),
            BTreeSet::from([gid("gus"), gid("ada")]),
            "{target}"
        );
        assert!(of("moe").contains(&gid("nia")), "{target}");
    }
    let seats = world.get(
        "gus",
        &format!("/workspaces/{orchid}/workspace_memberships"),
    );
    assert_eq!(seats.gids(), [gid("gus_seat")]);
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("nia"))).status,
        403
    );
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("ada"))).status,
        200
    );
    // Who comes into the meadow, alone or with a team, is seen from then on.
    for (member, name) in [("moe", "moe"), ("gardeners", "mel")] {
        let at = format!("/users/{}", gid(name));
        assert_eq!(world.get("gus", &at).status, 403, "{name}");
        let seat =
            json!({"parent": meadow.to_string(), "member": gid(member), "access_level": "viewer"});
        assert_eq!(world.post("ada", "/memberships", seat).status, 201);
        assert_eq!(world.get("gus", &at).status, 200, "{name}");
    }
    let shared = gid("shared");
    let tags = |reader: &str, target: String| world.get(reader, &target).gids();
    assert_eq!(tags("gus", format!("/tasks/{shared}/tags")), [gid("s_tag")]);
    let shown = world.get("gus", &format!("/tasks/{shared}")).json["data"]["tags"].clone();
    assert_eq!(shown[0]["name"], "Sunny");
    assert!(tags("gus", format!("/workspaces/{orchid}/tags")).is_empty());
    assert!(tags("moe", format!("/workspaces/{orchid}/tags")).contains(&gid("g_tag")));
    assert_eq!(
        world.get("gus", &format!("/tags/{}", gid("g_tag"))).status,
        403
    );
    // They take off what they see.
    let tag = |name: &str| json!({"tag": gid(name)});
    assert_eq!(
        world
            .post("gus", &format!("/tasks/{shared}/addTag"), tag("g_tag"))
            .status,
        403
    );
    assert_eq!(
        world
            .post("gus", &format!("/tasks/{shared}/removeTag"), tag("s_tag"))
            .status,
        200
    );
}

//! Names in events and deliveries, in errors about names, and among guests.
use super::*;
use crate::hidden::history;

/// The events of a reader: by polls, or by a webhook.
struct Feeds {
    polls: Vec<String>,
    targets: Vec<String>,
}

/// Subscribes a reader to the events of every node, where the reader may.
fn feeds(scene: &Place, nth: usize, (reader, words): (&str, &[&str])) -> Feeds {
    let world = &scene.world;
    let (mut polls, mut targets) = (Vec::new(), Vec::new());
    for gid in scene.things.values().flatten() {
        let poll = format!("/events?resource={gid}");
        let begun = world.get(reader, &poll);
        check(&begun, words, &format!("{reader} {poll}"));
        let sync = begun.json["sync"].as_str();
        polls.extend(sync.map(|sync| format!("{poll}&sync={sync}")));
        let target = format!("/echo/{nth}/{gid}");
        let data = json!({"resource": gid, "target": format!("https://hooks.test{target}")});
        let made = world.post(reader, "/webhooks", data);
        check(&made, words, &format!("{reader} a webhook on {gid}"));
        targets.extend((made.status == 201).then_some(target));
    }
    Feeds { polls, targets }
}

/// Returns all events that a reader gets, each with its request.
fn tidings(scene: &Place, reader: &str, feeds: &Feeds) -> Vec<(String, String)> {
    let world = &scene.world;
    let mut all = Vec::new();
    for target in &feeds.targets {
        let got = world.receiver.got(target);
        all.push((
            target.clone(),
            format!("{:?}", got.iter().map(|g| &g.events).collect::<Vec<_>>()),
        ));
    }
    for poll in &feeds.polls {
        for fields in everything(Type::Event) {
            let poll = format!("{poll}&opt_fields={fields},resource.text,parent.name");
            let answer = world.get(reader, &poll);
            all.push((poll, answer.text));
        }
    }
    all
}

/// S111. Events and deliveries, by every reader, at every node: neither a name nor a gid.
#[test]
fn no_event_and_no_delivery_gives_away_a_name() {
    let scene = Place::new();
    let world = &scene.world;
    let readers = READERS.iter().chain(ADA);
    let all: Vec<_> = readers
        .enumerate()
        .map(|(nth, (reader, words))| (*reader, *words, feeds(&scene, nth, (reader, words))))
        .collect();
    history(world, "second");
    let second = format!("/tasks/{}/setParent", world.gid("second"));
    let below = json!({"parent": world.gid("h_task").to_string()});
    assert_eq!(world.post("ada", &second, below).status, 200);
    world.deliver();
    for (reader, words, feeds) in &all {
        let texts = tidings(&scene, reader, feeds);
        let size: usize = texts.iter().map(|(_, text)| text.len()).sum();
        let hidden: Vec<String> = scene
            .levels(reader)
            .into_iter()
            // A reader who sees a link sees the user or tag at its end.
            .filter(|(_, n, level)| {
                *level == Level::None && !matches!(n.ty, Type::User | Type::Tag)
            })
            .map(|(_, n, _)| format!("\"{}\"", n.gid))
            .collect();
        for (what, text) in &texts {
            for word in words
                .iter()
                .copied()
                .chain(hidden.iter().map(String::as_str))
            {
                assert!(!text.contains(word), "{reader} {what}: {word} in {text}");
            }
        }
        match *reader {
            "ben" | "rocky" => assert_eq!(size, 0, "{reader} hears of another workspace"),
            _ => assert!(size > 10_000, "{reader} is told too little: {size}"),
        }
        if *reader == "ada" {
            // The twin: a reader who sees everything gets the events that the others do not get.
            for name in ["h_task", "h_project", "h_date"] {
                let gid = format!("\"{}\"", world.gid(name));
                let of = |is_poll: bool| {
                    let kind = |what: &str| what.starts_with("/events") == is_poll;
                    texts
                        .iter()
                        .any(|(what, text)| kind(what) && text.contains(&gid))
                };
                assert!(of(true) && of(false), "{name}");
            }
            assert!(texts.iter().any(|(_, text)| text.contains("HIDDEN-task")));
        }
    }
}

/// Name of a change, the change, and true if the access that it ends was the only one.
type AccessEnd = (&'static str, fn(&World), bool);

/// Changes that end an access of gus's to the changed task; true if that was the only access of gus in the project.
const ENDS: &[AccessEnd] = &[
    ("nothing", |_| {}, false),
    (
        "the end of the membership of the project",
        |world| {
            let at = format!("/memberships/{}", world.gid("gus_in_meadow"));
            assert_eq!(world.call("ada", "DELETE", &at, &Value::Null).status, 200);
        },
        true,
    ),
    (
        "the end of the membership",
        |world| {
            let at = format!("/workspaces/{}/removeUser", world.gid("orchid"));
            let gus = json!({"user": world.gid("gus").to_string()});
            assert!(world.post("ada", &at, gus).status < 300);
        },
        true,
    ),
    (
        "another place of the task",
        |world| {
            let at = format!("/tasks/{}/removeProject", world.gid("second"));
            let meadow = json!({"project": world.gid("meadow").to_string()});
            assert!(world.post("ada", &at, meadow).status < 300);
        },
        false,
    ),
    (
        "the end of the project",
        |world| {
            // What is assigned to somebody is not deleted with the project.
            let task = format!("/tasks/{}", world.gid("second"));
            let ada = json!({"assignee": world.gid("ada").to_string()});
            assert_eq!(world.call("ada", "PUT", &task, &ada).status, 200);
            let at = format!("/projects/{}", world.gid("meadow"));
            assert_eq!(world.call("ada", "DELETE", &at, &Value::Null).status, 200);
        },
        true,
    ),
];

/// S111. Events from the time when a guest had access, read or sent after it ended.
#[test]
fn events_from_before_an_access_ended_are_not_told_after_it() {
    for (what, end, is_all) in ENDS {
        let scene = Place::new();
        let world = &scene.world;
        let gid = |name: &str| world.gid(name).to_string();
        let second = gid("second");
        let mut feeds = Feeds {
            polls: Vec::new(),
            targets: Vec::new(),
        };
        for name in ["meadow", "second"] {
            let poll = format!("/events?resource={}", gid(name));
            let sync = world.get("gus", &poll).json["sync"].clone();
            feeds
                .polls
                .push(format!("{poll}&sync={}", sync.as_str().unwrap()));
            feeds.targets.push(format!("/echo/{name}"));
            world.hook("gus", name, &format!("/echo/{name}"), Value::Null);
        }
        for (method, target, data) in [
            (
                "PUT",
                format!("/tasks/{second}"),
                json!({"name": "LATER-name"}),
            ),
            (
                "POST",
                format!("/tasks/{second}/stories"),
                json!({"text": "LATER-text"}),
            ),
            (
                "POST",
                format!("/tasks/{second}/subtasks"),
                json!({"name": "LATER-subtask"}),
            ),
        ] {
            let done = world.call("ada", method, &target, &data);
            assert!(done.status < 300, "{target}: {}", done.text);
        }
        end(world);
        world.deliver();
        let texts = tidings(&scene, "gus", &feeds);
        let is_open = *what == "nothing";
        let read = texts.iter().any(|(_, text)| text.contains("LATER"));
        assert_eq!(read, is_open, "{what}: {texts:?}");
        let got: Vec<Value> = feeds
            .targets
            .iter()
            .flat_map(|target| world.receiver.got(target))
            .flat_map(|got| got.events)
            .collect();
        let is_left = |event: &&Value| event["action"] != "removed" && event["action"] != "deleted";
        let of_task = got
            .iter()
            .filter(|e| e["resource"]["gid"] == second.as_str());
        assert_eq!(
            of_task.filter(is_left).count() > 0,
            is_open,
            "{what}: {got:?}"
        );
        if *is_all {
            assert!(got.iter().filter(is_left).count() == 0, "{what}: {got:?}");
        }
    }
}

/// S109. The error for a name that is taken is about fields that everybody sees.
#[test]
fn the_name_of_a_private_custom_field_is_free() {
    let scene = Place::new();
    let world = &scene.world;
    let field = |user: &str, name: &str, privacy: &str| {
        let data = json!({"workspace": world.gid("orchid").to_string(), "name": name,
            "resource_subtype": "text", "privacy_setting": privacy});
        world.post(user, "/custom_fields", data)
    };
    assert_eq!(field("moe", "HIDDEN-text", "public").status, 201);
    assert_eq!(field("moe", "HIDDEN-text", "private").status, 201);
    let again = field("moe", "HIDDEN-text", "public_with_guests");
    assert_eq!(again.status, 400, "{}", again.text);
    // A private field that becomes open takes its name; a field that becomes private gives it up.
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

/// S110. The users and tags that guests see by themselves, and the part of them that they see where these are shared.
#[test]
fn guests_see_the_users_and_tags_that_they_share_something_with() {
    let scene = Place::new();
    let world = &scene.world;
    let (orchid, meadow) = (world.gid("orchid"), world.gid("meadow"));
    let users = [
        format!("/users?workspace={orchid}"),
        format!("/workspaces/{orchid}/users"),
        format!("/workspaces/{orchid}/typeahead?resource_type=user&count=100"),
    ];
    let gid = |name: &str| world.gid(name).to_string();
    for target in &users {
        let of = |reader: &str| BTreeSet::from_iter(world.get(reader, target).gids());
        // Ada created the meadow.
        assert_eq!(
            of("gus"),
            BTreeSet::from([gid("gus"), gid("ada")]),
            "{target}"
        );
        assert!(of("moe").contains(&gid("nia")), "{target}");
    }
    let memberships = world.get(
        "gus",
        &format!("/workspaces/{orchid}/workspace_memberships"),
    );
    assert_eq!(memberships.gids(), [gid("gus_seat")]);
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("nia"))).status,
        403
    );
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("ada"))).status,
        200
    );
    // A user who comes into the meadow, alone or with a team, is visible from then on.
    for (member, name) in [("moe", "moe"), ("gardeners", "mel")] {
        let at = format!("/users/{}", gid(name));
        assert_eq!(world.get("gus", &at).status, 403, "{name}");
        let membership =
            json!({"parent": meadow.to_string(), "member": gid(member), "access_level": "viewer"});
        assert_eq!(world.post("ada", "/memberships", membership).status, 201);
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
    // Guests can remove the tags that they see.
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

//! Access to exports: their content for each reader, and the refusals.
use super::*;

#[test]
fn an_export_holds_what_its_user_sees_and_nothing_else() {
    for kind in KINDS {
        let world = World::build(kind, Default::default(), |f, names| {
            let (orchid, ada) = (names["orchid"], names["ada"]);
            let project = f.project(orchid, "Greenhouse", ada);
            let section = f.section_in(project);
            f.task_in(section, "orchid in the open", ada);
            f.link(
                project,
                rel::TEAM,
                names["gardeners"],
                ListPosition::Rank(0),
                None,
            );
            let secret = f.private_project(orchid, "Nursery", ada);
            f.task_in(f.section_in(secret), "a secret seed", ada);
            f.link(
                secret,
                rel::TEAM,
                names["gardeners"],
                ListPosition::Rank(0),
                None,
            );
        });
        let team = world.gid("gardeners").to_string();
        let all = exported(&world, "ada", &team);
        assert!(names(&all, "task").contains(&"a secret seed"));
        let some = exported(&world, "mel", &team);
        as_shown(&world, "mel", &some);
        let some = json!(some).to_string();
        assert!(some.contains("orchid in the open") && !some.contains("seed"));
        // Others see nothing of it, and cannot even request it.
        for (token, status) in [("bob", 403), ("-", 401), ("ada[tasks:read,jobs:read]", 403)] {
            let refused = export(&world, token, &team);
            assert_eq!(refused.status, status, "{token}: {}", refused.text);
        }
    }
}

#[test]
fn a_task_in_several_projects_is_written_once() {
    let world = World::build(Kind::Memory, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let team = names["gardeners"];
        let [one, two, other] = ["One", "Two", "Other"].map(|name| f.project(orchid, name, ada));
        for project in [one, two] {
            f.link(project, rel::TEAM, team, ListPosition::Rank(0), None);
        }
        let both = f.task_in(f.section_in(one), "in both", ada);
        let second = f.section_in(two);
        f.link(both, rel::SECTION, second, ListPosition::Last, Some(two));
        let parent = f.task_in(second, "parent", ada);
        let child = f.subtask(parent, "child in its own place", ada);
        let first = f.section_in(one);
        f.link(child, rel::SECTION, first, ListPosition::Last, Some(one));
        let elsewhere = f.subtask(parent, "child in another place", ada);
        let third = f.section_in(other);
        f.link(
            elsewhere,
            rel::SECTION,
            third,
            ListPosition::Last,
            Some(other),
        );
        names.insert("one".to_owned(), one);
        names.insert("two".to_owned(), two);
    });
    let team = world.gid("gardeners").to_string();
    let records = exported(&world, "ada", &team);
    gids(&records);
    let tasks = names(&records, "task");
    for name in [
        "in both",
        "parent",
        "child in its own place",
        "child in another place",
    ] {
        assert_eq!(tasks.iter().filter(|t| **t == name).count(), 1, "{name}");
    }
    // Below one project alone, it also has the nodes that it shares with others.
    let two = exported(&world, "ada", &world.gid("two").to_string());
    gids(&two);
    assert_eq!(
        names(&two, "task"),
        [
            "in both",
            "parent",
            "child in its own place",
            "child in another place"
        ]
    );
}

#[test]
fn an_organization_is_exported_by_its_service_account_alone() {
    for kind in KINDS {
        let world = world(kind, 40);
        let orchid = world.gid("orchid").to_string();
        let body = json!({ "organization": orchid });
        let refused = world.post("ada", "/organization_exports", body.clone());
        assert_eq!(refused.status, 403, "{}", refused.text);
        let foreign = json!({ "organization": world.gid("basalt").to_string() });
        assert_eq!(
            world.post("robot", "/organization_exports", foreign).status,
            403
        );

        let begun = world.post("robot", "/organization_exports", body);
        assert_eq!(begun.status, 201, "{}", begun.text);
        assert_eq!(begun.json["data"]["state"], "pending");
        assert_eq!(begun.json["data"]["download_url"], Value::Null);
        let path = format!("/organization_exports/{}", begun.gid());
        assert!(
            begun
                .headers
                .iter()
                .any(|(n, v)| *n == "Location" && v.ends_with(&path))
        );
        die_after(&world, 2);
        assert_eq!(world.get("robot", &path).json["data"]["state"], "started");
        assert_eq!(world.get("ada", &path).status, 403);
        world.advance(31);
        world.work();
        let done = world.get("robot", &path);
        assert_eq!(done.json["data"]["state"], "finished", "{}", done.text);
        assert!(done.json["data"]["download_url"].is_string());

        let records = world.files.records(&begun.gid());
        let all = gids(&records);
        as_shown(&world, "robot", &records);
        let text = json!(records).to_string();
        let is_readable =
            |gid: &Gid| all.contains(&gid.to_string()) || text.contains(&format!("\"{gid}\""));
        // A service account has no membership, a job belongs to its user alone, a request for access is a question, and
        // agents and triggers belong to the operator.
        let left_out = [
            "ada_job",
            "orchid_access",
            "orchid_agent",
            "orchid_export",
            "orchid_trigger",
            "robot",
        ];
        let expected = |name: &str| crate::world::is_orchid(name) && !left_out.contains(&name);
        let wrong = world.names.iter();
        let wrong = wrong.filter(|(name, gid)| is_readable(gid) != expected(name));
        let wrong: Vec<&String> = wrong.map(|(name, _)| name).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(!text.contains("Basalt"));
    }
}

/// S78. All kinds of job together are at most five.
#[test]
fn exports_and_copies_share_the_five_places() {
    let world = world(Kind::Memory, 3);
    let forest = world.gid("forest").to_string();
    for n in 0..5 {
        let begun = if n % 2 == 0 {
            export(&world, "ada", &forest)
        } else {
            duplicate(&world, "ada")
        };
        assert_eq!(begun.status, 201, "{}", begun.text);
    }
    for sixth in [export(&world, "ada", &forest), duplicate(&world, "ada")] {
        assert_eq!(sixth.status, 429, "{}", sixth.text);
        assert!(sixth.headers.iter().any(|(name, _)| *name == "Retry-After"));
    }
    world.work();
    assert_eq!(export(&world, "ada", &forest).status, 201);
}

#[test]
fn a_disk_that_is_full_ends_the_export_and_nothing_else() {
    let world = world(Kind::Memory, 130);
    let forest = world.gid("forest").to_string();
    let organization = json!({ "organization": world.gid("orchid").to_string() });
    let job = export(&world, "ada", &forest).gid();
    let whole = world
        .post("robot", "/organization_exports", organization)
        .gid();
    die_after(&world, 60);
    *world.files.broken.lock().unwrap() = Some("No space left on device".to_owned());
    world.advance(31);
    world.work();
    assert_eq!(status(&world, &job), "failed");
    let shown = world.get("robot", &format!("/organization_exports/{whole}"));
    assert_eq!(shown.json["data"]["state"], "error");
    assert_eq!(shown.json["data"]["download_url"], Value::Null);
    assert!(
        world.files.files.lock().unwrap().is_empty(),
        "nothing is left"
    );
    *world.files.broken.lock().unwrap() = None;
    exported(&world, "ada", &forest);
}

#[test]
fn an_export_of_what_is_deleted_or_hidden_meanwhile_fails() {
    let world = world(Kind::Memory, 130);
    let forest = world.gid("forest").to_string();
    let job = export(&world, "ada", &forest).gid();
    die_after(&world, 2);
    world.call(
        "ada",
        "DELETE",
        &format!("/projects/{forest}"),
        &Value::Null,
    );
    world.advance(31);
    world.work();
    assert_eq!(status(&world, &job), "failed");
}

#[test]
fn a_large_export_is_given_again_for_four_hours_to_the_same_user() {
    let tasks = usize::try_from(CACHED_FROM).unwrap() + 1;
    for (tasks, again) in [(tasks - 1, false), (tasks, true)] {
        let world = World::build(Kind::Memory, Default::default(), |f, names| {
            let (orchid, ada) = (names["orchid"], names["ada"]);
            let project = f.project(orchid, "Forest", ada);
            let section = f.section_in(project);
            for n in 0..tasks {
                f.task_in(section, &format!("tree {n}"), ada);
            }
            names.insert("forest".to_owned(), project);
        });
        let forest = world.gid("forest").to_string();
        let ask = |token: &str| {
            let job = export(&world, token, &forest);
            let early = job.json["data"]["status"] == "succeeded";
            world.work();
            let made = made(&world, token, &job.gid());
            (early, text(&made, "gid").to_owned())
        };
        let (early, first) = ask("ada");
        assert!(!early);
        let (early, second) = ask("ada");
        assert_eq!((early, second == first), (again, again));
        assert!(!ask("mel").0, "another user sees other things");
        world.advance(4 * 3600 + 1);
        let (early, later) = ask("ada");
        assert!(!early && later != first);
        if again {
            assert_eq!(ask("ada"), (true, later), "now that one");
        }
    }
}

#[test]
fn addresses_are_fresh_each_time_and_good_for_an_hour() {
    let world = world(Kind::Sqlite, 3);
    let job = export(&world, "ada", &world.gid("forest").to_string()).gid();
    let pending = world.get("ada", &format!("/jobs/{job}"));
    assert_eq!(
        pending.json["data"]["new_graph_export"]["download_url"],
        Value::Null
    );
    world.work();
    let look = |token: &str| made(&world, token, &job)["download_url"].clone();
    let first = look("ada");
    let first = first.as_str().unwrap();
    let below = first.strip_prefix("https://work.test/-/exports/").unwrap();
    let (name, ticket) = below.split_once("?ticket=").unwrap();
    let file = world.api.admit_download(name, ticket).unwrap();
    assert_eq!(name, format!("{file}.json.gz"));
    world.advance(1800);
    let second = look("ada");
    assert_ne!(
        first,
        second.as_str().unwrap(),
        "fresh, though nothing was committed"
    );
    assert!(world.api.admit_download(name, ticket).is_ok());
    world.advance(1800);
    let late = world.api.admit_download(name, ticket);
    assert_eq!(late, Err(TicketError::Expired));
    let (_, ticket) = second.as_str().unwrap().split_once("?ticket=").unwrap();
    assert!(world.api.admit_download(name, ticket).is_ok());
    let other = world.api.admit_download("1.json.gz", ticket);
    assert_eq!(other, Err(TicketError::Invalid));
    // An app that may only read jobs does not get the file.
    assert_eq!(look("ada[jobs:read]"), Value::Null);
    // No other user reads the job.
    for token in ["mel", "robot", "bob"] {
        assert_eq!(world.get(token, &format!("/jobs/{job}")).status, 403);
    }
    world.advance(24 * 3600);
    assert_eq!(look("ada"), Value::Null, "the file goes soon");
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let world = world(Kind::Memory, 1);
    for (token, path, body, status, message) in [
        (
            "ada",
            "/exports/graph",
            json!({}),
            400,
            "parent: Missing input",
        ),
        (
            "ada",
            "/exports/graph",
            json!({"parent": "x"}),
            400,
            "parent: Not a recognized ID: x",
        ),
        (
            "ada",
            "/exports/graph",
            json!({"parent": "77"}),
            400,
            "parent: Unknown object: 77",
        ),
        (
            "robot",
            "/organization_exports",
            json!({}),
            400,
            "organization: Missing input",
        ),
        (
            "robot",
            "/organization_exports",
            json!({"organization": true}),
            400,
            "organization",
        ),
    ] {
        let answer = world.post(token, path, body);
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(answer.message().starts_with(message), "{}", answer.text);
    }
    let ada = world.gid("ada").to_string();
    assert_eq!(export(&world, "ada", &ada).status, 400, "a user is no root");
    let quarry = world.gid("quarry").to_string();
    let free = export(&world, "bob", &quarry);
    assert_eq!(free.status, 402, "{}", free.text);
    // In a batch, exports of organizations are not allowed.
    let action = json!({"relative_path": "/organization_exports", "method": "post", "data": {"organization": world.gid("orchid").to_string()}});
    let batch = world.post("robot", "/batch", json!({"actions": [action]}));
    assert_eq!(batch.json["data"][0]["status_code"], 400, "{}", batch.text);
}

#[test]
fn that_data_was_taken_out_is_in_the_audit_log() {
    for kind in KINDS {
        let world = world(kind, 1);
        let (orchid, forest) = (
            world.gid("orchid").to_string(),
            world.gid("forest").to_string(),
        );
        assert_eq!(export(&world, "ada", &forest).status, 201);
        let body = json!({ "organization": orchid });
        assert_eq!(
            world
                .post("robot", "/organization_exports", body.clone())
                .status,
            201
        );
        assert_eq!(world.post("ada", "/organization_exports", body).status, 403);
        for (event, resource) in [
            ("object_export_started", &forest),
            ("workspace_export_started", &orchid),
        ] {
            let path = format!("/workspaces/{orchid}/audit_log_events?event_type={event}");
            let log = world.get("robot", &path);
            let rows = log.json["data"].as_array().unwrap();
            assert_eq!(rows.len(), 1, "{}", log.text);
            assert_eq!(rows[0]["resource"]["gid"], **resource);
        }
    }
}

//! Goals: who sees them, their status, and what a change says to others.
mod supporters;

use self::supporters::support;
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};

fn ok(answer: Answer) -> Answer {
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer
}

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

/// Creates a goal as ada with these fields; returns its gid and its path.
fn create(world: &World, more: Value) -> (String, String) {
    let mut data = json!({"workspace": gid(world, "orchid"), "name": "Bloom"});
    for (name, value) in more.as_object().into_iter().flatten() {
        data[name] = value.clone();
    }
    let goal = ok(world.post("ada", "/goals", data)).gid();
    let path = format!("/goals/{goal}");
    (goal, path)
}

fn put(world: &World, path: &str, data: Value) -> Answer {
    world.call("ada", "PUT", path, &data)
}

fn list(world: &World, user: &str, query: &str) -> Vec<String> {
    ok(world.get(user, &format!("/goals?{query}"))).gids()
}

/// S250. Each viewer at a goal of the workspace, one of a secret team, and one of its members alone.
#[test]
fn a_goal_is_seen_by_its_workspace_its_team_or_its_members() {
    let world = World::new(Kind::Memory);
    let team =
        json!({"name": "Growers", "organization": gid(&world, "orchid"), "visibility": "secret"});
    let team = ok(world.post("ada", "/teams", team)).gid();
    ok(world.post(
        "ada",
        &format!("/teams/{team}/addUser"),
        json!({"user": gid(&world, "mel")}),
    ));
    let (_, open) = create(&world, json!({}));
    let (_, of_team) = create(&world, json!({ "team": team }));
    let (own, closed) = create(&world, json!({"privacy_setting": "members_only"}));
    let rights = |user: &str, path: &str| {
        let read = world.get(user, path).status;
        let like = world
            .call(user, "PUT", path, &json!({"liked": true}))
            .status;
        let rename = world
            .call(user, "PUT", path, &json!({"name": "Bud"}))
            .status;
        let delete = world.call(user, "DELETE", path, &Value::Null).status;
        (read, like, rename, delete)
    };
    assert_eq!(rights("moe", &open), (200, 200, 403, 403));
    assert_eq!(rights("gus", &open), (403, 403, 403, 403));
    assert_eq!(rights("vic", &open), (200, 403, 403, 403));
    assert_eq!(rights("mel", &of_team), (200, 200, 200, 403));
    assert_eq!(rights("moe", &of_team), (403, 403, 403, 403));
    assert_eq!(rights("moe", &closed), (403, 403, 403, 403));
    for (level, expected) in [
        ("viewer", (200, 403, 403, 403)),
        ("commenter", (200, 200, 403, 403)),
        ("editor", (200, 200, 200, 403)),
    ] {
        let seat = json!({"parent": own, "member": gid(&world, "gus"), "access_level": level});
        let seat = ok(world.post("ada", "/memberships", seat)).gid();
        assert_eq!(rights("gus", &closed), expected, "{level}");
        let path = format!("/memberships/{seat}");
        let shown = ok(world.get("gus", &path)).json["data"].take();
        assert_eq!(shown["resource_type"], "goal_membership");
        assert_eq!(shown["goal"]["gid"], own);
        ok(world.call("ada", "DELETE", &path, &Value::Null));
    }
    // Who owns a goal does everything with it, and only who may do everything names another owner.
    let owner = json!({"owner": gid(&world, "moe")});
    assert_eq!(world.call("mel", "PUT", &of_team, &owner).status, 403);
    ok(put(&world, &closed, owner));
    assert_eq!(rights("moe", &closed), (200, 200, 200, 200));
    assert_eq!(world.get("ada", &closed).status, 404);
}

/// S251. Written at creation and later, and filtered.
#[test]
fn a_goal_belongs_to_the_workspace_or_to_a_team() {
    for kind in KINDS {
        let world = World::new(kind);
        let (orchid, team) = (gid(&world, "orchid"), gid(&world, "gardeners"));
        let (one, path) = create(&world, json!({}));
        let (other, _) = create(&world, json!({"team": team, "is_workspace_level": false}));
        let levels = |flag: bool| {
            list(
                &world,
                "ada",
                &format!("workspace={orchid}&is_workspace_level={flag}"),
            )
        };
        assert!(levels(true).contains(&one) && !levels(true).contains(&other));
        assert_eq!(levels(false), [&*other]);
        assert_eq!(list(&world, "ada", &format!("team={team}")), [&*other]);
        let level = |data: Value| {
            let shown = put(&world, &path, data);
            (
                shown.status,
                shown.json["data"]["is_workspace_level"].clone(),
            )
        };
        assert_eq!(level(json!({ "team": team })), (200, json!(false)));
        assert_eq!(
            list(&world, "ada", &format!("team={team}")),
            [&*one, &*other]
        );
        assert_eq!(
            level(json!({"is_workspace_level": true})),
            (200, json!(true))
        );
        assert_eq!(list(&world, "ada", &format!("team={team}")), [&*other]);
        assert_eq!(level(json!({"is_workspace_level": false})).0, 400);
        let both = json!({"is_workspace_level": true, "team": team});
        assert_eq!(level(both).0, 400);
        // A team is named by those who edit it.
        let data = json!({"workspace": orchid, "name": "Bloom", "team": team});
        assert_eq!(world.post("vic", "/goals", data).status, 403);
    }
}

/// S251. Periods are in every workspace.
#[test]
fn goals_are_listed_by_their_time_periods() {
    let world = World::new(Kind::Memory);
    let orchid = gid(&world, "orchid");
    let target = format!("/time_periods?workspace={orchid}&start_on=2026-01-01&end_on=2026-12-31");
    let periods = ok(world.get("ada", &target)).gids();
    let (first, path) = create(&world, json!({"time_period": periods[0]}));
    let (second, _) = create(&world, json!({"time_period": periods[1]}));
    create(&world, json!({}));
    let of = |periods: &str| {
        list(
            &world,
            "ada",
            &format!("workspace={orchid}&time_periods={periods}"),
        )
    };
    assert_eq!(of(&periods[0]), [&*first]);
    assert_eq!(
        of(&format!("{},{}", periods[0], periods[1])),
        [&*first, &*second]
    );
    assert_eq!(of(&periods[2]), [""; 0]);
    ok(put(&world, &path, json!({"time_period": null})));
    assert_eq!(of(&periods[0]), [""; 0]);
    let wrong = world.get(
        "ada",
        &format!("/goals?workspace={orchid}&time_periods=spring"),
    );
    assert_eq!(wrong.status, 400);
}

/// S252. Posted, replaced, deleted.
#[test]
fn the_status_of_a_goal_is_that_of_its_newest_status_update() {
    for kind in KINDS {
        let world = World::new(kind);
        let (own, path) = create(&world, json!({}));
        let status = || ok(world.get("ada", &path)).json["data"]["status"].take();
        assert_eq!(status(), Value::Null);
        let mut newest = String::new();
        for (status_type, word) in [
            ("on_track", "green"),
            ("at_risk", "yellow"),
            ("off_track", "red"),
            ("partial", "partial"),
            ("missed", "missed"),
            ("dropped", "dropped"),
            ("achieved", "achieved"),
        ] {
            let data = json!({"parent": own, "text": "x", "status_type": status_type});
            let made = ok(world.post("ada", "/status_updates", data));
            assert_eq!(made.json["data"]["resource_subtype"], "goal_status_update");
            assert_eq!(status(), word);
            newest = made.gid();
        }
        for of_work in ["on_hold", "complete"] {
            let data = json!({"parent": own, "text": "x", "status_type": of_work});
            assert_eq!(world.post("ada", "/status_updates", data).status, 400);
        }
        let newest = format!("/status_updates/{newest}");
        ok(world.call("ada", "DELETE", &newest, &Value::Null));
        assert_eq!(status(), "dropped");
    }
}

/// S250. The paid plan is that of the workspace.
#[test]
fn goals_need_a_paid_plan() {
    let world = World::new(Kind::Memory);
    let basalt = gid(&world, "basalt");
    let data = json!({"workspace": basalt, "name": "Dig"});
    assert_eq!(world.post("bob", "/goals", data).status, 402);
    let goal = format!("/goals/{}", gid(&world, "basalt_goal"));
    assert_eq!(world.get("bob", &goal).status, 402);
    let all = format!("/goals?workspace={basalt}");
    assert_eq!(world.get("bob", &all).status, 402);
}

/// S253. Set, replaced, and refused.
#[test]
fn a_metric_is_a_number_between_two_values() {
    for kind in KINDS {
        let world = World::new(kind);
        let (_, path) = create(&world, json!({}));
        let set = |data: Value| world.post("ada", &format!("{path}/setMetric"), data);
        let value = |value: Value| {
            let data = json!({ "current_number_value": value });
            world.post("ada", &format!("{path}/setMetricCurrentValue"), data)
        };
        let metric = || ok(world.get("ada", &path)).json["data"]["metric"].take();
        assert_eq!(metric(), Value::Null);
        assert_eq!(value(json!(1)).status, 400);
        assert_eq!(put(&world, &path, json!({"status": "red"})).status, 400);
        ok(set(
            json!({"unit": "currency", "currency_code": "EUR", "target_number_value": 2500, "precision": 2}),
        ));
        let first = metric();
        assert_eq!(first["initial_number_value"], 0);
        assert_eq!(first["current_display_value"], "€0.00");
        ok(value(json!(12.5)));
        let second = metric();
        assert_eq!(second["current_number_value"], 12.5);
        assert_eq!(second["current_display_value"], "€12.50");
        ok(set(json!({"unit": "percentage"})));
        let third = metric();
        assert_eq!(
            (&third["target_number_value"], &third["currency_code"]),
            (&json!(1), &Value::Null)
        );
        assert_eq!(
            (&first["gid"], &second["gid"]),
            (&third["gid"], &third["gid"])
        );
        ok(value(json!(0.25)));
        assert_eq!(metric()["current_display_value"], "25%");
        assert_eq!(
            ok(put(&world, &path, json!({"status": "red"}))).json["data"]["status"],
            "red"
        );
        for refused in [
            json!({"initial_number_value": 5, "target_number_value": 5}),
            json!({"precision": 7}),
            json!({"precision": 1.5}),
            json!({"unit": "bushels"}),
            json!({"currency_code": "EUR"}),
            json!({"unit": "currency", "currency_code": "euro"}),
            json!({"target_number_value": 1e300}),
            json!({"progress_source": "luck"}),
        ] {
            assert_eq!(set(refused.clone()).status, 400, "{refused}");
        }
        assert_eq!(
            metric()["unit"],
            "percentage",
            "what is refused changes nothing"
        );
        for user in ["moe", "gus", "vic"] {
            let answer = world.post(user, &format!("{path}/setMetric"), json!({}));
            assert_eq!(answer.status, 403, "{user}");
        }
    }
}

/// S256. Who follows becomes a member, and who ends a membership follows no longer.
#[test]
fn followers_of_a_goal_are_members() {
    let world = World::new(Kind::Memory);
    let (own, path) = create(&world, json!({"privacy_setting": "members_only"}));
    let mel = gid(&world, "mel");
    let follow = |user: &str, action: &str| {
        let data = json!({"followers": [mel]});
        world.post(user, &format!("{path}/{action}"), data)
    };
    let followers = |answer: Answer| {
        let list = ok(answer).json["data"]["followers"].take();
        list.as_array()
            .unwrap()
            .iter()
            .map(|user| user["gid"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(world.get("mel", &path).status, 403);
    assert_eq!(followers(follow("ada", "addFollowers")), [&*mel]);
    let seats = format!("/memberships?parent={own}&member={mel}");
    let seat = ok(world.get("ada", &seats)).json["data"][0].take();
    assert_eq!(seat["access_level"], "commenter");
    assert_eq!(followers(follow("mel", "removeFollowers")), [""; 0]);
    assert_eq!(world.get("mel", &path).status, 200, "the membership stays");
    assert_eq!(followers(follow("mel", "addFollowers")), [&*mel]);
    let others = json!({"followers": [gid(&world, "moe")]});
    let refused = world.post("mel", &format!("{path}/addFollowers"), others);
    assert_eq!(refused.status, 403, "{}", refused.text);
    let seat = format!("/memberships/{}", seat["gid"].as_str().unwrap());
    ok(world.call("ada", "DELETE", &seat, &Value::Null));
    assert_eq!(followers(world.get("ada", &path)), [""; 0]);
}

/// S257. Set, read, filtered by setting, and kept when the setting goes.
#[test]
fn a_goal_has_values_for_its_own_custom_fields() {
    for kind in KINDS {
        let world = World::new(kind);
        let (_, path) = create(&world, json!({}));
        let (vigor, lush) = (gid(&world, "vigor"), gid(&world, "lush"));
        let give = || {
            put(
                &world,
                &path,
                json!({"custom_fields": {vigor.clone(): lush}}),
            )
        };
        assert_eq!(give().status, 400, "the goal does not have the field yet");
        let field = json!({ "custom_field": vigor });
        let add = format!("{path}/addCustomFieldSetting");
        let setting = ok(world.post("ada", &add, field.clone()));
        assert_eq!(setting.json["data"]["parent"]["resource_type"], "goal");
        let listed = ok(world.get("ada", &format!("{path}/custom_field_settings"))).gids();
        assert_eq!(listed, [setting.gid()]);
        let value = |answer: Answer| {
            let fields = ok(answer).json["data"]["custom_fields"].take();
            fields[0]["display_value"].clone()
        };
        assert_eq!(value(give()), "Lush");
        assert_eq!(value(world.get("ada", &path)), "Lush");
        let remove = format!("{path}/removeCustomFieldSetting");
        ok(world.post("ada", &remove, field.clone()));
        assert_eq!(give().status, 400);
        assert_eq!(value(world.get("ada", &path)), "Lush", "the value is kept");
        assert_eq!(world.post("moe", &add, field).status, 403);
    }
}

/// S258. Written by who may comment, changed and deleted by their authors.
#[test]
fn comments_on_a_goal_are_its_stories() {
    for kind in KINDS {
        let world = World::new(kind);
        let (own, path) = create(&world, json!({}));
        let stories = format!("{path}/stories");
        let say = |user: &str| world.post(user, &stories, json!({"text": "Well done"}));
        let made = ok(say("moe"));
        assert_eq!(made.json["data"]["target"]["gid"], own);
        assert_eq!(made.json["data"]["resource_subtype"], "comment_added");
        assert_eq!(say("vic").status, 403);
        assert_eq!(say("gus").status, 403);
        assert_eq!(ok(world.get("ada", &stories)).gids(), [made.gid()]);
        let story = format!("/stories/{}", made.gid());
        let edit = |user: &str| {
            world
                .call(user, "PUT", &story, &json!({"text": "Better"}))
                .status
        };
        assert_eq!((edit("ada"), edit("moe")), (403, 200));
        let delete = |user: &str| world.call(user, "DELETE", &story, &Value::Null).status;
        assert_eq!((delete("ada"), delete("moe")), (403, 200));
        assert_eq!(ok(world.get("ada", &stories)).gids(), [""; 0]);
    }
}

/// S259. What happens to a goal, and in it, is told to those who watch it.
#[test]
fn a_goal_tells_its_events() {
    let world = World::new(Kind::Memory);
    let (own, path) = create(&world, json!({}));
    let target = format!("/events?resource={own}");
    let first = world.get("ada", &target);
    let sync = first.json["sync"].as_str().unwrap().to_owned();
    ok(put(&world, &path, json!({"name": "Bud", "liked": true})));
    ok(world.post("ada", &format!("{path}/stories"), json!({"text": "x"})));
    let data = json!({"parent": own, "text": "x", "status_type": "on_track"});
    ok(world.post("ada", "/status_updates", data));
    let seat = json!({"parent": own, "member": gid(&world, "mel")});
    ok(world.post("ada", "/memberships", seat));
    ok(support(&world, &path, &gid(&world, "garden"), json!({})));
    let data = json!({"target_number_value": 5});
    ok(world.post("ada", &format!("{path}/setMetric"), data));
    let told = ok(world.get("ada", &format!("{target}&sync={sync}")));
    let told: Vec<String> = told.json["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let field = event["change"]["field"].as_str().unwrap_or("");
            format!(
                "{} {} {field}",
                event["type"].as_str().unwrap_or_default(),
                event["action"].as_str().unwrap()
            )
        })
        .collect();
    let told: Vec<&str> = told.iter().map(|event| event.trim_end()).collect();
    for event in [
        "goal changed name",
        "goal changed likes",
        "story added",
        "status_update added",
        "goal changed current_status_update",
        "goal_membership added",
        "goal_relationship added",
        "goal changed metric",
    ] {
        assert!(told.contains(&event), "{event}: {told:?}");
    }
}

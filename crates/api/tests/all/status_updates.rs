//! Status updates: two forms of one node, the current one of a project, and what follows from it.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};

fn ok(answer: Answer) -> Answer {
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer
}

/// Posts a status update of a project as ada.
fn post(world: &World, project: &str, status_type: &str) -> String {
    let data =
        json!({"parent": world.gid(project).to_string(), "status_type": status_type, "text": "x"});
    ok(world.post("ada", "/status_updates", data)).gid()
}

fn state(world: &World, project: &str) -> Value {
    let fields = "current_status.gid,current_status_update.gid,completed,completed_at,completed_by.gid,modified_at";
    let target = format!("/projects/{}?opt_fields={fields}", world.gid(project));
    ok(world.get("ada", &target)).json["data"].take()
}

/// S149. Each status type is shown as its colour, and each colour makes its status type; lists have the same objects.
#[test]
fn a_status_update_of_a_project_is_its_project_status() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden");
        for (status_type, color, back) in [
            ("on_track", "green", "on_track"),
            ("at_risk", "yellow", "at_risk"),
            ("off_track", "red", "off_track"),
            ("on_hold", "blue", "on_hold"),
            ("complete", "complete", "complete"),
            ("dropped", "blue", "on_hold"),
        ] {
            let gid = post(&world, "garden", status_type);
            let old = ok(world.get("ada", &format!("/project_statuses/{gid}")));
            assert_eq!(old.json["data"]["color"], color);
            assert_eq!(old.json["data"]["resource_type"], "project_status");
            assert_eq!(old.json["data"].get("status_type"), None);
            let data = json!({"text": "x", "color": color});
            let made = ok(world.post("ada", &format!("/projects/{garden}/project_statuses"), data));
            let new = ok(world.get("ada", &format!("/status_updates/{}", made.gid())));
            assert_eq!(new.json["data"]["status_type"], back);
            assert_eq!(new.json["data"]["resource_type"], "status_update");
            assert_eq!(new.json["data"].get("color"), None);
        }
        let old = ok(world.get("ada", &format!("/projects/{garden}/project_statuses"))).gids();
        let new = ok(world.get("ada", &format!("/status_updates?parent={garden}"))).gids();
        assert_eq!(old.len(), 12);
        assert_eq!(old, new);
    }
}

/// S151. The same project after each change.
#[test]
fn the_newest_status_update_says_if_a_project_is_complete() {
    for kind in KINDS {
        let world = World::new(kind);
        let ada = world.gid("ada").to_string();
        let open = state(&world, "garden");
        assert_eq!(open["current_status_update"], Value::Null);
        assert_eq!(open["completed"], false);
        let first = post(&world, "garden", "on_track");
        world.advance(60);
        let second = post(&world, "garden", "complete");
        let done = state(&world, "garden");
        assert_eq!(done["current_status_update"]["gid"], second);
        assert_eq!(done["current_status"]["gid"], second);
        assert_eq!(
            (&done["completed"], &done["completed_by"]["gid"]),
            (&json!(true), &json!(ada))
        );
        assert_eq!(done["completed_at"], "2026-01-15T09:31:00.000Z");
        assert_eq!(done["modified_at"], "2026-01-15T09:31:00.000Z");
        world.advance(60);
        let third = post(&world, "garden", "complete");
        assert_eq!(
            state(&world, "garden")["completed_at"],
            done["completed_at"],
            "it stays done"
        );
        // The deletion of an older one changes nothing.
        ok(world.call(
            "ada",
            "DELETE",
            &format!("/status_updates/{second}"),
            &Value::Null,
        ));
        assert_eq!(
            state(&world, "garden")["current_status_update"]["gid"],
            third
        );
        ok(world.call(
            "ada",
            "DELETE",
            &format!("/project_statuses/{third}"),
            &Value::Null,
        ));
        let back = state(&world, "garden");
        assert_eq!(back["current_status_update"]["gid"], first);
        assert_eq!(back["completed"], false);
        assert_eq!(
            (&back["completed_at"], &back["completed_by"]),
            (&Value::Null, &Value::Null)
        );
        ok(world.call(
            "ada",
            "DELETE",
            &format!("/status_updates/{first}"),
            &Value::Null,
        ));
        assert_eq!(state(&world, "garden")["current_status"], Value::Null);
        let gone = world.get("ada", &format!("/status_updates/{first}"));
        assert_eq!(gone.status, 404);
    }
}

/// S152. At creation and in an update; the record that was read can be sent back.
#[test]
fn the_current_status_in_the_body_of_a_project_posts_one() {
    let world = World::new(Kind::Memory);
    let garden = format!("/projects/{}", world.gid("garden"));
    let put = |data: Value| world.call("ada", "PUT", &garden, &data);
    ok(put(
        json!({"current_status": {"color": "red", "text": "Hail"}}),
    ));
    let statuses = ok(world.get(
        "ada",
        &format!("{garden}/project_statuses?opt_fields=text,color"),
    ));
    assert_eq!(statuses.json["data"][0]["text"], "Hail");
    assert_eq!(statuses.json["data"][0]["color"], "red");
    let record = ok(world.get("ada", &garden)).json["data"].take();
    let back = json!({"current_status": record["current_status"],
        "current_status_update": record["current_status_update"]});
    ok(put(back));
    for field in ["current_status", "current_status_update"] {
        for other in [Value::Null, json!("12"), json!({"gid": "12"})] {
            let answer = put(json!({ field: other }));
            let message = format!("{field}: Cannot write this property");
            assert_eq!((answer.status, answer.message()), (400, &*message));
        }
    }
    let answer = put(json!({"current_status": {"color": "pink"}}));
    assert!(
        answer
            .message()
            .starts_with("current_status: color: Not a recognized value: pink")
    );
    let left = ok(world.get("ada", &format!("{garden}/project_statuses")));
    assert_eq!(left.gids().len(), 1);
}

/// A status update is heard at its project: its creation, the field of the project that follows, and its deletion.
#[test]
fn a_status_update_is_heard_at_its_project() {
    let world = World::new(Kind::Memory);
    let events = format!("/projects/{}/events", world.gid("garden"));
    let sync = |answer: &Answer| answer.json["sync"].as_str().unwrap().to_owned();
    let first = world.get("ada", &events);
    let gid = post(&world, "garden", "on_track");
    let heard = ok(world.get("ada", &format!("{events}?sync={}", sync(&first))));
    let texts: Vec<String> = heard.json["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            format!(
                "{} {} {}",
                event["type"], event["action"], event["change"]["field"]
            )
        })
        .collect();
    assert!(
        texts.contains(&r#""status_update" "added" null"#.to_owned()),
        "{texts:?}"
    );
    assert!(
        texts.contains(&r#""project" "changed" "current_status_update""#.to_owned()),
        "{texts:?}"
    );
    ok(world.call(
        "ada",
        "DELETE",
        &format!("/status_updates/{gid}"),
        &Value::Null,
    ));
    let after = ok(world.get("ada", &format!("{events}?sync={}", sync(&heard))));
    let events = after.json["data"].as_array().unwrap();
    assert!(
        events
            .iter()
            .any(|e| e["resource"]["gid"] == gid && e["action"] == "deleted"),
        "{}",
        after.text
    );
}

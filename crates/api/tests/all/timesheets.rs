//! Weeks of tracked time: the states of their approval, and those of the entries.
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};

const WEEKS: &str = "/timesheet_approval_statuses";

/// Begins the approval of a user's week; returns its path.
fn begin(world: &World, user: &str, first: &str, last: &str) -> String {
    let data = json!({"workspace": world.gid("orchid").to_string(), "user": "me",
        "start_date": first, "end_date": last});
    format!("{WEEKS}/{}", world.post(user, WEEKS, data).gid())
}

/// Changes the state of a week; returns the status of the reply.
fn change(world: &World, user: &str, week: &str, state: &str) -> u16 {
    let data = json!({"approval_status": state, "message": "Thanks"});
    world.call(user, "PUT", week, &data).status
}

/// S262.
#[test]
fn a_week_goes_along_the_states_of_its_approval() {
    let world = World::new(Kind::Memory);
    let week = begin(&world, "mel", "2026-03-02", "2026-03-08");
    let record = world.get("mel", &week).json["data"].clone();
    assert_eq!(record["approval_status"], "DRAFT");
    for (first, last) in [
        ("2026-03-02", "2026-03-08"),
        ("2026-03-03", "2026-03-09"),
        ("2026-03-09", "2026-03-14"),
    ] {
        let data = json!({"workspace": world.gid("orchid").to_string(), "user": "me",
            "start_date": first, "end_date": last});
        assert_eq!(world.post("mel", WEEKS, data).status, 400, "{first}");
    }
    let states = ["draft", "submitted", "approved", "rejected"];
    let steps: &[(&str, &str, &[&str])] = &[
        ("mel", "submitted", &["draft", "approved", "rejected"]),
        ("mel", "draft", &["submitted"]),
        ("mel", "submitted", &["draft", "approved", "rejected"]),
        ("ada", "rejected", &["draft", "submitted"]),
        ("mel", "submitted", &["draft", "approved", "rejected"]),
        ("ada", "approved", &["draft"]),
    ];
    for (user, state, next) in steps {
        assert_eq!(change(&world, user, &week, state), 200, "{state}");
        for other in states.iter().filter(|other| !next.contains(other)) {
            assert_eq!(change(&world, "ada", &week, other), 400, "{state} {other}");
        }
    }
    // A user does not approve, reject or reopen a week.
    assert_eq!(change(&world, "mel", &week, "draft"), 403);
    assert_eq!(change(&world, "ada", &week, "draft"), 200);
    assert_eq!(change(&world, "mel", &week, "submitted"), 200);
    assert_eq!(change(&world, "mel", &week, "approved"), 403);
    assert_eq!(change(&world, "moe", &week, "draft"), 403);
    assert_eq!(world.get("moe", &week).status, 403);
    let list = format!("{WEEKS}?workspace={}", world.gid("orchid"));
    let gid = week.rsplit('/').next().unwrap().to_owned();
    let listed = |user: &str, filter: &str| {
        let gids = world.get(user, &format!("{list}{filter}")).gids();
        gids.contains(&gid)
    };
    assert!(listed("mel", "") && listed("ada", "&approval_statuses=draft,submitted"));
    assert!(listed("ada", "&from_date=2026-03-08&to_date=2026-03-02"));
    assert!(!listed("moe", "") && !listed("ada", "&approval_statuses=approved"));
    assert!(!listed("ada", "&from_date=2026-03-09") && !listed("ada", "&to_date=2026-03-01"));
}

/// S263.
#[test]
fn entries_have_the_state_of_their_week() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/tasks/{}/time_tracking_entries", world.gid("rake"));
        let add = |day: &str| {
            let data = json!({"duration_minutes": 30, "entered_on": day});
            let entry = world.post("mel", &at, data).gid();
            format!("/time_tracking_entries/{entry}")
        };
        let state = |entry: &str| world.get("mel", entry).json["data"]["approval_status"].clone();
        let days = ["2026-03-01", "2026-03-02", "2026-03-08", "2026-03-09"];
        let entries = days.map(add);
        let week = begin(&world, "mel", "2026-03-02", "2026-03-08");
        let other = begin(&world, "moe", "2026-03-02", "2026-03-08");
        let states = || entries.each_ref().map(|entry| state(entry));
        let expected = |within: &str| ["DRAFT", within, within, "DRAFT"].map(|s| json!(s));
        assert_eq!(change(&world, "moe", &other, "submitted"), 200);
        assert_eq!(states(), expected("DRAFT"));
        for (user, next) in [("mel", "submitted"), ("ada", "approved")] {
            assert_eq!(change(&world, user, &week, next), 200);
            assert_eq!(states(), expected(&next.to_ascii_uppercase()));
        }
        let added = add("2026-03-05");
        assert_eq!(state(&added), "APPROVED");
        for (day, expected) in [("2026-03-10", "DRAFT"), ("2026-03-04", "APPROVED")] {
            let data = json!({"entered_on": day});
            assert_eq!(world.call("mel", "PUT", &added, &data).status, 200);
            assert_eq!(state(&added), expected, "{day}");
        }
        let filter = "timesheet_approval_status=APPROVED";
        let of = format!("/time_tracking_entries?{filter}&user={}", world.gid("mel"));
        assert_eq!(world.get("ada", &of).gids().len(), 3);
        assert_eq!(
            world.call("mel", "DELETE", &added, &Value::Null).status,
            200
        );
    }
}

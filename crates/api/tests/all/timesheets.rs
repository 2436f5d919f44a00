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
        assert_eq!(change(&world, "mel", &week, "submitted"), 200);
        assert_eq!(states(), expected("SUBMITTED"));
        let added = add("2026-03-05");
        assert_eq!(state(&added), "SUBMITTED");
        for (day, expected) in [("2026-03-10", "DRAFT"), ("2026-03-04", "SUBMITTED")] {
            let data = json!({"entered_on": day});
            assert_eq!(world.call("mel", "PUT", &added, &data).status, 200);
            assert_eq!(state(&added), expected, "{day}");
        }
        assert_eq!(change(&world, "ada", &week, "approved"), 200);
        assert_eq!(states(), expected("APPROVED"));
        let filter = "timesheet_approval_status=APPROVED";
        let of = format!("/time_tracking_entries?{filter}&user={}", world.gid("mel"));
        assert_eq!(world.get("ada", &of).gids().len(), 3);
    }
}

/// S902. An admin does not change it either, but reopens the week.
#[test]
fn the_entries_of_an_approved_week_stay_as_they_are() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/tasks/{}/time_tracking_entries", world.gid("rake"));
        let data = |day: &str| json!({"duration_minutes": 30, "entered_on": day});
        let add = |day: &str| {
            let entry = world.post("mel", &at, data(day)).gid();
            format!("/time_tracking_entries/{entry}")
        };
        let (within, outside) = (add("2026-03-05"), add("2026-03-10"));
        let week = begin(&world, "mel", "2026-03-02", "2026-03-08");
        for (user, next) in [("mel", "submitted"), ("ada", "approved")] {
            assert_eq!(change(&world, user, &week, next), 200);
        }
        let minutes = || world.get("mel", &within).json["data"]["duration_minutes"].clone();
        let task = format!(
            "/tasks/{}?opt_fields=actual_time_minutes",
            world.gid("rake")
        );
        let total = || world.get("mel", &task).json["data"]["actual_time_minutes"].clone();
        let attempts = || {
            let moved_out = json!({"entered_on": "2026-03-10"});
            let moved_in = json!({"entered_on": "2026-03-06"});
            [
                world.post("mel", &at, data("2026-03-08")).status,
                world
                    .call("mel", "PUT", &within, &json!({"duration_minutes": 31}))
                    .status,
                world
                    .call(
                        "ada",
                        "PUT",
                        &within,
                        &json!({"billable_status": "billable"}),
                    )
                    .status,
                world.call("mel", "PUT", &within, &moved_out).status,
                world.call("mel", "PUT", &outside, &moved_in).status,
                world.call("ada", "DELETE", &within, &Value::Null).status,
            ]
        };
        assert_eq!(attempts(), [403; 6]);
        assert_eq!((minutes(), total()), (json!(30), json!(60)));
        let refused = world.call("ada", "DELETE", &within, &Value::Null);
        assert!(refused.message().contains("approved"), "{}", refused.text);
        assert_eq!(
            world.call("mel", "DELETE", &outside, &Value::Null).status,
            200
        );
        // The week of another user, and the days around this one, are open.
        assert_eq!(world.post("moe", &at, data("2026-03-05")).status, 201);
        assert_eq!(world.post("mel", &at, data("2026-03-09")).status, 201);
        assert_eq!(change(&world, "ada", &week, "draft"), 200);
        let outside = add("2026-03-10");
        let moved_in = json!({"entered_on": "2026-03-06"});
        assert_eq!(world.call("mel", "PUT", &outside, &moved_in).status, 200);
        assert_eq!(
            world.call("mel", "DELETE", &within, &Value::Null).status,
            200
        );
    }
}

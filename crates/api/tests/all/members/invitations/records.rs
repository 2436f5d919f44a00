//! Records that name the invited user: rates, allocations, days out of office, weeks of tracked time.
use super::*;
use workgraph_core::access::Role;
use workgraph_core::rules::membership_rules::join_workspace;

/// Creates a record as ada; returns its path.
fn made(world: &World, to: &str, data: Value) -> String {
    let reply = world.post("ada", to, data);
    assert_eq!(reply.status, 201, "{to}: {}", reply.text);
    format!("{to}/{}", reply.gid())
}

/// Creates a budget of the garden's costs, by its allocations; returns its path.
fn budget(world: &World) -> String {
    let data = json!({"parent": world.gid("garden").to_string(), "budget_type": "cost",
        "estimate": {"source": "capacity_plans"}});
    made(world, "/budgets", data)
}

/// Returns the estimate and the actual cost of a budget.
fn costs(world: &World, budget: &str) -> [f64; 2] {
    let record = world.get("ada", budget).json["data"].clone();
    ["estimate", "actual"].map(|figure| record[figure]["value"].as_f64().unwrap())
}

/// Creates a rate of a user on the garden; returns its path.
fn rate(world: &World, user: &str, rate: u32) -> String {
    let garden = world.gid("garden").to_string();
    made(
        world,
        "/rates",
        json!({"parent": garden, "resource": user, "rate": rate}),
    )
}

/// Creates one record of each kind that names a user; returns their paths, each with the field.
fn give_records(world: &World, user: &str) -> [(String, &'static str); 4] {
    let [orchid, garden] = ["orchid", "garden"].map(|name| world.gid(name).to_string());
    let allocation = json!({"parent": garden, "assignee": user, "start_date": "2026-03-02",
        "end_date": "2026-03-06", "effort": {"type": "hours", "value": 10}});
    let away = json!({"workspace": orchid, "user": user, "start_date": "2031-05-05",
        "end_date": "2031-05-09"});
    let week = json!({"workspace": orchid, "user": user, "start_date": "2026-03-02",
        "end_date": "2026-03-08"});
    [
        (rate(world, user, 60), "resource"),
        (made(world, "/allocations", allocation), "assignee"),
        (made(world, "/ooo_entries", away), "user"),
        (made(world, "/timesheet_approval_statuses", week), "user"),
    ]
}

/// Returns the lists of the records of a user, in the order of [`give_records`].
fn lists(world: &World, user: &str) -> [Vec<String>; 4] {
    let orchid = world.gid("orchid");
    [
        format!("/rates?resource={user}"),
        format!("/allocations?assignee={user}"),
        format!("/ooo_entries?user={user}&workspace={orchid}"),
        format!("/timesheet_approval_statuses?user={user}&workspace={orchid}"),
    ]
    .map(|list| world.get("ada", &list).gids())
}

/// Returns the first vacation of the person's membership.
fn vacation(world: &World, person: &str) -> Value {
    let fields = "opt_fields=vacation_dates";
    let path = orchid(
        world,
        &format!("workspace_memberships?user={person}&{fields}"),
    );
    world.get("ada", &path).json["data"][0]["vacation_dates"]["start_on"].clone()
}

/// S900. The cost of the person's time follows from the rate.
#[test]
fn who_accepts_takes_the_place_of_the_invitation_in_records() {
    for kind in KINDS {
        let world = World::new(kind);
        let (invited, person) = (added(&world, "mel", BEN), ben(&world).to_string());
        let budget = budget(&world);
        let records = give_records(&world, &invited);
        let garden = world.gid("garden").to_string();
        let second = json!({"parent": garden, "assignee": invited, "start_date": "2026-03-09",
            "end_date": "2026-03-13", "effort": {"type": "hours", "value": 5}});
        made(&world, "/allocations", second);
        assert_eq!(costs(&world, &budget), [900.0, 0.0]);
        assert!(answer(&world, ben(&world), &invited, true));
        let listed = lists(&world, &person);
        for ((path, field), listed) in records.iter().zip(&listed) {
            let record = world.get("ada", &format!("{path}?opt_fields={field}"));
            assert_eq!(record.json["data"][field]["gid"], person.as_str(), "{path}");
            assert!(path.ends_with(&listed[0]), "{path}: {listed:?}");
        }
        assert_eq!(listed.map(|list| list.len()), [1, 2, 1, 1]);
        assert_eq!(costs(&world, &budget), [900.0, 0.0]);
        assert_eq!(vacation(&world, &person), "2031-05-05");
        let data = json!({"parent": garden, "resource": person, "rate": 1});
        assert_eq!(
            world.post("ada", "/rates", data).status,
            400,
            "one rate for a user"
        );

        let week = format!("{}?opt_fields=approval_status", records[3].0);
        let submitted = json!({"approval_status": "submitted"});
        assert_eq!(world.call("ben", "PUT", &week, &submitted).status, 200);
        let members = json!({"members": [person]});
        let add = format!("/projects/{garden}/addMembers");
        assert_eq!(world.post("ada", &add, members).status, 200);
        let task = json!({"name": "Dig", "projects": [garden]});
        let task = world.post("ada", "/tasks", task).gid();
        let entry =
            json!({"duration_minutes": 90, "entered_on": "2026-03-04", "attributable_to": garden});
        let entry = world.post(
            "ben",
            &format!("/tasks/{task}/time_tracking_entries"),
            entry,
        );
        assert_eq!(
            entry.json["data"]["approval_status"], "SUBMITTED",
            "{}",
            entry.text
        );
        assert_eq!(costs(&world, &budget), [900.0, 90.0]);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

/// S900. More records than fit one commit.
#[test]
fn many_records_are_moved_in_several_commits() {
    let world = World::new(Kind::Sqlite);
    let (invited, person) = (added(&world, "mel", BEN), ben(&world).to_string());
    let (budget, garden) = (budget(&world), world.gid("garden").to_string());
    rate(&world, &invited, 60);
    for _ in 0..60 {
        let data = json!({"parent": garden, "assignee": invited, "start_date": "2026-03-02",
            "end_date": "2026-03-06", "effort": {"type": "hours", "value": 1}});
        made(&world, "/allocations", data);
    }
    assert!(answer(&world, ben(&world), &invited, true));
    let of_person = format!("/allocations?assignee={person}&limit=100");
    assert_eq!(world.get("ada", &of_person).gids().len(), 60);
    assert_eq!(costs(&world, &budget), [3_600.0, 0.0]);
}

/// S900. A person who came in another way meanwhile keeps what they have of what a user has one of.
#[test]
fn records_of_the_person_stay_before_those_of_the_invitation() {
    for kind in KINDS {
        let world = World::new(kind);
        let (invited, person) = (added(&world, "mel", BEN), ben(&world).to_string());
        let budget = budget(&world);
        let [of_invited, ..] = give_records(&world, &invited);
        writes(&world, ben(&world), |work| {
            join_workspace(
                work,
                ben(&world),
                world.gid("orchid"),
                "Orchid",
                Role::Member,
            )
        });
        let own = rate(&world, &person, 20);
        let week = json!({"workspace": world.gid("orchid").to_string(), "user": person,
            "start_date": "2026-03-02", "end_date": "2026-03-08"});
        let week = made(&world, "/timesheet_approval_statuses", week);
        assert!(answer(&world, ben(&world), &invited, true));
        let [rates, allocations, away, weeks] = lists(&world, &person);
        assert_eq!((rates.len(), weeks.len()), (1, 1));
        assert!(own.ends_with(&rates[0]) && week.ends_with(&weeks[0]));
        assert_eq!((allocations.len(), away.len()), (1, 1));
        assert_eq!(world.get("ada", &of_invited.0).status, 404);
        assert_eq!(vacation(&world, &person), "2031-05-05");
        assert_eq!(costs(&world, &budget), [200.0, 0.0]);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

/// S900. A person who declines leaves no records.
#[test]
fn who_declines_leaves_no_records() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "mel", BEN);
        let budget = budget(&world);
        let records = give_records(&world, &invited);
        assert!(answer(&world, ben(&world), &invited, false));
        for (path, _) in &records {
            assert_eq!(world.get("ada", path).status, 404, "{path}");
        }
        assert_eq!(costs(&world, &budget), [0.0, 0.0]);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

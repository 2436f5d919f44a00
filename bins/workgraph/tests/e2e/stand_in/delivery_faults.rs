//! Faults of deliveries, and of the tokens of events.
use super::client::{StandIn, World};
use serde_json::{Value, json};

/// Makes a project whose webhook leads to the inbox `orders`, and adds a fault of deliveries.
fn with_fault(world: &World<'_>, matches: Value, fault: Value) -> String {
    let project = world.project("Orders");
    world.webhook(&project, "orders");
    let fault = json!({"match": matches, "do": {"webhook": fault}});
    world.control("POST", "/-/faults", fault);
    project
}

/// Adds a task to a project, and lets everything happen; returns the gid.
fn buy(world: &World<'_>, project: &str, name: &str) -> String {
    let task = json!({"name": name, "projects": [project]});
    let made = world.data("POST", "/tasks", task);
    world.advance("0s");
    made["gid"].as_str().unwrap().to_owned()
}

/// Returns the gids of the tasks that were added, by delivery.
fn told(world: &World<'_>) -> Vec<(Vec<String>, bool)> {
    let deliveries = world.deliveries("orders").into_iter();
    let told = deliveries.map(|delivery| {
        let events = delivery["events"].as_array().unwrap().iter();
        let added = events.filter(|event| {
            event["action"] == "added" && event["resource"]["resource_type"] == "task"
        });
        let mut gids: Vec<String> = added
            .map(|event| event["resource"]["gid"].as_str().unwrap().to_owned())
            .collect();
        gids.dedup();
        (gids, delivery["is_signed"] == true)
    });
    told.filter(|(gids, _)| !gids.is_empty()).collect()
}

fn gids(told: &[(Vec<String>, bool)]) -> Vec<&str> {
    told.iter().map(|(gids, _)| &*gids[0]).collect()
}

#[test]
fn a_delivery_comes_twice_or_not_at_all_or_badly_signed() {
    let stand_in = StandIn::start("stand-in-delivery-faults");
    for (fault, expected) in [
        (
            "duplicate",
            vec![("first", true), ("first", true), ("second", true)],
        ),
        ("drop", vec![("second", true)]),
        ("bad_signature", vec![("first", false), ("second", true)]),
    ] {
        let world = stand_in.world(json!({}));
        let project = with_fault(&world, json!({"times": 1}), json!(fault));
        let (first, second) = (buy(&world, &project, "1"), buy(&world, &project, "2"));
        let told = told(&world);
        let told: Vec<(&str, bool)> = told
            .iter()
            .map(|(gids, is_signed)| {
                let name = match &gids[0] {
                    gid if *gid == first => "first",
                    gid if *gid == second => "second",
                    _ => "another",
                };
                (name, *is_signed)
            })
            .collect();
        assert_eq!(told, expected, "{fault}");
        // The service has done its part: nothing is repeated later.
        let before = world.deliveries("orders").len();
        let happened = world.advance("2h")["happened"].clone();
        let repeated = world.deliveries("orders").len() - before;
        let heartbeats = happened.as_array().unwrap().len();
        assert!(repeated <= heartbeats, "{fault}: {happened}");
        assert_eq!(
            world.control("GET", "/-/faults", Value::Null)[0]["fired"],
            1
        );
    }
}

#[test]
fn a_delivery_comes_after_the_next_one_or_late() {
    let stand_in = StandIn::start("stand-in-late-deliveries");
    let world = stand_in.world(json!({}));
    let project = with_fault(&world, json!({"nth": 1}), json!("reorder"));
    let (first, second) = (buy(&world, &project, "1"), buy(&world, &project, "2"));
    assert_eq!(gids(&told(&world)), [&*second, &*first]);

    let world = stand_in.world(json!({}));
    let target = format!(
        "{}/-/inbox/orders",
        world.made["auth_url"].as_str().unwrap()
    );
    let project = with_fault(
        &world,
        json!({"times": 1, "target": target}),
        json!({"late": "10m"}),
    );
    let (first, second) = (buy(&world, &project, "1"), buy(&world, &project, "2"));
    assert_eq!(gids(&told(&world)), [&*second]);
    let due = world.control("GET", "/-/clock", Value::Null)["next_due"].clone();
    assert_eq!(due["what"], "late_delivery", "{due}");
    world.advance("9m");
    assert_eq!(gids(&told(&world)), [&*second]);
    let happened = world.advance("1m")["happened"].clone();
    assert!(happened.to_string().contains("late_delivery"), "{happened}");
    assert_eq!(gids(&told(&world)), [&*second, &*first]);
}

#[test]
fn a_sync_token_is_forgotten_and_the_client_begins_again() {
    let stand_in = StandIn::start("stand-in-sync-expired");
    let world = stand_in.world(json!({}));
    let project = world.project("Orders");
    let events = |sync: &str| {
        let path = format!("/events?resource={project}&sync={sync}");
        world.ask("GET", &path, Value::Null)
    };
    let begun = events("none");
    assert_eq!(begun.status, 412);
    let sync = begun.json()["sync"].as_str().unwrap().to_owned();
    let fault =
        json!({"match": {"operation": "getEvents", "times": 1}, "do": {"error": "sync_expired"}});
    world.control("POST", "/-/faults", fault);
    let task = buy(&world, &project, "1");
    // The error is the true one: the token with it is good from here on.
    let forgotten = events(&sync);
    assert_eq!(forgotten.status, 412, "{}", forgotten.text());
    let fresh = forgotten.json()["sync"].as_str().unwrap().to_owned();
    assert_eq!(events(&fresh).json()["data"], json!([]));
    // Once it is over, even the former token is good again.
    assert!(events(&sync).text().contains(&task));
}

//! The grade of a client, over real requests.
use super::client::{StandIn, World};
use serde_json::{Value, json};

/// Returns the verdict of a rule, with its reason.
fn verdict(world: &World<'_>, rule: &str) -> (String, String) {
    let path = format!("/-/grade?rules={rule}");
    let shown = world.control("GET", &path, Value::Null);
    let one = &shown["rules"][0];
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("rule"), rule);
    (text("verdict"), text("why"))
}

fn expect(world: &World<'_>, rule: &str, expected: &str) {
    let (verdict, why) = verdict(world, rule);
    assert_eq!(verdict, expected, "{rule}: {why}");
}

#[test]
fn a_client_is_judged_by_what_it_sends() {
    let stand_in = StandIn::start("stand-in-grades");
    let world = stand_in.world(json!({}));
    for rule in [
        "retry-after",
        "pages-by-next-page",
        "looks-before-repeating",
    ] {
        expect(&world, rule, "skipped");
    }
    // Pages.
    for n in 0..3 {
        let task =
            json!({"name": format!("{n}"), "workspace": world.workspace(), "assignee": "me"});
        world.data("POST", "/tasks", task);
    }
    let list = format!("/tasks?assignee=me&workspace={}&limit=2", world.workspace());
    let mut page = world.ask("GET", &list, Value::Null).json();
    expect(&world, "pages-by-next-page", "broken");
    while let Some(offset) = page["next_page"]["offset"].as_str() {
        let next = format!("{list}&offset={offset}");
        page = world.ask("GET", &next, Value::Null).json();
    }
    expect(&world, "pages-by-next-page", "holds");
    expect(&world, "no-invented-offsets", "holds");
    world.ask("GET", &format!("{list}&offset=2"), Value::Null);
    expect(&world, "no-invented-offsets", "broken");
    // A create whose reply was lost.
    let fault =
        json!({"match": {"operation": "createTask", "times": 1}, "do": {"cut": "after_commit"}});
    world.control("POST", "/-/faults", fault);
    let task = json!({"name": "Twice", "workspace": world.workspace()});
    assert!(world.try_ask("POST", "/tasks", task.clone()).is_err());
    world.data("POST", "/tasks", task);
    expect(&world, "looks-before-repeating", "broken");
    // A limit.
    let used_up = json!({"token": world.token, "exhaust": "standard"});
    world.control("POST", "/-/limits", used_up);
    let refused = world.ask("GET", "/users/me", Value::Null);
    assert_eq!(refused.status, 429);
    let wait = refused.header("retry-after").unwrap();
    world.advance(&format!("{wait}s"));
    assert_eq!(world.ask("GET", "/users/me", Value::Null).status, 200);
    expect(&world, "retry-after", "holds");
    // As continuous integration shows it.
    let path = format!("{}/-/grade?format=junit", world.path);
    let xml = stand_in.send("GET", &path, &[], "").text();
    assert!(xml.contains(r#"tests="12" failures="2""#), "{xml}");
    // What was forgotten is not judged.
    world.control("DELETE", "/-/requests", Value::Null);
    expect(&world, "no-invented-offsets", "skipped");
}

#[test]
fn a_receiver_and_an_app_are_judged_by_what_they_do() {
    let stand_in = StandIn::start("stand-in-receiver-grades");
    let world = stand_in.world(json!({}));
    let project = world.project("Orders");
    world.webhook(&project, "orders");
    // The inbox accepts whatever is signed or not, and takes every secret that it is sent.
    for fault in ["bad_signature", "second_handshake"] {
        let fault = json!({"match": {"times": 1}, "do": {"webhook": fault}});
        world.control("POST", "/-/faults", fault);
        world.data(
            "POST",
            "/tasks",
            json!({"name": "Buy", "projects": [project]}),
        );
        world.advance("0s");
    }
    expect(&world, "answers-deliveries-in-time", "holds");
    expect(&world, "verifies-signatures", "broken");
    expect(&world, "keeps-the-first-secret", "holds");

    let app = &world.made["apps"][0];
    let (client, redirect) = (&app["client_id"], &app["redirect_uri"]);
    let asked = format!(
        "response_type=code&client_id={}&redirect_uri={}&state=1",
        client.as_str().unwrap(),
        redirect.as_str().unwrap()
    );
    expect(&world, "pkce-and-state", "skipped");
    world.control("POST", "/-/oauth/grant", json!({ "authorize": asked }));
    expect(&world, "pkce-and-state", "broken");
}

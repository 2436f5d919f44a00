//! Worlds of a stand-in in this process: every call of the crate meets the server.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use ureq::Agent;
use workgraph_stand_in::{StandIn, StandInError, World};

const BEGIN: &str = "2026-03-02T09:30:00.000Z";

fn refused(error: StandInError) -> (u16, String) {
    match error {
        StandInError::Refused {
            status, message, ..
        } => (status, message),
        other => panic!("{other}"),
    }
}

async fn project(world: &World) -> String {
    let team = world.json()["teams"][0]["gid"].clone();
    let data = json!({"name": "Orders", "team": team});
    let made = world.api("POST", "/projects", Some(data)).await.unwrap();
    made["gid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_test_controls_the_time_limits_and_faults_of_its_world() {
    let stand_in = StandIn::start().await.unwrap();
    let world = stand_in
        .world()
        .name("one")
        .seed(7)
        .now(BEGIN)
        .await
        .unwrap();
    assert_eq!(world.seed(), 7);
    let clock = world.clock();
    clock.advance("25h").await.unwrap();
    clock.sleep(Duration::from_millis(1500)).await.unwrap();
    assert_eq!(clock.now().await.unwrap(), "2026-03-03T10:30:01.500Z");
    let (status, message) = refused(clock.set(BEGIN).await.unwrap_err());
    assert!(
        status == 400 && message.contains("does not go back"),
        "{message}"
    );
    clock.set("2026-03-04T00:00:00Z").await.unwrap();

    world.limits().exhaust("standard").await.unwrap();
    let me = world.api("GET", "/users/me", None).await;
    assert_eq!(refused(me.unwrap_err()).0, 429);
    clock.advance("1m").await.unwrap();
    world.api("GET", "/users/me", None).await.unwrap();
    world
        .verify(json!({"operation": "getUser", "count": 2}))
        .await
        .unwrap();
    let error = world
        .verify(json!({"operation": "getUser", "status": 500}))
        .await;
    assert!(error.unwrap_err().to_string().contains("/users/me"));
    assert_eq!(world.requests(&[("status", "429")]).await.unwrap().len(), 1);
    world.grade(&["retry-after"]).await.unwrap();

    let id = world
        .faults()
        .add(json!({"error": "internal"}), json!({"times": 1}))
        .await
        .unwrap();
    assert_eq!(
        refused(world.api("GET", "/users/me", None).await.unwrap_err()).0,
        500
    );
    assert_eq!(world.faults().all().await.unwrap()[0]["id"], *id);
    world.faults().delete(&id).await.unwrap();
    world.faults().clear().await.unwrap();
    assert_eq!(world.faults().all().await.unwrap().len(), 0);
    stand_in.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_wait_is_graded_so() {
    let stand_in = StandIn::start().await.unwrap();
    let world = stand_in.world().await.unwrap();
    world.limits().exhaust("standard").await.unwrap();
    for _ in 0..2 {
        world.api("GET", "/users/me", None).await.unwrap_err();
    }
    let error = world.grade(&[]).await.unwrap_err().to_string();
    assert!(error.contains("retry-after"), "{error}");
}

#[tokio::test]
async fn an_inbox_receives_what_was_refused_at_first() {
    let stand_in = StandIn::start().await.unwrap();
    let world = stand_in.world().now(BEGIN).await.unwrap();
    let inbox = world.inbox("orders");
    inbox.answer(500, Some(2)).await.unwrap();
    let project = project(&world).await;
    let webhook = json!({"resource": project, "target": inbox.url()});
    world.api("POST", "/webhooks", Some(webhook)).await.unwrap();
    let task = json!({"name": "Buy", "projects": [project]});
    world.api("POST", "/tasks", Some(task)).await.unwrap();
    world.clock().advance("1h").await.unwrap();
    let events = inbox.events().await.unwrap();
    assert!(
        events
            .iter()
            .any(|event| event["resource"]["resource_type"] == "task")
    );
    let deliveries = inbox.deliveries().await.unwrap();
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery["is_signed"] == true)
    );
}

#[tokio::test]
async fn worlds_begin_with_a_fixture_go_their_own_ways_and_begin_again() {
    let stand_in = StandIn::start().await.unwrap();
    let fixture = json!({
        "people": [{"name": "Ann", "email": "ann@acme.test"}, {"name": "Ben", "email": "ben@acme.test"}],
        "apps": [{"name": "Reports", "redirect_uris": ["https://reports.test/callback"]}],
        "teams": [{"name": "Product"}],
        "projects": [{"name": "Launch", "tasks": [{"name": "Write copy", "assignee": "@Ben"}]}],
    });
    let world = stand_in.world().fixture(fixture).now(BEGIN).await.unwrap();
    let path = format!("/tasks/{}", world.gid("Write copy").unwrap());
    let task = world.api("GET", &path, None).await.unwrap();
    assert_eq!(task["assignee"]["gid"], *world.gid("Ben").unwrap());
    assert_eq!(world.gid("Nobody"), None);

    let copy = stand_in.world().copy_of(&world).await.unwrap();
    world.api("DELETE", &path, None).await.unwrap();
    copy.api("GET", &path, None).await.unwrap();
    world.reset().await.unwrap();
    world.api("GET", &path, None).await.unwrap();

    let tokens = world.grant(json!({"user": "Ben"})).await.unwrap();
    assert!(tokens["access_token"].is_string());
    let app = &world.json()["apps"][0];
    let ask = format!(
        "{}/-/oauth_authorize?response_type=code&client_id={}&redirect_uri={}&state=s1",
        world.auth_url(),
        app["client_id"].as_str().unwrap(),
        app["redirect_uri"].as_str().unwrap(),
    );
    let back = world.authorize(&ask, Some("Ben"), "deny").await.unwrap();
    assert!(
        back.contains("access_denied") && back.contains("state=s1"),
        "{back}"
    );

    let id = copy.id().to_owned();
    copy.delete().await.unwrap();
    assert_eq!(refused(stand_in.find(&id).await.unwrap_err()).0, 404);
    assert_eq!(
        stand_in.worlds().await.unwrap().as_array().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn one_that_runs_elsewhere_is_used_by_its_address() {
    let stand_in = StandIn::start_with(StandIn::builder().set("limits.search", "3"))
        .await
        .unwrap();
    let elsewhere = StandIn::at(&format!("{}/", stand_in.url())).control_token("any");
    let world = elsewhere
        .world()
        .empty()
        .setting("limits.standard_free", 5)
        .await
        .unwrap();
    assert!(world.base_url().starts_with(stand_in.url()));
    assert_eq!(elsewhere.find("w0").await.unwrap().id(), "w0");
    let wrong = elsewhere.world().setting("limits.nothing", 5).await;
    assert!(refused(wrong.unwrap_err()).1.contains("limits.nothing"));
    for url in ["ftp://127.0.0.1/", "no address"] {
        let error = StandIn::at(url).worlds().await.unwrap_err();
        assert!(matches!(error, StandInError::Address { .. }), "{error}");
    }
    let error = StandIn::at("http://127.0.0.1:1")
        .worlds()
        .await
        .unwrap_err();
    assert!(matches!(error, StandInError::Unreachable { .. }), "{error}");
}

/// Sends a form to a world's endpoint, and returns the status and the JSON of the reply.
async fn post_form(world: &World, path: &str, fields: Vec<(&'static str, String)>) -> (u16, Value) {
    let url = format!("{}{path}", world.auth_url());
    let sent = tokio::task::spawn_blocking(move || {
        let config = Agent::config_builder().http_status_as_error(false);
        let agent: Agent = config.build().into();
        let mut reply = agent.post(url).send_form(fields).unwrap();
        let body = reply.body_mut().read_to_string().unwrap();
        (
            reply.status().as_u16(),
            serde_json::from_str(&body).unwrap(),
        )
    });
    sent.await.unwrap()
}

/// Returns the status of a request to the API with a token.
async fn status_with(world: &World, path: &str, token: &str) -> u16 {
    let url = format!("{}{path}", world.base_url());
    let bearer = format!("Bearer {token}");
    let sent = tokio::task::spawn_blocking(move || {
        let config = Agent::config_builder().http_status_as_error(false);
        let agent: Agent = config.build().into();
        let request = agent.get(url).header("Authorization", bearer);
        request.call().unwrap().status().as_u16()
    });
    sent.await.unwrap()
}

#[tokio::test]
async fn a_user_who_was_removed_from_every_workspace_gets_no_token_and_no_claims_until_they_are_back()
 {
    let stand_in = StandIn::start().await.unwrap();
    let fixture = json!({
        "people": [{"name": "Ann", "email": "ann@acme.test"}, {"name": "Ben", "email": "ben@acme.test"}],
        "apps": [{"name": "Reports", "client_id": "1200000000000001", "client_secret": "chosen",
            "redirect_uris": ["https://reports.test/callback"], "scopes": ["openid", "tasks:read"]}],
    });
    let world = stand_in.world().fixture(fixture).now(BEGIN).await.unwrap();
    let granted = json!({"user": "Ben", "scopes": ["openid", "tasks:read"]});
    let tokens = world.grant(granted).await.unwrap();
    let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    let refreshing = || {
        vec![
            ("grant_type", "refresh_token".to_owned()),
            ("client_id", "1200000000000001".to_owned()),
            ("client_secret", "chosen".to_owned()),
            ("refresh_token", refresh.clone()),
        ]
    };
    let workspace = world.json()["workspaces"][0]["gid"].as_str().unwrap();
    let ben = json!({"user": world.gid("Ben").unwrap()});
    for (change, status, is_active) in [
        ("", 200, true),
        ("removeUser", 400, false),
        ("addUser", 200, true),
    ] {
        if !change.is_empty() {
            let path = format!("/workspaces/{workspace}/{change}");
            world.api("POST", &path, Some(ben.clone())).await.unwrap();
        }
        let (answered, reply) = post_form(&world, "/-/oauth_token", refreshing()).await;
        assert_eq!(answered, status, "{change}: {reply}");
        if !is_active {
            assert_eq!(reply["error"], "invalid_grant");
        }
        for token in [&access, &refresh] {
            let asked = vec![("token", token.clone())];
            let (_, reply) = post_form(&world, "/-/token_info", asked).await;
            assert_eq!(reply["active"], is_active, "{change}: {reply}");
        }
        let claims = status_with(&world, "/openid_connect/userinfo", &access).await;
        assert_eq!(claims, if is_active { 200 } else { 401 }, "{change}");
    }
}

/// Sends a request to a world as a raw text, and returns all bytes that come before the connection closes.
async fn raw(world: &World, method: &str, path: &str, headers: &str, body: &str) -> String {
    let address = world.auth_url().trim_start_matches("http://");
    let (host, below) = address.split_once('/').unwrap_or((address, ""));
    let head = format!(
        "{method} /{below}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let host = host.to_owned();
    let exchange = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let (mut reply, mut piece) = (Vec::new(), [0; 4096]);
        // The connection may be reset at its end.
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            reply.extend_from_slice(&piece[..count]);
        }
        String::from_utf8(reply).unwrap()
    });
    exchange.await.unwrap()
}

#[tokio::test]
async fn a_reply_that_is_cut_in_half_arrives_up_to_there() {
    let stand_in = StandIn::start().await.unwrap();
    let world = stand_in.world().await.unwrap();
    let half = json!({"cut": "half"});
    let once = json!({"times": 1, "operation": "getUser"});
    world.faults().add(half, once).await.unwrap();
    let token = format!("Authorization: Bearer {}\r\n", world.token());
    let me = "/api/1.0/users/me";
    let cut = raw(&world, "GET", me, &token, "").await;
    let whole = raw(&world, "GET", me, &token, "").await;
    let body = |reply: &str| reply.split_once("\r\n\r\n").unwrap().1.to_owned();
    let (cut, whole) = (body(&cut), body(&whole));
    assert!(!cut.is_empty());
    assert_eq!(cut, whole[..whole.len() / 2]);
}

#[tokio::test]
async fn an_inbox_has_a_name_of_one_segment_and_takes_nothing_from_pages_of_other_origins() {
    let stand_in = StandIn::start().await.unwrap();
    let world = stand_in.world().await.unwrap();
    let json_type = "Content-Type: application/json\r\n";
    for (path, headers, status) in [
        ("/-/inbox/orders", json_type.to_owned(), "200"),
        ("/-/inbox/orders", String::new(), "200"),
        ("/-/inbox/orders/old", json_type.to_owned(), "404"),
        ("/-/inbox/", json_type.to_owned(), "404"),
        (
            "/-/inbox/orders",
            format!("{json_type}Origin: http://evil.example\r\n"),
            "403",
        ),
    ] {
        let reply = raw(&world, "POST", path, &headers, "{\"events\":[]}").await;
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {reply}"
        );
    }
    assert_eq!(world.inbox("orders").deliveries().await.unwrap().len(), 2);
}

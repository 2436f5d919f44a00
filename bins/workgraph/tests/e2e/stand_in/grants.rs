//! Grants without a browser, and worlds that begin again.
use super::client::{BEGIN, StandIn, World};
use serde_json::{Value, json};

fn form(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("&")
}

/// Asks the token endpoint of a world.
fn token(world: &World<'_>, fields: &[(&str, &str)]) -> (u16, Value) {
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let path = format!("{}/-/oauth_token", world.path);
    let reply = world.stand_in.send("POST", &path, &headers, &form(fields));
    (reply.status, reply.json())
}

fn name_of(stand_in: &StandIn, path: &str, token: &str) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let path = format!("{path}/api/1.0/users/me");
    let reply = stand_in.send("GET", &path, &[("Authorization", &bearer)], "");
    (reply.status, reply.json()["data"]["name"].clone())
}

#[test]
fn a_test_gets_tokens_of_an_app_for_a_user_without_a_browser() {
    let stand_in = StandIn::start("stand-in-grants");
    let world = stand_in.world(json!({}));
    let (app, user) = (&world.made["apps"][0], &world.made["users"][1]);
    let asked = json!({"app": app["name"], "user": user["email"]});
    let tokens = world.control("POST", "/-/oauth/grant", asked);
    let access = tokens["access_token"].as_str().unwrap();
    // The token is one of the world, at its path and at the root, and of no other.
    let other = stand_in.world(json!({}));
    for (path, status) in [(&*world.path, 200), ("", 200), (&*other.path, 401)] {
        let (found, name) = name_of(&stand_in, path, access);
        assert_eq!(found, status, "{path}");
        if found == 200 {
            assert_eq!(name, user["name"], "{path}");
        }
    }
    // It lives as long as any other, and the app renews it.
    world.advance("2h");
    assert_eq!(name_of(&stand_in, &world.path, access).0, 401);
    let (status, renewed) = token(
        &world,
        &[
            ("grant_type", "refresh_token"),
            ("client_id", app["client_id"].as_str().unwrap()),
            ("client_secret", app["client_secret"].as_str().unwrap()),
            ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ],
    );
    assert_eq!(status, 200, "{renewed}");
    let access = renewed["access_token"].as_str().unwrap();
    assert_eq!(name_of(&stand_in, &world.path, access).0, 200);
}

#[test]
fn a_test_decides_for_a_user_about_the_address_to_which_an_app_sends_the_browser() {
    let stand_in = StandIn::start("stand-in-decisions");
    let world = stand_in.world(json!({}));
    let app = &world.made["apps"][0];
    let text = |field: &str| app[field].as_str().unwrap();
    let (client, redirect) = (text("client_id"), text("redirect_uri"));
    // RFC 7636 appendix B.
    let address = format!(
        "{}/-/oauth_authorize?{}",
        world.made["auth_url"].as_str().unwrap(),
        form(&[
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", redirect),
            ("state", "s1"),
            ("code_challenge_method", "S256"),
            (
                "code_challenge",
                "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            ),
        ])
    );
    let decide = |decision: &str| {
        let asked = json!({"authorize": address, "decision": decision});
        let decided = world.control("POST", "/-/oauth/grant", asked);
        decided["redirect"].as_str().unwrap().to_owned()
    };
    let denied = decide("deny");
    assert!(denied.starts_with(redirect), "{denied}");
    assert!(denied.contains("error=access_denied") && denied.contains("state=s1"));
    let allowed = decide("allow");
    assert!(allowed.contains("state=s1"), "{allowed}");
    let code = allowed.split("code=").nth(1).unwrap();
    let code = code.split('&').next().unwrap();
    let redeem = |verifier: &str| {
        token(
            &world,
            &[
                ("grant_type", "authorization_code"),
                ("client_id", client),
                ("client_secret", text("client_secret")),
                ("redirect_uri", redirect),
                ("code", code),
                ("code_verifier", verifier),
            ],
        )
    };
    let (status, reply) = redeem("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(status, 200, "{reply}");
    // What is wrong is said.
    for (body, named) in [
        (
            json!({"authorize": address, "user": "nobody@example.com"}),
            "user: ",
        ),
        (
            json!({"authorize": "https://x/?client_id=1"}),
            "authorize: ",
        ),
        (json!({"app": "4711"}), "client_secret: "),
        (json!({}), "app and authorize"),
        (
            json!({"app": app["name"], "decision": "maybe"}),
            "decision: ",
        ),
        (
            json!({"app": app["name"], "scopes": ["tasks:fly"]}),
            "forbidden_scopes",
        ),
    ] {
        let path = format!("{}/-/oauth/grant", world.path);
        let json = [("Content-Type", "application/json")];
        let reply = stand_in.send("POST", &path, &json, &body.to_string());
        assert_eq!(reply.status, 400, "{body}");
        assert!(reply.text().contains(named), "{body}: {}", reply.text());
    }
}

#[test]
fn tokens_and_codes_lead_to_their_world_from_the_root() {
    let stand_in = StandIn::start("stand-in-root-tokens");
    let worlds = [stand_in.world(json!({})), stand_in.world(json!({}))];
    for world in &worlds {
        let app = &world.made["apps"][0];
        let text = |field: &str| app[field].as_str().unwrap();
        let (id, secret, back) = (
            text("client_id"),
            text("client_secret"),
            text("redirect_uri"),
        );
        let own = format!("client_id={id}&client_secret={secret}");
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let ask = |body: String| {
            let reply = stand_in.send("POST", "/-/oauth_token", &form, &body);
            assert_eq!(reply.status, 200, "{}", reply.text());
            reply.json()
        };
        let authorize = format!(
            "{}/-/oauth_authorize?response_type=code&client_id={id}&redirect_uri={back}&state=s",
            world.made["auth_url"].as_str().unwrap()
        );
        let decided = world.control("POST", "/-/oauth/grant", json!({ "authorize": authorize }));
        let address = decided["redirect"].as_str().unwrap();
        let code = address
            .split("code=")
            .nth(1)
            .unwrap()
            .split('&')
            .next()
            .unwrap();
        let first = ask(format!(
            "grant_type=authorization_code&code={code}&redirect_uri={back}&{own}"
        ));
        let refresh = first["refresh_token"].as_str().unwrap();
        let second = ask(format!(
            "grant_type=refresh_token&refresh_token={refresh}&{own}"
        ));
        let name = world.path.clone();
        world.task(&name);
        for tokens in [&first, &second] {
            let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
            let path = format!(
                "/api/1.0/tasks?assignee=me&workspace={}&limit=100",
                world.workspace()
            );
            let me = stand_in.send(
                "GET",
                "/api/1.0/users/me",
                &[("Authorization", &bearer)],
                "",
            );
            assert_eq!(me.status, 200, "{}", me.text());
            let listed = stand_in.send("GET", &path, &[("Authorization", &bearer)], "");
            assert_eq!(listed.status, 200);
        }
        let revoked = format!("token={refresh}&{own}");
        let reply = stand_in.send("POST", "/-/oauth_revoke", &form, &revoked);
        assert_eq!(reply.status, 200);
        let requests = world.control("GET", "/-/requests", Value::Null);
        let paths: Vec<&str> = requests
            .as_array()
            .unwrap()
            .iter()
            .map(|request| request["path"].as_str().unwrap())
            .collect();
        assert_eq!(
            paths
                .iter()
                .filter(|path| **path == "/-/oauth_token")
                .count(),
            2
        );
        assert!(paths.contains(&"/-/oauth_revoke"));
    }
    // What is too long to be a form is refused for that.
    let long = format!("refresh_token={}", "r".repeat(2 << 20));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let reply = stand_in.send("POST", "/-/oauth_token", &form, &long);
    assert_eq!(reply.status, 413, "{}", reply.text());
}

#[test]
fn a_world_that_is_reset_is_as_it_was_when_it_began() {
    let stand_in = StandIn::start("stand-in-reset");
    let first = stand_in.world(json!({}));
    let kept = first.task("Before the copy");
    first.advance("1h");
    let copy = stand_in.world(json!({"from": first.made["id"]}));
    // The source of the copy goes on, and does not matter.
    first.data("DELETE", &format!("/tasks/{kept}"), Value::Null);
    for (world, has_kept, began) in [
        (&first, false, BEGIN),
        (&copy, true, "2026-03-02T10:30:00.000Z"),
    ] {
        let more = world.task("After");
        world.advance("3h");
        let fault = json!({"match": {}, "do": {"error": "internal"}});
        world.control("POST", "/-/faults", fault);
        let again = world.control("POST", "/-/reset", json!({}));
        for field in ["id", "base_url", "personal_access_token", "seed"] {
            assert_eq!(again[field], world.made[field], "{field}");
        }
        assert_eq!(world.control("GET", "/-/clock", Value::Null)["now"], began);
        assert_eq!(
            world
                .ask("GET", &format!("/tasks/{more}"), Value::Null)
                .status,
            404
        );
        let status = world
            .ask("GET", &format!("/tasks/{kept}"), Value::Null)
            .status;
        assert_eq!(status == 200, has_kept, "{status}");
        // The same requests at the same time give the same again.
        assert_eq!(world.task("After") == more, has_kept);
    }
    let json = [("Content-Type", "application/json")];
    let refused = stand_in.send("POST", "/-/reset", &json, "{}");
    assert_eq!(refused.status, 400, "{}", refused.text());
}

//! Bad inputs to the endpoints of tokens: exchange, refresh, revocation and introspection.
use super::*;

/// B27. B29. B30. B31. B32. B33. B34. B35. B36. B37. B38. B39. S29.
#[test]
fn the_token_endpoint_refuses_what_is_not_right() {
    let (_folder, server) = demo("oauth-token");
    let (app, scoped) = (App::of(&server, 0), App::of(&server, 1));
    let mut browser = Browser::signed_in(&server, 0);
    let mut off = Vec::new();
    let mut expect = |what: &str, reply: &Reply, status: u16, code: &str| {
        let right = reply.status == status
            && (code.is_empty() || error(reply) == code)
            && (code.is_empty() || reply.header("cache-control") == Some("no-store"));
        if !right {
            off.push(format!("{what}: {} {}", reply.status, reply.text()));
        }
    };
    let invalid = "invalid_request";
    let ask = |bytes: Vec<u8>| server.raw_connection().ask(&bytes).unwrap();
    expect("71", &ask(raw("GET", TOKEN, &[], "")), 404, "");
    let json = ("Content-Type", "application/json");
    expect("72", &ask(raw("POST", TOKEN, &[json], "{}")), 400, invalid);
    expect(
        "72 no type",
        &ask(raw("POST", TOKEN, &[], "grant_type=x")),
        400,
        invalid,
    );
    let path = format!("{TOKEN}?client_id={}", app.id);
    expect(
        "73",
        &post(&server, &path, &[("grant_type", "refresh_token")]),
        400,
        invalid,
    );
    expect("74 missing", &app.post(&server, TOKEN, &[]), 400, invalid);
    let password = [("grant_type", "password")];
    expect(
        "74",
        &app.post(&server, TOKEN, &password),
        400,
        "unsupported_grant_type",
    );

    let code = browser.allow(&app, &[]);
    let wrong = app.redeem(&server, &code, &[("client_secret", "wrong")]);
    let unknown = app.redeem(&server, &code, &[("client_id", "12345")]);
    expect("75 wrong", &wrong, 401, "invalid_client");
    expect("75 unknown", &unknown, 401, "invalid_client");
    assert_eq!(wrong.body, unknown.body, "75");
    let basic = ("Authorization", "Basic YTpi");
    let both = form(&[
        ("grant_type", "refresh_token"),
        ("client_id", &app.id),
        ("client_secret", "x"),
    ]);
    expect(
        "76",
        &ask(raw("POST", TOKEN, &[FORM, basic], &both)),
        400,
        invalid,
    );
    expect(
        "78 other client",
        &scoped.redeem(&server, &code, &[]),
        400,
        "invalid_grant",
    );
    expect(
        "79 missing",
        &app.redeem(&server, &code, &[("redirect_uri", "")]),
        400,
        invalid,
    );
    let tokens = app.redeem(&server, &code, &[]);
    expect("the code is whole after all that", &tokens, 200, "");
    let tokens = tokens.json();
    let (access, refresh) = (
        text(&tokens, "access_token"),
        text(&tokens, "refresh_token"),
    );
    expect(
        "77 by another app",
        &scoped.redeem(&server, &code, &[]),
        400,
        "invalid_grant",
    );
    assert!(works(&server, &access));
    expect(
        "77",
        &app.redeem(&server, &code, &[("code_verifier", "")]),
        400,
        "invalid_grant",
    );
    assert!(
        !works(&server, &access),
        "77: what came from the code is dead"
    );
    expect(
        "82 dead",
        &app.refresh(&server, &refresh, &[]),
        400,
        "invalid_grant",
    );

    let other = format!("{}/other", app.redirect);
    for (what, changes) in [
        ("79 another", ("redirect_uri", other.as_str())),
        ("80 wrong", ("code_verifier", &"v".repeat(64) as &str)),
        ("80 missing", ("code_verifier", "")),
        ("81 short", ("code_verifier", VERIFIER.split_at(42).0)),
        ("81 long", ("code_verifier", &"v".repeat(129))),
    ] {
        let code = browser.allow(&app, &[]);
        expect(
            what,
            &app.redeem(&server, &code, &[changes]),
            400,
            "invalid_grant",
        );
        expect(what, &app.redeem(&server, &code, &[]), 400, "invalid_grant");
    }
    let bare = [("code_challenge", ""), ("code_challenge_method", "")];
    let code = browser.allow(&app, &bare);
    expect(
        "80 unasked",
        &app.redeem(&server, &code, &[]),
        400,
        "invalid_grant",
    );

    let [access, refresh] = scoped.tokens(&mut browser, &[("scope", "tasks:read users:read")]);
    expect(
        "82 other client",
        &app.refresh(&server, &refresh, &[]),
        400,
        "invalid_grant",
    );
    expect(
        "82 an access token",
        &scoped.refresh(&server, &access, &[]),
        400,
        "invalid_grant",
    );
    for scope in ["tasks:read openid", "default", "nope"] {
        expect(
            "83",
            &scoped.refresh(&server, &refresh, &[("scope", scope)]),
            400,
            "invalid_scope",
        );
    }
    let narrow = scoped.refresh(&server, &refresh, &[("scope", "tasks:read")]);
    expect("B38", &narrow, 200, "");
    assert!(
        !works(&server, &text(&narrow.json(), "access_token")),
        "B38"
    );
    for (what, body) in [
        ("84 escape", "grant_type=%zz"),
        ("84 NUL", "grant_type=a%00"),
        ("84 UTF-8", "grant_type=%ff"),
        (
            "84 repeated",
            "grant_type=refresh_token&grant_type=refresh_token",
        ),
    ] {
        expect(what, &ask(raw("POST", TOKEN, &[FORM], body)), 400, invalid);
    }
    let huge = format!("x={}", "x".repeat(65 << 10));
    expect(
        "84 size",
        &ask(raw("POST", TOKEN, &[FORM], &huge)),
        413,
        invalid,
    );
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// B36, B39.
#[test]
fn a_refresh_token_buys_again_and_again() {
    let (_folder, server) = demo("oauth-refresh");
    let app = App::of(&server, 0);
    let mut browser = Browser::signed_in(&server, 0);
    let [first, refresh] = app.tokens(&mut browser, &[]);
    let serial = 1_000;
    let buy = || {
        let reply = app.refresh(&server, &refresh, &[]);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let json = reply.json();
        assert_eq!(
            (&json["expires_in"], &json["token_type"]),
            (&3600.into(), &"bearer".into())
        );
        assert!(json.get("refresh_token").is_none(), "{json}");
        assert_eq!(json["data"]["gid"], json["data"]["id"].to_string());
        text(&json, "access_token")
    };
    let mut all: std::collections::BTreeSet<String> = (0..serial).map(|_| buy()).collect();
    let barrier = std::sync::Barrier::new(64);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    buy()
                })
            })
            .collect();
        all.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    });
    all.insert(first);
    assert_eq!(all.len(), serial + 64 + 1, "each is another one");
    assert!(all.iter().step_by(97).all(|token| works(&server, token)));
}

/// B41. B42. B43. B44. B46. B47. S18. S32.
#[test]
fn revocation_and_introspection_tell_what_they_should() {
    let (_folder, server) = demo("oauth-revoke");
    let (app, scoped) = (App::of(&server, 0), App::of(&server, 1));
    let mut browser = Browser::signed_in(&server, 0);
    let [access, refresh] = app.tokens(&mut browser, &[]);
    let revoke = |app: &App, pairs: &[(&str, &str)]| app.post(&server, REVOKE, pairs);
    let status_and_error = |reply: &Reply| (reply.status, error(reply));
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(
        status_and_error(&revoke(&app, &[])),
        is(400, "invalid_request"),
        "85"
    );
    for field in ["client_id", "client_secret"] {
        let reply = revoke(&app, &[(field, ""), ("token", &refresh)]);
        assert_eq!(
            status_and_error(&reply),
            is(400, "invalid_request"),
            "B44 {field}"
        );
    }
    for token in [&access, server.token()] {
        assert_eq!(
            status_and_error(&revoke(&app, &[("token", token)])),
            is(400, "unsupported_token_type"),
            "86"
        );
        assert!(works(&server, token), "86");
    }
    let garbage = [
        "never-issued".to_owned(),
        "x".repeat(4096),
        format!("{refresh}x"),
        refresh.to_uppercase(),
    ];
    for token in &garbage {
        assert_eq!(revoke(&app, &[("token", token)]).status, 200, "87");
    }
    assert_eq!(
        status_and_error(&revoke(&scoped, &[("token", &refresh)])).0,
        400,
        "88"
    );
    assert_eq!(app.refresh(&server, &refresh, &[]).status, 200, "88");
    let wrong = revoke(&app, &[("token", &refresh), ("client_secret", "wrong")]);
    assert_eq!(status_and_error(&wrong), is(401, "invalid_client"), "89");

    let info = |token: &str| post(&server, INFO, &[("token", token)]);
    assert_eq!(
        status_and_error(&post(&server, INFO, &[])),
        is(400, "invalid_request"),
        "90"
    );
    for (token, kind, client) in [
        (access.as_str(), "bearer", true),
        (&refresh, "refresh", true),
        (server.token(), "bearer", false),
    ] {
        let json = info(token).json();
        assert_eq!(
            (&json["active"], &json["token_type"]),
            (&true.into(), &kind.into()),
            "{json}"
        );
        assert_eq!(json.get("client_id").is_some(), client, "B47 {json}");
    }
    assert_eq!(revoke(&app, &[("token", &refresh)]).status, 200);
    assert_eq!(
        revoke(&app, &[("token", &refresh)]).status,
        200,
        "B41: twice"
    );
    assert!(!works(&server, &access), "B41");
    for token in garbage.iter().chain([&access, &refresh]) {
        let reply = info(token);
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (200, "{\"active\":false}"),
            "91"
        );
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
}

/// B48, B64.
#[test]
fn an_address_asks_about_sixty_tokens_a_minute() {
    let folder = Folder::new("oauth-asks");
    let server = Server::start(&folder, WIDE);
    let ask = || post(&server, INFO, &[("token", "guess")]);
    for _ in 0..60 {
        assert_eq!(ask().status, 200);
    }
    let late = ask();
    assert_eq!(
        (late.status, error(&late).as_str()),
        (429, "temporarily_unavailable")
    );
    let wait: u64 = late.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let app = App::of(&server, 0);
    for _ in 0..60 {
        assert_eq!(
            app.refresh(&server, "x", &[("client_secret", "guess")])
                .status,
            401
        );
    }
    let late = app.refresh(&server, "x", &[("client_secret", "guess")]);
    assert_eq!(late.status, 429, "{}", late.text());
    let right = app.refresh(&server, "x", &[]);
    assert_eq!(
        error(&right),
        "invalid_grant",
        "whoever has the secret is not held up"
    );
}

//! Bad inputs to the authorization server: each row is a request, and the answer it must get.
//!
//! All rows are tried before the test fails, so that one run shows every row that is off.
use super::{
    AUTHORIZE, App, Browser, FORM, OOB, VERIFIER, demo, error, form, hidden, pairs, post, query,
    raw, works,
};
use crate::common::{Folder, Reply, Server, WIDE};

const TOKEN: &str = "/-/oauth_token";
const REVOKE: &str = "/-/oauth_revoke";
const INFO: &str = "/-/token_info";

/// Plain text, no redirect, nothing of the request in it.
fn is_plain(reply: &Reply) -> bool {
    let kind = reply.header("content-type").unwrap_or_default();
    reply.status == 400
        && kind.starts_with("text/plain")
        && reply.header("location").is_none()
        && !reply.text().contains("evil")
}

/// B01. B02. B03. B06. S26.
#[test]
fn nobody_is_sent_anywhere_before_app_and_url_are_known() {
    let (_folder, server) = demo("oauth-plain");
    let app = App::of(&server, 0);
    let mut browser = Browser::signed_in(&server, 0);
    let mut off = Vec::new();
    let mut ask = |what: &str, path: &str| {
        let reply = browser.get(path);
        if !is_plain(&reply) {
            off.push(format!("{what}: {} {}", reply.status, reply.text()));
        }
    };
    for id in [
        "",
        "evil",
        "0",
        "1",
        "-1",
        "99999999999999999999",
        "9007199254740993",
    ] {
        ask(&format!("client_id={id}"), &app.asks(&[("client_id", id)]));
    }
    ask(
        "client_id with a zero",
        &app.asks(&[("client_id", &format!("0{}", app.id))]),
    );
    let good = &app.redirect;
    let moved = [
        format!("{good}/"),
        format!("{good}?evil"),
        format!("{good}#evil"),
        format!("{good}%20"),
        format!("{good}\t"),
        good.replace("callback", "Callback"),
        good.replace("callback", "..;/callback"),
        good.replace("callback", "./callback"),
        good.replace("callback", "%63allback"),
        good.replace("http", "HTTP"),
        good.replace("http", "https"),
        good.replace(":8099", ":8098"),
        good.replace(":8099", ""),
        good.replace("127.0.0.1", "127.0.0.1@evil.example"),
        good.replace("127.0.0.1", "evil.example@@127.0.0.1"),
        good.replace("127.0.0.1", "localhost"),
        good.replace("127.0.0.1", "127.1"),
        good.replace("//", "/\\"),
        "javascript:alert('evil')".to_owned(),
        "//evil.example/callback".to_owned(),
        String::new(),
    ];
    for url in &moved {
        ask(url, &app.asks(&[("redirect_uri", url)]));
    }
    let twice = form(&[("client_id", &app.id)]);
    ask("client_id twice", &format!("{}&{twice}", app.asks(&[])));
    let twice = form(&[("redirect_uri", &app.redirect)]);
    ask("redirect_uri twice", &format!("{}&{twice}", app.asks(&[])));
    ask("a broken escape", &format!("{}&x=%zz", app.asks(&[])));
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// A request by an app, with changes, and the error that it gets.
type Refused<'a> = (&'a str, &'a App, &'a [(&'a str, &'a str)], &'a str);

/// B05. B06. B08. B09. B11. B12. B13. B14. S27. S59.
#[test]
fn every_other_error_goes_back_to_the_app() {
    let (_folder, server) = demo("oauth-redirect");
    let full = App::of(&server, 0);
    let scoped = App::of(&server, 1);
    let mut browser = Browser::signed_in(&server, 0);
    let issuer = server.demo("/base_url");
    let long = "x".repeat(2049);
    let invalid = "invalid_request";
    let rows: [Refused<'_>; 20] = [
        (
            "62 token",
            &full,
            &[("response_type", "token")],
            "unsupported_response_type",
        ),
        ("62 none", &full, &[("response_type", "")], invalid),
        (
            "62 code twice in it",
            &full,
            &[("response_type", "code code")],
            "unsupported_response_type",
        ),
        ("63", &full, &[("state", "")], invalid),
        ("63 long", &full, &[("state", &long)], invalid),
        (
            "64 plain",
            &full,
            &[("code_challenge_method", "plain")],
            invalid,
        ),
        ("64 short", &full, &[("code_challenge", "short")], invalid),
        ("64 method alone", &full, &[("code_challenge", "")], invalid),
        (
            "64 challenge alone",
            &full,
            &[("code_challenge_method", "")],
            invalid,
        ),
        (
            "65 unregistered",
            &scoped,
            &[("scope", "projects:write")],
            "forbidden_scopes",
        ),
        (
            "65 unknown",
            &scoped,
            &[("scope", "tasks:read nope")],
            "forbidden_scopes",
        ),
        (
            "65 case",
            &scoped,
            &[("scope", "Tasks:read")],
            "forbidden_scopes",
        ),
        ("65 none", &scoped, &[], "forbidden_scopes"),
        (
            "65 default",
            &scoped,
            &[("scope", "default")],
            "forbidden_scopes",
        ),
        (
            "65 full",
            &full,
            &[("scope", "tasks:read")],
            "forbidden_scopes",
        ),
        (
            "65 full openid",
            &full,
            &[("scope", "openid")],
            "forbidden_scopes",
        ),
        (
            "66 nonce",
            &scoped,
            &[("scope", "openid"), ("response_type", "id_token")],
            invalid,
        ),
        (
            "66 openid",
            &scoped,
            &[
                ("scope", "tasks:read"),
                ("response_type", "code id_token"),
                ("nonce", "n"),
            ],
            "invalid_scope",
        ),
        (
            "66 in a query",
            &scoped,
            &[
                ("scope", "openid"),
                ("response_type", "id_token"),
                ("nonce", "n"),
                ("response_mode", "query"),
            ],
            invalid,
        ),
        (
            "a request object",
            &full,
            &[("request", "x")],
            "request_not_supported",
        ),
    ];
    let mut off = Vec::new();
    for (what, app, changes, code) in rows {
        let reply = browser.get(&app.asks(changes));
        let sent = query(&reply);
        let stated = !what.starts_with("63");
        let right = reply.status == 303
            && sent.get("error").map(String::as_str) == Some(code)
            && sent.get("iss") == Some(&issuer)
            && sent.contains_key("error_description")
            && (!stated || sent.get("state").map(String::as_str) == Some("a b&c"));
        if !right {
            off.push(format!(
                "{what}: {} {:?}",
                reply.status,
                reply.header("location")
            ));
        }
    }
    for name in [
        "scope",
        "state",
        "response_type",
        "nonce",
        "code_challenge",
        "prompt",
    ] {
        let reply = browser.get(&format!("{}&{name}=code&{name}=code", full.asks(&[])));
        if query(&reply).get("error").map(String::as_str) != Some(invalid) {
            off.push(format!("67 {name}: {:?}", reply.header("location")));
        }
    }
    let native = App::of(&server, 2);
    let bare = [("code_challenge", ""), ("code_challenge_method", "")];
    let reply = browser.get(&native.asks(&bare));
    if reply.header("location").is_some() || !reply.text().contains(invalid) {
        off.push(format!("B12: {}", reply.text()));
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// B07. B10. B24. S25.
#[test]
fn answers_go_where_they_belong() {
    let (_folder, server) = demo("oauth-answers");
    let mut browser = Browser::signed_in(&server, 0);
    let scoped = App::of(&server, 1);
    let both = [
        ("scope", "openid"),
        ("response_type", "id_token code"),
        ("nonce", "n"),
    ];
    let reply = browser.consent(&scoped, &both, "allow");
    let location = reply.header("location").unwrap();
    let (start, fragment) = location.split_once('#').unwrap();
    assert!(
        start.contains("code=wgc_") && !start.contains("id_token"),
        "{location}"
    );
    assert!(pairs(fragment)["id_token"].starts_with("eyJ"), "{location}");
    assert_eq!(pairs(fragment)["state"], "a b&c");
    let all = [
        &both[..],
        &[
            ("response_mode", "form_post"),
            ("unknown", "x"),
            ("claims", ""),
        ],
    ]
    .concat();
    let page = browser.consent(&scoped, &all, "allow");
    assert_eq!((page.status, page.header("location")), (200, None));
    let fields = hidden(&page.text());
    for name in ["code", "id_token", "state", "iss"] {
        assert!(fields.iter().any(|(n, _)| n == name), "{name}");
    }
    let native = App::of(&server, 2);
    assert_eq!(native.redirect, OOB);
    let page = browser.consent(&native, &[], "allow");
    let text = page.text();
    let (head, body) = text.split_once("</head>").unwrap();
    assert!(!head.contains("wgc_") && body.contains("wgc_"), "{text}");
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let page = browser.consent(&native, &[], "deny");
    assert!(page.text().contains("access_denied") && page.header("location").is_none());
}

/// B20.
#[test]
fn consent_is_given_once_on_our_own_page() {
    let (_folder, server) = demo("oauth-consent");
    let app = App::of(&server, 0);
    let mut browser = Browser::signed_in(&server, 0);
    let denied = browser.consent(&app, &[], "deny");
    assert_eq!(
        (denied.status, query(&denied)["error"].as_str()),
        (303, "access_denied")
    );
    assert_eq!(query(&denied)["state"], "a b&c");

    let page = browser.get(&app.asks(&[]));
    let mut other = Browser::signed_in(&server, 1);
    let foreign = other.submit(AUTHORIZE, &page, &[("decision", "allow")]);
    let fields = hidden(&page.text());
    let sent = |browser: &mut Browser<'_>, leave: &str, headers: &[(&str, &str)]| {
        let kept = fields.iter().filter(|(n, _)| n != leave);
        let kept: Vec<_> = kept.map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let body = form(&[&kept[..], &[("decision", "allow")]].concat());
        browser.ask("POST", AUTHORIZE, &[&[FORM], headers].concat(), &body)
    };
    let no_ticket = sent(&mut browser, "ticket", &[]);
    let evil = sent(&mut browser, "", &[("Origin", "https://evil.example")]);
    let from_evil = sent(&mut browser, "", &[("Referer", "https://evil.example/")]);
    let sandbox = sent(
        &mut browser,
        "",
        &[("Origin", "null"), ("Sec-Fetch-Site", "cross-site")],
    );
    let nobody = sent(&mut Browser::new(&server), "", &[]);
    let swapped = {
        let asks = app.asks(&[("state", "other")]);
        let other = asks.split_once('?').unwrap().1.to_owned();
        let ticket = &fields.iter().find(|(n, _)| n == "ticket").unwrap().1;
        let body = form(&[
            ("request", &other),
            ("ticket", ticket),
            ("decision", "allow"),
        ]);
        browser.ask("POST", AUTHORIZE, &[FORM], &body)
    };
    for (what, reply) in [
        ("another user", &foreign),
        ("no ticket", &no_ticket),
        ("another origin", &evil),
        ("another page", &from_evil),
        ("a sandbox", &sandbox),
        ("nobody", &nobody),
        ("another request", &swapped),
    ] {
        assert_eq!(
            (reply.status, reply.header("location")),
            (403, None),
            "{what}"
        );
        assert!(!reply.text().contains("wgc_"), "{what}");
    }
    let first = sent(&mut browser, "", &[]);
    assert_eq!(first.status, 303, "{}", first.text());
    let again = sent(&mut browser, "", &[]);
    assert_eq!(
        (again.status, again.header("location")),
        (403, None),
        "a replay"
    );
    for method in ["HEAD", "PUT", "DELETE"] {
        let line = server
            .line()
            .ask(&raw(method, &app.asks(&[]), &[("Connection", "close")], ""));
        // A reply to HEAD has no body to read.
        assert!(
            line.map_or_else(|e| e.contains("closed within a body"), |r| r.status == 404),
            "{method}"
        );
    }
}

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
    let ask = |bytes: Vec<u8>| server.line().ask(&bytes).unwrap();
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
        super::text(&tokens, "access_token"),
        super::text(&tokens, "refresh_token"),
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
        !works(&server, &super::text(&narrow.json(), "access_token")),
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
        super::text(&json, "access_token")
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
    let told = |reply: &Reply| (reply.status, error(reply));
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(told(&revoke(&app, &[])), is(400, "invalid_request"), "85");
    for field in ["client_id", "client_secret"] {
        let reply = revoke(&app, &[(field, ""), ("token", &refresh)]);
        assert_eq!(told(&reply), is(400, "invalid_request"), "B44 {field}");
    }
    for token in [&access, server.token()] {
        assert_eq!(
            told(&revoke(&app, &[("token", token)])),
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
    assert_eq!(told(&revoke(&scoped, &[("token", &refresh)])).0, 400, "88");
    assert_eq!(app.refresh(&server, &refresh, &[]).status, 200, "88");
    let wrong = revoke(&app, &[("token", &refresh), ("client_secret", "wrong")]);
    assert_eq!(told(&wrong), is(401, "invalid_client"), "89");

    let info = |token: &str| post(&server, INFO, &[("token", token)]);
    assert_eq!(
        told(&post(&server, INFO, &[])),
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

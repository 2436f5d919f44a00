//! Bad inputs to the authorization server: each row is a request, and the answer it must get.
//!
//! All rows are tried before the test fails, so that one run shows every row that is off.
mod tokens;

use super::{
    AUTHORIZE, App, Browser, FORM, OOB, VERIFIER, demo, error, form, hidden, pairs, post, query,
    raw, text, works,
};
use crate::common::{Folder, Reply, Server, WIDE};

const TOKEN: &str = "/-/oauth_token";
const REVOKE: &str = "/-/oauth_revoke";
const INFO: &str = "/-/token_info";

/// Returns true if a reply is plain text, no redirect, and has nothing of the request in it.
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

/// B05. B06. B08. B09. B11. B12. B13. B14. B76. B80. S27. S59.
#[test]
fn every_other_error_goes_back_to_the_app() {
    let (_folder, server) = demo("oauth-redirect");
    let full = App::of(&server, 0);
    let scoped = App::of(&server, 1);
    let mut browser = Browser::signed_in(&server, 0);
    let issuer = server.demo("/base_url");
    let long = "x".repeat(8193);
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
        let openid = changes.contains(&("scope", "openid"));
        let right = reply.status == 303
            && sent.get("error").map(String::as_str) == Some(code)
            && sent.get("iss") == Some(&issuer).filter(|_| openid)
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
    // A demo excuses apps with another URL besides.
    let excused = [("redirect_uri", OOB), bare[0], bare[1]];
    let reply = browser.get(&full.asks(&excused));
    if !reply.text().contains("asks for access") {
        off.push(format!("B80: {}", reply.text()));
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
        let connection = server.raw_connection().ask(&raw(
            method,
            &app.asks(&[]),
            &[("Connection", "close")],
            "",
        ));
        // A reply to HEAD has no body to read.
        assert!(
            connection.map_or_else(|e| e.contains("closed within a body"), |r| r.status == 404),
            "{method}"
        );
    }
}

//! The authorization request and the answers to it.
use proptest::prelude::*;
use workgraph_auth::authorize::{MAX_ECHO_BYTES, client, is_openid};
use workgraph_auth::scope::SCOPES;
use workgraph_auth::{
    App, Authorization, AuthorizationRequest, AuthorizeError, Delivery, Loopback, Next, Pair,
    PlainError, RedirectUri, ResponseType, ScopeSet, Secret, Session, Verified,
};

use crate::oauth::{ISSUER, OOB, REDIRECT, app, asks, pairs, read, with};
use crate::{at, random};

const SCOPES_40: &str = "tasks:read tasks:write openid";

fn code() -> Secret {
    Secret::new("wgc_code".to_owned())
}

/// The error that a request gets, with the URL it is sent to.
fn refused(app: App, params: &[Pair]) -> (String, String) {
    let refused = read(app, params).map(|_| ()).unwrap_err();
    let Delivery::Redirect(url) = refused.deliver(ISSUER) else {
        panic!("no redirect");
    };
    (refused.error().code().to_owned(), url)
}

fn code_of(params: &[Pair]) -> String {
    refused(app(40, SCOPES_40), params).0
}

fn sent_to(delivery: Delivery) -> String {
    match delivery {
        Delivery::Redirect(url) => url,
        other => panic!("no redirect but {other:?}"),
    }
}

/// Decodes the fields of a query or fragment.
fn fields(text: &str) -> Vec<Pair> {
    let decode = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let [first, tail @ ..] = rest {
            rest = tail;
            bytes.push(*first);
            if *first == b'%' {
                let hex = std::str::from_utf8(&rest[..2]).unwrap();
                *bytes.last_mut().unwrap() = u8::from_str_radix(hex, 16).unwrap();
                rest = &rest[2..];
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    text.split('&')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

#[test]
fn b01_an_unknown_client_is_told_in_plain_text() {
    for id in [
        "",
        "0x28",
        "40 ",
        " 40",
        "+40",
        "040",
        "4e1",
        "٤٠",
        "-1",
        "18446744073709551616",
        "app",
        "40\0",
    ] {
        assert_eq!(
            client(&with(&asks(), "client_id", Some(id))),
            Err(PlainError::Client),
            "{id}"
        );
    }
    assert_eq!(
        client(&with(&asks(), "client_id", None)),
        Err(PlainError::Client)
    );
    assert_eq!(client(&asks()), Ok(40));
    for found in [
        None,
        Some(app(41, SCOPES_40)),
        Some(App {
            disabled_at: Some(at(0)),
            ..app(40, SCOPES_40)
        }),
    ] {
        assert_eq!(Verified::check(&asks(), found), Err(PlainError::Client));
    }
    for n in 0..1000 {
        let id = format!("<{n}>{:?}", random(n));
        let error = client(&with(&asks(), "client_id", Some(&id))).unwrap_err();
        assert_eq!(error.to_string(), PlainError::Client.to_string());
    }
}

#[test]
fn b03_a_missing_redirect_uri_is_told_in_plain_text() {
    let one = App {
        redirects: vec![RedirectUri::register(REDIRECT, Loopback::Refused).unwrap()],
        ..app(40, SCOPES_40)
    };
    for value in [None, Some("")] {
        let params = with(&asks(), "redirect_uri", value);
        assert_eq!(
            Verified::check(&params, Some(one.clone())),
            Err(PlainError::Redirect)
        );
    }
}

#[test]
fn b05_every_other_error_goes_back_with_state_and_issuer() {
    let base = asks();
    let id_token = |list: &[Pair]| {
        with(
            &with(list, "response_type", Some("id_token")),
            "nonce",
            Some("n"),
        )
    };
    let long = "s".repeat(MAX_ECHO_BYTES + 1);
    let table: Vec<(&str, Vec<Pair>)> = vec![
        ("invalid_request", with(&base, "response_type", None)),
        (
            "unsupported_response_type",
            with(&base, "response_type", Some("token")),
        ),
        (
            "unsupported_response_type",
            with(&base, "response_type", Some("code token")),
        ),
        (
            "invalid_request",
            with(&base, "response_mode", Some("web_message")),
        ),
        (
            "invalid_request",
            with(&base, "code_challenge_method", None),
        ),
        ("invalid_request", with(&base, "code_challenge", None)),
        (
            "invalid_request",
            with(&base, "code_challenge_method", Some("plain")),
        ),
        (
            "invalid_request",
            with(&base, "code_challenge_method", Some("s256")),
        ),
        (
            "invalid_request",
            with(&base, "code_challenge", Some("short")),
        ),
        ("forbidden_scopes", with(&base, "scope", None)),
        ("forbidden_scopes", with(&base, "scope", Some("users:read"))),
        ("invalid_scope", id_token(&base)),
        (
            "invalid_request",
            with(
                &id_token(&with(&base, "scope", Some("openid"))),
                "nonce",
                None,
            ),
        ),
        ("invalid_request", with(&base, "nonce", Some(&long))),
        ("invalid_request", with(&base, "max_age", Some("soon"))),
        ("invalid_request", with(&base, "prompt", Some("none login"))),
        (
            "request_not_supported",
            with(&base, "request", Some("e30.")),
        ),
        (
            "request_uri_not_supported",
            with(&base, "request_uri", Some("https://a.example")),
        ),
    ];
    for (expected, params) in table {
        let (error, url) = refused(app(40, SCOPES_40), &params);
        assert_eq!(error, expected, "{params:?}");
        let query = url.strip_prefix("https://app.example/cb?").unwrap();
        let fields = fields(query.split('#').next().unwrap());
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["error", "error_description", "state", "iss"]);
        assert_eq!(
            (
                fields[0].1.as_str(),
                fields[2].1.as_str(),
                fields[3].1.as_str()
            ),
            (expected, "xyz", ISSUER)
        );
        assert!(
            fields[1]
                .1
                .bytes()
                .all(|b| matches!(b, 0x20..=0x7e) && b != b'"' && b != b'\\')
        );
    }
    let request = read(app(40, SCOPES_40), &base).unwrap();
    let url = sent_to(request.refuse(AuthorizeError::Denied).deliver(ISSUER));
    assert!(
        url.starts_with("https://app.example/cb?error=access_denied&"),
        "{url}"
    );
}

#[test]
fn b06_a_repeated_parameter_is_an_error() {
    for name in ["client_id", "redirect_uri"] {
        let mut params = asks();
        let twin = params.iter().find(|(n, _)| n == name).unwrap().clone();
        params.push(twin);
        assert!(
            Verified::check(&params, Some(app(40, SCOPES_40))).is_err(),
            "{name}"
        );
    }
    let known = [
        "response_type",
        "state",
        "scope",
        "code_challenge",
        "code_challenge_method",
        "nonce",
        "prompt",
        "max_age",
        "login_hint",
        "response_mode",
        "request",
        "request_uri",
    ];
    for name in known {
        for value in ["", "x"] {
            let mut params = with(&asks(), name, Some(value));
            params.push((name.to_owned(), value.to_owned()));
            let (error, url) = refused(app(40, SCOPES_40), &params);
            assert_eq!(error, "invalid_request", "{name}");
            assert_eq!(url.contains("&state="), name != "state");
        }
    }
}

#[test]
fn b07_empty_is_omitted_and_unknown_is_ignored() {
    let plain = read(app(40, SCOPES_40), &asks()).unwrap();
    let mut more = asks();
    for name in [
        "nonce",
        "prompt",
        "max_age",
        "login_hint",
        "response_mode",
        "request",
    ] {
        more.push((name.to_owned(), String::new()));
    }
    for _ in 0..2 {
        more.insert(0, ("access_type".to_owned(), "offline\0<x>".to_owned()));
    }
    assert_eq!(read(app(40, SCOPES_40), &more).unwrap(), plain);
    for name in ["state", "response_type", "scope"] {
        let (empty, none) = (with(&asks(), name, Some("")), with(&asks(), name, None));
        assert_eq!(code_of(&empty), code_of(&none), "{name}");
    }
}

proptest! {
    #[test]
    fn b08_state_comes_back_as_it_was(state in ".{1,200}|[%&=#+? \\x00-\\x1f]{1,40}") {
        let request = read(app(40, SCOPES_40), &with(&asks(), "state", Some(&state))).unwrap();
        let url = sent_to(request.deliver(ISSUER, Some(&code()), None));
        let (_, query) = url.split_once('?').unwrap();
        prop_assert!(url.is_ascii() && !url.contains(['#', ' ', '\n']));
        prop_assert_eq!(fields(query), pairs(&[("code", "wgc_code"), ("state", &state), ("iss", ISSUER)]));
    }

    #[test]
    fn b15_the_scopes_are_those_asked_for(picks in prop::collection::vec(0..SCOPES.len(), 0..6), own in prop::collection::vec(0..SCOPES.len(), 1..12)) {
        let text = |picks: &[usize]| picks.iter().map(|at| SCOPES[*at].name).collect::<Vec<_>>().join(" ");
        let fits = !picks.is_empty() && picks.iter().all(|pick| own.contains(pick));
        let asked = text(&picks);
        let request = read(app(40, &text(&own)), &with(&asks(), "scope", Some(&asked)));
        prop_assert_eq!(request.is_ok(), fits);
        if let Ok(request) = request {
            prop_assert_eq!(request.scopes(), ScopeSet::parse(&asked).unwrap());
        }
    }
}

#[test]
fn b08_state_is_required_and_has_a_limit() {
    let most = "s".repeat(MAX_ECHO_BYTES);
    assert!(read(app(40, SCOPES_40), &with(&asks(), "state", Some(&most))).is_ok());
    let over = format!("{most}s");
    for state in [None, Some(over.as_str())] {
        let (error, url) = refused(app(40, SCOPES_40), &with(&asks(), "state", state));
        assert_eq!(error, "invalid_request");
        assert!(!url.contains("&state="), "{url}");
    }
}

#[test]
fn b09_the_response_type_is_a_set() {
    let both = Some(ResponseType {
        code: true,
        id_token: true,
    });
    let table = [
        (
            "code",
            Some(ResponseType {
                code: true,
                id_token: false,
            }),
        ),
        (
            "id_token",
            Some(ResponseType {
                code: false,
                id_token: true,
            }),
        ),
        ("code id_token", both),
        ("id_token code", both),
        ("", None),
        ("token", None),
        ("none", None),
        ("Code", None),
        ("code code", None),
        ("code  id_token", None),
        ("code,id_token", None),
        (" code", None),
        ("code token", None),
        ("code id_token token", None),
        ("id_token token", None),
    ];
    for (text, expected) in table {
        assert_eq!(ResponseType::parse(text), expected, "{text:?}");
    }
}

#[test]
fn b10_an_id_token_never_travels_in_a_query() {
    let base = with(&with(&asks(), "scope", Some("openid")), "nonce", Some("n"));
    let deliver = |kind, mode| {
        let params = with(
            &with(&base, "response_type", Some(kind)),
            "response_mode",
            mode,
        );
        read(app(40, SCOPES_40), &params)
            .map(|request| request.deliver(ISSUER, Some(&code()), Some("a.b.c")))
    };
    let iss = "iss=https%3A%2F%2Fwg.example%2Fapi%2F1.0";
    let table = [
        ("code", None, format!("?code=wgc_code&state=xyz&{iss}")),
        (
            "code",
            Some("query"),
            format!("?code=wgc_code&state=xyz&{iss}"),
        ),
        (
            "code",
            Some("fragment"),
            format!("#code=wgc_code&state=xyz&{iss}"),
        ),
        (
            "id_token",
            None,
            format!("?state=xyz&{iss}#id_token=a.b.c&state=xyz&{iss}"),
        ),
        (
            "code id_token",
            None,
            format!("?code=wgc_code&state=xyz&{iss}#id_token=a.b.c&state=xyz&{iss}"),
        ),
        (
            "code id_token",
            Some("fragment"),
            format!("#code=wgc_code&id_token=a.b.c&state=xyz&{iss}"),
        ),
        (
            "id_token",
            Some("fragment"),
            format!("#id_token=a.b.c&state=xyz&{iss}"),
        ),
    ];
    for (kind, mode, tail) in table {
        assert_eq!(
            sent_to(deliver(kind, mode).unwrap()),
            format!("{REDIRECT}{tail}"),
            "{kind} {mode:?}"
        );
    }
    for kind in ["id_token", "code id_token"] {
        assert_eq!(
            deliver(kind, Some("query")).unwrap_err().error().code(),
            "invalid_request"
        );
    }
    let form = deliver("code id_token", Some("form_post")).unwrap();
    let fields = vec![
        ("code", "wgc_code".to_owned()),
        ("id_token", "a.b.c".to_owned()),
        ("state", "xyz".to_owned()),
        ("iss", ISSUER.to_owned()),
    ];
    assert_eq!(
        form,
        Delivery::Form {
            action: REDIRECT.to_owned(),
            fields
        }
    );
}

#[test]
fn an_error_of_an_id_token_request_is_where_both_kinds_of_client_look() {
    let params = with(&asks(), "response_type", Some("id_token"));
    let (_, url) = refused(app(40, SCOPES_40), &params);
    let (query, fragment) = url.split_once('?').unwrap().1.split_once('#').unwrap();
    assert_eq!(fields(query), fields(fragment));
    let params = with(&params, "response_mode", Some("fragment"));
    assert!(
        refused(app(40, SCOPES_40), &params)
            .1
            .starts_with("https://app.example/cb#error=")
    );
}

#[test]
fn a_registered_query_stays() {
    for (registered, start) in [
        (
            "https://app.example/cb?a=b",
            "https://app.example/cb?a=b&code=",
        ),
        ("https://app.example/cb?", "https://app.example/cb?code="),
        (
            "https://app.example/cb?a=b&",
            "https://app.example/cb?a=b&code=",
        ),
        ("https://app.example", "https://app.example?code="),
    ] {
        let app = App {
            redirects: vec![RedirectUri::register(registered, Loopback::Refused).unwrap()],
            ..app(40, SCOPES_40)
        };
        let request = read(app, &with(&asks(), "redirect_uri", Some(registered))).unwrap();
        let url = sent_to(request.deliver(ISSUER, Some(&code()), None));
        assert!(url.starts_with(start), "{url}");
    }
}

#[test]
fn b12_a_native_app_gets_a_page_and_must_have_a_challenge() {
    let params = with(&asks(), "redirect_uri", Some(OOB));
    let request = read(app(40, SCOPES_40), &params).unwrap();
    let Delivery::Page(fields) = request.deliver(ISSUER, Some(&code()), None) else {
        panic!("no page");
    };
    assert_eq!(fields[0], ("code", "wgc_code".to_owned()));
    let bare = with(
        &with(&params, "code_challenge", None),
        "code_challenge_method",
        None,
    );
    let hybrid = with(
        &with(
            &with(&params, "response_type", Some("code id_token")),
            "scope",
            Some("openid"),
        ),
        "nonce",
        Some("n"),
    );
    for (params, expected) in [
        (bare.clone(), "invalid_request"),
        (hybrid, "unsupported_response_type"),
    ] {
        for mode in [None, Some("fragment"), Some("form_post")] {
            let refused =
                read(app(40, SCOPES_40), &with(&params, "response_mode", mode)).unwrap_err();
            assert_eq!(refused.error().code(), expected);
            assert!(matches!(refused.deliver(ISSUER), Delivery::Page(_)));
        }
    }
    // With a server behind it, an app proves itself by its secret.
    assert!(
        read(
            app(40, SCOPES_40),
            &with(&bare, "redirect_uri", Some(REDIRECT))
        )
        .is_ok()
    );
}

#[test]
fn b13_b14_scopes_by_kind_of_app() {
    let (scoped, full) = (app(40, SCOPES_40), app(40, "default"));
    let table = [
        (None, false, true),
        (Some("default"), false, true),
        (Some("tasks:read"), true, false),
        (Some("openid"), true, false),
        (Some("tasks:write  tasks:read tasks:read"), true, false),
        (Some("users:read"), false, false),
        (Some("tasks:read users:read"), false, false),
        (Some("default tasks:read"), false, false),
        (Some("Tasks:read"), false, false),
        (Some("tasks:*"), false, false),
        (Some(" "), false, false),
        (Some("tasks:read\ttasks:write"), false, false),
        (Some("nope"), false, false),
    ];
    for (scope, for_scoped, for_full) in table {
        for (app, fits) in [(&scoped, for_scoped), (&full, for_full)] {
            let outcome = read(app.clone(), &with(&asks(), "scope", scope));
            assert_eq!(outcome.is_ok(), fits, "{scope:?} of {:?}", app.scopes);
            if let Err(refused) = outcome {
                assert_eq!(refused.error().code(), "forbidden_scopes");
            }
        }
    }
    let (_, url) = refused(full, &with(&asks(), "scope", Some("tasks:read \"\\\n<é>")));
    assert!(
        url.contains("for%20%60tasks%3Aread%20%3C%3E%60%20scopes."),
        "{url}"
    );
}

#[test]
fn b19_a_user_of_another_workspace_is_sent_back() {
    let request = read(app(40, SCOPES_40), &asks()).unwrap();
    assert!(request.admit(&[3, 7]).is_ok());
    for elsewhere in [&[][..], &[3, 8]] {
        let refused = request.admit(elsewhere).unwrap_err();
        assert!(sent_to(refused.deliver(ISSUER)).contains("?error=access_denied&"));
    }
}

#[test]
fn what_comes_next() {
    let (_, session) = Session::start(12, &random(1), at(0));
    let standing = |scopes: &str, user| Authorization {
        id: 1,
        user,
        app: 40,
        scopes: scopes.parse().unwrap(),
        created_at: at(0),
        revoked_at: None,
    };
    let next = |extra: &[(&str, &str)],
                session: Option<&Session>,
                fresh,
                standing: Option<&Authorization>| {
        let mut params = asks();
        params.extend(pairs(extra));
        let request = read(app(40, SCOPES_40), &params).unwrap();
        request
            .next(session, fresh, standing, at(100_000))
            .map_err(|refused| refused.error().code().to_owned())
    };
    let has = Some(&session);
    let agreed = standing("tasks:read openid", 12);
    assert_eq!(next(&[], None, false, None), Ok(Next::SignIn));
    assert_eq!(next(&[], has, false, None), Ok(Next::Consent));
    assert_eq!(next(&[], has, false, Some(&agreed)), Ok(Next::Consent));
    assert_eq!(
        next(&[("prompt", "login")], has, false, None),
        Ok(Next::SignIn)
    );
    assert_eq!(
        next(&[("prompt", "login")], has, true, None),
        Ok(Next::Consent)
    );
    assert_eq!(
        next(&[("prompt", "consent other")], has, false, None),
        Ok(Next::Consent)
    );
    assert_eq!(
        next(&[("max_age", "100")], has, false, None),
        Ok(Next::Consent)
    );
    assert_eq!(
        next(&[("max_age", "99")], has, false, None),
        Ok(Next::SignIn)
    );
    let none = [("prompt", "none")];
    let consent = Err("consent_required".to_owned());
    assert_eq!(
        next(&none, None, false, Some(&agreed)),
        Err("login_required".to_owned())
    );
    assert_eq!(next(&none, has, false, None), consent);
    assert_eq!(next(&none, has, false, Some(&agreed)), Ok(Next::Silent));
    assert_eq!(
        next(&none, has, false, Some(&standing("openid", 12))),
        consent
    );
    assert_eq!(
        next(&none, has, false, Some(&standing("tasks:read", 13))),
        consent
    );
    let gone = Authorization {
        revoked_at: Some(at(1)),
        ..agreed
    };
    assert_eq!(next(&none, has, false, Some(&gone)), consent);
    let over = Session {
        expires_at: at(100_000),
        ..session
    };
    assert_eq!(next(&[], Some(&over), true, None), Ok(Next::SignIn));
}

#[test]
fn the_consent_page_knows_what_is_new() {
    let request: AuthorizationRequest =
        read(app(40, SCOPES_40), &with(&asks(), "scope", Some(SCOPES_40))).unwrap();
    let names = |standing| {
        request
            .added(standing)
            .iter()
            .map(|scope| scope.name)
            .collect::<Vec<_>>()
    };
    let before = Authorization {
        id: 1,
        user: 12,
        app: 40,
        scopes: "tasks:read".parse().unwrap(),
        created_at: at(0),
        revoked_at: None,
    };
    assert_eq!(names(None), ["openid", "tasks:read", "tasks:write"]);
    assert_eq!(names(Some(&before)), ["openid", "tasks:write"]);
}

#[test]
fn an_openid_request_says_so() {
    let set = |text: &str| ScopeSet::parse(text).unwrap();
    assert!(is_openid(set("openid"), None) && is_openid(ScopeSet::full(), Some("n")));
    assert!(!is_openid(set("tasks:read"), Some("n")) && !is_openid(ScopeSet::full(), None));
    let mut params = with(&with(&asks(), "scope", None), "nonce", Some("n"));
    params = with(&params, "response_type", Some("id_token"));
    assert!(read(app(40, "default"), &params).is_ok());
}

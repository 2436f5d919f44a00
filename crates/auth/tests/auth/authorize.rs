//! The authorization request and the responses to it.
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use workgraph_auth::authorization::authorization_request::{MAX_ECHO_BYTES, client};
use workgraph_auth::conformance::SCOPES;
use workgraph_auth::{
    App, AuthRefusal, AuthorizationPolicy, AuthorizationResponse, AuthorizeError,
    IssuerInResponses, LoopbackPolicy, Param, RedirectUri, Secret, UnverifiedClientError,
    VerifiedClient,
};

use crate::oauth::{ISSUER, POLICY, REDIRECT, app, asks, pairs, read, read_by, with};
use crate::{at, random};

pub(crate) const SCOPES_40: &str = "tasks:read tasks:write openid";

pub(crate) fn code() -> Secret {
    Secret::new("wgc_code".to_owned())
}

/// Returns the error that a request gets, with the URL to which it is sent.
pub(crate) fn refused(app: App, params: &[Param]) -> (String, String) {
    let refused = read(app, params).map(|_| ()).unwrap_err();
    let AuthorizationResponse::Redirect(url) = refused.response() else {
        panic!("no redirect");
    };
    (refused.error().code().to_owned(), url)
}

pub(crate) fn code_of(params: &[Param]) -> String {
    refused(app(40, SCOPES_40), params).0
}

pub(crate) fn sent_to(delivery: AuthorizationResponse) -> String {
    match delivery {
        AuthorizationResponse::Redirect(url) => url,
        other => panic!("no redirect but {other:?}"),
    }
}

/// Decodes the fields of a query or fragment.
pub(crate) fn fields(text: &str) -> Vec<Param> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    text.split('&')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

/// S19.
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
            Err(UnverifiedClientError::Client(match id {
                "" => AuthRefusal::ClientIdMissing,
                _ => AuthRefusal::ClientIdMalformed,
            })),
            "{id}"
        );
    }
    assert_eq!(
        client(&with(&asks(), "client_id", None)),
        Err(UnverifiedClientError::Client(AuthRefusal::ClientIdMissing))
    );
    assert_eq!(client(&asks()), Ok(40));
    let disabled = App {
        disabled_at: Some(at(0)),
        ..app(40, SCOPES_40)
    };
    for (found, refusal) in [
        (None, AuthRefusal::ClientUnknown),
        (Some(app(41, SCOPES_40)), AuthRefusal::ClientUnknown),
        (Some(disabled), AuthRefusal::ClientDisabled),
    ] {
        assert_eq!(
            VerifiedClient::check(&asks(), found, &POLICY),
            Err(UnverifiedClientError::Client(refusal))
        );
    }
    for n in 0..1000 {
        let id = format!("<{n}>{:?}", random(n));
        let error = client(&with(&asks(), "client_id", Some(&id))).unwrap_err();
        let malformed = UnverifiedClientError::Client(AuthRefusal::ClientIdMalformed);
        assert_eq!(error.to_string(), malformed.to_string());
    }
}

/// S19.
#[test]
fn b03_a_missing_redirect_uri_is_told_in_plain_text() {
    let one = App {
        redirects: vec![RedirectUri::register(REDIRECT, LoopbackPolicy::Refused).unwrap()],
        ..app(40, SCOPES_40)
    };
    for value in [None, Some("")] {
        let params = with(&asks(), "redirect_uri", value);
        assert_eq!(
            VerifiedClient::check(&params, Some(one.clone()), &POLICY),
            Err(UnverifiedClientError::Redirect(
                AuthRefusal::RedirectUriMissing
            ))
        );
    }
}

/// S27.
#[test]
fn b05_every_other_error_goes_back_with_state() {
    let base = asks();
    let id_token = |list: &[Param]| {
        with(
            &with(list, "response_type", Some("id_token")),
            "nonce",
            Some("n"),
        )
    };
    let long = "s".repeat(MAX_ECHO_BYTES + 1);
    let table: Vec<(&str, Vec<Param>)> = vec![
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
        assert_eq!(names[..3], ["error", "error_description", "state"]);
        let openid = params.contains(&("scope".to_owned(), "openid".to_owned()));
        assert_eq!(names[3..], ["iss"][usize::from(!openid)..], "{params:?}");
        assert_eq!((&*fields[0].1, &*fields[2].1), (expected, "xyz"));
        assert!(
            fields[1]
                .1
                .bytes()
                .all(|b| matches!(b, 0x20..=0x7e) && b != b'"' && b != b'\\')
        );
    }
    let request = read(app(40, SCOPES_40), &base).unwrap();
    let url = sent_to(request.refuse(AuthorizeError::Denied).response());
    assert!(
        url.starts_with("https://app.example/cb?error=access_denied&"),
        "{url}"
    );
}

/// B76. Allowed or refused, by redirect, form or page: a response names the issuer if the request
/// asks for `openid`, unless the policy says always or never.
#[test]
fn b76_an_answer_names_the_issuer_where_the_policy_says_so() {
    let scopes = [
        (Some("tasks:read"), false),
        (Some("tasks:read openid"), true),
        (Some("openid"), true),
        // Refused, but the scope was requested.
        (Some("openid users:read"), true),
        (Some("openid:x"), false),
        (Some("OpenID"), false),
        (None, false),
    ];
    for issuer_in_responses in IssuerInResponses::ALL.map(|(_, choice)| choice) {
        let policy = AuthorizationPolicy {
            issuer_in_responses,
            ..POLICY
        };
        for (scope, openid) in scopes {
            for mode in [None, Some("fragment"), Some("form_post")] {
                let params = with(&with(&asks(), "scope", scope), "response_mode", mode);
                let deliveries = match read_by(&policy, app(40, SCOPES_40), &params) {
                    Ok(request) => vec![
                        request.success_response(Some(&code()), None),
                        request.refuse(AuthorizeError::Denied).response(),
                    ],
                    Err(refused) => vec![refused.response()],
                };
                let named = match issuer_in_responses {
                    IssuerInResponses::Openid => openid,
                    IssuerInResponses::Always => true,
                    IssuerInResponses::Never => false,
                };
                for delivery in deliveries {
                    let found = match &delivery {
                        AuthorizationResponse::Redirect(url) => {
                            url.contains("&iss=https%3A%2F%2Fwg.example%2Fapi%2F1.0")
                        }
                        AuthorizationResponse::Form { fields, .. }
                        | AuthorizationResponse::Page(fields) => {
                            fields.contains(&("iss", ISSUER.to_owned()))
                        }
                    };
                    assert_eq!(found, named, "{policy:?} {params:?} {delivery:?}");
                }
            }
        }
    }
    for (name, choice) in IssuerInResponses::ALL {
        assert_eq!(IssuerInResponses::parse(name), Some(choice));
        assert_eq!(choice.name(), name);
    }
    assert_eq!(IssuerInResponses::parse("Always"), None);
}

#[test]
fn b06_a_repeated_parameter_is_an_error() {
    for name in ["client_id", "redirect_uri"] {
        let mut params = asks();
        let twin = params.iter().find(|(n, _)| n == name).unwrap().clone();
        params.push(twin);
        assert!(
            VerifiedClient::check(&params, Some(app(40, SCOPES_40)), &POLICY).is_err(),
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
    /// S22.
    #[test]
    fn b08_state_comes_back_as_it_was(state in ".{1,200}|[%&=#+? \\x00-\\x1f]{1,40}") {
        let request = read(app(40, SCOPES_40), &with(&asks(), "state", Some(&state))).unwrap();
        let url = sent_to(request.success_response(Some(&code()), None));
        let (_, query) = url.split_once('?').unwrap();
        prop_assert!(url.is_ascii() && !url.contains(['#', ' ', '\n']));
        prop_assert_eq!(fields(query), pairs(&[("code", "wgc_code"), ("state", &state)]));
    }

    /// S24. S56.
    #[test]
    fn b15_the_scopes_are_those_asked_for(picks in prop::collection::vec(0..SCOPES.len(), 0..6), own in prop::collection::vec(0..SCOPES.len(), 1..12)) {
        let text = |picks: &[usize]| picks.iter().map(|at| SCOPES.iter().nth(*at).unwrap().name).collect::<Vec<_>>().join(" ");
        let fits = !picks.is_empty() && picks.iter().all(|pick| own.contains(pick));
        let asked = text(&picks);
        let request = read(app(40, &text(&own)), &with(&asks(), "scope", Some(&asked)));
        prop_assert_eq!(request.is_ok(), fits);
        if let Ok(request) = request {
            prop_assert_eq!(request.scopes(), SCOPES.parse(&asked).unwrap());
        }
    }
}

/// S19.
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

/// S24. S56. S58. S59.
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
        assert!(sent_to(refused.response()).contains("?error=access_denied&"));
    }
}

/// B04. If client or URL are wrong and two other things too, the error is about client or URL, in a
/// text that has nothing of the request. A test in the documentation of `VerifiedClient` checks
/// that there is no other way to a response that is sent to an app.
#[test]
fn client_and_url_come_before_everything_else_that_is_wrong() {
    let marker = "https://evil.example/zzz";
    let wrong = [
        ("response_type", Some("zzz")),
        ("response_type", None),
        ("state", None),
        ("scope", Some("zzz:read")),
        ("code_challenge", Some("zzz")),
        ("code_challenge_method", Some("plain")),
        ("prompt", Some("none login")),
        ("prompt", Some("none")),
        ("max_age", Some("zzz")),
        ("request", Some("zzz")),
        ("request_uri", Some(marker)),
        ("response_mode", Some("zzz")),
    ];
    let unverified = [
        (
            with(&asks(), "client_id", Some("41")),
            UnverifiedClientError::Client(AuthRefusal::ClientUnknown),
        ),
        (
            with(&asks(), "client_id", None),
            UnverifiedClientError::Client(AuthRefusal::ClientIdMissing),
        ),
        (
            with(&asks(), "client_id", Some(marker)),
            UnverifiedClientError::Client(AuthRefusal::ClientIdMalformed),
        ),
        (
            with(&asks(), "redirect_uri", Some(marker)),
            UnverifiedClientError::Redirect(AuthRefusal::RedirectUriUnregistered),
        ),
        (
            with(&asks(), "redirect_uri", None),
            UnverifiedClientError::Redirect(AuthRefusal::RedirectUriMissing),
        ),
    ];
    for (base, expected) in &unverified {
        for (a, value_a) in wrong {
            for (b, value_b) in wrong {
                let params = with(&with(base, a, value_a), b, value_b);
                let error =
                    VerifiedClient::check(&params, Some(app(40, SCOPES_40)), &POLICY).unwrap_err();
                assert_eq!(error, *expected, "{params:?}");
                let text = error.to_string();
                assert!(!text.contains("zzz") && !text.contains("://"), "{text}");
            }
        }
    }
}

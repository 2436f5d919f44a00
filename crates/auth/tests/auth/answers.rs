//! The responses of the authorization endpoint, and the pages before them.
use workgraph_auth::authorization::authorization_request::is_openid;
use workgraph_auth::conformance::SCOPES;
use workgraph_auth::{
    App, Authorization, AuthorizationPolicy, AuthorizationRequest, AuthorizationResponse,
    AuthorizationStep, BrowserSession, LoopbackPolicy, RedirectUri, ResponseType, ScopeSet,
};

use crate::oauth::{ISSUER, OOB, POLICY, REDIRECT, app, asks, pairs, read, read_by, with};
use crate::{at, random};

use crate::authorize::{SCOPES_40, code, fields, refused, sent_to};

/// S19. S21.
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
            .map(|request| request.success_response(Some(&code()), Some("a.b.c")))
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
        AuthorizationResponse::Form {
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
            redirects: vec![RedirectUri::register(registered, LoopbackPolicy::Refused).unwrap()],
            ..app(40, SCOPES_40)
        };
        let request = read(app, &with(&asks(), "redirect_uri", Some(registered))).unwrap();
        let url = sent_to(request.success_response(Some(&code()), None));
        assert!(url.starts_with(start), "{url}");
    }
}

/// S49.
#[test]
fn b12_a_native_app_gets_a_page_and_must_have_a_challenge() {
    let params = with(&asks(), "redirect_uri", Some(OOB));
    let request = read(app(40, SCOPES_40), &params).unwrap();
    let AuthorizationResponse::Page(fields) = request.success_response(Some(&code()), None) else {
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
            let mut native = app(40, SCOPES_40);
            native.redirects.retain(RedirectUri::is_out_of_band);
            let refused = read(native, &with(&params, "response_mode", mode)).unwrap_err();
            assert_eq!(refused.error().code(), expected);
            assert!(matches!(refused.response(), AuthorizationResponse::Page(_)));
        }
    }
}

/// B80. The redirect URL of the request decides, not what else the app registered.
#[test]
fn b80_a_code_on_a_page_needs_a_challenge() {
    let lenient = AuthorizationPolicy {
        oob_without_pkce: true,
        ..POLICY
    };
    let mut native = app(40, SCOPES_40);
    native.redirects.retain(RedirectUri::is_out_of_band);
    let both = app(40, SCOPES_40);
    for (policy, app, redirect, asked) in [
        (&POLICY, &both, REDIRECT, false),
        (&POLICY, &both, OOB, true),
        (&POLICY, &native, OOB, true),
        (&lenient, &both, REDIRECT, false),
        (&lenient, &both, OOB, false),
        (&lenient, &native, OOB, true),
    ] {
        let params = with(&asks(), "redirect_uri", Some(redirect));
        assert!(read_by(policy, app.clone(), &params).is_ok());
        let bare = with(
            &with(&params, "code_challenge", None),
            "code_challenge_method",
            None,
        );
        let outcome = read_by(policy, app.clone(), &bare);
        assert_eq!(outcome.is_err(), asked, "{policy:?} {redirect}");
        if let Err(refused) = outcome {
            assert_eq!(refused.error().code(), "invalid_request");
            assert!(matches!(refused.response(), AuthorizationResponse::Page(_)));
        }
    }
}

#[test]
fn what_comes_next() {
    let (_, session) = BrowserSession::start(12, &random(1), at(0));
    let standing = |scopes: &str, user| Authorization {
        id: 1,
        user,
        app: 40,
        scopes: SCOPES.parse(scopes).unwrap(),
        created_at: at(0),
        revoked_at: None,
    };
    let next = |extra: &[(&str, &str)],
                session: Option<&BrowserSession>,
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
    assert_eq!(next(&[], None, false, None), Ok(AuthorizationStep::SignIn));
    assert_eq!(next(&[], has, false, None), Ok(AuthorizationStep::Consent));
    assert_eq!(
        next(&[], has, false, Some(&agreed)),
        Ok(AuthorizationStep::Consent)
    );
    assert_eq!(
        next(&[("prompt", "login")], has, false, None),
        Ok(AuthorizationStep::SignIn)
    );
    assert_eq!(
        next(&[("prompt", "login")], has, true, None),
        Ok(AuthorizationStep::Consent)
    );
    assert_eq!(
        next(&[("prompt", "consent other")], has, false, None),
        Ok(AuthorizationStep::Consent)
    );
    assert_eq!(
        next(&[("max_age", "100")], has, false, None),
        Ok(AuthorizationStep::Consent)
    );
    assert_eq!(
        next(&[("max_age", "99")], has, false, None),
        Ok(AuthorizationStep::SignIn)
    );
    let none = [("prompt", "none")];
    let consent = Err("consent_required".to_owned());
    assert_eq!(
        next(&none, None, false, Some(&agreed)),
        Err("login_required".to_owned())
    );
    assert_eq!(next(&none, has, false, None), consent);
    assert_eq!(
        next(&none, has, false, Some(&agreed)),
        Ok(AuthorizationStep::Silent)
    );
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
    let over = BrowserSession {
        expires_at: at(100_000),
        ..session
    };
    assert_eq!(
        next(&[], Some(&over), true, None),
        Ok(AuthorizationStep::SignIn)
    );
}

#[test]
fn the_consent_page_knows_what_is_new() {
    let request: AuthorizationRequest =
        read(app(40, SCOPES_40), &with(&asks(), "scope", Some(SCOPES_40))).unwrap();
    let names = |standing| {
        request
            .new_scopes(standing)
            .iter()
            .map(|scope| scope.name)
            .collect::<Vec<_>>()
    };
    let before = Authorization {
        id: 1,
        user: 12,
        app: 40,
        scopes: SCOPES.parse("tasks:read").unwrap(),
        created_at: at(0),
        revoked_at: None,
    };
    assert_eq!(names(None), ["openid", "tasks:read", "tasks:write"]);
    assert_eq!(names(Some(&before)), ["openid", "tasks:write"]);
}

#[test]
fn an_openid_request_says_so() {
    let set = |text: &str| SCOPES.parse(text).unwrap();
    assert!(is_openid(set("openid"), None) && is_openid(ScopeSet::full(), Some("n")));
    assert!(!is_openid(set("tasks:read"), Some("n")) && !is_openid(ScopeSet::full(), None));
    let mut params = with(&with(&asks(), "scope", None), "nonce", Some("n"));
    params = with(&params, "response_type", Some("id_token"));
    assert!(read(app(40, "default"), &params).is_ok());
}

//! Public clients: apps without a secret, PKCE as their only proof, and redirect URLs on any port of a loopback address.
use std::time::Duration;

use workgraph_auth::conformance::block_on;
use workgraph_auth::endpoints::discovery;
use workgraph_auth::{
    App, AuthRefusal, Authorization, AuthorizationPolicy, AuthorizationStep, AuthorizeError,
    BrowserSession, EndpointReply, LoopbackPolicy, OAuthStore, Param, PublicClients, RedirectUri,
    UnverifiedClientError, VerifiedClient,
};

use crate::oauth::{
    POLICY, REDIRECT, Service, app, asks, bad, error, exchange, member, pairs, read_by, refreshing,
    with,
};
use crate::{at, random};

const REGISTERED: &str = "http://127.0.0.1/cb?a=b";
const SENT: &str = "http://127.0.0.1:49152/cb?a=b";
/// Policy of a server that takes apps without a secret.
const PUBLIC: AuthorizationPolicy<'_> = AuthorizationPolicy {
    public_clients: PublicClients::Allowed,
    ..POLICY
};

/// Returns app 40 as a program on its users' devices, with this redirect URL beside its own.
fn native(redirect: &str) -> App {
    let mut app = app(40, "tasks:read tasks:write openid");
    app.secret = None;
    let redirect = RedirectUri::register(redirect, LoopbackPolicy::Allowed);
    app.redirects.push(redirect.unwrap());
    app
}

/// Service with app 40 as a program, or as an app with a secret.
fn service(policy: AuthorizationPolicy<'static>) -> Service {
    let service = Service::under(policy);
    let was = block_on(service.store.app(40)).unwrap();
    block_on(service.store.put_app(native(REGISTERED), was.as_deref())).unwrap();
    service
}

fn asks_from(redirect: &str) -> Vec<Param> {
    with(&asks(), "redirect_uri", Some(redirect))
}

fn without_secret(form: &[Param]) -> Vec<Param> {
    with(form, "client_secret", None)
}

fn redeeming(service: &Service) -> Vec<Param> {
    let code = service.allow(&asks_from(SENT), at(0));
    without_secret(&with(&exchange(&code), "redirect_uri", Some(SENT)))
}

fn refusal(reply: &EndpointReply) -> Option<AuthRefusal> {
    reply.refusal
}

/// Returns true if a comparison takes every port of a loopback address and nothing else: RFC 8252 sections 7.3, 8.3 and 8.4.
fn is_right(matches: impl Fn(&str, &str) -> bool) -> bool {
    let v6 = "http://[::1]/cb";
    let right = [
        (REGISTERED, REGISTERED),
        (REGISTERED, SENT),
        (REGISTERED, "http://127.0.0.1:1/cb?a=b"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:65535/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
        ("http://127.0.0.1", "http://127.0.0.1:5000"),
        (v6, "http://[::1]:49152/cb"),
        ("http://localhost:8080/cb", "http://localhost:8080/cb"),
        (REDIRECT, REDIRECT),
    ];
    let wrong = [
        "http://127.0.0.1.evil.example/cb?a=b",
        "http://127.0.0.1.evil.example:80/cb?a=b",
        "http://127.0.0.1:80.evil.example/cb?a=b",
        "http://127.0.0.1:80@evil.example/cb?a=b",
        "http://127.0.0.1@evil.example/cb?a=b",
        "http://127.0.0.1:@evil.example/cb?a=b",
        "http://user@127.0.0.1:80/cb?a=b",
        "http://user:pass@127.0.0.1/cb?a=b",
        "http://evil.example\\@127.0.0.1/cb?a=b",
        "http://evil.example#@127.0.0.1/cb?a=b",
        "http://evil.example/?@127.0.0.1/cb?a=b",
        "http://127.0.0.1\\.evil.example/cb?a=b",
        "http://127.0.0.1:/cb?a=b",
        "http://127.0.0.1:0/cb?a=b",
        "http://127.0.0.1:080/cb?a=b",
        "http://127.0.0.1:+80/cb?a=b",
        "http://127.0.0.1:65536/cb?a=b",
        "http://127.0.0.1:80:90/cb?a=b",
        "http://127.0.0.1:80 /cb?a=b",
        "http://127.0.0.1:80/cb?a=b#x",
        "http://127.0.0.1:80/cb?a=b&c=d",
        "http://127.0.0.1:80/cb?a=b\0",
        "http://127.0.0.1:80/cb?",
        "http://127.0.0.1:80/cb",
        "http://127.0.0.1:80/cb/?a=b",
        "http://127.0.0.1:80//cb?a=b",
        "http://127.0.0.1:80/other?a=b",
        "http://127.0.0.1:80/x/../cb?a=b",
        "http://127.0.0.1:80/c%62?a=b",
        "http://127.0.0.1:80?a=b",
        "http://127.0.0.1:80",
        "http://127.0.0.2/cb?a=b",
        "http://127.1/cb?a=b",
        "http://2130706433/cb?a=b",
        "http://0x7f.0.0.1/cb?a=b",
        "http://0.0.0.0:80/cb?a=b",
        "http://[::1]:80/cb?a=b",
        "http://[::ffff:127.0.0.1]:80/cb?a=b",
        "http://localhost/cb?a=b",
        "http://localhost:80/cb?a=b",
        "https://127.0.0.1:80/cb?a=b",
        "HTTP://127.0.0.1:80/cb?a=b",
        "//127.0.0.1:80/cb?a=b",
        "127.0.0.1:80/cb?a=b",
    ];
    let other_addresses = [
        (v6, "http://[::1].evil.example/cb"),
        (v6, "http://[::1]@evil.example/cb"),
        (v6, "http://[::1]:80@evil.example/cb"),
        (v6, "http://[0:0:0:0:0:0:0:1]:80/cb"),
        (v6, "http://[::2]:80/cb"),
        (v6, "http://127.0.0.1:80/cb"),
        ("http://localhost:8080/cb", "http://localhost:8081/cb"),
        ("http://localhost/cb", "http://localhost:80/cb"),
        ("http://localhost/cb", "http://127.0.0.1:80/cb"),
        (REDIRECT, "https://app.example:8443/cb"),
        ("https://127.0.0.1/cb", "https://127.0.0.1:80/cb"),
    ];
    let wrong = wrong.into_iter().map(|sent| (REGISTERED, sent));
    right.into_iter().all(|(known, sent)| matches(known, sent))
        && !wrong
            .chain(other_addresses)
            .any(|(known, sent)| matches(known, sent))
}

/// Returns true if a request of the app that registered `known` may be answered at `sent`.
fn is_verified(policy: &AuthorizationPolicy<'_>, known: &str, sent: &str) -> bool {
    let params = pairs(&[("client_id", "40"), ("redirect_uri", sent)]);
    let mut app = native(known);
    app.redirects.drain(..app.redirects.len() - 1);
    match VerifiedClient::check(&params, Some(app), policy) {
        Ok(verified) => verified.redirect().as_str() == sent,
        Err(error) => {
            let reason = AuthRefusal::RedirectUriUnregistered;
            assert_eq!(error, UnverifiedClientError::Redirect(reason));
            false
        }
    }
}

#[test]
fn a_loopback_redirect_matches_on_any_port_and_nothing_else_does() {
    assert!(is_right(|known, sent| is_verified(&PUBLIC, known, sent)));
}

/// Each leaves out one of the conditions, as other servers have.
#[test]
fn a_laxer_comparison_of_loopback_redirects_is_noticed() {
    let host_end = |url: &str| url.find("127.0.0.1").map(|at| at + "127.0.0.1".len());
    let path = |url: &str| url.splitn(4, '/').nth(3).map(str::to_owned);
    let begins = |known: &str, sent: &str| {
        let end = host_end(known).unwrap_or(known.len());
        sent == known || sent.starts_with(&known[..end]) && path(sent) == path(known)
    };
    let without_port = |url: &str| {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let host = host.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
        format!("{scheme}://{host}/{path}")
    };
    let no_user_info = |known: &str, sent: &str| without_port(known) == without_port(sent);
    let names_too = |known: &str, sent: &str| {
        let port = |url: &str| url.replace("localhost", "127.0.0.1");
        is_verified(&PUBLIC, &port(known), &port(sent))
    };
    let any_path = |known: &str, sent: &str| {
        is_verified(&PUBLIC, known, sent)
            || known.starts_with("http://127.0.0.1") && sent.starts_with("http://127.0.0.1:80/")
    };
    assert!(!is_right(begins));
    assert!(!is_right(no_user_info));
    assert!(!is_right(names_too));
    assert!(!is_right(any_path));
    assert!(!is_right(|known, sent| is_verified(&POLICY, known, sent)));
}

#[test]
fn an_app_with_a_secret_repeats_its_loopback_redirect_to_the_byte() {
    let mut app = native(REGISTERED);
    app.secret = crate::oauth::app(40, "default").secret;
    let params = |sent| pairs(&[("client_id", "40"), ("redirect_uri", sent)]);
    assert!(VerifiedClient::check(&params(SENT), Some(app.clone()), &PUBLIC).is_err());
    assert!(VerifiedClient::check(&params(REGISTERED), Some(app), &PUBLIC).is_ok());
}

#[test]
fn a_program_gets_an_access_token_by_its_verifier_alone_and_gives_it_back() {
    let service = service(PUBLIC);
    let reply = service.token(&redeeming(&service), at(1));
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(!reply.body.contains("refresh_token"), "{}", reply.body);
    let access = member(&reply, "access_token");
    assert!(service.works(&access, at(2)) && !service.works(&access, at(3_600_001)));
    let form = pairs(&[("client_id", "40"), ("token", &access)]);
    assert_eq!(service.revoke(&form, at(3)).status, 200);
    assert!(!service.works(&access, at(4)));
}

#[test]
fn a_program_without_its_verifier_gets_nothing() {
    let wrong = "b".repeat(64);
    for verifier in [None, Some(wrong.as_str())] {
        let service = service(PUBLIC);
        let form = redeeming(&service);
        let reply = service.token(&with(&form, "code_verifier", verifier), at(1));
        assert_eq!(error(&reply), bad("invalid_grant"));
        assert_eq!(error(&service.token(&form, at(2))), bad("invalid_grant"));
    }
    let service = service(PUBLIC);
    let form = with(&redeeming(&service), "redirect_uri", Some(REGISTERED));
    let reply = service.token(&form, at(1));
    assert_eq!(refusal(&reply), Some(AuthRefusal::RedirectUriMismatch));
}

#[test]
fn a_request_of_a_program_has_a_challenge_by_s256() {
    let bare = with(&asks_from(SENT), "code_challenge", None);
    let bare = with(&bare, "code_challenge_method", None);
    let plain = with(&asks_from(SENT), "code_challenge_method", Some("plain"));
    for (params, reason) in [
        (&bare, AuthRefusal::CodeChallengeMissing),
        (&plain, AuthRefusal::CodeChallengeInvalid),
    ] {
        let refused = read_by(&PUBLIC, native(REGISTERED), params).unwrap_err();
        assert!(matches!(refused.error(), AuthorizeError::InvalidRequest(r, _) if *r == reason));
        assert!(format!("{:?}", refused.response()).contains(SENT));
    }
    assert!(
        read_by(
            &PUBLIC,
            app(40, "tasks:read"),
            &with(&bare, "redirect_uri", Some(REDIRECT))
        )
        .is_ok()
    );
    let id_token = with(
        &with(&bare, "response_type", Some("id_token")),
        "scope",
        Some("openid"),
    );
    let id_token = with(&id_token, "nonce", Some("n"));
    assert!(
        read_by(&PUBLIC, native(REGISTERED), &id_token).is_ok(),
        "it asks for no code"
    );
}

/// RFC 8252 section 8.6.
#[test]
fn a_program_is_never_answered_without_a_page() {
    let params = with(&asks_from(SENT), "prompt", Some("none"));
    let request = read_by(&PUBLIC, native(REGISTERED), &params).unwrap();
    let (_, session) = BrowserSession::start(12, &random(1), at(0));
    let standing = Authorization {
        id: 50,
        user: 12,
        app: 40,
        scopes: request.scopes(),
        created_at: at(0),
        revoked_at: None,
    };
    let step = request.next(Some(&session), true, Some(&standing), at(1));
    let refused = step.unwrap_err();
    assert_eq!(*refused.error(), AuthorizeError::ConsentRequired);
    let with_secret = read_by(
        &PUBLIC,
        app(40, "tasks:read"),
        &with(&params, "redirect_uri", Some(REDIRECT)),
    );
    let step = with_secret
        .unwrap()
        .next(Some(&session), true, Some(&standing), at(1));
    assert_eq!(step.unwrap(), AuthorizationStep::Silent);
}

#[test]
fn a_program_that_sends_a_secret_and_an_app_that_sends_none_are_refused() {
    let service = service(PUBLIC);
    let form = redeeming(&service);
    let reply = service.token(&with(&form, "client_secret", Some("x")), at(1));
    assert_eq!(
        (reply.status, refusal(&reply)),
        (401, Some(AuthRefusal::ClientWithoutSecret))
    );
    let with_secret = Service::under(PUBLIC);
    let form = exchange(&with_secret.allow(&asks(), at(0)));
    let reply = with_secret.token(&without_secret(&form), at(1));
    assert_eq!(
        (reply.status, refusal(&reply)),
        (401, Some(AuthRefusal::ClientSecretMissing))
    );
    assert_eq!(with_secret.token(&form, at(1)).status, 200);
}

#[test]
fn an_app_that_lost_its_secret_uses_neither_its_codes_nor_its_refresh_tokens() {
    let service = Service::under(PUBLIC);
    let bare = with(
        &with(&asks(), "code_challenge", None),
        "code_challenge_method",
        None,
    );
    let code = service.allow(&bare, at(0));
    let (_, refresh) = service.tokens(at(0));
    let was = block_on(service.store.app(40)).unwrap();
    block_on(service.store.put_app(native(REGISTERED), was.as_deref())).unwrap();
    let form = with(&without_secret(&exchange(&code)), "code_verifier", None);
    let reply = service.token(&form, at(1));
    assert_eq!(refusal(&reply), Some(AuthRefusal::CodeVerifierMissing));
    let reply = service.token(&without_secret(&refreshing(&refresh)), at(1));
    assert_eq!(refusal(&reply), Some(AuthRefusal::ClientWithoutSecret));
}

#[test]
fn a_server_that_does_not_allow_programs_refuses_them_as_before() {
    let refusing = service(POLICY);
    let params = with(&asks(), "redirect_uri", Some(REGISTERED));
    let form = with(
        &exchange(&refusing.allow(&params, at(0))),
        "redirect_uri",
        Some(REGISTERED),
    );
    let reply = refusing.token(&without_secret(&form), at(1));
    assert_eq!(
        (reply.status, refusal(&reply)),
        (401, Some(AuthRefusal::ClientWithoutSecret))
    );
    let methods = r#"_methods_supported":["client_secret_post","client_secret_basic"]"#;
    assert!(discovery::document(&POLICY, "https://a.example").contains(methods));
    let with_none = methods.replace(']', ",\"none\"]");
    assert!(discovery::document(&PUBLIC, "https://a.example").contains(&with_none));
}

#[test]
fn codes_and_sessions_live_as_long_as_the_service_says() {
    let policy = AuthorizationPolicy {
        code_lifetime: Duration::from_secs(5),
        ..POLICY
    };
    for (millis, status) in [(4_999, 200), (5_000, 400)] {
        let service = Service::under(policy);
        let form = exchange(&service.allow(&asks(), at(0)));
        assert_eq!(service.token(&form, at(millis)).status, status);
    }
    let (_, session) = BrowserSession::start(12, &random(1), at(0));
    let short = session.lasting(Duration::from_secs(30));
    assert!(short.is_live(at(29_999)) && !short.is_live(at(30_000)));
    assert!(session.is_live(at(30_000)));
}

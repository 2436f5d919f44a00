//! The OAuth server for axum, through its router.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use percent_encoding::percent_decode_str;
use tower::ServiceExt as _;
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_auth::conformance::block_on;
use workgraph_auth::oauth_server::AUTHORIZE;
use workgraph_auth::{
    Account, AuthStoreError, Grant, LoopbackPolicy, MemoryTokenStore, MissingScope, OAuthServer,
    RedirectUri, ScopeRegistry, Tier, TokenStore, UserDirectory, UserInfo,
};

use crate::oauth::{Town, VERIFIER};
use crate::{at, random};

const BACK: &str = "https://app.example/back";

fn clock() -> SystemTime {
    at(0)
}

fn bytes() -> Result<[u8; 32], String> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Ok(random(NEXT.fetch_add(1, Ordering::Relaxed)))
}

async fn me(grant: Grant) -> Result<String, MissingScope> {
    grant.require("invoices:read")?;
    Ok(grant.user.to_string())
}

/// Directory of [`Town`], whose users have access while the flag is true.
struct GatedTown(Arc<AtomicBool>);

#[async_trait]
impl UserDirectory for GatedTown {
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Town.user_info(user).await
    }
    async fn has_access(&self, _: u64) -> Result<bool, AuthStoreError> {
        Ok(self.0.load(Ordering::Relaxed))
    }
}

/// Service with user 12, and an app that may read invoices.
struct Site {
    /// True while user 12 has access.
    access: Arc<AtomicBool>,
    oauth: OAuthServer,
    app: Router,
    client: String,
    secret: String,
}

/// Reply with its body as text.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = block_on(to_bytes(body, 1 << 20)).unwrap();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    fn header(&self, name: header::HeaderName) -> &str {
        let value = self.headers.get(&name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn location(&self) -> &str {
        self.header(header::LOCATION)
    }

    /// Returns the text between the first `start` and the `end` behind it.
    fn between(&self, start: &str, end: &str) -> &str {
        let (_, rest) = self
            .body
            .split_once(start)
            .unwrap_or_else(|| panic!("{start} in {}", self.body));
        rest.split_once(end).unwrap().0
    }
}

impl Site {
    fn new(issuer: &str) -> Self {
        let store = Arc::new(MemoryTokenStore::new());
        let access = Arc::new(AtomicBool::new(true));
        block_on(store.put_account(Account::new(12, Tier::DEFAULT), None)).unwrap();
        let scopes = ScopeRegistry::new([
            ("invoices:read", "See <your> invoices"),
            ("invoices:write", "Change them"),
        ]);
        let oauth = OAuthServer::builder(issuer, store, clock, bytes)
            .scopes(scopes)
            .users(GatedTown(Arc::clone(&access)))
            .public_clients()
            .session_lifetime(Duration::from_secs(60))
            .build();
        let back = RedirectUri::register(BACK, LoopbackPolicy::Refused).unwrap();
        let may = scopes.parse("invoices:read").unwrap();
        let (app, secret) = block_on(oauth.register_app("Books & Co", back, may, 12)).unwrap();
        let router = Router::new()
            .route("/me", get(me))
            .with_state(oauth.verifier());
        Self {
            access,
            app: router.merge(oauth.axum_router()),
            oauth,
            client: app.client_id(),
            secret: secret.expose().to_owned(),
        }
    }

    fn send(&self, request: Request<Body>) -> Reply {
        Reply::of(block_on(self.app.clone().oneshot(request)).unwrap())
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap())
    }

    fn post(&self, path: &str, cookie: &str, form: &[(&str, &str)]) -> Reply {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        let pair = |(name, value): &(&str, &str)| format!("{name}={}", encode(value));
        let body = form.iter().map(pair).collect::<Vec<_>>().join("&");
        let request = Request::post(path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Cookie", cookie);
        self.send(request.body(Body::from(body)).unwrap())
    }

    /// Returns the path of a valid request, with more parameters.
    fn asks(&self, more: &str) -> String {
        let challenge = CodeChallenge::of(VERIFIER);
        format!(
            "{AUTHORIZE}?client_id={}&redirect_uri={BACK}&response_type=code&state=s&scope=invoices:read\
             &code_challenge={challenge}&code_challenge_method=S256{more}",
            self.client
        )
    }

    /// Signs user 12 in, and returns the cookie.
    fn sign_in(&self) -> String {
        let reply = Reply::of(block_on(self.oauth.sign_in(12, "/")).unwrap());
        let cookie = reply.header(header::SET_COOKIE);
        cookie.split_once(';').unwrap().0.to_owned()
    }

    /// Returns the fields of the form that asks for consent.
    fn ask(&self, cookie: &str) -> (String, String) {
        let page = self.get(&self.asks(""), &[("Cookie", cookie)]);
        assert_eq!(page.status, 200, "{}", page.body);
        let field = |name: &str| page.between(&format!("name=\"{name}\" value=\""), "\"");
        let request = field("request").replace("&amp;", "&");
        (request, field("ticket").to_owned())
    }

    fn decide(&self, cookie: &str, (request, ticket): &(String, String), decision: &str) -> Reply {
        let form = [
            ("request", request.as_str()),
            ("ticket", ticket),
            ("decision", decision),
        ];
        self.post(AUTHORIZE, cookie, &form)
    }
}

#[test]
fn an_app_gets_a_token_that_its_user_agreed_to_and_loses_it_with_a_revocation() {
    let site = Site::new("https://id.example");
    let asks = site.asks("");
    let away = site.get(&asks, &[]);
    assert_eq!(away.status, 303);
    let next = away.location().strip_prefix("/sign-in?next=").unwrap();
    let next = percent_decode_str(next).decode_utf8().unwrap();
    assert_eq!(next, asks);
    let signed_in = Reply::of(block_on(site.oauth.sign_in(12, &next)).unwrap());
    assert_eq!(
        (signed_in.status.as_u16(), signed_in.location()),
        (303, asks.as_str())
    );

    let cookie = site.sign_in();
    let page = site.get(&asks, &[("Cookie", &cookie)]);
    for text in [
        "Books &amp; Co asks",
        "See &lt;your&gt; invoices",
        "<b>app.example</b>",
    ] {
        assert!(page.body.contains(text), "{text} in {}", page.body);
    }
    let answer = site.decide(&cookie, &site.ask(&cookie), "allow");
    let query = answer.location().strip_prefix(&format!("{BACK}?")).unwrap();
    assert!(
        query.contains("&state=s&iss=https%3A%2F%2Fid.example"),
        "{query}"
    );
    let code = query
        .strip_prefix("code=")
        .unwrap()
        .split('&')
        .next()
        .unwrap();

    let app = [
        ("client_id", site.client.as_str()),
        ("client_secret", &site.secret),
    ];
    let form = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", BACK),
        ("code", code),
        ("code_verifier", VERIFIER),
    ];
    let issued = site.post("/-/oauth_token", "", &[&app[..], &form].concat());
    assert_eq!(
        (issued.status.as_u16(), issued.header(header::CACHE_CONTROL)),
        (200, "no-store"),
        "{}",
        issued.body
    );
    let access = format!("Bearer {}", issued.between("\"access_token\":\"", "\""));
    let refresh = issued.between("\"refresh_token\":\"", "\"").to_owned();
    let me = || site.get("/me", &[("Authorization", &access)]);
    assert_eq!((me().status.as_u16(), me().body.as_str()), (200, "12"));
    let info = site.get("/openid_connect/userinfo", &[("Authorization", &access)]);
    assert_eq!(info.status, 403, "the app did not ask for openid");
    assert!(
        info.header(header::WWW_AUTHENTICATE)
            .contains("scope=\"openid\"")
    );
    site.access.store(false, Ordering::Relaxed);
    let info = site.get("/openid_connect/userinfo", &[("Authorization", &access)]);
    assert_eq!(info.status, 401, "a user without access has no claims");
    let invalid = "Bearer error=\"invalid_token\"";
    assert_eq!(info.header(header::WWW_AUTHENTICATE), invalid);
    site.access.store(true, Ordering::Relaxed);
    let revoked = site.post(
        "/-/oauth_revoke",
        "",
        &[&app[..], &[("token", &refresh)]].concat(),
    );
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    assert_eq!(me().status, 401);
    assert_eq!(
        me().header(header::WWW_AUTHENTICATE),
        "Bearer error=\"invalid_token\""
    );
}

/// A twin that asks for no ticket would pass the first of these, too.
#[test]
fn a_consent_form_is_answered_once_by_the_session_and_for_the_request_that_it_was_made_for() {
    let site = Site::new("https://id.example");
    let (cookie, other) = (site.sign_in(), site.sign_in());
    let fields = site.ask(&cookie);
    let wider = (
        fields.0.replace("invoices:read", "default"),
        fields.1.clone(),
    );
    let forged = (fields.0.clone(), "me".to_owned());
    assert_eq!(site.decide(&other, &fields, "allow").status, 400);
    assert_eq!(site.decide("", &fields, "allow").status, 400);
    assert_eq!(site.decide(&cookie, &forged, "allow").status, 400);
    let refused = site.decide(&cookie, &wider, "allow");
    assert!(
        refused.location().contains("error=forbidden_scopes"),
        "{}",
        refused.location()
    );
    assert_eq!(site.decide(&cookie, &fields, "perhaps").status, 400);
    assert!(
        site.decide(&cookie, &fields, "allow")
            .location()
            .contains("?code=")
    );
    assert_eq!(site.decide(&cookie, &fields, "allow").status, 400);
    let denied = site.decide(&cookie, &site.ask(&cookie), "deny");
    assert!(
        denied
            .location()
            .starts_with(&format!("{BACK}?error=access_denied"))
    );
}

#[test]
fn nothing_leads_to_an_address_that_was_not_registered() {
    let site = Site::new("https://id.example");
    let cookie = site.sign_in();
    let unknown = site.asks("").replace("app.example", "evil.example");
    for cookie in ["", &cookie] {
        let reply = site.get(&unknown, &[("Cookie", cookie)]);
        assert_eq!((reply.status.as_u16(), reply.location()), (400, ""));
    }
    for next in [
        "https://evil.example",
        "//evil.example",
        "/\\evil",
        "",
        AUTHORIZE,
        "/-/oauth_authorize?a\r\nb",
    ] {
        let reply = Reply::of(block_on(site.oauth.sign_in(12, next)).unwrap());
        assert_eq!(reply.location(), "/", "{next:?}");
    }
}

/// RFC 9700 section 4.11.2.
#[test]
fn a_visitor_without_a_session_sees_where_an_error_leads() {
    let site = Site::new("https://id.example");
    let wrong = site.asks("").replace("invoices:read", "default");
    let shown = site.get(&wrong, &[]);
    assert_eq!((shown.status.as_u16(), shown.location()), (400, ""));
    assert!(shown.body.contains("Go back to app.example"));
    for header in [
        ("Cookie", site.sign_in().as_str()),
        ("Sec-Fetch-Dest", "iframe"),
    ] {
        let sent = site.get(&wrong, &[header]);
        assert!(
            sent.location()
                .starts_with(&format!("{BACK}?error=forbidden_scopes"))
        );
    }
    let silent = site.get(&site.asks("&prompt=none"), &[("Sec-Fetch-Dest", "iframe")]);
    assert!(silent.location().contains("error=login_required"));
}

#[test]
fn after_a_consent_a_silent_request_needs_no_page() {
    let site = Site::new("https://id.example");
    let cookie = site.sign_in();
    let silent = || site.get(&site.asks("&prompt=none"), &[("Cookie", &cookie)]);
    assert!(silent().location().contains("error=consent_required"));
    site.decide(&cookie, &site.ask(&cookie), "allow");
    assert!(silent().location().contains("?code="));
}

/// RFC 8414 section 2.
#[test]
fn discovery_without_the_scope_openid_promises_no_id_token() {
    let site = Site::new("https://work.example");
    let reply = site.get("/.well-known/oauth-authorization-server", &[]);
    let document: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(
        document["response_types_supported"],
        serde_json::json!(["code"])
    );
    for nothing in ["id_token_signing_alg_values_supported", "claims_supported"] {
        assert_eq!(document[nothing], serde_json::json!([]), "{nothing}");
    }
}

#[test]
fn a_user_without_an_account_is_refused_and_not_asked_to_try_again() {
    let site = Site::new("https://work.example");
    let error = block_on(site.oauth.sign_in(13, "/")).unwrap_err();
    let reply = error.into_response();
    assert_eq!(reply.status(), StatusCode::FORBIDDEN);
    assert!(!reply.headers().contains_key(header::RETRY_AFTER));
}

#[test]
fn a_sign_out_ends_the_session_and_removes_its_cookie() {
    let site = Site::new("https://id.example");
    let (cookie, other) = (site.sign_in(), site.sign_in());
    let is_known = |cookie: &str| site.get(&site.asks(""), &[("Cookie", cookie)]).status == 200;
    assert!(is_known(&cookie));
    let headers = |cookie: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, cookie.parse().unwrap());
        headers
    };
    let out = Reply::of(block_on(site.oauth.sign_out(&headers(&cookie))).unwrap());
    assert_eq!((out.status.as_u16(), out.location()), (303, "/"));
    assert_eq!(
        out.header(header::SET_COOKIE),
        "__Host-oauth_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure"
    );
    assert!(!is_known(&cookie) && is_known(&other));
    let nobody = Reply::of(block_on(site.oauth.sign_out(&HeaderMap::new())).unwrap());
    assert_eq!(nobody.status, 303);
}

#[test]
fn a_program_without_a_secret_is_sent_to_the_port_that_it_listens_on() {
    let site = Site::new("https://id.example");
    let redirect = RedirectUri::register("http://127.0.0.1/cb", LoopbackPolicy::Allowed).unwrap();
    let may = ScopeRegistry::EMPTY.parse("default").unwrap();
    let app = block_on(
        site.oauth
            .register_public_app("Shell", redirect.clone(), may, 12),
    );
    let site = Site {
        client: app.unwrap().client_id(),
        ..site
    };
    let cookie = site.sign_in();
    let asks = site
        .asks("")
        .replace(BACK, "http://127.0.0.1:49152/cb")
        .replace("&scope=invoices:read", "");
    let page = site.get(&asks, &[("Cookie", &cookie)]);
    assert_eq!(page.status, 200, "{}", page.body);
    let field = |name: &str| page.between(&format!("name=\"{name}\" value=\""), "\"");
    let fields = (
        field("request").replace("&amp;", "&"),
        field("ticket").to_owned(),
    );
    let answer = site.decide(&cookie, &fields, "allow");
    let location = answer.location();
    assert!(
        location.starts_with("http://127.0.0.1:49152/cb?code="),
        "{location}"
    );

    let store = Arc::new(MemoryTokenStore::new());
    let refusing = OAuthServer::builder("https://id.example", store, clock, bytes).build();
    let refused = block_on(refusing.register_public_app("Shell", redirect, may, 12));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("public_clients()")
    );
}

#[test]
fn pages_are_not_framed_or_kept_and_cookies_stay_with_their_host() {
    let site = Site::new("https://id.example");
    let page = site.get(&site.asks(""), &[("Cookie", &site.sign_in())]);
    assert_eq!(page.header(header::CACHE_CONTROL), "no-store");
    assert!(
        page.header(header::CONTENT_SECURITY_POLICY)
            .contains("frame-ancestors 'none'")
    );
    let cookie = |issuer| {
        let reply = Reply::of(block_on(Site::new(issuer).oauth.sign_in(12, "/")).unwrap());
        reply.header(header::SET_COOKIE).to_owned()
    };
    let (secure, local) = (
        cookie("https://id.example"),
        cookie("http://localhost:8080"),
    );
    assert!(
        secure.starts_with("__Host-oauth_session=")
            && secure.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure")
    );
    assert!(
        local.starts_with("oauth_session=") && local.ends_with("; Path=/; HttpOnly; SameSite=Lax")
    );
    let own = site.sign_in();
    let two = format!("{own}; {own}x");
    assert_eq!(
        site.get(&site.asks(""), &[("Cookie", &two)]).status,
        303,
        "one of two was set by somebody else"
    );
}

#[test]
fn endpoints_take_forms_alone() {
    let site = Site::new("https://id.example");
    assert_eq!(site.get("/-/oauth_token", &[]).status, 405);
    let refused = |path: &str, kind: &str, body: &str| {
        let request = Request::post(path).header("Content-Type", kind);
        site.send(request.body(Body::from(body.to_owned())).unwrap())
    };
    let form = "application/x-www-form-urlencoded";
    for (path, kind, body) in [
        ("/-/oauth_token?code=1", form, "a=b"),
        ("/-/oauth_token", "application/json", "{}"),
        ("/-/oauth_revoke", form, "a=%zz"),
        ("/-/token_info", form, &"a".repeat(70_000)),
    ] {
        let reply = refused(path, kind, body);
        assert_eq!(reply.status, 400, "{path}");
        assert_eq!(reply.between("\"error\":\"", "\""), "invalid_request");
    }
    let wrong = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "x"),
        ("client_id", &site.client),
        ("client_secret", "x"),
    ];
    assert_eq!(site.post("/-/oauth_token", "", &wrong).status, 401);
    let discovery = site.get("/.well-known/openid-configuration", &[]);
    assert_eq!(
        discovery.between("\"issuer\":\"", "\""),
        "https://id.example"
    );
    assert!(
        discovery
            .body
            .contains(r#""scopes_supported":["default","invoices:read","invoices:write"]"#)
    );
    assert_eq!(site.get("/openid_connect/jwks", &[]).body, r#"{"keys":[]}"#);
}

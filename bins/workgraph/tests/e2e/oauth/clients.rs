//! Two client libraries of other projects: `oauth2`, and `openidconnect` with its own verification.
use super::{App, Browser, query};
use crate::common::{Folder, Server, WIDE, admin};
use oauth2::basic::BasicClient;
use oauth2::http::{HeaderName, HeaderValue, Response};
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse,
    IntrospectionUrl, PkceCodeChallenge, RedirectUrl, RevocationUrl, TokenIntrospectionResponse,
    TokenResponse, TokenUrl,
};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreProviderMetadata, CoreResponseType,
    CoreUserInfoClaims,
};
use openidconnect::{
    AccessTokenHash, AuthorizationCodeHash, IssuerUrl, Nonce, Scope, TokenResponse as _,
};
use std::str::FromStr;

/// Root of the server's addresses. The libraries insist on `https`; the tests stand in for the proxy that ends TLS.
const ROOT: &str = "https://work.example";

fn start(name: &str) -> (Folder, Server) {
    let folder = Folder::new(name);
    let server = Server::start(&folder, &[WIDE, &[("public_url", ROOT)]].concat());
    (folder, server)
}

/// Sends a request of a library over a plain socket.
fn send(server: &Server, request: &HttpRequest) -> Result<HttpResponse, std::io::Error> {
    let path = request.uri().path_and_query().unwrap().as_str();
    let mut bytes = format!(
        "{} {path} HTTP/1.1\r\nHost: work.example\r\n",
        request.method()
    );
    for (name, value) in request.headers() {
        bytes.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    bytes.push_str(&format!("Content-Length: {}\r\n\r\n", request.body().len()));
    let bytes = [bytes.as_bytes(), request.body()].concat();
    let reply = server
        .raw_connection()
        .ask(&bytes)
        .map_err(std::io::Error::other)?;
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        response = response.header(name, HeaderValue::from_str(value).unwrap());
    }
    Ok(response.body(reply.body).unwrap())
}

/// Opens an address, and allows.
fn allow(browser: &mut Browser<'_>, url: &str) -> crate::common::Reply {
    let page = browser.get(url.strip_prefix(ROOT).unwrap());
    assert_eq!(
        page.status,
        200,
        "{:?} {}",
        page.header("location"),
        page.text()
    );
    browser.submit(super::AUTHORIZE, &page, &[("decision", "allow")])
}

/// B33. B36. B41. B62. S47.
#[test]
fn the_oauth2_library_goes_all_the_way() {
    let (_folder, server) = start("oauth2-crate");
    let http = |request: HttpRequest| send(&server, &request);
    let app = App::of(&server, 0);
    let at = |path: &str| format!("{ROOT}/-/{path}");
    let client = BasicClient::new(ClientId::new(app.id.clone()))
        .set_client_secret(ClientSecret::new(app.secret.clone()))
        .set_auth_uri(AuthUrl::new(at("oauth_authorize")).unwrap())
        .set_token_uri(TokenUrl::new(at("oauth_token")).unwrap())
        .set_revocation_url(RevocationUrl::new(at("oauth_revoke")).unwrap())
        .set_introspection_url(IntrospectionUrl::new(at("token_info")).unwrap())
        .set_redirect_uri(RedirectUrl::new(app.redirect.clone()).unwrap());
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let asks = client.authorize_url(CsrfToken::new_random);
    let (url, state) = asks.set_pkce_challenge(challenge).url();
    let mut browser = Browser::signed_in(&server, 0);
    assert!(
        browser.cookies.contains_key("__Host-workgraph"),
        "{:?}",
        browser.cookies.keys()
    );
    let sent = query(&allow(&mut browser, url.as_str()));
    assert_eq!(&sent["state"], state.secret());
    let code = AuthorizationCode::new(sent["code"].clone());
    let tokens = client
        .exchange_code(code)
        .set_pkce_verifier(verifier)
        .request(&http)
        .unwrap();
    assert_eq!(tokens.expires_in().unwrap().as_secs(), 3600);
    let refresh = tokens.refresh_token().unwrap();
    let fresh = client
        .exchange_refresh_token(refresh)
        .request(&http)
        .unwrap();
    let info = client
        .introspect(fresh.access_token())
        .request(&http)
        .unwrap();
    assert!(info.active() && info.client_id().unwrap().as_str() == app.id);
    client
        .revoke_token(refresh.clone().into())
        .unwrap()
        .request(&http)
        .unwrap();
    let info = client
        .introspect(fresh.access_token())
        .request(&http)
        .unwrap();
    assert!(!info.active());
}

/// B56, B57, B58.
#[test]
fn the_openidconnect_library_verifies_who_signed_in() {
    let (folder, server) = start("oidc-crate");
    let http = |request: HttpRequest| send(&server, &request);
    let owner = server.demo("/users/0/email");
    let (paid, callback) = (server.workspace("paid"), "https://rp.example/cb");
    let made = admin(
        &folder,
        &[
            "app",
            "create",
            "--name",
            "RP",
            "--redirect-uri",
            callback,
            "--owner",
            &owner,
            "--workspace",
            &paid,
            "--scopes",
            "openid email profile tasks:read",
        ],
    );
    let issuer = IssuerUrl::new(server.demo("/base_url")).unwrap();
    let metadata = CoreProviderMetadata::discover(&issuer, &http).unwrap();
    let client = CoreClient::from_provider_metadata(
        metadata,
        ClientId::new(super::text(&made, "client_id")),
        Some(ClientSecret::new(super::text(&made, "client_secret"))),
    )
    .set_redirect_uri(RedirectUrl::new(callback.to_owned()).unwrap());
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let flow = CoreAuthenticationFlow::AuthorizationCode;
    let (url, _, nonce) = client
        .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
        .add_scope(Scope::new("email".to_owned()))
        .add_scope(Scope::new("profile".to_owned()))
        .set_pkce_challenge(challenge)
        .url();
    let mut browser = Browser::signed_in(&server, 0);
    let sent = query(&allow(&mut browser, url.as_str()));
    assert_eq!(sent["iss"], issuer.as_str());
    let code = AuthorizationCode::new(sent["code"].clone());
    let exchange = client
        .exchange_code(code)
        .unwrap()
        .set_pkce_verifier(verifier);
    let tokens = exchange.request(&http).unwrap();
    let id_token = tokens.id_token().unwrap();
    let keys = client.id_token_verifier();
    let claims = id_token.claims(&keys, &nonce).unwrap();
    let (alg, key) = (
        id_token.signing_alg().unwrap(),
        id_token.signing_key(&keys).unwrap(),
    );
    let hash = AccessTokenHash::from_token(tokens.access_token(), alg, key).unwrap();
    assert_eq!(claims.access_token_hash(), Some(&hash));
    assert_eq!(claims.subject().as_str(), server.demo("/users/0/gid"));
    assert_eq!(claims.email().unwrap().as_str(), owner);
    let other = Nonce::new("other".to_owned());
    assert!(
        id_token.claims(&keys, &other).is_err(),
        "a nonce that differs is noticed"
    );
    let user_info: CoreUserInfoClaims = client
        .user_info(
            tokens.access_token().clone(),
            Some(claims.subject().clone()),
        )
        .unwrap()
        .request(&http)
        .unwrap();
    assert_eq!(
        user_info.name().unwrap().get(None).unwrap().as_str(),
        server.demo("/users/0/name")
    );

    let both = vec![CoreResponseType::Code, CoreResponseType::IdToken];
    let flow = CoreAuthenticationFlow::Hybrid(both);
    let asks = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
    let (url, _, nonce) = asks.add_extra_param("response_mode", "fragment").url();
    let reply = allow(&mut browser, url.as_str());
    let location = reply.header("location").unwrap();
    let (start, fragment) = location.split_once('#').unwrap();
    assert_eq!(start, callback);
    let sent = super::pairs(fragment);
    let id_token = CoreIdToken::from_str(&sent["id_token"]).unwrap();
    let claims = id_token.claims(&keys, &nonce).unwrap();
    let (alg, key) = (
        id_token.signing_alg().unwrap(),
        id_token.signing_key(&keys).unwrap(),
    );
    let code = AuthorizationCode::new(sent["code"].clone());
    let hash = AuthorizationCodeHash::from_code(&code, alg, key).unwrap();
    assert_eq!(claims.code_hash(), Some(&hash));
}

/// B58.
#[test]
fn addresses_come_from_the_settings_alone() {
    let (_folder, server) = start("oidc-addresses");
    for path in [
        "/api/1.0/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/api/1.0",
    ] {
        let evil = [
            ("X-Forwarded-Host", "evil.example"),
            ("X-Forwarded-Proto", "http"),
            ("Forwarded", "host=evil.example"),
        ];
        let bytes = super::raw("GET", path, &evil, "");
        let text = String::from_utf8(bytes)
            .unwrap()
            .replace("Host: localhost", "Host: evil.example");
        let reply = server.raw_connection().ask(text.as_bytes()).unwrap();
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.text().contains("evil"), "{}", reply.text());
        let json = reply.json();
        assert_eq!(json["issuer"], format!("{ROOT}/api/1.0"));
        assert_eq!(
            json["jwks_uri"],
            format!("{ROOT}/api/1.0/openid_connect/jwks")
        );
        assert_eq!(json["token_endpoint"], format!("{ROOT}/-/oauth_token"));
    }
    let keys = server.ask("GET", "/openid_connect/jwks", None).json();
    assert_eq!(keys["keys"][0]["alg"], "RS256", "{keys}");
    assert!(keys["keys"][0].get("d").is_none(), "{keys}");
    let claims = server.ask("GET", "/openid_connect/userinfo", None);
    assert_eq!(
        claims.status,
        200,
        "a token with full permissions has openid: {}",
        claims.text()
    );
    let bytes = super::raw("GET", "/api/1.0/openid_connect/userinfo", &[], "");
    let nobody = server.raw_connection().ask(&bytes).unwrap();
    assert_eq!(
        (nobody.status, nobody.header("www-authenticate")),
        (401, Some("Bearer"))
    );
}

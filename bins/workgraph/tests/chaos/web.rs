//! Requests of a browser and of an app's server: forms, one session, and the flow that ends in a code.
use crate::common::{RawConnection, Reply, hidden};
use std::time::Duration;
use workgraph_wire::percent::encode_component;

pub(crate) const AUTHORIZE: &str = "/-/oauth_authorize";
/// Verifier and challenge of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// App that clients act for.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect: String,
}

/// Returns `name=value` joined by `&`.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| {
        format!("{}={}", encode_component(name), encode_component(value))
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Returns a request to a path of the whole server.
pub(crate) fn raw(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        let kind = "application/x-www-form-urlencoded";
        let length = body.len();
        text.push_str(&format!(
            "Content-Type: {kind}\r\nContent-Length: {length}\r\n"
        ));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// Sends a request of a browser on a connection of its own.
fn browse(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Reply, String> {
    let patience = Duration::from_secs(5);
    let mut connection = RawConnection::open_with(port, patience).map_err(|e| e.to_string())?;
    connection.ask(&raw(method, path, headers, body))
}

/// Returns the cookies that a reply sets, as a request sends them.
fn cookies(reply: &Reply) -> Vec<String> {
    let set = reply.headers.iter();
    let set = set.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    set.filter_map(|(_, cookie)| cookie.split(';').next())
        .filter(|cookie| !cookie.ends_with('='))
        .map(str::to_owned)
        .collect()
}

/// Sends the form of a page, with the values that were typed.
fn submit(
    port: u16,
    path: &str,
    page: &Reply,
    jar: &str,
    origin: &str,
    typed: &[(&str, &str)],
) -> Result<Reply, String> {
    let fields = hidden(&page.text());
    let fields = fields.iter().map(|(n, v)| (n.as_str(), v.as_str()));
    let all: Vec<_> = fields.chain(typed.iter().copied()).collect();
    browse(
        port,
        "POST",
        path,
        &[("Origin", origin), ("Cookie", jar)],
        &form(&all),
    )
}

/// Signs in. Returns the cookies of the session.
pub(crate) fn sign_in(port: u16, origin: &str, email: &str, password: &str) -> String {
    let page = browse(port, "GET", "/-/sign_in", &[], "").unwrap();
    let typed = [("email", email), ("password", password)];
    let first = cookies(&page).join("; ");
    let reply = submit(port, "/-/sign_in", &page, &first, origin, &typed).unwrap();
    assert_eq!(reply.status, 303, "{}", reply.text());
    cookies(&reply).join("; ")
}

/// Authorizes an app in a session. Returns the code, or `None` if anything went wrong on the way.
pub(crate) fn authorize(port: u16, origin: &str, session: &str, app: &App) -> Option<String> {
    let query = form(&[
        ("client_id", &app.id),
        ("redirect_uri", &app.redirect),
        ("response_type", "code"),
        ("state", "s"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ]);
    let path = format!("{AUTHORIZE}?{query}");
    let page = browse(port, "GET", &path, &[("Cookie", session)], "").ok()?;
    let jar = [vec![session.to_owned()], cookies(&page)]
        .concat()
        .join("; ");
    let reply = if page.status == 200 {
        submit(
            port,
            AUTHORIZE,
            &page,
            &jar,
            origin,
            &[("decision", "allow")],
        )
        .ok()?
    } else {
        page
    };
    let location = reply.header("location")?;
    let (_, after) = location.split_once("code=")?;
    after.split(['&', '#']).next().map(str::to_owned)
}

/// Returns the request with which an app redeems a code.
pub(crate) fn redemption(app: &App, code: &str) -> Vec<u8> {
    let body = form(&[
        ("client_id", &app.id),
        ("client_secret", &app.secret),
        ("grant_type", "authorization_code"),
        ("redirect_uri", &app.redirect),
        ("code", code),
        ("code_verifier", VERIFIER),
    ]);
    raw("POST", "/-/oauth_token", &[], &body)
}

/// Returns the request with which an app gives a refresh token back.
pub(crate) fn revocation(app: &App, refresh: &str) -> Vec<u8> {
    let body = form(&[
        ("client_id", &app.id),
        ("client_secret", &app.secret),
        ("token", refresh),
    ]);
    raw("POST", "/-/oauth_revoke", &[], &body)
}

//! Requests as forms and cookies, and the headers of responses.
use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};

use super::AUTHORIZE;
use crate::params::{Param, decode};
use crate::tokens::token_text::Secret;

/// Media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
/// Maximum size of a form in bytes.
const FORM_BYTES: usize = 64 * 1024;
/// Name of the session cookie. Under https its prefix keeps other hosts of the domain from setting it.
const COOKIE: &str = "oauth_session";
const HOST_COOKIE: &str = "__Host-oauth_session";

/// Decodes the pairs of a query or form; `None` for a broken escape or invalid UTF-8.
pub(super) fn pairs(text: &str) -> Option<Vec<Param>> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some((decode(name)?, decode(value)?))
    };
    parts.map(pair).collect()
}

/// Reads the form of a request.
///
/// # Errors
/// Says why the body is not a form.
pub(super) async fn form(request: Request<Body>) -> Result<Vec<Param>, &'static str> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(FORM) {
        return Err("The body must be a form (application/x-www-form-urlencoded).");
    }
    let bytes = to_bytes(request.into_body(), FORM_BYTES).await;
    let bytes = bytes.map_err(|_| "The form is incomplete or larger than 64 KiB.")?;
    let text = std::str::from_utf8(&bytes).map_err(|_| "The form is not valid UTF-8.")?;
    pairs(text).ok_or("The form has a broken escape.")
}

/// Returns the value of a field that occurs once in a form; otherwise an empty text.
pub(super) fn one<'a>(form: &'a [Param], name: &str) -> &'a str {
    let mut found = form.iter().filter(|(field, _)| field == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => value,
        _ => "",
    }
}

/// Returns true if this is the path of the authorization endpoint, with a query: a sign-in redirects nowhere else.
pub(super) fn is_authorize_path(path: &str) -> bool {
    let query = path.strip_prefix(AUTHORIZE);
    let query = query.and_then(|query| query.strip_prefix('?'));
    query.is_some_and(|query| query.bytes().all(|byte| byte.is_ascii_graphic()))
}

fn is_https(issuer: &str) -> bool {
    issuer.starts_with("https://")
}

/// Returns the session secret in the cookies of a request.
pub(super) fn session_cookie(headers: &HeaderMap, issuer: &str) -> Option<Secret> {
    let name = if is_https(issuer) {
        HOST_COOKIE
    } else {
        COOKIE
    };
    let cookies = headers.get_all(header::COOKIE).iter();
    let texts = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut values = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter_map(|(cookie, value)| (cookie == name).then_some(value));
    // Of two cookies with the same name, somebody else set one.
    match (values.next(), values.next()) {
        (Some(value), None) => Some(Secret::new(value.to_owned())),
        _ => None,
    }
}

/// Adds the session cookie to a response.
pub(super) fn set_cookie(response: &mut Response, issuer: &str, secret: &Secret) {
    write_cookie(response, issuer, secret.expose(), "");
}

/// Removes the cookie of a session from its browser.
pub(super) fn clear_cookie(response: &mut Response, issuer: &str) {
    write_cookie(response, issuer, "", "; Max-Age=0");
}

fn write_cookie(response: &mut Response, issuer: &str, value: &str, age: &str) {
    let (name, secure) = if is_https(issuer) {
        (HOST_COOKIE, "; Secure")
    } else {
        (COOKIE, "")
    };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{age}{secure}");
    if let Ok(mut cookie) = HeaderValue::try_from(cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

/// Returns a redirect that the browser follows with a GET. An address that does not fit into a header is a server error.
pub(super) fn see_other(to: &str) -> Response {
    let Ok(to) = HeaderValue::try_from(to) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    no_store(&mut response);
    response
}

/// Returns a response that cannot be framed by other sites, loads nothing, and is not cached.
pub(super) fn page_headers(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Body>,
) -> Response {
    const POLICY: &str =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
    let headers: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let mut response = (status, headers, body.into()).into_response();
    no_store(&mut response);
    response
}

/// Forbids caching of a response.
pub(super) fn no_store(response: &mut Response) {
    let value = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
}

//! An app with a refresh token, which is obtained once, with the requests of a user and of an app's server.

use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::graph_builder::{bootstrap, list, member};
use crate::http_client;
use crate::http_client::BenchClient;
use crate::loadgen::{RequestMaker, Rng};

const AUTHORIZE: &str = "/-/oauth_authorize";

/// Requests for loads on the authorization server, as forms ready to send.
pub(crate) struct OAuthFixture {
    refresh: String,
    introspect: String,
}

/// A form: names and values.
type Fields<'a> = [(&'a str, &'a str)];

/// Characters that are encoded in forms: all except the unreserved ones.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn form(fields: &Fields<'_>) -> String {
    let each: Vec<String> = fields
        .iter()
        .map(|(n, v)| format!("{n}={}", utf8_percent_encode(v, COMPONENT)))
        .collect();
    each.join("&")
}

/// Writes a POST request with a form as its body.
fn write_form(out: &mut Vec<u8>, path: &str, cookies: &str, body: &str) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookies}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    out.extend_from_slice(head.as_bytes());
}

/// Returns the value of a hidden field.
fn hidden(page: &[u8], name: &str) -> Result<String> {
    let page = String::from_utf8_lossy(page);
    let start = format!("name=\"{name}\" value=\"");
    let value = page
        .split(&start)
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let value = value.with_context(|| format!("a page without the field {name}"))?;
    Ok(value.replace("&amp;", "&"))
}

/// Returns the value of a cookie that a response sets.
fn cookie(head: &str, name: &str) -> Result<String> {
    let start = format!("{name}=");
    let value = head
        .split(&start)
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    Ok(value
        .with_context(|| format!("no cookie {name}"))?
        .to_owned())
}

impl OAuthFixture {
    /// Makes the demo's first user authorize the demo's first app.
    pub(crate) fn get(client: &BenchClient, data: &Path) -> Result<Self> {
        let demo = bootstrap(data)?;
        let (users, apps) = (list(&demo, "users")?, list(&demo, "apps")?);
        let user = users.first().context("no users")?;
        let app = apps.first().context("no apps")?;
        let (id, secret) = (member(app, "client_id")?, member(app, "client_secret")?);
        let redirect = member(app, "redirect_uri")?;
        let get = |path: &str, cookies: &str| {
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookies}\r\n\r\n");
            http_client::whole(client.addr, request.as_bytes())
        };
        let post = |path: &str, cookies: &str, fields: &Fields<'_>| {
            let mut request = Vec::new();
            write_form(&mut request, path, cookies, &form(fields));
            http_client::whole(client.addr, &request)
        };
        let (head, page) = get("/-/sign_in", "")?;
        let guard = format!("workgraph-form={}", cookie(&head, "workgraph-form")?);
        let fields = [
            ("csrf", &*hidden(&page, "csrf")?),
            ("email", member(user, "email")?),
            ("password", member(user, "password")?),
        ];
        let (head, _) = post("/-/sign_in", &guard, &fields)?;
        let session = format!("workgraph={}", cookie(&head, "workgraph")?);
        let asks = [
            ("client_id", id),
            ("redirect_uri", redirect),
            ("response_type", "code"),
            ("state", "s"),
        ];
        let (_, page) = get(&format!("{AUTHORIZE}?{}", form(&asks)), &session)?;
        let fields = [
            ("request", &*hidden(&page, "request")?),
            ("ticket", &*hidden(&page, "ticket")?),
            ("decision", "allow"),
        ];
        let (head, _) = post(AUTHORIZE, &session, &fields)?;
        let code = head
            .split("code=")
            .nth(1)
            .and_then(|rest| rest.split('&').next());
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", id),
            ("client_secret", secret),
            ("redirect_uri", redirect),
            ("code", code.context("the app was given no code")?),
        ];
        let (_, tokens) = post("/-/oauth_token", "", &fields)?;
        let tokens: Value = serde_json::from_slice(&tokens)?;
        let refresh = [
            ("grant_type", "refresh_token"),
            ("client_id", id),
            ("client_secret", secret),
            ("refresh_token", member(&tokens, "refresh_token")?),
        ];
        Ok(Self {
            refresh: form(&refresh),
            introspect: form(&[("token", member(&tokens, "access_token")?)]),
        })
    }

    /// Returns a maker of requests that get access tokens with the refresh token.
    pub(crate) fn refreshes(&self) -> Arc<RequestMaker> {
        posts("/-/oauth_token", &self.refresh)
    }

    /// Returns a maker of introspection requests for the access token.
    pub(crate) fn introspections(&self) -> Arc<RequestMaker> {
        posts("/-/token_info", &self.introspect)
    }
}

fn posts(path: &str, body: &str) -> Arc<RequestMaker> {
    let mut request = Vec::new();
    write_form(&mut request, path, "", body);
    Arc::new(move |_: &mut Rng, _, out: &mut Vec<u8>| out.extend_from_slice(&request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_cookies_are_found() {
        let page = br#"<input type="hidden" name="csrf" value="a&amp;b">"#;
        assert_eq!(hidden(page, "csrf").unwrap(), "a&b");
        assert!(hidden(page, "other").is_err());
        assert_eq!(
            cookie("Set-Cookie: workgraph=x; Path=/", "workgraph").unwrap(),
            "x"
        );
        assert_eq!(form(&[("a", "b c"), ("d", "e")]), "a=b%20c&d=e");
    }
}

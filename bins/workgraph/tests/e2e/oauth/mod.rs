//! The authorization server over a socket: a browser that knows forms and cookies, and an app.
mod accounts;
mod apps;
mod bad_inputs;
mod clients;
mod libraries;
mod secrets;

use crate::common::{Folder, RawConnection, Reply, Server, WIDE, admin, hidden};
use serde_json::Value;
use std::collections::BTreeMap;
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_wire::percent::encode_component;

pub(crate) const AUTHORIZE: &str = "/-/oauth_authorize";
pub(crate) const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Returns `name=value` joined by `&`.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let each: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encode_component(name), encode_component(value)))
        .collect();
    each.join("&")
}

/// Returns a request to a path of the whole server.
pub(crate) fn raw(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}").into_bytes()
}

pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Posts a form, as an app's server does.
pub(crate) fn post(server: &Server, path: &str, pairs: &[(&str, &str)]) -> Reply {
    let bytes = raw("POST", path, &[FORM], &form(pairs));
    server.raw_connection().ask(&bytes).unwrap()
}

/// An app of the demo.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect: String,
}

impl App {
    /// Returns an app of the demo: 0 has full permissions, 1 `tasks:read users:read openid email profile`, 2 is native.
    pub(crate) fn of(server: &Server, at: usize) -> Self {
        let member = |name: &str| server.demo(&format!("/apps/{at}/{name}"));
        Self {
            id: member("client_id"),
            secret: member("client_secret"),
            redirect: member("redirect_uri"),
        }
    }

    /// Returns the authorization request that the app has a browser open, changed by pairs: an empty value takes a
    /// parameter away.
    pub(crate) fn asks(&self, changes: &[(&str, &str)]) -> String {
        let challenge = CodeChallenge::of(VERIFIER).to_string();
        let mut all: BTreeMap<&str, &str> = BTreeMap::from([
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.redirect.as_str()),
            ("response_type", "code"),
            ("state", "a b&c"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ]);
        all.extend(changes.iter().copied());
        let pairs: Vec<_> = all
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        format!("{AUTHORIZE}?{}", form(&pairs))
    }

    /// Posts a form with its credentials, changed by pairs.
    pub(crate) fn post(&self, server: &Server, path: &str, pairs: &[(&str, &str)]) -> Reply {
        let mut all: BTreeMap<&str, &str> = BTreeMap::from([
            ("client_id", self.id.as_str()),
            ("client_secret", self.secret.as_str()),
        ]);
        all.extend(pairs.iter().copied());
        let pairs: Vec<_> = all
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        post(server, path, &pairs)
    }

    /// Redeems a code, with changes.
    pub(crate) fn redeem(&self, server: &Server, code: &str, changes: &[(&str, &str)]) -> Reply {
        let pairs = [
            ("grant_type", "authorization_code"),
            ("redirect_uri", self.redirect.as_str()),
            ("code", code),
            ("code_verifier", VERIFIER),
        ];
        self.post(server, "/-/oauth_token", &[&pairs, changes].concat())
    }

    /// Uses a refresh token, with changes.
    pub(crate) fn refresh(&self, server: &Server, token: &str, changes: &[(&str, &str)]) -> Reply {
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.post(server, "/-/oauth_token", &[&pairs, changes].concat())
    }

    /// Runs the whole flow. Returns the access and the refresh token.
    pub(crate) fn tokens(
        &self,
        browser: &mut Browser<'_>,
        changes: &[(&str, &str)],
    ) -> [String; 2] {
        let code = browser.allow(self, changes);
        let without = changes.contains(&("code_challenge", ""));
        let verifier: &[(&str, &str)] = if without {
            &[("code_verifier", "")]
        } else {
            &[]
        };
        let reply = self.redeem(browser.server, &code, verifier);
        assert_eq!(reply.status, 200, "{}", reply.text());
        ["access_token", "refresh_token"].map(|name| text(&reply.json(), name))
    }
}

pub(crate) fn text(json: &Value, name: &str) -> String {
    json[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name}: {json}"))
        .to_owned()
}

/// Returns the `error` of a reply in the form of RFC 6749.
pub(crate) fn error(reply: &Reply) -> String {
    let json: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    assert!(json["error_description"].is_string(), "{}", reply.text());
    text(&json, "error")
}

/// Returns the parameters of a redirect, from its query.
pub(crate) fn query(reply: &Reply) -> BTreeMap<String, String> {
    let location = reply.header("location").unwrap_or_default();
    let start = location.split('#').next().unwrap_or_default();
    pairs(start.split_once('?').map_or("", |(_, query)| query))
}

pub(crate) fn pairs(text: &str) -> BTreeMap<String, String> {
    let query = workgraph_wire::QueryParams::parse(text).unwrap();
    query
        .iter()
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

/// Browser with its cookies.
pub(crate) struct Browser<'s> {
    pub(crate) server: &'s Server,
    connection: RawConnection,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'s> Browser<'s> {
    pub(crate) fn new(server: &'s Server) -> Self {
        Self {
            server,
            connection: server.raw_connection(),
            cookies: BTreeMap::new(),
        }
    }

    /// Returns a browser in which a user of the demo has signed in.
    pub(crate) fn signed_in(server: &'s Server, user: usize) -> Self {
        let mut browser = Self::new(server);
        let page = browser.get("/-/sign_in");
        let reply = browser.sign_in(user, &page);
        assert_eq!(reply.status, 303, "{}", reply.text());
        browser
    }

    pub(crate) fn sign_in(&mut self, user: usize, page: &Reply) -> Reply {
        let email = self.server.demo(&format!("/users/{user}/email"));
        let password = self.server.demo(&format!("/users/{user}/password"));
        self.submit(
            "/-/sign_in",
            page,
            &[("email", &email), ("password", &password)],
        )
    }

    pub(crate) fn origin(&self) -> String {
        self.server.demo("/auth_url")
    }

    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let jar: Vec<String> = self
            .cookies
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        let jar = jar.join("; ");
        let mut all = headers.to_vec();
        if !jar.is_empty() {
            all.push(("Cookie", &jar));
        }
        let reply = self.connection.ask(&raw(method, path, &all, body)).unwrap();
        if reply.header("connection") == Some("close") {
            self.connection = self.server.raw_connection();
        }
        for (_, cookie) in reply
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"))
        {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    /// Sends the form of a page, with the values that were typed.
    pub(crate) fn submit(&mut self, path: &str, page: &Reply, typed: &[(&str, &str)]) -> Reply {
        let fields = hidden(&page.text());
        let fields = fields.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let all: Vec<_> = fields.chain(typed.iter().copied()).collect();
        let origin = self.origin();
        self.ask("POST", path, &[FORM, ("Origin", &origin)], &form(&all))
    }

    /// Requests consent, and answers the form. Returns the response.
    pub(crate) fn consent(&mut self, app: &App, changes: &[(&str, &str)], word: &str) -> Reply {
        let page = self.get(&app.asks(changes));
        assert_eq!(
            page.status,
            200,
            "{} {:?}",
            page.text(),
            page.header("location")
        );
        self.submit(AUTHORIZE, &page, &[("decision", word)])
    }

    /// Authorizes an app. Returns the code that the app is given.
    pub(crate) fn allow(&mut self, app: &App, changes: &[(&str, &str)]) -> String {
        let reply = self.consent(app, changes, "allow");
        assert_eq!(reply.status, 303, "{}", reply.text());
        let sent = query(&reply);
        assert_eq!(sent["state"], "a b&c");
        sent["code"].clone()
    }
}

/// Returns true if a token opens the API.
pub(crate) fn works(server: &Server, token: &str) -> bool {
    status(server, token, "/users/me") == 200
}

pub(crate) fn status(server: &Server, token: &str, path: &str) -> u16 {
    let bytes = crate::common::request("GET", path, token, None);
    server.raw_connection().ask(&bytes).unwrap().status
}

/// Starts a demo whose endpoints may be called often.
pub(crate) fn demo(name: &str) -> (Folder, Server) {
    let folder = Folder::new(name);
    let often = [
        ("oauth.token_info_per_minute", "off"),
        ("oauth.failures_per_minute", "off"),
    ];
    let server = Server::start(&folder, &[WIDE, &often].concat());
    (folder, server)
}

/// Runs `admin app`.
pub(crate) fn admin_app(folder: &Folder, arguments: &[&str]) -> Value {
    admin(folder, &[&["app"], arguments].concat())
}

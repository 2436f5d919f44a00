//! A browser, and helpers for requests and responses.
use std::net::IpAddr;

use bytes::Bytes;
use workgraph_api::ApiResponse;
use workgraph_portal::PortalRequest;
use workgraph_wire::percent::encode_component;

use super::fixtures::{CHALLENGE, REDIRECT, Town};

/// Returns a text without special characters, as a form or query has it.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", encode_component(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}
/// Returns a request with only the headers that a form needs.
pub(crate) fn request(method: &str, path: &str, from: impl Into<IpAddr>) -> PortalRequest {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    PortalRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        authorization: Vec::new(),
        content_type: Some("application/x-www-form-urlencoded".to_owned()),
        cookies: Vec::new(),
        origin: None,
        referer: None,
        fetch_site: None,
        fetch_dest: None,
        address: from.into(),
        user_agent: None,
        base_url: None,
        request_id: None,
        body: Bytes::new(),
    }
}

pub(crate) fn text(reply: &ApiResponse) -> String {
    String::from_utf8(reply.body.to_vec()).unwrap()
}

pub(crate) fn header<'r>(reply: &'r ApiResponse, name: &str) -> Option<&'r str> {
    let found = reply
        .headers
        .iter()
        .find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Returns the address to which a response leads.
pub(crate) fn leads(reply: &ApiResponse) -> &str {
    assert_eq!(reply.status, 303, "{}", text(reply));
    header(reply, "Location").unwrap()
}

/// Returns a hidden field of a page.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let after = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    let value = after
        .unwrap_or_else(|| panic!("no {name} in {page}"))
        .split('"')
        .next()
        .unwrap();
    value.replace("&amp;", "&")
}

/// Browser with its cookies and its address.
pub(crate) struct Browser<'t> {
    pub(crate) town: &'t Town,
    pub(crate) cookies: Vec<(String, String)>,
    pub(crate) from: IpAddr,
}

impl<'t> Browser<'t> {
    pub(crate) fn new(town: &'t Town) -> Self {
        Self {
            town,
            cookies: Vec::new(),
            from: [1, 1, 1, 1].into(),
        }
    }

    /// Returns a browser in which a user has signed in.
    pub(crate) fn of(town: &'t Town, user: u64) -> Self {
        let mut browser = Self::new(town);
        let reply = browser.sign_in(user, &format!("pass-{user}"));
        assert_eq!(leads(&reply), "/-/connected_apps");
        browser
    }

    pub(crate) fn cookie(&self) -> &str {
        let found = self
            .cookies
            .iter()
            .find(|(name, _)| name.ends_with("workgraph"));
        &found.unwrap().1
    }

    pub(crate) fn send(
        &mut self,
        change: impl FnOnce(&mut PortalRequest),
        method: &str,
        path: &str,
        body: &str,
    ) -> ApiResponse {
        let mut sent = request(method, path, self.from);
        let jar = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        sent.cookies = vec![jar.collect::<Vec<_>>().join("; ")];
        sent.body = Bytes::from(body.to_owned());
        if method == "POST" {
            sent.origin = Some("null".to_owned());
            sent.fetch_site = Some("same-origin".to_owned());
        }
        change(&mut sent);
        let reply = self.town.send(&sent);
        for (_, cookie) in reply.headers.iter().filter(|(n, _)| *n == "Set-Cookie") {
            let (name, rest) = cookie.split_once('=').unwrap();
            self.cookies.retain(|(had, _)| had != name);
            let value = rest.split(';').next().unwrap();
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        reply
    }

    pub(crate) fn get(&mut self, path: &str) -> ApiResponse {
        self.send(|_| {}, "GET", path, "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> ApiResponse {
        self.send(|_| {}, "POST", path, body)
    }

    pub(crate) fn sign_in(&mut self, user: u64, password: &str) -> ApiResponse {
        let page = text(&self.get("/-/sign_in"));
        let email = format!("{user}@example.com");
        let fields = [
            ("csrf", &*hidden(&page, "csrf")),
            ("email", &email),
            ("password", password),
        ];
        self.post("/-/sign_in", &form(&fields))
    }

    /// Returns the consent form for these scopes, as the page has it.
    pub(crate) fn ask(&mut self, scope: &str) -> (String, String) {
        let page = text(&self.get(&authorize(scope)));
        (hidden(&page, "request"), hidden(&page, "ticket"))
    }

    /// Allows the scopes. Returns the code that the app is sent.
    pub(crate) fn allow(&mut self, scope: &str) -> String {
        let (request, ticket) = self.ask(scope);
        let reply = self.post("/-/oauth_authorize", &answer(&request, &ticket, "allow"));
        let code = leads(&reply)
            .split("code=")
            .nth(1)
            .unwrap()
            .split('&')
            .next();
        code.unwrap().to_owned()
    }
}

pub(crate) fn answer(request: &str, ticket: &str, word: &str) -> String {
    form(&[("request", request), ("ticket", ticket), ("decision", word)])
}

/// Returns the address of an authorization request by the app.
pub(crate) fn authorize(scope: &str) -> String {
    let fields = [
        ("client_id", "40"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "xyz"),
        ("scope", scope),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    format!("/-/oauth_authorize?{}", form(&fields))
}

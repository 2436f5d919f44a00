//! The pages over a socket, as a browser without script fetches them.
use crate::common::{Folder, Reply, Server, WIDE};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fmt::Write;
use workgraph_wire::percent::encode_component;

/// Browser of a user, with its cookies.
pub(crate) struct Browser<'s> {
    server: &'s Server,
    cookies: BTreeMap<String, String>,
    /// Value of the `X-Forwarded-For` header that a proxy would send.
    forwarded: Option<&'static str>,
}

/// Returns a hidden field of the first form that has it.
fn hidden(page: &str, name: &str) -> String {
    let from = format!("name=\"{name}\" value=\"");
    let after = page
        .split(&from)
        .nth(1)
        .unwrap_or_else(|| panic!("no {name} in {page}"));
    let value = after.split('"').next().unwrap();
    value
        .replace("&amp;", "&")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
}

impl<'s> Browser<'s> {
    pub(crate) fn new(server: &'s Server) -> Self {
        Self {
            server,
            cookies: BTreeMap::new(),
            forwarded: None,
        }
    }

    fn send(&mut self, method: &str, path: &str, form: Option<&str>) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        let jar: Vec<String> = self
            .cookies
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        if !jar.is_empty() {
            write!(text, "Cookie: {}\r\n", jar.join("; ")).unwrap();
        }
        if let Some(from) = self.forwarded {
            write!(text, "X-Forwarded-For: {from}\r\nForwarded: for={from}\r\n").unwrap();
        }
        if let Some(form) = form {
            write!(
                text,
                "Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                self.server.port,
                form.len()
            )
            .unwrap();
        }
        write!(text, "\r\n{}", form.unwrap_or_default()).unwrap();
        let reply = self.server.raw_connection().ask(text.as_bytes()).unwrap();
        for (_, cookie) in reply
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"))
        {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if cookie.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    /// Posts a form with the anti-forgery text of the page that has it.
    fn post(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.get(page).text();
        let mut form = format!("csrf={}", encode_component(&hidden(&page, "csrf")));
        for (name, value) in fields {
            write!(form, "&{name}={}", encode_component(value)).unwrap();
        }
        self.send("POST", path, Some(&form))
    }

    pub(crate) fn try_sign_in(&mut self, email: &str, password: &str) -> Reply {
        self.post(
            "/-/sign_in",
            "/-/sign_in",
            &[
                ("email", email),
                ("password", password),
                ("next", "/-/console/apps"),
            ],
        )
    }

    fn sign_in(&mut self) {
        let reply = self.try_sign_in(
            &self.server.demo("/users/0/email"),
            &self.server.demo("/users/0/password"),
        );
        assert_eq!(leads(&reply), "/-/console/apps");
    }

    /// Registers an app. Returns its number.
    fn register(&mut self, name: &str, redirect: &str) -> String {
        let workspace = self.server.workspace("paid");
        let new = "/-/console/apps/new";
        let fields = [
            ("name", name),
            ("redirects", redirect),
            ("permissions", "scopes"),
            ("scope", "tasks:read"),
            ("workspace", &workspace),
        ];
        let reply = self.post(new, new, &fields);
        let shown = leads(&reply).to_owned();
        assert!(shown.starts_with("/-/console/secret?key="), "{shown}");
        let page = self.get(&shown).text();
        page.split("<dd><code>")
            .nth(1)
            .unwrap()
            .split('<')
            .next()
            .unwrap()
            .to_owned()
    }
}

/// Returns the address to which a reply leads, which must be by 303 (B25).
fn leads(reply: &Reply) -> &str {
    assert_eq!(reply.status, 303, "{}", reply.text());
    reply.header("Location").unwrap()
}

/// Checks the rules that hold for every page.
fn check(what: &str, reply: &Reply) {
    let header = |name: &str| reply.header(name).unwrap_or_default().to_owned();
    assert_eq!(header("Referrer-Policy"), "no-referrer", "{what}");
    assert!(header("Cache-Control").contains("no-store"), "{what}");
    // To an app that is not known yet, only plain text is sent.
    let plain = header("Content-Type").starts_with("text/plain") && reply.status == 400;
    if reply.status == 303 || plain {
        return;
    }
    let text = reply.text();
    assert!(
        header("Content-Type").starts_with("text/html"),
        "{what}: {} {text}",
        reply.status
    );
    assert_eq!(header("X-Frame-Options"), "DENY", "{what}");
    assert_eq!(header("X-Content-Type-Options"), "nosniff", "{what}");
    let policy = header("Content-Security-Policy");
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(part), "{what}: {policy}");
    }
    assert!(
        !policy.contains("unsafe") && !policy.contains("script"),
        "{what}: {policy}"
    );
    let style = text
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA256, style.as_bytes());
    assert!(
        policy.contains(&format!("'sha256-{}'", STANDARD.encode(digest))),
        "{what}: the style is not let in"
    );
    assert!(text.len() < 60 << 10, "{what} has {} bytes", text.len());
    assert!(
        !text.contains("<script") && !text.contains("style=\""),
        "{what}"
    );
}

/// B21. B25. Every page, signed in and not, and every form that is refused, has the headers; nothing
/// but 303 leads anywhere.
#[test]
fn every_html_route_has_its_headers() {
    let folder = Folder::new("pages");
    let server = Server::start(&folder, WIDE);
    let redirect = "http://127.0.0.1:9/callback";
    let mut ada = Browser::new(&server);
    ada.sign_in();
    let app = ada.register("Planner", redirect);
    let native = ada.register("Terminal", "urn:ietf:wg:oauth:2.0:oob");
    let authorize = |client: &str, redirect: &str, more: &str| {
        let redirect = encode_component(redirect);
        format!(
            "/-/oauth_authorize?client_id={client}&redirect_uri={redirect}&response_type=code&state=x&scope=tasks:read{more}"
        )
    };
    let challenge =
        "&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let oob = "urn:ietf:wg:oauth:2.0:oob";
    let routes = [
        "/-/sign_in".to_owned(),
        "/-/sign_in?done=signed_out".to_owned(),
        "/-/sign_out".to_owned(),
        "/-/connected_apps".to_owned(),
        "/-/connected_apps/x".to_owned(),
        "/-/console/apps".to_owned(),
        "/-/console/apps/new".to_owned(),
        format!("/-/console/apps/{app}"),
        "/-/console/apps/1".to_owned(),
        "/-/console/tokens".to_owned(),
        "/-/console/service_accounts".to_owned(),
        "/-/console/workspace_apps".to_owned(),
        "/-/console/secret".to_owned(),
        "/-/console/account".to_owned(),
        "/-/console".to_owned(),
        authorize(&app, redirect, challenge),
        authorize(&native, oob, challenge),
        authorize(&native, oob, ""),
        authorize(&app, redirect, "&scope=users:read"),
        authorize(&app, redirect, "&response_mode=form_post&prompt=none"),
    ];
    let mut nobody = Browser::new(&server);
    for path in &routes {
        check(path, &nobody.get(path));
        check(path, &ada.get(path));
        // A form without its anti-forgery text.
        let path = path.split('?').next().unwrap();
        for browser in [&mut nobody, &mut ada] {
            let reply = browser.send("POST", path, Some("x=y"));
            if reply.status != 404 {
                check(&format!("POST {path}"), &reply);
            }
        }
    }
    assert_eq!(ada.get("/-/console/apps").status, 200, "still signed in");
    check(
        "a wrong password",
        &nobody.try_sign_in("a@b.example", "wrong"),
    );
    let deny = {
        let page = ada.get(&authorize(&native, oob, challenge)).text();
        let (request, ticket) = (
            encode_component(&hidden(&page, "request")),
            encode_component(&hidden(&page, "ticket")),
        );
        move |word: &str| format!("request={request}&ticket={ticket}&decision={word}")
    };
    let shown = ada.send("POST", "/-/oauth_authorize", Some(&deny("allow")));
    check("the page with a code", &shown);
    assert!(shown.text().contains("id=\"code\""));
    check(
        "an answered form",
        &ada.send("POST", "/-/oauth_authorize", Some(&deny("allow"))),
    );
}

/// B22. Pages show the name of an app as text, whatever it is.
#[test]
fn names_of_apps_are_text_on_every_page() {
    let folder = Folder::new("names");
    let server = Server::start(&folder, WIDE);
    let mut ada = Browser::new(&server);
    ada.sign_in();
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</title><svg/onload=alert(1)>",
        "</textarea><base href=//evil.example>",
        "' onmouseover='alert(1)",
        "&lt;b&gt;",
    ] {
        let redirect = "https://planner.example/cb?a=%22%3E";
        let app = ada.register(name, redirect);
        let escaped = name
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        let query = format!(
            "/-/oauth_authorize?client_id={app}&redirect_uri={}&response_type=code&state=x&scope=tasks:read",
            encode_component(redirect)
        );
        let consent = ada.get(&query).text();
        let (request, ticket) = (hidden(&consent, "request"), hidden(&consent, "ticket"));
        let form = format!(
            "request={}&ticket={}&decision=allow",
            encode_component(&request),
            encode_component(&ticket)
        );
        leads(&ada.send("POST", "/-/oauth_authorize", Some(&form)));
        let mut nobody = Browser::new(&server);
        for (what, page) in [
            ("consent", consent),
            ("sign in", nobody.get(&query).text()),
            ("the app", ada.get(&format!("/-/console/apps/{app}")).text()),
            ("all apps", ada.get("/-/console/apps").text()),
            ("connected apps", ada.get("/-/connected_apps").text()),
        ] {
            assert!(page.contains(&escaped), "{what} of {name}: {page}");
            assert!(escaped == name || !page.contains(name), "{what} of {name}");
        }
    }
}

const WRONG: &str = "The e-mail address or the password is not right.";

/// B59. B64. Without proxies that the operator named, a header does not change a client's address; and failures of one
/// address do not count for another.
#[test]
fn forwarded_addresses_are_believed_from_proxies_only() {
    let few = |more: &[(&'static str, &'static str)]| {
        [WIDE, &[("oauth.failures_per_minute", "3")], more].concat()
    };
    let attempt = |server: &Server, from, n: usize| {
        let mut browser = Browser::new(server);
        browser.forwarded = Some(from);
        browser
            .try_sign_in(&format!("nobody{n}@example.com"), "wrong")
            .status
    };
    let folder = Folder::new("forwarded");
    let server = Server::start(&folder, &few(&[]));
    let spoofed: Vec<u16> = (0..5)
        .map(|n| {
            attempt(
                &server,
                ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4", "5.5.5.5"][n],
                n,
            )
        })
        .collect();
    assert_eq!(spoofed, [400, 400, 400, 429, 429]);
    drop(server);

    let server = Server::start(&folder, &few(&[("http.trusted_proxies", "127.0.0.0/8")]));
    let flood: Vec<u16> = (0..5).map(|n| attempt(&server, "1.1.1.1", n)).collect();
    assert_eq!(flood, [400, 400, 400, 429, 429]);
    assert_eq!(attempt(&server, "2.2.2.2", 6), 400);
    // The part of the header that a client wrote before the proxy's entry is not the proxy's.
    assert_eq!(attempt(&server, "9.9.9.9, 1.1.1.1", 7), 429);
    let mut browser = Browser::new(&server);
    browser.forwarded = Some("2.2.2.2");
    assert!(
        browser
            .try_sign_in("nobody@example.com", "wrong")
            .text()
            .contains(WRONG)
    );
    browser.sign_in();
}

/// B58. Documents and answers name the configured address, whatever the Host of a request is.
#[test]
fn a_foreign_host_changes_no_address() {
    let folder = Folder::new("host");
    let named = [WIDE, &[("public_url", "https://work.example")]].concat();
    let server = Server::start(&folder, &named);
    let ask = |path: &str, headers: &str| {
        let text = format!("GET {path} HTTP/1.1\r\n{headers}\r\n");
        server.raw_connection().ask(text.as_bytes()).unwrap()
    };
    let own = format!("Host: 127.0.0.1:{}\r\n", server.port);
    for path in [
        "/api/1.0/.well-known/openid-configuration",
        "/-/sign_in?done=signed_out",
        "/-/console/apps",
    ] {
        let before = ask(path, &own);
        assert!(
            before.status == 200 || before.status == 303,
            "{path}: {}",
            before.status
        );
        for hostile in [
            "Host: evil.example\r\n".to_owned(),
            format!("{own}X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n"),
            format!("{own}Forwarded: host=evil.example;proto=https\r\n"),
        ] {
            let after = ask(path, &hostile);
            assert_eq!(after.status, before.status, "{path} with {hostile}");
            assert_eq!(after.header("Location"), before.header("Location"));
            assert!(
                !after.text().contains("evil.example"),
                "{path} with {hostile}"
            );
            if path.contains("well-known") {
                assert_eq!(after.text(), before.text());
            }
        }
    }
}

//! The common layout, its style sheet, and the headers that every page is sent with.
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::paths;

/// Style sheet, included in every page.
static STYLE: &str = include_str!("style.css");

/// Hash of the style sheet, as a source expression of CSP (Content Security Policy Level 3, section 2.3.1).
pub(crate) static STYLE_SOURCE: LazyLock<String> = LazyLock::new(|| {
    let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(digest.as_ref()))
});

/// HTML page, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlPage {
    /// The whole document.
    pub html: String,
    /// Origin of an app that a form of this page may lead to. Browsers also apply `form-action` to redirects after a
    /// form.
    pub leads_to: Option<String>,
}

impl HtmlPage {
    /// Lets forms of this page lead to the origin of an app's registered URL.
    #[must_use]
    pub fn leading_to(mut self, url: &str) -> Self {
        let origin = url.split_once("://").map(|(scheme, rest)| {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            format!("{scheme}://{}", rest.get(..end).unwrap_or_default())
        });
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-.:/[]".contains(&b);
        self.leads_to = origin.filter(|origin| origin.bytes().all(plain));
        self
    }

    /// Returns the headers of a page: it loads nothing, runs nothing, and is never framed, cached or sent as a referrer.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let lead = self.leads_to.as_deref().map(|to| format!(" {to}"));
        let policy = format!(
            "default-src 'none'; style-src {}; form-action 'self'{}; frame-ancestors 'none'; base-uri 'none'",
            *STYLE_SOURCE,
            lead.unwrap_or_default()
        );
        let rest = [
            ("content-type", "text/html; charset=utf-8"),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            (
                "permissions-policy",
                "camera=(), geolocation=(), microphone=()",
            ),
        ];
        let rest = rest.map(|(name, value)| (name, value.to_owned()));
        [("content-security-policy", policy)]
            .into_iter()
            .chain(rest)
            .collect()
    }
}

/// Signed-in user, for the page header.
#[derive(Clone, Copy, Debug)]
pub struct SignedInUser<'a> {
    /// Name of the user.
    pub name: &'a str,
    /// Anti-forgery text of this session's forms.
    pub csrf: &'a str,
    /// True if the user administers a workspace, and so may see service accounts.
    pub admin: bool,
}

/// Navigation and notice around a page of a signed-in user.
#[derive(Clone, Copy, Debug)]
pub struct PageChrome<'a> {
    /// User in the page header.
    pub user: SignedInUser<'a>,
    /// Notice of the last action, shown once at the top.
    pub notice: Option<&'a str>,
}

/// Section of the console, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavigationSection {
    /// The overview.
    Overview,
    /// Apps that the user authorized.
    Connected,
    /// Apps that the user registered.
    Apps,
    /// Personal access tokens.
    Tokens,
    /// Service accounts of the user's workspaces.
    Services,
    /// Apps of the workspaces that the user administers.
    Installed,
    /// The last requests of the user's apps and tokens.
    Requests,
    /// Password and sessions of the user.
    Account,
}

impl NavigationSection {
    const fn is_for_admins(self) -> bool {
        matches!(self, Self::Services | Self::Installed)
    }

    const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Overview, paths::CONSOLE, "Overview"),
        (Self::Connected, paths::CONNECTED, "Connected apps"),
        (Self::Apps, paths::APPS, "My apps"),
        (Self::Tokens, paths::TOKENS, "Access tokens"),
        (Self::Services, paths::SERVICES, "Service accounts"),
        (Self::Installed, paths::INSTALLED, "Workspace apps"),
        (Self::Requests, paths::REQUESTS, "Requests"),
        (Self::Account, paths::ACCOUNT, "Account"),
    ];
}

/// Returns the HTML document around the header and the main part of a page. `metadata` goes into the document's head.
pub(crate) fn document(title: &str, metadata: &Markup, top: &Markup, main: &Markup) -> HtmlPage {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Workgraph" }
                style { (PreEscaped(STYLE)) }
                (metadata)
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (top)
                (main)
            }
        }
    };
    HtmlPage {
        html: html.into_string(),
        leads_to: None,
    }
}

/// Returns a page with one card and no navigation.
pub(super) fn slim(title: &str, body: &Markup) -> HtmlPage {
    let head = html! {
        header.top { div { (brand()) } }
    };
    document(
        title,
        &html! {},
        &head,
        &html! { main #main .slim { div.card { (body) } } },
    )
}

/// Person in the header of a page outside the console.
#[derive(Clone, Debug)]
pub struct SiteUser {
    /// Name of the user.
    pub name: String,
    /// Anti-forgery text of this session's forms.
    pub csrf: String,
}

/// Returns a page outside the console, for all visitors or for a signed-in person.
pub(super) fn site(title: &str, user: Option<&SiteUser>, body: &Markup) -> HtmlPage {
    let head = html! {
        header.top {
            div {
                (brand())
                nav aria-label="Site" {
                    ul {
                        li { a href=(paths::CONSOLE) { "Console" } }
                        li { a href=(paths::REFERENCE) { "API reference" } }
                        @if user.is_none() { li { a href={ (paths::SIGN_IN) "?next=%2F" } { "Sign in" } } }
                    }
                }
                @if let Some(user) = user {
                    (sign_out(&SignedInUser { name: &user.name, csrf: &user.csrf, admin: false }))
                }
            }
        }
    };
    document(title, &html! {}, &head, &html! { main #main { (body) } })
}

/// Returns the name of the service, which links to the front page.
pub(crate) fn brand() -> Markup {
    html! { a.brand href=(paths::HOME) { "Workgraph" } }
}

pub(super) fn console(
    title: &str,
    frame: &PageChrome<'_>,
    section: Option<NavigationSection>,
    body: &Markup,
) -> HtmlPage {
    let head = html! {
        header.top {
            div {
                (brand())
                nav aria-label="Console" {
                    ul {
                        @for (this, path, name) in NavigationSection::ALL {
                            @if frame.user.admin || !this.is_for_admins() {
                                li { a href=(path) aria-current=[(Some(this) == section).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                (sign_out(&frame.user))
            }
        }
    };
    let main = html! {
        main #main {
            @if let Some(notice) = frame.notice {
                div.note role="status" { (notice) }
            }
            (body)
        }
    };
    document(title, &html! {}, &head, &main)
}

fn sign_out(user: &SignedInUser<'_>) -> Markup {
    html! {
        form.user method="post" action=(paths::SIGN_OUT) {
            (csrf(user.csrf))
            bdi { (user.name) }
            button.link type="submit" { "Sign out" }
        }
    }
}

/// Returns the hidden field with the anti-forgery text.
pub(super) fn csrf(text: &str) -> Markup {
    html! { input type="hidden" name="csrf" value=(text); }
}

pub(super) fn hidden(fields: &[(String, String)]) -> Markup {
    html! {
        @for (name, value) in fields {
            input type="hidden" name=(name) value=(value);
        }
    }
}

/// Content of a page for an error, or for a missing object.
#[derive(Clone, Copy, Debug)]
pub struct ErrorPage<'a> {
    /// Error in a few words.
    pub heading: &'a str,
    /// Explanation, with a way to resolve the error.
    pub text: &'a str,
    /// Link to continue with: its address and its text.
    pub onward: Option<(&'a str, &'a str)>,
}

impl ErrorPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        slim(
            self.heading,
            &html! {
                h1 { (self.heading) }
                p { (self.text) }
                @if let Some((path, words)) = self.onward {
                    p { a href=(path) { (words) } }
                }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_may_lead_to_the_origin_of_a_url_and_nothing_else() {
        let page = HtmlPage {
            html: String::new(),
            leads_to: None,
        };
        for (url, origin) in [
            ("https://app.example/cb?x=1", Some("https://app.example")),
            ("https://app.example:8443", Some("https://app.example:8443")),
            ("http://[::1]:99/cb", Some("http://[::1]:99")),
            ("urn:ietf:wg:oauth:2.0:oob", None),
            ("https://a;script-src *", None),
        ] {
            assert_eq!(
                page.clone().leading_to(url).leads_to.as_deref(),
                origin,
                "{url}"
            );
        }
    }
}

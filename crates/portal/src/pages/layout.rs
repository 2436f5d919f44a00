//! The one layout, its style sheet and the headers that every page is sent with.
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::paths;

/// The style sheet, as it is in every page.
static STYLE: &str = include_str!("style.css");

/// The style sheet's hash, as a source expression of CSP (Content Security Policy Level 3,
/// section 2.3.1).
static STYLE_SOURCE: LazyLock<String> = LazyLock::new(|| {
    let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(digest.as_ref()))
});

/// A page, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The whole document.
    pub html: String,
    /// The origin of an app that a form of this page may lead to. Browsers hold redirects after a
    /// form to `form-action` too.
    pub leads_to: Option<String>,
}

impl Page {
    /// Lets forms of this page lead to the origin of a URL, which was registered for an app.
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

    /// The headers of a page: nothing is loaded, run, framed, kept or told to others.
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

/// Who is signed in, for the head of a page.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The user's name.
    pub name: &'a str,
    /// The anti-forgery text of this session's forms.
    pub csrf: &'a str,
    /// Whether the user administers a workspace, and so has service accounts.
    pub admin: bool,
}

/// What stands around the pages of somebody who is signed in.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Who it is.
    pub who: Who<'a>,
    /// What happened just now, said once on top.
    pub notice: Option<&'a str>,
}

/// The parts of the console, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Apps that the user lets in.
    Connected,
    /// Apps that the user makes.
    Apps,
    /// Personal access tokens.
    Tokens,
    /// Service accounts.
    Services,
    /// Apps of the workspaces that the user administers.
    Installed,
    /// The password, and where the user is signed in.
    Account,
}

impl Section {
    const fn is_for_admins(self) -> bool {
        matches!(self, Self::Services | Self::Installed)
    }

    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Connected, paths::CONNECTED, "Connected apps"),
        (Self::Apps, paths::APPS, "My apps"),
        (Self::Tokens, paths::TOKENS, "Access tokens"),
        (Self::Services, paths::SERVICES, "Service accounts"),
        (Self::Installed, paths::INSTALLED, "Workspace apps"),
        (Self::Account, paths::ACCOUNT, "Account"),
    ];
}

/// The document around everything.
fn document(title: &str, head: &Markup, main: &Markup) -> Page {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Workgraph" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (head)
                (main)
            }
        }
    };
    Page {
        html: html.into_string(),
        leads_to: None,
    }
}

/// A page with one thing on it.
pub(super) fn slim(title: &str, body: &Markup) -> Page {
    let head = html! {
        header.top { div { span.brand { "Workgraph" } } }
    };
    document(
        title,
        &head,
        &html! { main #main .slim { div.card { (body) } } },
    )
}

/// A page of the console.
pub(super) fn console(
    title: &str,
    frame: &Frame<'_>,
    section: Option<Section>,
    body: &Markup,
) -> Page {
    let head = html! {
        header.top {
            div {
                span.brand { "Workgraph" }
                nav aria-label="Console" {
                    ul {
                        @for (this, path, name) in Section::ALL {
                            @if frame.who.admin || !this.is_for_admins() {
                                li { a href=(path) aria-current=[(Some(this) == section).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                (sign_out(&frame.who))
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
    document(title, &head, &main)
}

fn sign_out(who: &Who<'_>) -> Markup {
    html! {
        form.who method="post" action=(paths::SIGN_OUT) {
            (csrf(who.csrf))
            bdi { (who.name) }
            button.link type="submit" { "Sign out" }
        }
    }
}

/// The hidden field that says a form is ours.
pub(super) fn csrf(text: &str) -> Markup {
    html! { input type="hidden" name="csrf" value=(text); }
}

/// Hidden fields.
pub(super) fn hidden(fields: &[(String, String)]) -> Markup {
    html! {
        @for (name, value) in fields {
            input type="hidden" name=(name) value=(value);
        }
    }
}

/// Something went wrong, or is not there.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// What, in a few words.
    pub heading: &'a str,
    /// What it means and what to do.
    pub text: &'a str,
    /// A way on: where, and its words.
    pub onward: Option<(&'a str, &'a str)>,
}

impl Failure<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
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
        let page = Page {
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

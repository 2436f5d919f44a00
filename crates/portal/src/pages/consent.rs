//! The pages that ask for consent, and that deliver the answer.
use maud::{Markup, html};
use workgraph_auth::tokens::scope::FULL_ACCESS_DESCRIPTION;
use workgraph_auth::{Scope, ScopeSet};

use super::layout::{HtmlPage, hidden, slim};

/// Scopes that an app requests, compared with those granted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentRequest {
    /// True if the app requests full permissions.
    pub full: bool,
    /// Scopes that the user has not granted yet.
    pub new: Vec<Scope>,
    /// Scopes that were granted before and remain.
    pub already_granted: Vec<Scope>,
    /// Scopes that were granted before and end, because the new request replaces the old one.
    pub no_longer_granted: Vec<Scope>,
    /// True if the app was granted scopes before.
    pub was_granted_before: bool,
}

impl ConsentRequest {
    /// Compares the requested scopes with those granted before.
    #[must_use]
    pub fn of(asked: ScopeSet, granted: Option<ScopeSet>) -> Self {
        let before = granted.unwrap_or_default();
        let (kept, new) = asked.iter().partition(|scope| before.allows(scope.name));
        Self {
            full: asked.is_full(),
            new,
            already_granted: kept,
            no_longer_granted: before
                .iter()
                .filter(|scope| !asked.allows(scope.name))
                .collect(),
            was_granted_before: granted.is_some(),
        }
    }
}

/// Content of the consent page.
#[derive(Clone, Copy, Debug)]
pub struct ConsentPage<'a> {
    /// Name of the app that asks for access.
    pub app: &'a str,
    /// Host that the answer is sent to; none for a native app, whose code is shown on a page.
    pub host: Option<&'a str>,
    /// Name of the signed-in user.
    pub name: &'a str,
    /// E-mail address of the signed-in user.
    pub email: &'a str,
    /// Scopes that the app requests.
    pub wish: &'a ConsentRequest,
    /// Path that the form posts to.
    pub action: &'a str,
    /// Hidden fields: the request and the ticket.
    pub fields: &'a [(String, String)],
    /// Address at which another user can sign in for this request.
    pub switch_user_url: Option<&'a str>,
}

fn list(scopes: &[Scope], class: &str) -> Markup {
    html! {
        ul.can.(class) {
            @for scope in scopes { li { (scope.description) } }
        }
    }
}

impl ConsentPage<'_> {
    /// Returns the page. The form's button `decision` sends `allow` or `deny`. Call [`HtmlPage::leading_to`] with the
    /// app's redirect URL.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let wish = self.wish;
        slim(
            "Allow access",
            &html! {
                h1 { bdi { (self.app) } " asks for access" }
                p.soft {
                    "to the account of " bdi { (self.name) } " (" bdi { (self.email) } ")."
                    @if let Some(other) = self.switch_user_url {
                        " " a href=(other) { "Use another account" }
                    }
                }
                @if wish.full {
                    h2 { "It will be able to" }
                    ul.can { li { (FULL_ACCESS_DESCRIPTION) } }
                } @else {
                    @if !wish.new.is_empty() {
                        h2 { @if wish.was_granted_before { "New: it will also be able to" } @else { "It will be able to" } }
                        (list(&wish.new, "yes"))
                    }
                    @if !wish.already_granted.is_empty() {
                        h2 { "It will still be able to" }
                        (list(&wish.already_granted, "yes"))
                    }
                    @if !wish.no_longer_granted.is_empty() {
                        h2 { "It will no longer be able to" }
                        (list(&wish.no_longer_granted, "no"))
                    }
                }
                p.soft {
                    @match self.host {
                        Some(host) => { "The answer goes to " strong { (host) } ". " }
                        None => { "You will be shown a code to copy into the app. " }
                    }
                    "You can undo this at any time, under connected apps."
                }
                form method="post" action=(self.action) {
                    (hidden(self.fields))
                    div.row.wide {
                        button.quiet type="submit" name="decision" value="deny" { "Deny" }
                        button type="submit" name="decision" value="allow" { "Allow" }
                    }
                }
            },
        )
    }
}

/// Answer to a native app, which the user copies by hand.
#[derive(Clone, Copy, Debug)]
pub enum OutOfBandPage<'a> {
    /// The app gets a code.
    Code {
        /// Name of the app.
        app: &'a str,
        /// Code that the user copies.
        code: &'a str,
    },
    /// An error instead of a code.
    Error {
        /// Code of the error (RFC 6749 section 4.1.2.1).
        error: &'a str,
        /// Description of the error, for the user.
        description: &'a str,
    },
}

impl OutOfBandPage<'_> {
    /// Returns the page. The code is in its text, but not in its title.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        match self {
            Self::Code { app, code } => slim(
                "Copy the code",
                &html! {
                    h1 { "Copy this code" }
                    p { "Paste it into " bdi { strong { (app) } } ". It works once, for one minute." }
                    code #code .secret { (code) }
                    p.soft { "Don't give it to anybody who asks you for it. You can close this page afterwards." }
                },
            ),
            Self::Error { error, description } => slim(
                "No access",
                &html! {
                    h1 { "The app was given no access" }
                    p { (description) }
                    p.soft { "Error " code { (error) } }
                },
            ),
        }
    }
}

/// Content of the page shown before an error is sent to an app that the user may not know.
#[derive(Clone, Copy, Debug)]
pub struct ErrorInterstitialPage<'a> {
    /// Name of the app.
    pub app: &'a str,
    /// Host of its redirect URL.
    pub host: &'a str,
    /// Code of the error.
    pub error: &'a str,
    /// Description of the error, for the developer of the app.
    pub description: &'a str,
    /// Path that the form posts to.
    pub action: &'a str,
    /// Hidden fields: the request and the anti-forgery text.
    pub fields: &'a [(String, String)],
}

impl ErrorInterstitialPage<'_> {
    /// Returns the page. The form's button `decision` sends `continue`. Call [`HtmlPage::leading_to`] with
    /// the app's redirect URL.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        slim(
            "Leave this site?",
            &html! {
                h1 { "The app's request was refused" }
                p { bdi { strong { (self.app) } } " sent you here to ask for access, and cannot have it. " (self.description) }
                p.soft { "Error " code { (self.error) } }
                p.soft {
                    "The app's site is " strong { (self.host) }
                    ". Go there only if you came from the app: it is not part of this site."
                }
                form method="post" action=(self.action) {
                    (hidden(self.fields))
                    div.row.wide {
                        button type="submit" name="decision" value="continue" {
                            "Continue to " (self.host)
                        }
                    }
                }
            },
        )
    }
}

/// Answer to an app as a form that the browser posts (`response_mode=form_post`). Without script, the user presses the
/// button.
#[derive(Clone, Copy, Debug)]
pub struct FormPostPage<'a> {
    /// Name of the app.
    pub app: &'a str,
    /// Origin of the app's redirect URL.
    pub site: &'a str,
    /// Redirect URL of the app.
    pub action: &'a str,
    /// Parameters of the answer.
    pub fields: &'a [(String, String)],
}

impl FormPostPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        slim(
            "Go back to the app",
            &html! {
                h1 { "One more step" }
                p {
                    "Go back to " bdi { strong { (self.app) } } " at " strong { (self.site) }
                    " with your answer."
                }
                form method="post" action=(self.action) {
                    (hidden(self.fields))
                    div.row.wide { button type="submit" { "Continue" } }
                }
            },
        )
        .leading_to(self.action)
    }
}

//! Asking a user whether an app may act for them, and handing over the answer.
use maud::{Markup, html};
use workgraph_auth::ScopeSet;
use workgraph_auth::scope::{FULL_SAYS, Scope};

use super::layout::{Page, hidden, slim};

/// What an app asks for, beside what it was granted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// It asks for full permissions.
    pub full: bool,
    /// What it may not do yet.
    pub new: Vec<&'static Scope>,
    /// What it may do already, and goes on to.
    pub kept: Vec<&'static Scope>,
    /// What it may do now and no more after: the later request replaces the earlier one.
    pub lost: Vec<&'static Scope>,
    /// Whether it was granted anything before.
    pub again: bool,
}

impl Wish {
    /// Sets what is asked beside what was granted.
    #[must_use]
    pub fn of(asked: ScopeSet, granted: Option<ScopeSet>) -> Self {
        let before = granted.unwrap_or_default();
        let (kept, new) = asked.iter().partition(|scope| before.allows(scope.name));
        Self {
            full: asked.is_full(),
            new,
            kept,
            lost: before
                .iter()
                .filter(|scope| !asked.allows(scope.name))
                .collect(),
            again: granted.is_some(),
        }
    }
}

/// The consent page.
#[derive(Clone, Copy, Debug)]
pub struct Consent<'a> {
    /// The app's name.
    pub app: &'a str,
    /// The host that the answer goes to; none for a native app, which is shown a code.
    pub host: Option<&'a str>,
    /// Who is signed in: name and address.
    pub name: &'a str,
    /// The address.
    pub email: &'a str,
    /// What is asked.
    pub wish: &'a Wish,
    /// Where the form posts to.
    pub action: &'a str,
    /// Hidden fields: the request and the ticket.
    pub fields: &'a [(String, String)],
    /// Where somebody else can sign in for this request.
    pub other: Option<&'a str>,
}

fn list(scopes: &[&'static Scope], class: &str) -> Markup {
    html! {
        ul.can.(class) {
            @for scope in scopes { li { (scope.says) } }
        }
    }
}

impl Consent<'_> {
    /// The page. The form's button `decision` says `allow` or `deny`. Call [`Page::leading_to`] with
    /// the app's redirect URL.
    #[must_use]
    pub fn page(&self) -> Page {
        let wish = self.wish;
        slim(
            "Allow access",
            &html! {
                h1 { bdi { (self.app) } " asks for access" }
                p.soft {
                    "to the account of " bdi { (self.name) } " (" bdi { (self.email) } ")."
                    @if let Some(other) = self.other {
                        " " a href=(other) { "Use another account" }
                    }
                }
                @if wish.full {
                    h2 { "It will be able to" }
                    ul.can { li { (FULL_SAYS) } }
                } @else {
                    @if !wish.new.is_empty() {
                        h2 { @if wish.again { "New: it will also be able to" } @else { "It will be able to" } }
                        (list(&wish.new, "yes"))
                    }
                    @if !wish.kept.is_empty() {
                        h2 { "It will still be able to" }
                        (list(&wish.kept, "yes"))
                    }
                    @if !wish.lost.is_empty() {
                        h2 { "It will no longer be able to" }
                        (list(&wish.lost, "no"))
                    }
                }
                p.soft {
                    @match self.host {
                        Some(host) => { "The answer goes to " strong { (host) } ". " }
                        None => { "You will be shown a code to copy into the app. " }
                    }
                    "You can take this back at any time under connected apps."
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

/// The answer to a native app, which the user carries over.
#[derive(Clone, Copy, Debug)]
pub enum OutOfBand<'a> {
    /// The code.
    Code {
        /// The app's name.
        app: &'a str,
        /// The code.
        code: &'a str,
    },
    /// Why there is none.
    Error {
        /// The error's code.
        error: &'a str,
        /// And in words.
        description: &'a str,
    },
}

impl OutOfBand<'_> {
    /// The page. The code is in its text, never in its title.
    #[must_use]
    pub fn page(&self) -> Page {
        match self {
            Self::Code { app, code } => slim(
                "Copy the code",
                &html! {
                    h1 { "Copy this code" }
                    p { "Paste it into " bdi { strong { (app) } } ". It works once, for one minute." }
                    code #code .secret { (code) }
                    p.soft { "Give it to nobody who asks you for it. You can close this page afterwards." }
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

/// The page before an error goes to an app that the visitor may never have heard of.
#[derive(Clone, Copy, Debug)]
pub struct Interstitial<'a> {
    /// The app's name.
    pub app: &'a str,
    /// The host of its redirect URL.
    pub host: &'a str,
    /// The error's code.
    pub error: &'a str,
    /// The error in words.
    pub description: &'a str,
    /// The address that the form posts to.
    pub action: &'a str,
    /// Hidden fields: the request and the anti-forgery text.
    pub fields: &'a [(String, String)],
}

impl Interstitial<'_> {
    /// Returns the page. The form's button `decision` says `continue`. Call [`Page::leading_to`] with
    /// the app's redirect URL.
    #[must_use]
    pub fn page(&self) -> Page {
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

/// The answer to an app that wants it posted. Without script, the user presses the button.
#[derive(Clone, Copy, Debug)]
pub struct FormPost<'a> {
    /// The app's name.
    pub app: &'a str,
    /// The origin of the app's redirect URL.
    pub site: &'a str,
    /// The app's redirect URL.
    pub action: &'a str,
    /// What is sent.
    pub fields: &'a [(String, String)],
}

impl FormPost<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
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

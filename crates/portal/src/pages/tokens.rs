//! Personal access tokens.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_auth::ScopeSet;

use super::form::{Field, Problem, permissions, summary};
use super::layout::{Frame, Page, Section, console, csrf};
use super::parts::{card, list};
use super::paths;
use super::words::{count, day, day_or};

/// A token that works.
#[derive(Clone, Debug)]
pub struct TokenRow {
    /// Its number.
    pub id: u64,
    /// Its owner's name for it.
    pub description: String,
    /// What it may do.
    pub scopes: ScopeSet,
    /// When it was made.
    pub created_at: SystemTime,
    /// When it ends.
    pub expires_at: Option<SystemTime>,
    /// When it was last used, roughly.
    pub last_used_at: Option<SystemTime>,
}

/// Lifetimes that a new token can have: days and words; 0 for one that does not expire.
pub const LIFETIMES: [(u32, &str); 4] = [
    (30, "30 days"),
    (90, "90 days"),
    (365, "1 year"),
    (0, "It does not expire"),
];

/// What the form for a new token has in its fields.
#[derive(Clone, Debug)]
pub struct TokenForm {
    /// The description.
    pub description: String,
    /// Full permissions or scopes.
    pub scopes: ScopeSet,
    /// The lifetime in days, one of those offered.
    pub days: u32,
}

impl Default for TokenForm {
    fn default() -> Self {
        Self {
            description: String::new(),
            scopes: ScopeSet::full(),
            days: 90,
        }
    }
}

/// The page of personal access tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The tokens.
    pub tokens: &'a [TokenRow],
    /// What is in the fields.
    pub form: &'a TokenForm,
    /// What is wrong with them.
    pub problems: &'a [Problem],
}

/// A token's line, with the button that revokes it.
pub(super) fn row(token: &TokenRow, action: &str, guard: &str) -> Markup {
    let name = if token.description.is_empty() {
        "Token without a description"
    } else {
        &token.description
    };
    html! {
        li.head {
            div {
                h3 { bdi { (name) } }
                p.soft {
                    @if token.scopes.is_full() { "Full permissions" } @else { (count(token.scopes.iter().count(), "scope")) }
                    " · made " (day(token.created_at))
                    " · " @match token.expires_at {
                        Some(end) => { "expires " (day(end)) }
                        None => "does not expire",
                    }
                    " · last used " (day_or(token.last_used_at, "never"))
                }
                @if !token.scopes.is_full() {
                    details { summary { "What it may do" } ul.can { @for scope in token.scopes.iter() { li { (scope.says) } } } }
                }
            }
            form method="post" action=(action) {
                (csrf(guard))
                button.bad type="submit" aria-label={ "Revoke " (name) } { "Revoke" }
            }
        }
    }
}

impl Tokens<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let description = Field::new("description", "Description", self.problems)
            .hint("What it is for, so that you know it again.");
        let days = Field::new("days", "Expires after", self.problems);
        let choices = LIFETIMES.map(|(n, words)| (n.into(), words, n == self.form.days));
        let guard = self.frame.who.csrf;
        console(
            "Access tokens",
            &self.frame,
            Some(Section::Tokens),
            &html! {
                (summary(self.problems))
                h1 { "Personal access tokens" }
                p.lead { "A token lets a script of yours use the API as you. Treat it like a password." }
                (card("yours", "Your tokens", &list(self.tokens, "You have no access token.", |token| {
                    row(token, &format!("{}/{}/revoke", paths::TOKENS, token.id), guard)
                })))
                (card("new", "Create a token", &html! {
                    form method="post" action=(paths::TOKENS) {
                        (csrf(guard))
                        (description.line("text", &self.form.description, "off", 100))
                        (days.choice(choices.into_iter()))
                        (permissions(self.form.scopes, "Permissions", "", "Everything else is refused.", self.problems))
                        button type="submit" { "Create token" }
                    }
                }))
            },
        )
    }
}

//! The page of personal access tokens.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_auth::ScopeSet;

use super::components::{card, confirmed, list};
use super::form::{FormField, FormProblem, permissions, summary};
use super::format::{count, day, day_or};
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf};
use super::paths;

/// Live token in the list.
#[derive(Clone, Debug)]
pub struct TokenRow {
    /// Number of the token.
    pub id: u64,
    /// Description that the owner gave the token.
    pub description: String,
    /// Scopes of the token.
    pub scopes: ScopeSet,
    /// Time of creation.
    pub created_at: SystemTime,
    /// Time at which the token expires, if it does.
    pub expires_at: Option<SystemTime>,
    /// Time of the last use, accurate to some minutes.
    pub last_used_at: Option<SystemTime>,
}

/// Lifetimes for new tokens, in days, with their labels; 0 for a token that does not expire.
pub const LIFETIMES: [(u32, &str); 4] = [
    (30, "30 days"),
    (90, "90 days"),
    (365, "1 year"),
    (0, "It does not expire"),
];

/// Field values of the form for a new token.
#[derive(Clone, Debug)]
pub struct TokenForm {
    /// Description of the token.
    pub description: String,
    /// Full permissions or scopes.
    pub scopes: ScopeSet,
    /// Lifetime in days, one of [`LIFETIMES`].
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

/// Content of the page of personal access tokens.
#[derive(Clone, Copy, Debug)]
pub struct TokensPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Live tokens of the user.
    pub tokens: &'a [TokenRow],
    /// Values of the fields.
    pub form: &'a TokenForm,
    /// Problems to show next to the fields.
    pub problems: &'a [FormProblem],
}

/// Returns the row of a token, with the button that revokes it.
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
                    details { summary { "What it may do" } ul.can { @for scope in token.scopes.iter() { li { (scope.description) } } } }
                }
            }
            (confirmed("Revoke", &format!("Revoke {name}"), "Programs that use it stop working at once. This can't be undone.", &html! {
                form method="post" action=(action) {
                    (csrf(guard))
                    button.bad type="submit" aria-label={ "Yes, revoke " (name) } { "Yes, revoke it" }
                }
            }))
        }
    }
}

impl TokensPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let description = FormField::new("description", "Description", self.problems)
            .hint("What you use it for, so that you recognize it later.");
        let days = FormField::new("days", "Expires after", self.problems);
        let choices = LIFETIMES.map(|(n, words)| (n.into(), words, n == self.form.days));
        let guard = self.frame.user.csrf;
        console(
            "Access tokens",
            &self.frame,
            Some(NavigationSection::Tokens),
            &html! {
                (summary(self.problems))
                h1 { "Personal access tokens" }
                p.lead { "A token lets a script of yours use the API as you. Treat it like a password." }
                (card("yours", "Your tokens", &list(self.tokens, "You have no access tokens.", |token| {
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

//! Service accounts, for those who administer a workspace.
use maud::{Markup, html};

use super::form::{Field, Problem, summary};
use super::layout::{Frame, Page, Section, console, csrf};
use super::parts::{card, list};
use super::paths;
use super::tokens::{TokenRow, row};

/// A service account.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its user's gid.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its live tokens.
    pub tokens: Vec<TokenRow>,
}

/// A workspace that the user administers.
#[derive(Clone, Debug)]
pub struct ServicePlace {
    /// Its gid.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its service accounts.
    pub accounts: Vec<Service>,
}

/// What the form for a new account has in its fields.
#[derive(Clone, Debug, Default)]
pub struct ServiceForm {
    /// The name.
    pub name: String,
    /// The workspace chosen.
    pub workspace: u64,
}

/// The page of service accounts.
#[derive(Clone, Copy, Debug)]
pub struct Services<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The workspaces that the user administers.
    pub places: &'a [ServicePlace],
    /// What is in the fields.
    pub form: &'a ServiceForm,
    /// What is wrong with them.
    pub problems: &'a [Problem],
}

impl Services<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let name = Field::new("name", "Name", self.problems)
            .hint("The work it does, for instance: Nightly export.");
        let place = Field::new("workspace", "Workspace", self.problems);
        let choices = self
            .places
            .iter()
            .map(|p| (p.id, p.name.as_str(), p.id == self.form.workspace));
        console(
            "Service accounts",
            &self.frame,
            Some(Section::Services),
            &html! {
                (summary(self.problems))
                h1 { "Service accounts" }
                p.lead { "A service account belongs to a workspace instead of a person. Its token reaches everything in that workspace, and nothing else." }
                @for place in self.places {
                    (card(&format!("w-{}", place.id), &place.name,
                        &list(&place.accounts, "No service account.", |account| self.account(place, account))))
                }
                (card("new", "Create a service account", &html! {
                    form method="post" action=(paths::SERVICES) {
                        (csrf(self.frame.who.csrf))
                        (name.line("text", &self.form.name, "off", 100))
                        (place.choice(choices))
                        button type="submit" { "Create account and token" }
                    }
                }))
            },
        )
    }

    fn account(&self, place: &ServicePlace, account: &Service) -> Markup {
        let guard = self.frame.who.csrf;
        let path = format!("{}/{}/{}", paths::SERVICES, place.id, account.id);
        html! {
            li {
                div.head {
                    h3 { bdi { (account.name) } }
                    form method="post" action={ (path) "/tokens" } {
                        (csrf(guard))
                        button.quiet type="submit" aria-label={ "New token for " (account.name) } { "New token" }
                    }
                }
                @if account.tokens.is_empty() {
                    p.soft { "No token that works." }
                } @else {
                    ul.list {
                        @for token in &account.tokens {
                            (row(token, &format!("{path}/{}/revoke", token.id), guard))
                        }
                    }
                }
            }
        }
    }
}

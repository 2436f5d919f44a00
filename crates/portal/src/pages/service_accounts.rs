//! The page of service accounts, for users who administer a workspace.
use maud::{Markup, html};

use super::components::{card, list};
use super::form::{FormField, FormProblem, summary};
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf};
use super::paths;
use super::tokens::{TokenRow, row};

/// Row of the list of service accounts.
#[derive(Clone, Debug)]
pub struct ServiceAccountRow {
    /// Gid of the service account's user.
    pub id: u64,
    /// Name of the service account.
    pub name: String,
    /// Live tokens of the service account.
    pub tokens: Vec<TokenRow>,
}

/// Workspace that the user administers.
#[derive(Clone, Debug)]
pub struct WorkspaceServiceAccounts {
    /// Gid of the workspace.
    pub id: u64,
    /// Name of the workspace.
    pub name: String,
    /// Service accounts that act in the workspace.
    pub accounts: Vec<ServiceAccountRow>,
}

/// Field values of the form for a new account.
#[derive(Clone, Debug, Default)]
pub struct ServiceAccountForm {
    /// Name of the account.
    pub name: String,
    /// Gid of the chosen workspace.
    pub workspace: u64,
}

/// Content of the page of service accounts.
#[derive(Clone, Copy, Debug)]
pub struct ServiceAccountsPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Workspaces that the user administers.
    pub workspaces: &'a [WorkspaceServiceAccounts],
    /// Values of the fields.
    pub form: &'a ServiceAccountForm,
    /// Problems to show next to the fields.
    pub problems: &'a [FormProblem],
}

impl ServiceAccountsPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let name = FormField::new("name", "Name", self.problems)
            .hint("What it does, for example: Nightly export.");
        let workspace = FormField::new("workspace", "Workspace", self.problems);
        let choices = self
            .workspaces
            .iter()
            .map(|p| (p.id, p.name.as_str(), p.id == self.form.workspace));
        console(
            "Service accounts",
            &self.frame,
            Some(NavigationSection::Services),
            &html! {
                (summary(self.problems))
                h1 { "Service accounts" }
                p.lead { "A service account belongs to a workspace instead of a person. Its token reaches everything in that workspace, and nothing else." }
                @for workspace in self.workspaces {
                    (card(&format!("w-{}", workspace.id), &workspace.name,
                        &list(&workspace.accounts, "No service accounts yet.", |account| self.account(workspace, account))))
                }
                (card("new", "Create a service account", &html! {
                    form method="post" action=(paths::SERVICES) {
                        (csrf(self.frame.user.csrf))
                        (name.line("text", &self.form.name, "off", 100))
                        (workspace.choice(choices))
                        button type="submit" { "Create account and token" }
                    }
                }))
            },
        )
    }

    fn account(&self, workspace: &WorkspaceServiceAccounts, account: &ServiceAccountRow) -> Markup {
        let guard = self.frame.user.csrf;
        let path = format!("{}/{}/{}", paths::SERVICES, workspace.id, account.id);
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

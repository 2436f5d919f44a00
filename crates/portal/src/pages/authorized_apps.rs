//! The page of the apps that a user authorized, and of their invitations to workspaces.
use std::time::SystemTime;

use maud::html;
use workgraph_auth::ScopeSet;
use workgraph_auth::tokens::scope::FULL_ACCESS_DESCRIPTION;

use super::components::{card, confirmed, list, switched};
use super::format::day;
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf};
use super::paths;
use crate::ports::InvitationSummary;

/// App that may act for the user.
#[derive(Clone, Debug)]
pub struct AuthorizedAppRow {
    /// Number of the authorization.
    pub id: u64,
    /// Name of the app.
    pub app: String,
    /// Hosts that its answers are sent to; none for a native app.
    pub hosts: Vec<String>,
    /// Scopes of the authorization that the app still has.
    pub scopes: ScopeSet,
    /// Time at which the authorization was created.
    pub since: SystemTime,
    /// True if the app is disabled, so that it cannot do anything at the moment.
    pub off: bool,
}

/// Content of the page of connected apps.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizedAppsPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Unanswered invitations.
    pub invitations: &'a [InvitationSummary],
    /// Apps that the user authorized.
    pub apps: &'a [AuthorizedAppRow],
}

impl AuthorizedAppsPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        console(
            "Connected apps",
            &self.frame,
            Some(NavigationSection::Connected),
            &html! {
                h1 { "Connected apps" }
                @if !self.invitations.is_empty() {
                    (card("invitations", "Invitations", &html! {
                        p.soft {
                            "You are invited to these workspaces. Until you accept, they know your e-mail address and nothing else about you."
                        }
                        (list(self.invitations, "", |invite| self.invitation(invite)))
                    }))
                }
                p.lead { "These apps may act for you. One that you disconnect loses its access at once." }
                div.card {
                    (list(self.apps, "No app has access to your account.", |app| self.row(app)))
                }
            },
        )
    }

    fn invitation(&self, invite: &InvitationSummary) -> maud::Markup {
        let action = |answer: &str| {
            let at = paths::CONNECTED;
            format!("{at}/invitations/{}/{answer}", invite.id)
        };
        html! {
            li {
                div.head {
                    h3 { bdi { (invite.workspace) } }
                    div.row {
                        form method="post" action=(action("accept")) {
                            (csrf(self.frame.user.csrf))
                            button type="submit" aria-label={ "Accept the invitation to " (invite.workspace) } { "Accept" }
                        }
                        form method="post" action=(action("decline")) {
                            (csrf(self.frame.user.csrf))
                            button.bad type="submit" aria-label={ "Decline the invitation to " (invite.workspace) } { "Decline" }
                        }
                    }
                }
            }
        }
    }

    fn row(&self, app: &AuthorizedAppRow) -> maud::Markup {
        html! {
            li {
                div.head {
                    div {
                        h2 {
                            bdi { (app.app) }
                            (switched(app.off))
                        }
                        p.soft {
                            @if app.hosts.is_empty() { "Native app" } @else { (app.hosts.join(", ")) }
                            " · since " (day(app.since))
                        }
                    }
                    (confirmed("Disconnect", &format!("Disconnect {}", app.app), "It can no longer act for you until you connect it again.", &html! {
                        form method="post" action={ (paths::CONNECTED) "/" (app.id) "/revoke" } {
                            (csrf(self.frame.user.csrf))
                            button.bad type="submit" aria-label={ "Yes, disconnect " (app.app) } { "Yes, disconnect it" }
                        }
                    }))
                }
                ul.can {
                    @if app.scopes.is_full() {
                        li { (FULL_ACCESS_DESCRIPTION) }
                    }
                    @for scope in app.scopes.iter() {
                        li { (scope.description) }
                    }
                }
            }
        }
    }
}

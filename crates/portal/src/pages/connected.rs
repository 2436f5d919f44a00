//! The apps that a user let in, and the workspaces that ask the user in.
use std::time::SystemTime;

use maud::html;
use workgraph_auth::ScopeSet;
use workgraph_auth::scope::FULL_SAYS;

use super::layout::{Frame, Page, Section, console, csrf};
use super::parts::{card, list, switched};
use super::paths;
use super::words::day;
use crate::console::Invite;

/// An app that may act for the user.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The authorization's number.
    pub id: u64,
    /// The app's name.
    pub app: String,
    /// The hosts its answers go to; none for a native app.
    pub hosts: Vec<String>,
    /// What is left of what the user agreed to.
    pub scopes: ScopeSet,
    /// Since when.
    pub since: SystemTime,
    /// Whether the app is switched off, and so can do nothing for now.
    pub off: bool,
}

/// The page of connected apps.
#[derive(Clone, Copy, Debug)]
pub struct Connected<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The invitations that wait for an answer.
    pub invitations: &'a [Invite],
    /// The apps.
    pub apps: &'a [Connection],
}

impl Connected<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        console(
            "Connected apps",
            &self.frame,
            Some(Section::Connected),
            &html! {
                h1 { "Connected apps" }
                @if !self.invitations.is_empty() {
                    (card("invitations", "Invitations", &html! {
                        p.soft {
                            "These workspaces ask you in. Until you accept, they know your e-mail address and nothing else of you."
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

    fn invitation(&self, invite: &Invite) -> maud::Markup {
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
                            (csrf(self.frame.who.csrf))
                            button type="submit" aria-label={ "Accept the invitation to " (invite.workspace) } { "Accept" }
                        }
                        form method="post" action=(action("decline")) {
                            (csrf(self.frame.who.csrf))
                            button.bad type="submit" aria-label={ "Decline the invitation to " (invite.workspace) } { "Decline" }
                        }
                    }
                }
            }
        }
    }

    fn row(&self, app: &Connection) -> maud::Markup {
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
                    form method="post" action={ (paths::CONNECTED) "/" (app.id) "/revoke" } {
                        (csrf(self.frame.who.csrf))
                        button.bad type="submit" aria-label={ "Disconnect " (app.app) } { "Disconnect" }
                    }
                }
                ul.can {
                    @if app.scopes.is_full() {
                        li { (FULL_SAYS) }
                    }
                    @for scope in app.scopes.iter() {
                        li { (scope.says) }
                    }
                }
            }
        }
    }
}

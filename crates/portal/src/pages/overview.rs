//! The overview of the console, as HTML.
use maud::html;

use super::layout::{HtmlPage, NavigationSection, PageChrome, console};
use super::paths;

/// Content of the overview of the console.
#[derive(Clone, Copy, Debug)]
pub struct OverviewPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
}

impl OverviewPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let all = [
            (
                paths::TOKENS,
                "Access tokens",
                "Create tokens for your own scripts, and revoke them.",
                false,
            ),
            (
                paths::APPS,
                "My apps",
                "Register apps that other people can connect, and see their client IDs.",
                false,
            ),
            (
                paths::CONNECTED,
                "Connected apps",
                "See which apps can act for you, and disconnect them.",
                false,
            ),
            (
                paths::REQUESTS,
                "Requests",
                "Look at the last requests of your tokens and apps.",
                false,
            ),
            (
                paths::SERVICES,
                "Service accounts",
                "Give programs accounts of their own in your workspaces.",
                true,
            ),
            (
                paths::INSTALLED,
                "Workspace apps",
                "Decide which apps can be used in your workspaces.",
                true,
            ),
            (
                paths::ACCOUNT,
                "Account",
                "Change your password, and end sessions in other browsers.",
                false,
            ),
            (
                paths::REFERENCE,
                "API reference",
                "Look up every operation, and try it.",
                false,
            ),
        ];
        let body = html! {
            h1 { "Console" }
            p.lead { "Manage how programs use this server." }
            div.card {
                ul.links {
                    @for (path, name, text, is_for_admins) in all {
                        @if self.frame.user.admin || !is_for_admins {
                            li { a href=(path) { (name) } p.soft { (text) } }
                        }
                    }
                }
            }
        };
        console(
            "Console",
            &self.frame,
            Some(NavigationSection::Overview),
            &body,
        )
    }
}

//! The front page, as HTML.
use maud::html;

use super::components::card;
use super::layout::{HtmlPage, SiteUser, site};
use super::paths;
use super::record::{RecordLine, lines};

/// Content of the front page.
#[derive(Clone, Debug)]
pub struct HomePage<'a> {
    /// Signed-in user, if there is one.
    pub user: Option<SiteUser>,
    /// Some projects of the user.
    pub projects: &'a [RecordLine],
    /// Address of the API.
    pub base_url: &'a str,
}

impl HomePage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let body = html! {
            h1 { "Workgraph" }
            p.lead {
                "This server keeps track of work: tasks, projects, portfolios, goals, and who does what. Programs use it through an HTTP API that works with clients of the Asana API."
            }
            @if self.user.is_some() { (self.own()) } @else { (visitor()) }
            (card("programs", "For developers", &html! {
                ul.links {
                    li { a href=(paths::REFERENCE) { "API reference" } p.soft { "Every operation, with a form to try it." } }
                    li { a href=(paths::CONSOLE) { "Console" } p.soft { "Apps, access tokens, and the requests they made." } }
                    li { a href=(paths::ERRORS) { "Errors" } p.soft { "What each status code means, and what to do." } }
                    li { a href={ (self.base_url) "/openapi.json" } { "OpenAPI document" } p.soft { "For generators of clients." } }
                    li { a href="/-/readyz" { "Health" } p.soft { "Whether this server is ready to answer." } }
                }
                p.hint { "Address of the API" }
                code.secret { (self.base_url) }
            }))
        };
        site("Welcome", self.user.as_ref(), &body)
    }

    fn own(&self) -> maud::Markup {
        html! {
            (card("projects", "Your projects", &html! {
                @if self.projects.is_empty() {
                    p.soft { "You have no projects yet. A program that you connect can create one, or somebody can share one with you." }
                } @else { (lines(self.projects)) }
            }))
            (card("yours", "What you can do here", &html! {
                ul.links {
                    li { a href=(paths::TOKENS) { "Create an access token" } p.soft { "For scripts that act as you." } }
                    li { a href=(paths::NEW_APP) { "Register an app" } p.soft { "For programs that other people connect." } }
                    li { a href=(paths::CONNECTED) { "Connected apps" } p.soft { "See who has access, and end it." } }
                    li { a href=(paths::REQUESTS) { "Requests" } p.soft { "The latest requests of your tokens and apps." } }
                    li { a href=(paths::ACCOUNT) { "Account" } p.soft { "Your password and your sessions." } }
                }
            }))
        }
    }
}

fn visitor() -> maud::Markup {
    html! {
        div.card {
            p { "Sign in to see your projects, to create access tokens, and to manage the apps that you connected." }
            p { a.button href={ (paths::SIGN_IN) "?next=%2F" } { "Sign in" } }
        }
    }
}

//! Signing in and out.
use maud::html;

use super::form::{Field, Problem, summary};
use super::layout::{Page, csrf, hidden, slim};
use super::paths;

/// The sign-in page.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignIn<'a> {
    /// The anti-forgery text of the browser's cookie, for somebody who has no session yet.
    pub csrf: &'a str,
    /// More hidden fields: where to go on, for instance.
    pub fields: &'a [(String, String)],
    /// The address that was typed, or that the app thinks it knows.
    pub email: &'a str,
    /// The app that asks, if one does.
    pub app: Option<&'a str>,
    /// Why the last attempt failed.
    pub problem: Option<&'a str>,
    /// What happened just now: signed out, for instance.
    pub notice: Option<&'a str>,
}

impl SignIn<'_> {
    /// The page. Call [`Page::leading_to`] if signing in may lead straight back to an app.
    #[must_use]
    pub fn page(&self) -> Page {
        let problems: Vec<Problem> = self
            .problem
            .map(|text| Problem::new("email", text))
            .into_iter()
            .collect();
        let email = Field::new("email", "E-mail address", &problems);
        let password = Field::new("password", "Password", &[]);
        slim(
            "Sign in",
            &html! {
                (summary(&problems))
                @if let Some(notice) = self.notice {
                    div.note role="status" { (notice) }
                }
                h1 { "Sign in" }
                @if let Some(app) = self.app {
                    p.soft { "to go on to " bdi { strong { (app) } } }
                }
                form method="post" action=(paths::SIGN_IN) {
                    (csrf(self.csrf))
                    (hidden(self.fields))
                    (email.line("email", self.email, "username", 320))
                    (password.line("password", "", "current-password", 1024))
                    div.row.wide { button type="submit" { "Sign in" } }
                }
            },
        )
    }
}

/// The page that asks whether to sign out.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a> {
    /// The anti-forgery text of the session.
    pub csrf: &'a str,
}

impl Leave<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        slim(
            "Sign out",
            &html! {
                h1 { "Sign out?" }
                p { "You will have to sign in again in this browser. Apps stay connected." }
                form method="post" action=(paths::SIGN_OUT) {
                    (csrf(self.csrf))
                    div.row.wide {
                        a.button.quiet href=(paths::CONNECTED) { "Stay" }
                        button type="submit" { "Sign out" }
                    }
                }
            },
        )
    }
}

//! Signing in and out, and somebody's account.
use std::time::SystemTime;

use maud::{Markup, html};

use super::form::{Field, Problem, summary};
use super::layout::{Frame, Page, Section, console, csrf, hidden, slim};
use super::parts::{card, list};
use super::paths;
use super::words::moment;

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

/// A browser in which the user is signed in.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// What names it in the path that ends it.
    pub id: String,
    /// Since when.
    pub created_at: SystemTime,
    /// When it was last used, roughly.
    pub last_used_at: SystemTime,
    /// Where it was last used from.
    pub address: Option<String>,
    /// Whether it is the one that the page is shown in.
    pub is_this: bool,
}

/// The page of somebody's account: the password, and where they are signed in.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The surroundings.
    pub frame: Frame<'a>,
    /// The sessions, the last used first.
    pub sessions: &'a [SessionRow],
    /// The problems of the form that came back.
    pub problems: &'a [Problem],
}

impl Account<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let current = Field::new("current", "Current password", self.problems);
        let new = Field::new("new", "New password", self.problems).hint("At least 8 characters.");
        let again = Field::new("again", "New password, once more", self.problems);
        let guard = self.frame.who.csrf;
        console(
            "Account",
            &self.frame,
            Some(Section::Account),
            &html! {
                (summary(self.problems))
                h1 { "Account" }
                p.lead { "Your password, and the browsers in which you are signed in." }
                (card("password", "Change your password", &html! {
                    form method="post" action=(paths::PASSWORD) {
                        (csrf(guard))
                        (current.line("password", "", "current-password", 1024))
                        (new.line("password", "", "new-password", 1024))
                        (again.line("password", "", "new-password", 1024))
                        div.tick {
                            input #revoke type="checkbox" name="revoke" value="yes";
                            label for="revoke" { "Revoke all access, too"
                                small { "Ends all your access tokens and webhooks, and disconnects all apps. Choose it if somebody else may know your password." } }
                        }
                        p.soft { "You stay signed in here, and are signed out everywhere else." }
                        button type="submit" { "Change password" }
                    }
                }))
                (card("sessions", "Where you are signed in", &html! {
                    (list(self.sessions, "Nowhere.", |session| self.row(session)))
                    @if self.sessions.len() > 1 {
                        form method="post" action={ (paths::SESSIONS) "/end" } {
                            (csrf(guard))
                            button.quiet type="submit" { "Sign out everywhere else" }
                        }
                    }
                }))
                (card("access", "Revoke all access", &html! {
                    p { "Ends all your access tokens and webhooks, and disconnects all apps, at once. Nothing that uses them works until it is set up anew." }
                    form method="post" action=(paths::REVOKE_ALL) {
                        (csrf(guard))
                        button.bad type="submit" { "Revoke all access" }
                    }
                }))
            },
        )
    }

    fn row(&self, session: &SessionRow) -> Markup {
        let from = session.address.as_deref().unwrap_or("an unknown address");
        html! {
            li.head {
                div {
                    h3 { @if session.is_this { "This browser" } @else { "A browser at " bdi { (from) } } }
                    p.soft {
                        @if session.is_this { "At " bdi { (from) } " · signed in " } @else { "Signed in " }
                        (moment(session.created_at))
                        " · last used " (moment(session.last_used_at))
                    }
                }
                @if !session.is_this {
                    form method="post" action={ (paths::SESSIONS) "/" (session.id) "/end" } {
                        (csrf(self.frame.who.csrf))
                        button.bad type="submit" aria-label={ "Sign out the browser at " (from) } { "Sign out" }
                    }
                }
            }
        }
    }
}

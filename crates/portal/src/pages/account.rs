//! The pages for signing in and out, and for the account of a user.
use std::time::SystemTime;

use maud::{Markup, html};

use super::components::{card, confirmed, list};
use super::form::{FormField, FormProblem, summary};
use super::format::moment;
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf, hidden, slim};
use super::paths;

/// Page with the sign-in form.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignInPage<'a> {
    /// Anti-forgery text of the browser's cookie, for a browser without a session.
    pub csrf: &'a str,
    /// Further hidden fields, for example the path to continue to.
    pub fields: &'a [(String, String)],
    /// E-mail address that was typed, or that the app sent as a hint.
    pub email: &'a str,
    /// Name of the app that requests the sign-in, if any.
    pub app: Option<&'a str>,
    /// Reason why the last attempt failed.
    pub problem: Option<&'a str>,
    /// Notice of a completed action, for example of signing out.
    pub notice: Option<&'a str>,
}

impl SignInPage<'_> {
    /// Returns the page. Call [`HtmlPage::leading_to`] if signing in may lead straight back to an app.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let problems: Vec<FormProblem> = self
            .problem
            .map(|text| FormProblem::new("email", text))
            .into_iter()
            .collect();
        let email = FormField::new("email", "E-mail address", &problems);
        let password = FormField::new("password", "Password", &[]);
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

/// Content of the page with the sign-out button.
#[derive(Clone, Copy, Debug)]
pub struct SignOutPage<'a> {
    /// Anti-forgery text of the session.
    pub csrf: &'a str,
}

impl SignOutPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
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

/// Browser in which the user is signed in.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Identifier of the session, in the path that ends it.
    pub id: String,
    /// Time of the sign-in.
    pub created_at: SystemTime,
    /// Time of the last use, accurate to some minutes.
    pub last_used_at: SystemTime,
    /// Address of the last use.
    pub address: Option<String>,
    /// True for the session that is viewing the page.
    pub is_this: bool,
}

/// Content of the account page: the password, and the browsers with a session.
#[derive(Clone, Copy, Debug)]
pub struct AccountPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Sessions, most recently used first.
    pub sessions: &'a [SessionRow],
    /// Problems to show next to the fields.
    pub problems: &'a [FormProblem],
}

impl AccountPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let current = FormField::new("current", "Current password", self.problems);
        let new =
            FormField::new("new", "New password", self.problems).hint("At least 8 characters.");
        let again = FormField::new("again", "New password again", self.problems);
        let guard = self.frame.user.csrf;
        console(
            "Account",
            &self.frame,
            Some(NavigationSection::Account),
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
                    p { "Ends all your access tokens and webhooks, and disconnects all apps, at once." }
                    (confirmed("Revoke all access", "Revoke all access", "Everything that uses them stops working until you set it up again. This can't be undone.", &html! {
                        form method="post" action=(paths::REVOKE_ALL) {
                            (csrf(guard))
                            button.bad type="submit" { "Yes, revoke all access" }
                        }
                    }))
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
                        (csrf(self.frame.user.csrf))
                        button.bad type="submit" aria-label={ "Sign out the browser at " (from) } { "Sign out" }
                    }
                }
            }
        }
    }
}

//! The developer console: apps.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_auth::client::MAX_NAME_CHARS;
use workgraph_auth::redirect::OUT_OF_BAND;
use workgraph_auth::{Registered, ScopeSet};

use super::form::{Field, Problem, permissions, summary};
use super::layout::{Frame, Page, Section, console, csrf, slim};
use super::parts::{card, client, list, switched};
use super::paths;
use super::words::day;

/// An app in the list.
#[derive(Clone, Debug)]
pub struct AppRow {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it may ask for.
    pub scopes: Registered,
    /// Since when it exists.
    pub created_at: SystemTime,
    /// Whether it is switched off.
    pub off: bool,
}

/// The list of the user's apps.
#[derive(Clone, Copy, Debug)]
pub struct Apps<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The apps.
    pub apps: &'a [AppRow],
}

impl Apps<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        console(
            "My apps",
            &self.frame,
            Some(Section::Apps),
            &html! {
                div.head {
                    h1 { "My apps" }
                    a.button href=(paths::NEW_APP) { "Create an app" }
                }
                p.lead { "An app asks people for access to their account and then acts for them. Register it here to get a client ID and a client secret." }
                div.card {
                    (list(self.apps, "You have not registered an app yet.", |app| html! {
                        li {
                            h2 {
                                a href={ (paths::APPS) "/" (app.id) } { bdi { (app.name) } }
                                (switched(app.off))
                            }
                            p.soft { (client(app.id, app.scopes)) " · since " (day(app.created_at)) }
                        }
                    }))
                }
            },
        )
    }
}

/// A workspace to distribute an app to.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its gid.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// What a form about an app has in its fields: as typed, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AppValues {
    /// The name.
    pub name: String,
    /// The redirect URLs, one a line.
    pub redirects: String,
    /// Full permissions or scopes.
    pub scopes: ScopeSet,
    /// The workspaces chosen.
    pub distribution: Vec<u64>,
}

/// The form about an app: its fields, the choices and what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct AppForm<'a> {
    /// What is in the fields.
    pub values: &'a AppValues,
    /// The workspaces of the user.
    pub places: &'a [Place],
    /// What is wrong with them.
    pub problems: &'a [Problem],
    /// Whether `http` on this machine may be registered.
    pub loopback: bool,
}

impl AppForm<'_> {
    /// The page for a new app.
    #[must_use]
    pub fn page(&self, frame: &Frame<'_>) -> Page {
        console(
            "Create an app",
            frame,
            Some(Section::Apps),
            &html! {
                (summary(self.problems))
                h1 { "Create an app" }
                p.lead { "You will be shown its client secret on the next page, once." }
                div.card { (self.form(paths::NEW_APP, frame.who.csrf, "Create app")) }
            },
        )
    }

    fn form(&self, action: &str, token: &str, go: &str) -> Markup {
        let values = self.values;
        let field = |id, label| Field::new(id, label, self.problems);
        let name = field("name", "Name").hint("Shown to the people it asks for access.");
        let rule = if self.loopback {
            "One a line, each starting with https://, or with http:// on this machine (127.0.0.1, [::1] or localhost). A request must repeat one exactly; there are no wildcards, fragments or user names."
        } else {
            "One a line, each starting with https://. A request must repeat one exactly; there are no wildcards, fragments or user names."
        };
        let redirects = field("redirects", "Redirect URLs").hint(rule);
        let places = field("distribution", "Workspaces")
            .hint("Members of these workspaces can authorize the app.");
        html! {
            form method="post" action=(action) {
                (csrf(token))
                (name.line("text", &values.name, "off", MAX_NAME_CHARS))
                (redirects.around(&html! {
                    textarea #redirects name="redirects" rows="3" spellcheck="false" required
                        aria-describedby={ "redirects-native" @if let Some(ids) = redirects.described() { " " (ids) } }
                        aria-invalid=[redirects.invalid()] { "\n" (values.redirects) }
                    p.hint #redirects-native { "A native or command-line app uses " code { (OUT_OF_BAND) } " and is shown a code." }
                }))
                (permissions(values.scopes, "Permissions", "It cannot ask for single scopes.", "It can ask for these or fewer; each request says which.", self.problems))
                fieldset #distribution tabindex="-1" aria-describedby=[places.described()] {
                    legend { (places.label) }
                    (places.says())
                    @for place in self.places {
                        div.tick {
                            input id={ "w-" (place.id) } type="checkbox" name="workspace" value=(place.id)
                                checked[values.distribution.contains(&place.id)];
                            label for={ "w-" (place.id) } { bdi { (place.name) } }
                        }
                    }
                    @if self.places.is_empty() { p.soft { "You are in no workspace." } }
                }
                button type="submit" { (go) }
            }
        }
    }
}

/// An app's page: what it is, its settings, its secret and its switch.
#[derive(Clone, Copy, Debug)]
pub struct AppPage<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The app as it is kept.
    pub app: &'a AppRow,
    /// Its settings, with what is in the fields.
    pub form: AppForm<'a>,
    /// Whether it has a secret.
    pub has_secret: bool,
    /// Names of workspaces that switched it off.
    pub disabled_in: &'a [String],
}

impl AppPage<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let app = self.app;
        let path = format!("{}/{}", paths::APPS, app.id);
        let token = self.frame.who.csrf;
        console(
            &app.name,
            &self.frame,
            Some(Section::Apps),
            &html! {
                (summary(self.form.problems))
                p { a href=(paths::APPS) { "All apps" } }
                h1 {
                    bdi { (app.name) }
                    (switched(app.off))
                }
                p.lead { "Created " (day(app.created_at)) }
                @if !self.disabled_in.is_empty() {
                    div.note.warn { "Administrators switched this app off in " (self.disabled_in.join(", ")) "." }
                }
                (card("credentials", "Credentials", &html! {
                    dl {
                        dt { "Client ID" } dd { code { (app.id) } }
                        dt { "Client secret" }
                        dd { @if self.has_secret { "Set. It was shown once and can only be replaced." } @else { "None yet." } }
                    }
                    form method="post" action={ (path) "/secret" } {
                        (csrf(token))
                        p.hint #secret-hint { "The old secret stops working at once. People stay connected." }
                        button.quiet type="submit" aria-describedby="secret-hint" { "Reset client secret" }
                    }
                }))
                (card("settings", "Settings", &html! {
                    p.hint { "Taking away scopes or workspaces takes them from tokens at once." }
                    (self.form.form(&path, token, "Save changes"))
                }))
                (card("switch", if app.off { "Switch on" } else { "Switch off" }, &html! {
                    form method="post" action={ (path) "/state" } {
                        (csrf(token))
                        @if app.off {
                            p.hint #switch-hint { "Its tokens work again." }
                            input type="hidden" name="state" value="on";
                            button.quiet type="submit" aria-describedby="switch-hint" { "Switch the app on" }
                        } @else {
                            p.hint #switch-hint { "None of its tokens works while it is switched off, for anybody." }
                            input type="hidden" name="state" value="off";
                            button.bad type="submit" aria-describedby="switch-hint" { "Switch the app off" }
                        }
                    }
                }))
            },
        )
    }
}

/// What a secret is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A client secret.
    Client {
        /// The app's number.
        app: u64,
    },
    /// A personal access token.
    Personal,
    /// A token of a service account.
    Service,
}

/// The page that shows a secret, once.
#[derive(Clone, Copy, Debug)]
pub struct SecretPage<'a> {
    /// What it is for.
    pub purpose: &'a Use,
    /// The name of the app, token or account.
    pub name: &'a str,
    /// The secret.
    pub secret: &'a str,
}

impl SecretPage<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let (heading, words, back) = match self.purpose {
            Use::Client { app } => (
                "Client secret",
                "client secret",
                format!("{}/{app}", paths::APPS),
            ),
            Use::Personal => ("Access token", "token", paths::TOKENS.to_owned()),
            Use::Service => ("Service account token", "token", paths::SERVICES.to_owned()),
        };
        slim(
            heading,
            &html! {
                h1 { (heading) }
                p.soft { "of " bdi { strong { (self.name) } } }
                @if let Use::Client { app } = self.purpose {
                    dl { dt { "Client ID" } dd { code { (app) } } }
                }
                code #secret .secret { (self.secret) }
                div.note.warn { "Copy the " (words) " now. It is not kept and will not be shown again." }
                p { a.button href=(back) { "I have copied it" } }
            },
        )
    }
}

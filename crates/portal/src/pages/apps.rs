//! The pages of the developer console for apps.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_auth::authorization::redirect_uri::OUT_OF_BAND;
use workgraph_auth::authorization::registered_app::MAX_NAME_CHARS;
use workgraph_auth::{RegisteredScopes, ScopeSet};

use super::components::{card, client, list, switched};
use super::form::{FormField, FormProblem, permissions, summary};
use super::format::day;
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf, slim};
use super::paths;

/// Row of the list of apps.
#[derive(Clone, Debug)]
pub struct AppRow {
    /// Number of the app, its client ID.
    pub id: u64,
    /// Name of the app.
    pub name: String,
    /// Scopes that the app may request.
    pub scopes: RegisteredScopes,
    /// Time of the registration.
    pub created_at: SystemTime,
    /// True if the app is disabled.
    pub off: bool,
}

/// Content of the page with the list of the user's apps.
#[derive(Clone, Copy, Debug)]
pub struct AppsPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Apps of the user.
    pub apps: &'a [AppRow],
}

impl AppsPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        console(
            "My apps",
            &self.frame,
            Some(NavigationSection::Apps),
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

/// Workspace that an app can be distributed to.
#[derive(Clone, Debug)]
pub struct WorkspaceChoice {
    /// Gid of the workspace.
    pub id: u64,
    /// Name of the workspace.
    pub name: String,
}

/// Field values of a form about an app, as typed, valid or not.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AppValues {
    /// Name of the app.
    pub name: String,
    /// Redirect URLs, one per line.
    pub redirects: String,
    /// Full permissions or scopes.
    pub scopes: ScopeSet,
    /// Gids of the chosen workspaces.
    pub distribution: Vec<u64>,
}

/// Form about an app: its field values, choices and problems.
#[derive(Clone, Copy, Debug)]
pub struct AppForm<'a> {
    /// Values to show in the fields.
    pub values: &'a AppValues,
    /// Workspaces that the user belongs to.
    pub workspaces: &'a [WorkspaceChoice],
    /// Problems to show next to the fields.
    pub problems: &'a [FormProblem],
    /// True if `http` URLs on this machine may be registered.
    pub loopback: bool,
}

impl AppForm<'_> {
    /// Returns the page for a new app.
    #[must_use]
    pub fn page(&self, frame: &PageChrome<'_>) -> HtmlPage {
        console(
            "Create an app",
            frame,
            Some(NavigationSection::Apps),
            &html! {
                (summary(self.problems))
                h1 { "Create an app" }
                p.lead { "You will be shown its client secret on the next page, once." }
                div.card { (self.form(paths::NEW_APP, frame.user.csrf, "Create app")) }
            },
        )
    }

    fn form(&self, action: &str, token: &str, go: &str) -> Markup {
        let values = self.values;
        let field = |id, label| FormField::new(id, label, self.problems);
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
                    @for workspace in self.workspaces {
                        div.tick {
                            input id={ "w-" (workspace.id) } type="checkbox" name="workspace" value=(workspace.id)
                                checked[values.distribution.contains(&workspace.id)];
                            label for={ "w-" (workspace.id) } { bdi { (workspace.name) } }
                        }
                    }
                    @if self.workspaces.is_empty() { p.soft { "You are in no workspace." } }
                }
                button type="submit" { (go) }
            }
        }
    }
}

/// Content of an app's page: its description, its settings, its secret and its switch.
#[derive(Clone, Copy, Debug)]
pub struct AppPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Stored state of the app.
    pub app: &'a AppRow,
    /// Form with the settings of the app.
    pub form: AppForm<'a>,
    /// True if the app has a secret.
    pub has_secret: bool,
    /// Names of workspaces that disabled the app.
    pub disabled_in: &'a [String],
}

impl AppPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let app = self.app;
        let path = format!("{}/{}", paths::APPS, app.id);
        let token = self.frame.user.csrf;
        console(
            &app.name,
            &self.frame,
            Some(NavigationSection::Apps),
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
                        dd { @if self.has_secret { "The app has one. It was shown once, and can only be replaced." } @else { "None yet." } }
                    }
                    form method="post" action={ (path) "/secret" } {
                        (csrf(token))
                        p.hint #secret-hint { "The old secret stops working at once. People stay connected." }
                        button.quiet type="submit" aria-describedby="secret-hint" { "Reset client secret" }
                    }
                }))
                (card("settings", "Settings", &html! {
                    p.hint { "If you remove scopes or workspaces, tokens lose them at once." }
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

/// Kind of a new secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A client secret of an app.
    Client {
        /// Number of the app.
        app: u64,
    },
    /// A personal access token.
    Personal,
    /// A token of a service account.
    Service,
}

/// Content of the page that shows a secret once.
#[derive(Clone, Copy, Debug)]
pub struct SecretPage<'a> {
    /// Kind of the secret.
    pub purpose: &'a SecretKind,
    /// Name of the app, token or account.
    pub name: &'a str,
    /// The secret in clear text, to be shown once.
    pub secret: &'a str,
}

impl SecretPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let (heading, words, back) = match self.purpose {
            SecretKind::Client { app } => (
                "Client secret",
                "client secret",
                format!("{}/{app}", paths::APPS),
            ),
            SecretKind::Personal => ("Access token", "token", paths::TOKENS.to_owned()),
            SecretKind::Service => ("Service account token", "token", paths::SERVICES.to_owned()),
        };
        slim(
            heading,
            &html! {
                h1 { (heading) }
                p.soft { "of " bdi { strong { (self.name) } } }
                @if let SecretKind::Client { app } = self.purpose {
                    dl { dt { "Client ID" } dd { code { (app) } } }
                }
                code #secret .secret { (self.secret) }
                div.note.warn { "Copy the " (words) " now. It is not kept and will not be shown again." }
                p { a.button href=(back) { "I have copied it" } }
            },
        )
    }
}

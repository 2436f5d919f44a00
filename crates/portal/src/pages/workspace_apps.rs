//! The page of the apps available in a workspace, for users who administer it.
use maud::{Markup, html};
use workgraph_auth::RegisteredScopes;

use super::components::{card, client, list, switched};
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf};
use super::paths;

/// App that is distributed to a workspace.
#[derive(Clone, Debug)]
pub struct InstalledApp {
    /// Number of the app, its client ID.
    pub id: u64,
    /// Name of the app.
    pub name: String,
    /// Scopes that the app may request.
    pub scopes: RegisteredScopes,
    /// True if the app is disabled in this workspace.
    pub off: bool,
}

/// Workspace that the user administers.
#[derive(Clone, Debug)]
pub struct WorkspaceApps {
    /// Gid of the workspace.
    pub id: u64,
    /// Name of the workspace.
    pub name: String,
    /// Apps distributed to the workspace.
    pub apps: Vec<InstalledApp>,
}

/// Content of the page of apps by workspace.
#[derive(Clone, Copy, Debug)]
pub struct InstalledAppsPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// Workspaces that the user administers.
    pub workspaces: &'a [WorkspaceApps],
}

impl InstalledAppsPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        console(
            "Workspace apps",
            &self.frame,
            Some(NavigationSection::Installed),
            &html! {
                h1 { "Workspace apps" }
                p.lead { "Members of your workspaces can authorize these apps. If you switch one off, it can no longer reach the workspace for anybody." }
                @for workspace in self.workspaces {
                    (card(&format!("w-{}", workspace.id), &workspace.name,
                        &list(&workspace.apps, "No apps can be used here.", |app| self.row(workspace, app))))
                }
            },
        )
    }

    fn row(&self, workspace: &WorkspaceApps, app: &InstalledApp) -> Markup {
        let (state, word, class) = if app.off {
            ("on", "Switch on", "quiet")
        } else {
            ("off", "Switch off", "bad")
        };
        html! {
            li.head {
                div {
                    h3 {
                        bdi { (app.name) }
                        (switched(app.off))
                    }
                    p.soft { (client(app.id, app.scopes)) }
                }
                form method="post" action={ (paths::INSTALLED) "/" (workspace.id) "/" (app.id) } {
                    (csrf(self.frame.user.csrf))
                    input type="hidden" name="state" value=(state);
                    button.(class) type="submit" aria-label={ (word) " " (app.name) " in " (workspace.name) } { (word) }
                }
            }
        }
    }
}

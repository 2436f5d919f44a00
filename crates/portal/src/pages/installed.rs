//! The apps that can be used in a workspace, for those who administer it.
use maud::{Markup, html};
use workgraph_auth::Registered;

use super::layout::{Frame, Page, Section, console, csrf};
use super::parts::{card, client, list, switched};
use super::paths;

/// An app that is distributed to a workspace.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it may ask for.
    pub scopes: Registered,
    /// Whether it is switched off in this workspace.
    pub off: bool,
}

/// A workspace that the user administers.
#[derive(Clone, Debug)]
pub struct InstalledPlace {
    /// Its gid.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The apps.
    pub apps: Vec<Installed>,
}

/// The page of apps by workspace.
#[derive(Clone, Copy, Debug)]
pub struct InstalledApps<'a> {
    /// What stands around.
    pub frame: Frame<'a>,
    /// The workspaces that the user administers.
    pub places: &'a [InstalledPlace],
}

impl InstalledApps<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        console(
            "Workspace apps",
            &self.frame,
            Some(Section::Installed),
            &html! {
                h1 { "Workspace apps" }
                p.lead { "Members of your workspaces can authorize these apps. One that you switch off reaches nothing in the workspace from then on, whoever authorized it." }
                @for place in self.places {
                    (card(&format!("w-{}", place.id), &place.name,
                        &list(&place.apps, "No app is available here.", |app| self.row(place, app))))
                }
            },
        )
    }

    fn row(&self, place: &InstalledPlace, app: &Installed) -> Markup {
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
                form method="post" action={ (paths::INSTALLED) "/" (place.id) "/" (app.id) } {
                    (csrf(self.frame.who.csrf))
                    input type="hidden" name="state" value=(state);
                    button.(class) type="submit" aria-label={ (word) " " (app.name) " in " (place.name) } { (word) }
                }
            }
        }
    }
}

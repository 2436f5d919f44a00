//! Parts that several pages have: cards, lists, and what is said of an app.
use maud::{Markup, html};
use workgraph_auth::Registered;

use super::words::count;

/// A card with a heading, which has the id.
pub(super) fn card(id: &str, heading: &str, body: &Markup) -> Markup {
    html! {
        section.card aria-labelledby=(id) {
            h2 id=(id) { bdi { (heading) } }
            (body)
        }
    }
}

/// A list of rows, or the words for one that is empty.
pub(super) fn list<T>(rows: &[T], empty: &str, row: impl Fn(&T) -> Markup) -> Markup {
    html! {
        @if rows.is_empty() {
            p.empty { (empty) }
        } @else {
            ul.list { @for each in rows { (row(each)) } }
        }
    }
}

/// The mark of an app that is switched off.
pub(super) fn switched(off: bool) -> Markup {
    html! { @if off { " " span.tag.off { "Switched off" } } }
}

/// An app's number, and what it may ask for.
pub(super) fn client(id: u64, scopes: Registered) -> Markup {
    html! {
        "Client ID " code { (id) } " · "
        @match scopes {
            Registered::Full => "full permissions",
            Registered::Only(set) => (count(set.iter().count(), "scope")),
        }
    }
}

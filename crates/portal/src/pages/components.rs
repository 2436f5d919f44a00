//! Components shared by several pages: cards, lists, and the facts about an app.
use maud::{Markup, html};
use workgraph_auth::RegisteredScopes;

use super::format::count;

/// Returns a card with a heading that has the id `id`.
pub(super) fn card(id: &str, heading: &str, body: &Markup) -> Markup {
    html! {
        section.card aria-labelledby=(id) {
            h2 id=(id) { bdi { (heading) } }
            (body)
        }
    }
}

/// Returns a list of rows, or the text for an empty one.
pub(super) fn list<T>(rows: &[T], empty: &str, row: impl Fn(&T) -> Markup) -> Markup {
    html! {
        @if rows.is_empty() {
            p.empty { (empty) }
        } @else {
            ul.list { @for each in rows { (row(each)) } }
        }
    }
}

/// Returns a button that opens a question, with the form below it that performs the action.
pub(super) fn confirmed(words: &str, label: &str, question: &str, form: &Markup) -> Markup {
    html! {
        details.confirm {
            summary.button.bad aria-label=(label) { (words) }
            div { p { (question) } (form) }
        }
    }
}

/// Returns the label of a disabled app.
pub(super) fn switched(off: bool) -> Markup {
    html! { @if off { " " span.tag.off { "Switched off" } } }
}

/// Returns an app's number and the scopes that it may request.
pub(super) fn client(id: u64, scopes: RegisteredScopes) -> Markup {
    html! {
        "Client ID " code { (id) } " · "
        @match scopes {
            RegisteredScopes::Full => "full permissions",
            RegisteredScopes::Only(set) => (count(set.iter().count(), "scope")),
        }
    }
}

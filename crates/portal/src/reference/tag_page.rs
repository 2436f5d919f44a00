//! The reference pages with operations or records.
use maud::{Markup, html};

use super::file::PageContent;
use super::operation::{operation, record};
use super::view::{DocumentView, TagView};
use crate::pages::paths;
use workgraph_wire::percent::encode_component;

/// Renders the page of a tag: its operations, and the records that they return.
pub(super) fn content(view: &DocumentView<'_>, tag: &TagView<'_>) -> PageContent {
    let records = view.records_of(&tag.path);
    let body = html! {
        h1 { (tag.name) }
        (parts(view, Some(&tag.path)))
        (search("Search this page"))
        div.card #credentials hidden {
            label for="token" { "Access token" }
            p.hint #token-hint {
                "Requests that you send from these pages change real data. If you are signed in, leave this empty: the first request gets a token that works for an hour. Otherwise "
                a href={ (paths::SIGN_IN) "?next=" (encode_component(&tag.path)) } { "sign in" }
                " or enter a token. It stays in this tab until you close it, and goes to this server alone."
            }
            input #token type="password" autocomplete="off" spellcheck="false" aria-describedby="token-hint";
        }
        section data-group aria-labelledby="operations" {
            h2 #operations { "Operations" }
            @for each in &tag.operations { (operation(view, each)) }
        }
        @if !records.is_empty() {
            section data-group aria-labelledby="records" {
                h2 #records { "Records" }
                @for (name, schema) in records { (record(view, name, schema)) }
            }
        }
    };
    PageContent {
        title: format!("{} · API reference", tag.name),
        body,
    }
}

/// Returns the page of the records that are on no other page.
pub(super) fn other_records(view: &DocumentView<'_>) -> PageContent {
    let body = html! {
        h1 { "Other records" }
        p.lead { "Records that come inside others, and errors." }
        (parts(view, Some(paths::REFERENCE_RECORDS)))
        section data-group aria-labelledby="records" {
            h2 #records { "Records" }
            @for (name, schema) in view.records_of(paths::REFERENCE_RECORDS) { (record(view, name, schema)) }
        }
    };
    PageContent {
        title: "Other records · API reference".to_owned(),
        body,
    }
}

/// Returns the search field, which the script makes visible.
pub(super) fn search(label: &str) -> Markup {
    html! {
        div #search .field hidden {
            label for="find" { (label) }
            input #find type="text" autocomplete="off" spellcheck="false" aria-describedby="found";
            p.hint #found role="status" {}
            ol #results hidden {}
        }
    }
}

/// Returns the list of all pages.
fn parts(view: &DocumentView<'_>, current: Option<&str>) -> Markup {
    let tags = view.tags().iter().map(|tag| (tag.path.as_str(), tag.name));
    let all = tags.chain([(paths::REFERENCE_RECORDS, "Other records")]);
    html! {
        details.parts {
            summary { "All parts of the API" }
            nav aria-label="Parts of the API" {
                ul {
                    @for (path, name) in all {
                        li { a href=(path) aria-current=[(Some(path) == current).then_some("page")] { (name) } }
                    }
                }
            }
        }
    }
}

//! The first page of the reference: conventions of all operations, and a list of them.
use maud::{Markup, html};
use serde_json::Value;

use super::file::PageContent;
use super::operation::{marks, search_words, signature};
use super::schema::type_name;
use super::tag_page::search;
use super::view::{DocumentView, members, prose, text, words};
use crate::pages::paths;

/// Renders the overview, with all operations.
pub(super) fn content(view: &DocumentView<'_>) -> PageContent {
    let count: usize = view.tags().iter().map(|tag| tag.operations.len()).sum();
    let body = html! {
        h1 { "API reference" }
        p.lead { (words(view.about())) }
        (search("Search operations by name, path, scope or field"))
        (conventions(view))
        h2 { (count) " operations" }
        @for tag in view.tags() {
            section.card data-group {
                h3 { a href=(tag.path) { (tag.name) } }
                ul.operations {
                    @for operation in &tag.operations {
                        li data-find data-words=(search_words(view, operation)) {
                            a href={ (tag.path) "#" (operation.id) } { (signature(operation)) }
                            " " span.title { (prose(operation.object, "summary")) }
                            (marks(operation.object))
                        }
                    }
                }
            }
        }
        p { a href=(paths::REFERENCE_RECORDS) { "Other records" } }
    };
    PageContent {
        title: "API reference".to_owned(),
        body,
    }
}

/// Returns the conventions of all operations, collapsed.
fn conventions(view: &DocumentView<'_>) -> Markup {
    let folded = |heading: &str, body: &Markup| {
        html! { details.card { summary { h2 { (heading) } } (body) } }
    };
    html! {
        (folded("Requests and tokens", &html! {
            p { "All paths are below " code { (view.server()) } "." }
            p {
                "A request carries a token as " code { "Authorization: Bearer …" } ": a "
                a href=(paths::TOKENS) { "personal access token" } ", or one that an app got from its user. "
                "Bodies are JSON, with what is sent inside " code { "data" } "; so are replies."
            }
        }))
        (folded("Shared parameters", &html! {
            dl.fields {
                @for (name, parameter) in view.shared_parameters() {
                    dt #{ "parameter-" (name) } { code { (name) } }
                    dd {
                        span.type { (type_name(view, parameter.get("schema").unwrap_or(&Value::Null))) }
                        " " span.says { (prose(parameter, "description")) }
                    }
                }
            }
        }))
        (folded("Errors", &html! {
            p { "The body of an error is " @if let Some(address) = view.record_address("Errors") { a href=(address) { "Errors" } } "." }
            dl.fields {
                @for (status, meaning) in view.errors() {
                    dt #{ "error-" (status) } { code { (status) } }
                    dd { (words(meaning)) }
                }
            }
        }))
        (folded("Limits and costs", &html! {
            p {
                "Each token has a quota of requests a minute, one of searches, and slots for reads and writes at the same time. "
                "Beyond that a request is answered with 429, and " code { "Retry-After" } " says how many seconds to wait."
            }
            p {
                "A request has a cost in credits, which is taken from a balance that refills evenly: 1, with 1 for each object of "
                code { "data" } ", 1 for each link followed to what is shown, and 1 for each field named in "
                code { "opt_fields" } " and each object; no less than 1 for every 4,096 bytes. With the header "
                code { "Workgraph-Explain: limits" } " a reply says what it cost and what is left."
            }
        }))
        (folded("Scopes", &html! {
            dl.fields {
                @for (name, meaning) in view.scopes() {
                    dt { code { (name) } }
                    dd { (words(meaning)) }
                }
            }
        }))
    }
}

impl<'d> DocumentView<'d> {
    /// Returns the statuses of errors with their meanings, in order.
    fn errors(&self) -> Vec<(&'d str, &'d str)> {
        let operations = self.tags().iter().flat_map(|tag| &tag.operations);
        let all = operations.flat_map(|operation| members(operation.object, "responses"));
        let mut errors: Vec<_> = all
            .filter(|(status, _)| !status.starts_with('2'))
            .map(|(status, response)| (status, text(self.response(response), "description")))
            .collect();
        errors.sort_unstable();
        errors.dedup();
        errors
    }
}

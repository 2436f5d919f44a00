//! The page of a record, read-only.
use maud::{Markup, PreEscaped, html};

use super::components::card;
use super::layout::{HtmlPage, SiteUser, site};

/// Content of the page of a record.
#[derive(Clone, Debug)]
pub struct RecordPage {
    /// Signed-in user.
    pub user: SiteUser,
    /// Kind of record, such as `Task`.
    pub kind: &'static str,
    /// Name of the record.
    pub title: String,
    /// Facts about the record, each with its label.
    pub facts: Vec<(String, RecordValue)>,
    /// Description, as safe HTML.
    pub text: Option<String>,
    /// Lists of objects that belong to the record.
    pub lists: Vec<RecordList>,
    /// Address of the record in the API.
    pub api_address: String,
}

/// Value of a fact about a record.
#[derive(Clone, Debug)]
pub enum RecordValue {
    /// Plain text.
    Text(String),
    /// Time, as the API writes it.
    Instant(String),
    /// Links to other records.
    Links(Vec<RecordLine>),
}

/// List on the page of a record.
#[derive(Clone, Debug)]
pub struct RecordList {
    /// Heading of the list.
    pub heading: &'static str,
    /// Text for a list without entries.
    pub empty: &'static str,
    /// Records in the list.
    pub lines: Vec<RecordLine>,
    /// True if there are more entries than shown.
    pub has_more: bool,
}

/// Record in a list, with the details that the list shows.
#[derive(Clone, Debug)]
pub struct RecordLine {
    /// Name of the record, or of the person.
    pub name: String,
    /// Address of its page.
    pub page: Option<String>,
    /// True if it is completed.
    pub is_done: bool,
    /// Text next to the name.
    pub details: String,
    /// Time of the entry, as the API writes it.
    pub at: Option<String>,
    /// Rich text, as safe HTML.
    pub text: Option<String>,
}

/// Returns a time of the API (`2026-11-21T09:30:00.000Z`) in readable form.
fn instant(at: &str) -> Markup {
    let day = at.get(..10).unwrap_or(at);
    let minute = at.get(11..16).unwrap_or_default();
    html! { time datetime=(at) { (day) ", " (minute) " UTC" } }
}

/// Returns the name of an entry, as a link if it has a page.
fn name(line: &RecordLine) -> Markup {
    html! {
        @match &line.page {
            Some(page) => a href=(page) { bdi { (line.name) } },
            None => bdi { (line.name) },
        }
    }
}

/// Returns a list of entries with their details.
pub(super) fn lines(lines: &[RecordLine]) -> Markup {
    html! {
        ul.records {
            @for line in lines {
                li {
                    @if line.is_done { span.done { "Done" } " " }
                    (name(line))
                    @if !line.details.is_empty() { " " span.soft { bdi { (line.details) } } }
                    @if let Some(at) = &line.at { " " span.soft { (instant(at)) } }
                    @if let Some(text) = &line.text { div.text { (PreEscaped(text)) } }
                }
            }
        }
    }
}

impl RecordPage {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let command = format!(
            "curl -H \"Authorization: Bearer $TOKEN\" {}",
            self.api_address
        );
        let body = html! {
            p.kind { (self.kind) }
            h1 { bdi { (self.title) } }
            div.record {
                div {
                    @if let Some(text) = &self.text {
                        (card("description", "Description", &html! { div.text { (PreEscaped(text)) } }))
                    }
                    @for (number, list) in self.lists.iter().enumerate() { (shown(number, list)) }
                    @if self.text.is_none() && self.lists.is_empty() { div.card { p.empty { "No description." } } }
                }
                div {
                    (card("details", "Details", &html! { dl { @for (label, value) in &self.facts { (fact(label, value)) } } }))
                    (card("api", "In the API", &html! {
                        p.hint { "Send a GET request to this address, with a token of yours in place of $TOKEN." }
                        code.secret { (self.api_address) }
                        code.secret { (command) }
                    }))
                }
            }
        };
        site(&self.title, Some(&self.user), &body)
    }
}

fn fact(label: &str, value: &RecordValue) -> Markup {
    html! {
        dt { bdi { (label) } }
        dd {
            @match value {
                RecordValue::Text(text) => bdi { (text) },
                RecordValue::Instant(at) => (instant(at)),
                RecordValue::Links(all) => @for (number, line) in all.iter().enumerate() {
                    @if number > 0 { ", " }
                    (name(line))
                },
            }
        }
    }
}

fn shown(number: usize, list: &RecordList) -> Markup {
    card(
        &format!("list-{number}"),
        list.heading,
        &html! {
            @if list.lines.is_empty() { p.soft { (list.empty) } } @else { (lines(&list.lines)) }
            @if list.has_more { p.soft { "These are the first " (list.lines.len()) ". The API has the rest." } }
        },
    )
}

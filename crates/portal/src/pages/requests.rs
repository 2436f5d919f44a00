//! The pages of the request inspector: the last requests of a user's apps and tokens, and a single request.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_api::request_inspector::RecordedRequest;

use super::components::card;
use super::form::FormField;
use super::format::moment;
use super::layout::{HtmlPage, NavigationSection, PageChrome, console, csrf};
use super::paths;

/// Owner whose requests a user may see: the user, an app or a service account.
#[derive(Clone, Debug)]
pub struct RequestOwnerChoice {
    /// Text that identifies the owner in addresses.
    pub key: String,
    /// Name of the owner.
    pub name: String,
}

/// Search terms of the list of requests; an empty text matches everything.
#[derive(Clone, Debug, Default)]
pub struct RequestSearch {
    /// Key of a [`RequestOwnerChoice`].
    pub owner: String,
    /// Method, in upper case.
    pub method: String,
    /// Number of minutes before now within which a request must have ended.
    pub minutes: String,
    /// Part of the operation's name or path.
    pub operation: String,
    /// Status, or its class, as in `4xx`.
    pub status: String,
    /// Id of the request.
    pub id: String,
}

/// Row of the list of requests.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// Name of its owner.
    pub owner: String,
    /// False if an app made it for somebody else: the path is the operation's, and there is no query, error or body.
    pub is_own: bool,
    /// Request as the inspector recorded it.
    pub request: RecordedRequest,
}

/// State of the recording of the chosen owner's bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingState {
    /// No owner is chosen.
    NoOwner,
    /// Bodies are not recorded.
    Off,
    /// Bodies are recorded until this time.
    Until(SystemTime),
}

/// Content of the page of the last requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestsPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// False if the server records no requests.
    pub is_on: bool,
    /// Owners whose requests the user may see.
    pub owners: &'a [RequestOwnerChoice],
    /// Search terms.
    pub search: &'a RequestSearch,
    /// State of the recording of bodies, for the chosen owner.
    pub recording: RecordingState,
    /// Requests that were found, newest first.
    pub requests: &'a [RequestRow],
    /// Maximum number of requests on the page.
    pub most: usize,
}

/// Content of the page of one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestPage<'a> {
    /// Navigation and notice around the page.
    pub frame: PageChrome<'a>,
    /// The request and the name of its owner.
    pub row: &'a RequestRow,
    /// Address of the API, for the command.
    pub base_url: &'a str,
}

/// Filter choices: values and labels.
const METHODS: &[(&str, &str)] = &[
    ("", "All"),
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("DELETE", "DELETE"),
];
const STATUSES: &[(&str, &str)] = &[
    ("", "All"),
    ("2xx", "Success (2xx)"),
    ("4xx", "Client errors (4xx)"),
    ("5xx", "Server errors (5xx)"),
    ("401", "401"),
    ("403", "403"),
    ("404", "404"),
    ("429", "429"),
];
const TIMES: &[(&str, &str)] = &[
    ("", "All"),
    ("5", "Last 5 minutes"),
    ("60", "Last hour"),
    ("1440", "Last day"),
];

/// Formats a time in UTC, to the second.
fn clock(at: SystemTime) -> String {
    let text = workgraph_core::model::time::Time::from_system(at).to_string();
    text.get(11..23).unwrap_or_default().to_owned()
}

fn millis(request: &RecordedRequest) -> String {
    let micros = request.duration.as_micros();
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

/// Returns path and query.
fn target(request: &RecordedRequest) -> String {
    match request.query.is_empty() {
        true => request.path.to_string(),
        false => format!("{}?{}", request.path, request.query),
    }
}

fn operation(request: &RecordedRequest) -> &'static str {
    match request.operation {
        "" => "No operation",
        name => name,
    }
}

impl RequestsPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let body = html! {
            h1 { "Requests" }
            p.lead { "The latest requests of your access tokens, your apps, and the service accounts that you administer. They stay in memory for a while, and nobody else sees them." }
            @if self.is_on {
                (card("found", "Last requests", &html! { (self.search_form()) (self.list()) }))
                (card("bodies", "Bodies", &self.recording_form()))
            } @else {
                div.card { p.empty { "This server doesn't record requests. Its administrator can turn that on with the setting " code { "inspector.bytes" } "." } }
            }
        };
        console(
            "Requests",
            &self.frame,
            Some(NavigationSection::Requests),
            &body,
        )
    }

    fn search_form(&self) -> Markup {
        let operation = FormField::new("operation", "Operation or path", &[]);
        let id = FormField::new("id", "Request ID", &[]);
        let choices = |name: &'static str, label: &str, chosen: &str, all: &[(&str, &str)]| {
            html! {
                div.field {
                    label for=(name) { (label) }
                    select id=(name) name=(name) {
                        @for (value, words) in all { option value=(value) selected[*value == chosen] { (words) } }
                    }
                }
            }
        };
        html! {
            form.filters method="get" action=(paths::REQUESTS) role="search" {
                div.field {
                    label for="owner" { "App or token" }
                    select #owner name="owner" {
                        option value="" selected[self.search.owner.is_empty()] { "All" }
                        @for owner in self.owners {
                            option value=(owner.key) selected[owner.key == self.search.owner] { (owner.name) }
                        }
                    }
                }
                (choices("method", "Method", &self.search.method, METHODS))
                (choices("status", "Status", &self.search.status, STATUSES))
                (choices("minutes", "Time", &self.search.minutes, TIMES))
                (operation.optional_line(&self.search.operation, 100))
                (id.optional_line(&self.search.id, 100))
                button type="submit" { "Filter" }
            }
        }
    }

    fn list(&self) -> Markup {
        html! {
            @if self.requests.is_empty() {
                p.empty { "No requests match." }
            } @else {
                @if self.requests.len() == self.most { p.soft { "These are the latest " (self.most) ". Filter to find older ones." } }
                ul.list { @for row in self.requests { (line(row)) } }
            }
        }
    }

    fn recording_form(&self) -> Markup {
        html! {
            p { "Bodies are recorded only if you ask for it, and for an hour. Tokens, secrets and signed addresses in them are masked. For an app, you see the bodies of the requests that it makes for you." }
            @match self.recording {
                RecordingState::NoOwner => p.soft { "To record bodies, first choose an app or your tokens above." },
                RecordingState::Off => (self.switch("1", "Record bodies for an hour")),
                RecordingState::Until(end) => {
                    p { "Bodies are recorded until " (moment(end)) "." }
                    (self.switch("0", "Stop recording bodies"))
                }
            }
        }
    }

    fn switch(&self, on: &str, words: &str) -> Markup {
        html! {
            form method="post" action=(paths::REQUEST_RECORDING) {
                (csrf(self.frame.user.csrf))
                input type="hidden" name="owner" value=(self.search.owner);
                input type="hidden" name="on" value=(on);
                button.quiet type="submit" { (words) }
            }
        }
    }
}

/// Returns the row of a request in the list.
fn line(row: &RequestRow) -> Markup {
    let request = &row.request;
    let shown: String = target(request).chars().take(120).collect();
    html! {
        li {
            h3 {
                a href={ (paths::REQUESTS) "/" (request.id) } { (request.method) " " (operation(request)) }
                " " span.tag.off[request.status >= 400] { (request.status) }
            }
            p.soft {
                code { bdi { (shown) } } " · " (clock(request.at)) " · " (millis(request)) " · cost " (request.cost) " · " bdi { (row.owner) }
                @if let Some(error) = &request.error { " · " bdi { (error.chars().take(160).collect::<String>()) } }
                @if let Some(reason) = request.reason { " · " code { (reason.name()) } }
            }
        }
    }
}

impl RequestPage<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn page(&self) -> HtmlPage {
        let request = &self.row.request;
        let body = html! {
            p { a href=(paths::REQUESTS) { "All requests" } }
            h1 { (request.method) " " (operation(request)) }
            (card("facts", "The request", &self.facts()))
            @if request.token != 0 && self.row.is_own { (card("curl", "As curl", &html! {
                p.hint #curl-hint { "Replace $TOKEN by a token of yours." }
                code.secret aria-describedby="curl-hint" { (self.curl()) }
            })) }
            (card("bodies", "Bodies", &html! {
                @match &request.bodies {
                    None if !self.row.is_own => p.soft { "The app made this request for somebody else. Its query, its bodies and the text of its error are theirs." },
                    None => p.soft { "They were not recorded." },
                    Some(bodies) => {
                        h3 { "Request" }
                        code.secret { @if bodies.request.is_empty() { "none" } @else { (bodies.request) } }
                        h3 { "Response" }
                        code.secret { @if bodies.response.is_empty() { "none" } @else { (bodies.response) } }
                    }
                }
            }))
        };
        console(
            "Request",
            &self.frame,
            Some(NavigationSection::Requests),
            &body,
        )
    }

    fn facts(&self) -> Markup {
        let request = &self.row.request;
        html! {
            dl {
                dt { "Path" } dd { code { bdi { (target(request)) } } }
                dt { "Status" } dd { (request.status) }
                @if let Some(error) = &request.error { dt { "Error" } dd { bdi { (error) } } }
                @if let Some(reason) = request.reason { dt { "Reason" } dd { code { (reason.name()) } ": " (reason.meaning()) } }
                dt { "Time" } dd { (moment(request.at)) ", " (clock(request.at)) }
                dt { "Duration" } dd { (millis(request)) }
                dt { "Cost" } dd { (request.cost) }
                @if let Some(left) = request.limits {
                    dt { "Limits left" }
                    dd {
                        (left.standard) " of " (left.standard_limit) " requests, " (left.search) " of " (left.search_limit) " searches"
                        @if let Some((balance, most)) = left.credits { ", " (balance) " of " (most) " credits" }
                    }
                }
                dt { "Of" } dd { bdi { (self.row.owner) }
                    @if request.token != 0 { ", token " code { (request.token) } }
                }
                dt { "Request ID" } dd { code { (request.id) } }
            }
        }
    }

    /// Returns the command that sends the request again.
    fn curl(&self) -> String {
        let request = &self.row.request;
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let address = quoted(&format!("{}{}", self.base_url, target(request)));
        let mut out = format!(
            "curl -X {} {address} -H \"Authorization: Bearer $TOKEN\"",
            request.method
        );
        let body = match &request.bodies {
            Some(bodies) if bodies.request.is_empty() => return out,
            Some(bodies) => quoted(&bodies.request),
            // The body was not recorded; the command shows where it belongs.
            None if matches!(request.method, "POST" | "PUT") => "@body.json".to_owned(),
            None => return out,
        };
        out.push_str(" -H 'Content-Type: application/json' -d ");
        out.push_str(&body);
        out
    }
}

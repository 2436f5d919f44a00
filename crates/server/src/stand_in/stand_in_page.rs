//! The page of a stand-in: its worlds, and for one of them the clock, faults, inboxes, requests and the grade of its
//! clients.
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;
use workgraph_api::ApiResponse;

/// Style sheet and script of the page.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Policy of the page: it loads its own files, and nobody frames it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
/// Number of the last requests and deliveries that are shown.
const SHOWN: usize = 50;
/// Periods of the buttons that move the clock.
const PERIODS: [&str; 4] = ["1m", "1h", "1d", "7d"];

/// State of a world, as the control routes show it.
pub(crate) struct ShownWorld {
    /// Record of the shown world.
    pub(crate) world: Value,
    /// Records of all worlds.
    pub(crate) worlds: Value,
    pub(crate) clock: Value,
    pub(crate) faults: Value,
    /// Inboxes, by name.
    pub(crate) inboxes: Value,
    pub(crate) requests: Value,
    pub(crate) grade: Value,
}

/// Returns a file of the page; `None` if it does not exist.
pub(crate) fn file(name: &str) -> Option<ApiResponse> {
    let (content, kind) = match name {
        "page.css" => (STYLE, "text/css; charset=utf-8"),
        "page.js" => (SCRIPT, "text/javascript; charset=utf-8"),
        _ => return None,
    };
    Some(response(content.as_bytes().to_vec(), kind))
}

fn response(content: Vec<u8>, kind: &str) -> ApiResponse {
    ApiResponse::json(200, content)
        .with("Content-Type", kind)
        .with("Cache-Control", "no-store")
        .with("X-Content-Type-Options", "nosniff")
        .with("Content-Security-Policy", POLICY)
        .with("Referrer-Policy", "no-referrer")
}

/// Returns the text of a field; numbers and truth values as they are written.
fn text(value: &Value, field: &str) -> String {
    match value.get(field) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the last rows, the newest first.
fn newest(value: &Value) -> impl Iterator<Item = &Value> {
    rows(value).iter().rev().take(SHOWN)
}

impl ShownWorld {
    /// Renders the page.
    pub(crate) fn page(&self) -> ApiResponse {
        let name = match &*text(&self.world, "name") {
            "" => text(&self.world, "id"),
            name => format!("{} ({name})", text(&self.world, "id")),
        };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "World " (name) " · Stand-in" }
                    link rel="stylesheet" href="stand-in/page.css";
                }
                body {
                    main {
                        h1 { "World " (name) }
                        p { "Seed " code { (text(&self.world, "seed")) } ", API at " code { (text(&self.world, "base_url")) } }
                        p #message role="status" {}
                        (self.clock())
                        (self.faults())
                        (self.inboxes())
                        (self.requests())
                        (self.grade())
                        (self.worlds())
                    }
                    script src="stand-in/page.js" {}
                }
            }
        };
        response(page.into_string().into_bytes(), "text/html; charset=utf-8")
    }

    fn clock(&self) -> Markup {
        let due = self.clock.get("next_due").filter(|due| due.is_object());
        let is_running = text(&self.clock, "mode") == "running";
        html! {
            h2 { "Clock" }
            p.big { (text(&self.clock, "now")) }
            p {
                (if is_running { "It runs. " } else { "It stands still. " })
                @match due {
                    Some(due) => { "Next due: " (text(due, "what").replace('_', " ")) " at " (text(due, "at")) "." }
                    None => { "Nothing is due." }
                }
            }
            div.row {
                @for period in PERIODS {
                    (button("POST", "clock", &format!("{{\"advance\":\"{period}\"}}"), &format!("Advance {period}")))
                }
                @if let Some(due) = due {
                    (button("POST", "clock", &format!("{{\"set\":\"{}\"}}", text(due, "at")), "Advance to what is due"))
                }
                @if is_running {
                    (button("POST", "clock", "{\"mode\":\"frozen\"}", "Freeze"))
                } @else {
                    (button("POST", "clock", "{\"mode\":\"running\"}", "Let it run"))
                }
                (button("POST", "reset", "{}", "Reset the world"))
            }
            form data-target="clock" {
                input #advance name="advance" aria-label="Period" placeholder="25h" required;
                button type="submit" { "Advance" }
            }
        }
    }

    fn faults(&self) -> Markup {
        let faults = html! {
            @for fault in rows(&self.faults) {
                @let id = text(fault, "id");
                tr {
                    td { code { (text(fault, "do")) } }
                    td { (text(fault, "matched")) }
                    td { (text(fault, "fired")) }
                    td {
                        @if fault.pointer("/do/hold").is_some() {
                            (button("POST", &format!("faults/{id}/release"), "{}", "Release")) " "
                        }
                        (button("DELETE", &format!("faults/{id}"), "", "Delete"))
                    }
                }
            }
        };
        html! {
            h2 { "Faults" }
            @if rows(&self.faults).is_empty() {
                p { "No request meets a fault." }
            } @else {
                (table("Faults", &["Fault", "Matched", "Fired", "Actions"], faults))
            }
            form data-target="faults" data-whole="true" {
                textarea name="fault" rows="3" aria-label="Fault as JSON" {
                    "{\"match\": {\"operation\": \"createTask\", \"times\": 1}, \"do\": {\"error\": \"internal\"}}"
                }
                button type="submit" { "Add the fault" }
            }
        }
    }

    fn inboxes(&self) -> Markup {
        let inboxes = self.inboxes.as_object();
        let deliveries = |inbox: &Value| {
            html! {
                @for delivery in newest(inbox.get("deliveries").unwrap_or(&Value::Null)) {
                    tr {
                        td { (text(delivery, "at")) }
                        td { (events(delivery)) }
                        td { (if text(delivery, "is_signed") == "true" { "yes" } else { "no" }) }
                        td { (text(delivery, "answered")) }
                    }
                }
            }
        };
        html! {
            h2 { "Inboxes" }
            @if inboxes.is_none_or(serde_json::Map::is_empty) {
                p { "No webhook was delivered to an inbox." }
            }
            @for (name, inbox) in inboxes.into_iter().flatten() {
                h3 { (name) }
                (table(name, &["Time", "Events", "Signed", "Answer"], deliveries(inbox)))
            }
        }
    }

    fn requests(&self) -> Markup {
        let requests = html! {
            @for request in newest(&self.requests) {
                tr {
                    td { (text(request, "number")) }
                    td { (text(request, "at")) }
                    td {
                        code { (text(request, "method")) " " (text(request, "path")) }
                        @for unknown in request.get("unknown").map(rows).unwrap_or_default() {
                            p.broken { "Unknown " (unknown.as_str().unwrap_or_default()) }
                        }
                    }
                    td { (text(request, "operation")) }
                    td { (text(request, "status")) }
                }
            }
        };
        html! {
            h2 { "Requests" }
            @if rows(&self.requests).is_empty() {
                p { "No client has sent a request." }
            } @else {
                (table("Requests", &["No.", "Time", "Request", "Operation", "Status"], requests))
                div.row { (button("DELETE", "requests", "", "Forget the requests")) }
            }
        }
    }

    fn grade(&self) -> Markup {
        let rules = html! {
            @for rule in self.grade.get("rules").map(rows).unwrap_or_default() {
                tr {
                    th scope="row" { (text(rule, "rule")) }
                    td class=(text(rule, "verdict")) { (text(rule, "verdict")) }
                    td { (text(rule, "why")) }
                }
            }
        };
        html! {
            h2 { "Grade of the clients" }
            (table("Grade of the clients", &["Rule", "Outcome", "Why"], rules))
        }
    }

    fn worlds(&self) -> Markup {
        html! {
            h2 { "Worlds" }
            ul {
                @for world in rows(&self.worlds) {
                    li {
                        a href=(format!("{}/-/stand-in", text(world, "auth_url"))) { (text(world, "id")) }
                        ": " (text(world, "name")) " " (text(world, "now"))
                    }
                }
            }
        }
    }
}

/// Returns a summary of a delivery: the types and actions of its events, or `heartbeat`.
fn events(delivery: &Value) -> String {
    let events = delivery.get("events").map(rows).unwrap_or_default();
    let named = events.iter().map(|event| {
        let kind = event
            .pointer("/resource/resource_type")
            .and_then(Value::as_str);
        format!("{} {}", kind.unwrap_or_default(), text(event, "action"))
    });
    match events.len() {
        0 => "heartbeat".to_owned(),
        _ => named.collect::<Vec<_>>().join(", "),
    }
}

/// Returns a table, which a keyboard can scroll where it is wider than the screen.
fn table(label: &str, heads: &[&str], rows: Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// Returns a button that sends a control request.
fn button(method: &str, path: &str, body: &str, label: &str) -> Markup {
    html! { button type="button" data-method=(method) data-path=(path) data-body=(body) { (label) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_page_shows_what_the_control_routes_say_and_no_markup_of_others() {
        let shown = ShownWorld {
            world: json!({"id": "w7", "name": "<b>mine</b>", "seed": 5, "base_url": "http://x/api/1.0"}),
            worlds: json!([{"id": "w0", "auth_url": "http://x", "now": "N"}]),
            clock: json!({"now": "NOW", "mode": "frozen", "next_due": {"what": "late_delivery", "at": "AT"}}),
            faults: json!([{"id": "1", "do": {"hold": true}, "matched": 2, "fired": 1}]),
            inboxes: json!({"orders": {"deliveries": [{"at": "T", "is_signed": true, "answered": 200,
                "events": [{"action": "added", "resource": {"resource_type": "task"}}]}]}}),
            requests: json!([{"number": 1, "method": "GET", "path": "/api/1.0/tasks?a=<i>", "status": 200}]),
            grade: json!({"rules": [{"rule": "retry-after", "verdict": "holds"}]}),
        };
        let page = shown.page();
        let html = String::from_utf8(page.body.to_vec()).unwrap();
        for part in [
            "w7",
            "NOW",
            "late delivery at AT",
            "task added",
            "retry-after",
            "faults/1/release",
            "http://x/-/stand-in",
            "&lt;b&gt;mine",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<b>") && !html.contains("<i>"), "{html}");
        assert!(file("page.js").is_some() && file("page.css").is_some() && file("x").is_none());
    }
}

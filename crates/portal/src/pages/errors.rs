//! The page that explains the errors of the API; the `help` of every error links to it.
use maud::html;

use super::layout::{HtmlPage, site};
use super::paths;

/// Status codes with their meanings and remedies.
const STATUSES: &[(&str, &str, &str, &str)] = &[
    (
        "400",
        "Bad request",
        "An input is missing, has the wrong form, or can't be used here.",
        "Read the message: it names the input and says what would be right. Sending the same request again gives the same answer.",
    ),
    (
        "401",
        "Unauthorized",
        "The request has no valid access token: there is none, or it has expired, was revoked, or belongs to an account that was disabled.",
        "Send the header Authorization: Bearer, followed by a token. If the token of an app has expired, get another with its refresh token.",
    ),
    (
        "402",
        "Payment required",
        "The operation needs a paid plan, and the workspace has a free one.",
        "Use a workspace with a paid plan.",
    ),
    (
        "403",
        "Forbidden",
        "The token is valid, but it doesn't have the scope, or its user doesn't have access to the object.",
        "The message says which scope is missing. For access, ask somebody who works on the object to share it.",
    ),
    (
        "404",
        "Not found",
        "There is no such object, or no such address.",
        "Check the address, the method and the ID. The object may have been deleted.",
    ),
    (
        "408",
        "Request timeout",
        "The body of the request did not arrive in time.",
        "Send it again.",
    ),
    (
        "412",
        "Precondition failed",
        "The sync token of an event stream is missing or too old.",
        "Read all the data that you need once more, then go on with the new sync token in the answer.",
    ),
    (
        "413",
        "Payload too large",
        "The body, or the file, is larger than this server accepts.",
        "Send less. Split a large batch, or attach a link instead of the file.",
    ),
    (
        "414",
        "Address too long",
        "The address of the request is too long.",
        "Name fewer fields, or send inputs in the body.",
    ),
    (
        "415",
        "Unsupported media type",
        "The body has a content type that the operation doesn't read.",
        "Send JSON with Content-Type: application/json, or a form. Don't compress the body.",
    ),
    (
        "422",
        "Unprocessable",
        "The request is well formed, but can't be carried out for this object as it is now.",
        "Read the message, and change the object first.",
    ),
    (
        "429",
        "Too many requests",
        "The token, or its user, has used up a limit: requests a minute, requests at a time, cost, or running jobs.",
        "Wait for as many seconds as the header Retry-After says, then send the request again.",
    ),
    (
        "431",
        "Headers too large",
        "The headers of the request are too large.",
        "Send fewer or shorter headers, such as cookies.",
    ),
    (
        "500",
        "Server error",
        "Something went wrong on the server. The phrase in the error finds it in the log.",
        "Try again later. If it keeps happening, tell the administrator the phrase.",
    ),
    (
        "503",
        "Service unavailable",
        "The server is busy, starting, or can't reach its storage.",
        "Wait for as many seconds as the header Retry-After says, then send the request again.",
    ),
    (
        "504",
        "Gateway timeout",
        "The request took too long. A change that it asked for may still be made.",
        "Ask for less at a time. Before you repeat a change, check whether it was made.",
    ),
    (
        "507",
        "Insufficient storage",
        "There is no space for the file: a quota is used up, or the disk is nearly full.",
        "Delete attachments that nobody needs, or ask the administrator for more space.",
    ),
];

/// Renders the page that explains the errors of the API.
#[must_use]
pub fn errors_page(base_url: &str) -> HtmlPage {
    let example = "{\n  \"errors\": [\n    {\n      \"message\": \"due_on: Date must be …\",\n      \"help\": \"…\"\n    }\n  ]\n}";
    let body = html! {
        h1 { "Errors" }
        p.lead { "What each status code of the API means, and what to do about it." }
        div.card {
            p { "An error has a status code, and a body with at least one " code { "message" } ". With 500 and 503 there is a " code { "phrase" } " besides, by which the administrator finds the error in the log. Every answer has an " code { "X-Request-Id" } "; quote it when you ask for help." }
            pre tabindex="0" role="region" aria-label="Example of an error" { (example) }
        }
        @for (status, name, meaning, advice) in STATUSES {
            section.card.status aria-labelledby={ "status-" (status) } {
                h2 #{ "status-" (status) } { (status) " " (name) }
                p { (meaning) }
                p { strong { "What to do: " } (advice) }
            }
        }
        div.card {
            p { "The endpoints of OAuth answer with " code { "error" } " and " code { "error_description" } " as RFC 6749 says. The inputs of every operation are in the " a href=(paths::REFERENCE) { "API reference" } ", and in the " a href={ (base_url) "/openapi.json" } { "OpenAPI document" } "." }
        }
    };
    site("Errors", None, &body)
}

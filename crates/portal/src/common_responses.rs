//! Responses that several handlers send.
use workgraph_api::{ApiResponse, Refusal, RefusalReason};
use workgraph_auth::AuthRefusal;

use crate::pages::{ErrorPage, HtmlPage, paths};

pub(crate) fn page(status: u16, page: HtmlPage) -> ApiResponse {
    let headers = page.headers();
    let mut reply = ApiResponse::json(status, page.html.into_bytes());
    reply.headers = headers;
    reply
}

/// Returns a page that shows an error.
pub(crate) fn failure(
    reason: impl Into<RefusalReason>,
    status: u16,
    heading: &str,
    text: &str,
) -> ApiResponse {
    let onward = None;
    let failure = ErrorPage {
        heading,
        text,
        onward,
    };
    page(status, failure.page()).refused_for(reason.into())
}

/// Returns the page for a form whose anti-forgery text is invalid, or whose session has ended.
pub(crate) fn invalid_form_page() -> HtmlPage {
    let failure = ErrorPage {
        heading: "This form is no longer valid",
        text: "Nothing was changed. Open the page again and repeat what you did.",
        onward: Some((paths::APPS, "Go to my apps")),
    };
    failure.page()
}

/// Returns [`invalid_form_page`] with status 403.
pub(crate) fn invalid_form(reason: AuthRefusal) -> ApiResponse {
    page(403, invalid_form_page()).refused_for(reason)
}

/// Returns a 303 response: the browser continues with a GET, regardless of the method of this request.
pub(crate) fn see_other(to: impl Into<String>) -> ApiResponse {
    ApiResponse::json(303, Vec::new())
        .with("Location", to)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
}

/// Returns plain text, for errors that occur before the app is known, so that it can't be notified.
pub(crate) fn plain(refusal: Refusal, status: u16, text: &str) -> ApiResponse {
    ApiResponse::json(status, format!("{text}\n").into_bytes())
        .refused_for(refusal)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
        .with(
            "Content-Security-Policy",
            "default-src 'none'; frame-ancestors 'none'",
        )
}

/// Returns JSON; the caller adds the caching header.
pub(crate) fn json(status: u16, body: String) -> ApiResponse {
    ApiResponse::json(status, body.into_bytes())
        .with("Content-Type", "application/json;charset=UTF-8")
}

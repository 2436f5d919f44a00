//! A request, and the responses that several handlers give.
use std::net::IpAddr;

use bytes::Bytes;
use workgraph_api::ApiResponse;
use workgraph_core::Gid;
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel};

use crate::pages::{ErrorPage, HtmlPage};

/// Request without its transport.
#[derive(Clone, Debug)]
pub struct PortalRequest {
    /// Method as it was sent.
    pub method: String,
    /// Whole path as it was sent (percent-encoded).
    pub path: String,
    /// Query as it was sent, without the `?`.
    pub query: String,
    /// Values of all `Authorization` headers.
    pub authorization: Vec<String>,
    /// Value of `Content-Type`.
    pub content_type: Option<String>,
    /// Values of all `Cookie` headers.
    pub cookies: Vec<String>,
    /// Value of `Origin`.
    pub origin: Option<String>,
    /// Value of `Referer`.
    pub referer: Option<String>,
    /// Value of `Sec-Fetch-Site`.
    pub fetch_site: Option<String>,
    /// Value of `Sec-Fetch-Dest`.
    pub fetch_dest: Option<String>,
    /// Address of the client.
    pub address: IpAddr,
    /// Name that the browser or app gives itself (`User-Agent`).
    pub user_agent: Option<String>,
    /// Bytes of the body.
    pub body: Bytes,
}

impl PortalRequest {
    /// Returns the actor of the request, for the audit log; an anonymous one if there is no user.
    pub(crate) fn actor_context(&self, user: Option<u64>) -> ActorContext {
        ActorContext {
            actor: user
                .and_then(Gid::new)
                .map_or(AuditActor::Anonymous, AuditActor::User),
            channel: AuditChannel::Web,
            method: None,
            address: Some(self.address),
            user_agent: self.user_agent.as_deref().map(Into::into),
            app: None,
        }
    }
}

/// Returns a page as a response.
pub(crate) fn page(status: u16, page: HtmlPage) -> ApiResponse {
    let headers = page.headers();
    let mut reply = ApiResponse::json(status, page.html.into_bytes());
    reply.headers = headers;
    reply
}

/// Returns a page that shows an error.
pub(crate) fn failure(status: u16, heading: &str, text: &str) -> ApiResponse {
    let onward = None;
    let failure = ErrorPage {
        heading,
        text,
        onward,
    };
    page(status, failure.page())
}

/// Returns 303: the browser goes on with a GET, whatever the method of this request was.
pub(crate) fn see_other(to: impl Into<String>) -> ApiResponse {
    ApiResponse::json(303, Vec::new())
        .with("Location", to)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
}

/// Returns plain text, for errors before the app that could be sent the error is known.
pub(crate) fn plain(status: u16, text: &str) -> ApiResponse {
    ApiResponse::json(status, format!("{text}\n").into_bytes())
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
        .with(
            "Content-Security-Policy",
            "default-src 'none'; frame-ancestors 'none'",
        )
}

/// Returns JSON; the caller adds the header that says how long it may be cached.
pub(crate) fn json(status: u16, body: String) -> ApiResponse {
    ApiResponse::json(status, body.into_bytes())
        .with("Content-Type", "application/json;charset=UTF-8")
}

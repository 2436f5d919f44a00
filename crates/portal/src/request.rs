//! A request, and the replies that several handlers give.
use std::net::IpAddr;

use bytes::Bytes;
use workgraph_api::Reply;
use workgraph_core::Gid;
use workgraph_core::audit::{Acting, Actor, Channel};

use crate::pages::{Failure, Page};

/// A request without its transport.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method as it was sent.
    pub method: String,
    /// The whole path as it was sent (percent-encoded).
    pub path: String,
    /// The query as it was sent, without the `?`.
    pub query: String,
    /// The values of all `Authorization` headers.
    pub authorization: Vec<String>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The values of all `Cookie` headers.
    pub cookies: Vec<String>,
    /// The value of `Origin`.
    pub origin: Option<String>,
    /// The value of `Referer`.
    pub referer: Option<String>,
    /// The value of `Sec-Fetch-Site`.
    pub fetch_site: Option<String>,
    /// The value of `Sec-Fetch-Dest`.
    pub fetch_dest: Option<String>,
    /// Where it came from.
    pub address: IpAddr,
    /// What the browser or app calls itself (`User-Agent`).
    pub agent: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl Request {
    /// Who acts by it, for the audit log; nobody in particular if there is no user.
    pub(crate) fn acting(&self, user: Option<u64>) -> Acting {
        Acting {
            actor: user.and_then(Gid::new).map_or(Actor::Nobody, Actor::User),
            channel: Channel::Web,
            method: None,
            address: Some(self.address),
            agent: self.agent.as_deref().map(Into::into),
            app: None,
        }
    }
}

/// A page as a reply.
pub(crate) fn page(status: u16, page: Page) -> Reply {
    let headers = page.headers();
    let mut reply = Reply::json(status, page.html.into_bytes());
    reply.headers = headers;
    reply
}

/// A page that says what went wrong.
pub(crate) fn failure(status: u16, heading: &str, text: &str) -> Reply {
    let onward = None;
    let failure = Failure {
        heading,
        text,
        onward,
    };
    page(status, failure.page())
}

/// 303: go on there with a GET, whatever this was.
pub(crate) fn see_other(to: impl Into<String>) -> Reply {
    Reply::json(303, Vec::new())
        .with("Location", to)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
}

/// Plain text, for when nobody is known who could be sent anywhere.
pub(crate) fn plain(status: u16, text: &str) -> Reply {
    Reply::json(status, format!("{text}\n").into_bytes())
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with("Referrer-Policy", "no-referrer")
        .with(
            "Content-Security-Policy",
            "default-src 'none'; frame-ancestors 'none'",
        )
}

/// JSON that says of itself how long it may be kept.
pub(crate) fn json(status: u16, body: String) -> Reply {
    Reply::json(status, body.into_bytes()).with("Content-Type", "application/json;charset=UTF-8")
}

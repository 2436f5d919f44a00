//! Where requests lead: the API, the authorization server, the server's own pages.
use crate::body::{self, Refusal};
use crate::door::Line;
use crate::download::Download;
use crate::edge::{Edge, Peer, Ran};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use std::sync::Arc;
use workgraph_api::request::Method;
use workgraph_api::{Glance, Reply, explain};
use workgraph_auth::Digest;
use workgraph_portal::Route;
use workgraph_wire::{error::error, form::FORM_BYTES, message};

/// Where the API begins.
pub(crate) const BASE: &str = "/api/1.0";

/// Asks for what the limits say.
static EXPLAIN: HeaderName = HeaderName::from_static(explain::EXPLAIN);

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    /// Nothing is read from the connection after it.
    pub(crate) close: bool,
    /// Its media type.
    pub(crate) kind: &'static str,
    /// Sent instead of the reply's body.
    pub(crate) file: Option<Box<Download>>,
}

impl Answer {
    /// A reply as it is: JSON, and the connection goes on.
    pub(crate) fn of(reply: Reply) -> Self {
        Self {
            reply,
            close: false,
            kind: JSON,
            file: None,
        }
    }
    /// A refusal. Whoever sent such a request may have sent more that is wrong.
    pub(crate) fn refuse(status: u16, text: &str) -> Self {
        Self {
            close: status != 404,
            ..Self::of(Reply::json(status, error(text)))
        }
    }
    /// Plain text.
    pub(crate) fn text(status: u16, text: String) -> Self {
        Self {
            kind: TEXT,
            ..Self::of(Reply::json(status, text.into_bytes()))
        }
    }
}

/// The media type of nearly all replies.
pub(crate) const JSON: &str = "application/json; charset=UTF-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The reply to a read that was answered before, if it is still true.
pub(crate) fn at_once(peer: &Peer, head: &Parts) -> Option<Reply> {
    if head.method != hyper::Method::GET || head.headers.contains_key(&EXPLAIN) {
        return None;
    }
    let mut tokens = head.headers.get_all(header::AUTHORIZATION).iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else {
        return None;
    };
    peer.at_once(&Glance {
        path: head.uri.path().strip_prefix(BASE)?,
        query: head.uri.query().unwrap_or_default(),
        authorization: token.to_str().ok()?,
    })
}

/// Answers a request by where it leads.
pub(crate) async fn route(peer: &Arc<Peer>, head: &mut Parts, body: Incoming) -> Answer {
    let Peer { edge, line, .. } = &**peer;
    let path = head.uri.path();
    let below = path
        .strip_prefix(BASE)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    // Most requests are for the API, and what the portal has below its base begins like this.
    let ours =
        below.is_none_or(|b| b.starts_with("/openid_connect/") || b.starts_with("/.well-known/"));
    if ours && let Some(route) = edge.portal.route(head.method.as_str(), path) {
        return Box::pin(portal(edge, line, route, head, body)).await;
    }
    if let Some(below) = below {
        if head.method == hyper::Method::OPTIONS && edge.http.cors {
            return Answer::of(Reply::json(204, Vec::new()));
        }
        let start = path.len() - below.len();
        return api(peer, head, body, start).await;
    }
    if let Some(name) = path.strip_prefix("/-/exports/")
        && head.method == hyper::Method::GET
    {
        return download(edge, line, name, head.uri.query().unwrap_or_default());
    }
    if path == "/-/limits" && head.method == hyper::Method::GET {
        return Box::pin(limits(edge, head)).await;
    }
    let metrics = edge.own_metrics || shows_metrics(edge, head);
    let own = Box::pin(health(edge, head, metrics)).await;
    own.unwrap_or_else(|| Answer::refuse(404, message::NO_ROUTE))
}

/// Whether a request shows the token that metrics are shown for.
fn shows_metrics(edge: &Edge, head: &Parts) -> bool {
    let Some(token) = edge.metrics_token else {
        return false;
    };
    let mut shown = head.headers.get_all(header::AUTHORIZATION).iter();
    let (Some(shown), None) = (shown.next(), shown.next()) else {
        return false;
    };
    let bearer = shown
        .to_str()
        .ok()
        .and_then(|text| text.strip_prefix("Bearer "));
    // Digests are compared: how far a guess is right shows in none.
    bearer.is_some_and(|text| Digest::of(text) == token)
}

/// What the limits have counted for a token.
async fn limits(edge: &Edge, head: &Parts) -> Answer {
    let token = texts(&head.headers, header::AUTHORIZATION);
    let api = Arc::clone(&edge.api);
    let limits = Box::pin(async move { api.limits(&token).await });
    match edge.guard(true, None, limits).await {
        Ran::Replied(reply) => Answer::of(reply),
        Ran::Late => Answer::refuse(504, "The request took too long"),
    }
}

/// The server's own pages for those who run it: health and metrics.
pub(crate) async fn health(edge: &Edge, head: &Parts, metrics: bool) -> Option<Answer> {
    if head.method != hyper::Method::GET {
        return None;
    }
    match head.uri.path() {
        "/-/livez" => Some(Answer::text(200, "ok\n".to_owned())),
        "/-/readyz" => {
            let (status, text) = edge.ready().await;
            Some(Answer::text(status, text))
        }
        "/-/metrics" if metrics => Some(Answer::text(200, edge.metrics_text())),
        _ => None,
    }
}

/// The file of an export, for whoever has an address of it that is still good.
fn download(edge: &Edge, line: &Arc<Line>, name: &str, query: &str) -> Answer {
    let refuse = |status, why: &str| Answer::of(Reply::json(status, error(why)));
    let ticket = query.strip_prefix("ticket=").unwrap_or_default();
    let file = match edge.api.admit_download(name, ticket) {
        Ok(file) => file,
        Err(why) => return refuse(403, &why.to_string()),
    };
    let Ok(place) = Arc::clone(&edge.downloads).try_acquire_owned() else {
        let mut busy = refuse(503, "Too many files are being sent; try again later");
        busy.reply.headers.push(("Retry-After", "10".to_owned()));
        return busy;
    };
    match edge.exports.open(file) {
        Ok(Some((file, length))) => {
            let patience = edge.http.request_timeout;
            let mut reply = Reply::json(200, Vec::new());
            let shown = format!("attachment; filename=\"{name}\"");
            reply.headers.push(("Content-Disposition", shown));
            Answer {
                kind: "application/gzip",
                file: Some(Box::new(Download::new(file, length, place, line, patience))),
                ..Answer::of(reply)
            }
        }
        Ok(None) => refuse(404, "The file is no longer there"),
        Err(e) => {
            tracing::error!(file = name, why = e.to_string(), "a file can't be sent");
            refuse(503, "The file can't be read")
        }
    }
}

/// The whole body, in time.
async fn read(
    edge: &Edge,
    headers: &HeaderMap,
    body: Incoming,
    most: usize,
) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let awaits = headers.contains_key(header::EXPECT);
    let whole = body::collect(body, most, awaits);
    let late = Refusal(408, "The request body did not arrive in time");
    // On the heap, so that a request without a body does not carry the room for one.
    let in_time = Box::pin(tokio::time::timeout(edge.http.body_timeout, whole)).await;
    in_time.unwrap_or(Err(late))
}

/// The values of a header.
fn texts(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let all = headers.get_all(name).iter();
    let own = |value: &HeaderValue| match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(value.as_bytes()).into_owned(),
    };
    all.map(own).collect()
}

/// The value of a header; the first one, if there are several.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    texts(headers, name).into_iter().next()
}

/// A request of the authorization server or for its pages.
async fn portal(edge: &Edge, line: &Line, route: Route, head: &Parts, body: Incoming) -> Answer {
    let refuse = |status, why| Answer {
        close: true,
        ..Answer::of(edge.portal.refused(route, status, why))
    };
    let bytes = if route.form {
        match read(edge, &head.headers, body, FORM_BYTES).await {
            Ok(bytes) => bytes,
            Err(Refusal(status, why)) => return refuse(status, why),
        }
    } else {
        Bytes::new()
    };
    let headers = &head.headers;
    let request = workgraph_portal::Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        authorization: texts(headers, header::AUTHORIZATION),
        content_type: text(headers, header::CONTENT_TYPE),
        cookies: texts(headers, header::COOKIE),
        origin: text(headers, header::ORIGIN),
        referer: text(headers, header::REFERER),
        fetch_site: text(headers, HeaderName::from_static("sec-fetch-site")),
        fetch_dest: text(headers, HeaderName::from_static("sec-fetch-dest")),
        address: edge.http.trusted_proxies.client(line.ip(), headers),
        agent: text(headers, header::USER_AGENT),
        body: bytes,
    };
    match edge.show(route, request).await {
        Ran::Replied(mut reply) => {
            let security = edge.transport_security.clone();
            let header = security.map(|value| ("Strict-Transport-Security", value));
            reply.headers.extend(header);
            Answer::of(reply)
        }
        Ran::Late => refuse(
            504,
            "The request took too long. What it asks may still be done.",
        ),
    }
}

/// A request below the API base. `start` is where its path begins in the whole.
async fn api(peer: &Arc<Peer>, head: &mut Parts, body: Incoming, start: usize) -> Answer {
    let Peer { edge, line, .. } = &**peer;
    let bytes = match read(edge, &head.headers, body, edge.api.settings().body_max).await {
        Ok(bytes) => bytes,
        Err(Refusal(status, text)) => return Answer::refuse(status, text),
    };
    let content_type = text(&head.headers, header::CONTENT_TYPE);
    let request = workgraph_api::Request {
        method: Method::parse(head.method.as_str()),
        path: head.uri.path().get(start..).unwrap_or_default().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        authorization: texts(&head.headers, header::AUTHORIZATION),
        content_type,
        explain: head
            .headers
            .get_all(&EXPLAIN)
            .iter()
            .any(|v| v.as_bytes() == explain::EXPLAIN_LIMITS.as_bytes()),
        body: bytes,
    };
    let address = edge.http.trusted_proxies.client(line.ip(), &head.headers);
    let agent = head.headers.remove(header::USER_AGENT);
    match peer.run(request, address, agent).await {
        Ran::Replied(reply) => Answer::of(reply),
        Ran::Late => Answer::refuse(
            504,
            "The request took too long. A change it makes may still be made",
        ),
    }
}

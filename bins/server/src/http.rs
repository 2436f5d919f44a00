//! HTTP: from a request of hyper's to one of the API's, and back.
use crate::body::{self, Refusal};
use crate::door::{Busy, Line};
use crate::download::Download;
use crate::edge::{Boxed, Edge, Peer, Ran};
use crate::outgoing::{Content, Outgoing, Owned};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;
use workgraph_api::request::Method;
use workgraph_api::{Glance, Reply, explain};
use workgraph_portal::Route;
use workgraph_wire::{error::error, form::FORM_BYTES, message};

/// Where the API begins.
pub(crate) const BASE: &str = "/api/1.0";
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;
const URI_MAX: usize = 8 << 10;

/// An answer on its way out.
struct Answer {
    reply: Reply,
    close: bool,
    kind: &'static str,
    /// Sent instead of the reply's body.
    file: Option<Box<Download>>,
}

impl Answer {
    fn of(reply: Reply) -> Self {
        Self {
            reply,
            close: false,
            kind: JSON,
            file: None,
        }
    }
    fn refuse(status: u16, text: &str) -> Self {
        Self {
            close: status != 404,
            ..Self::of(Reply::json(status, error(text)))
        }
    }
    fn text(status: u16, text: String) -> Self {
        Self {
            kind: TEXT,
            ..Self::of(Reply::json(status, text.into_bytes()))
        }
    }
}

const JSON: &str = "application/json; charset=UTF-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The headers of every reply; copying them is less work than putting them together.
static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| {
    let headers = [
        (header::CONTENT_TYPE, JSON),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "private, no-store"),
        (REQUEST_ID.clone(), ""),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    headers.into_iter().collect()
});

/// Asks for what the limits say.
static EXPLAIN: HeaderName = HeaderName::from_static(explain::EXPLAIN);

/// Answers a request: at once, if that takes nothing but memory.
pub(crate) fn serve(peer: Arc<Peer>, request: Request<Incoming>) -> Answering {
    let (mut head, body) = request.into_parts();
    let begun = Begun::new(&peer, &head);
    let refusal = check(&head);
    if refusal.is_none()
        && body.is_end_stream()
        && let Some(reply) = at_once(&peer, &head)
    {
        return Answering::Done(Some(begun.end(&peer, Answer::of(reply))));
    }
    Answering::Doing(Box::pin(async move {
        let answer = match refusal {
            Some(refusal) => refusal,
            None => route(&peer, &mut head, body).await,
        };
        begun.end(&peer, answer)
    }))
}

/// The answer to a request, or the work on it.
pub(crate) enum Answering {
    /// Until it is taken.
    Done(Option<Response<Outgoing>>),
    /// On the heap: hyper moves the whole of what it is given here.
    Doing(Boxed<Response<Outgoing>>),
}

impl Future for Answering {
    type Output = Result<Response<Outgoing>, Infallible>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Done(response) => response
                .take()
                .map_or(Poll::Pending, |r| Poll::Ready(Ok(r))),
            Self::Doing(work) => work.as_mut().poll(cx).map(Ok),
        }
    }
}

/// What is known of a request when its head is there, for the end of it.
struct Begun {
    busy: Busy,
    at: Duration,
    id: String,
    method: hyper::Method,
    /// It asks from a page of another origin, and may.
    origin: bool,
    /// Nothing is read from the connection after it.
    last: bool,
    old: bool,
}

impl Begun {
    fn new(peer: &Peer, head: &Parts) -> Self {
        let Peer { edge, line, .. } = peer;
        let old = head.version <= Version::HTTP_11;
        // After a chunked body of HTTP/1, or a head with loose lines, nothing is read from the connection
        // any more, lest a proxy saw its end elsewhere.
        let last = line.is_loose() || head.headers.contains_key(header::TRANSFER_ENCODING);
        Self {
            busy: line.request(),
            at: edge.clock.uptime(),
            id: peer.next_id(),
            method: head.method.clone(),
            origin: edge.http.cors && head.headers.contains_key(header::ORIGIN),
            last,
            old,
        }
    }

    /// Counts and logs the request, and makes hyper's response of the answer.
    fn end(self, peer: &Peer, answer: Answer) -> Response<Outgoing> {
        let Peer { edge, line, .. } = peer;
        let Answer {
            mut reply,
            close,
            kind,
            file,
        } = answer;
        let took = edge.clock.uptime().saturating_sub(self.at);
        let read = self.method == hyper::Method::GET || self.method == hyper::Method::HEAD;
        let number = line.number();
        edge.metrics
            .count(number, reply.operation, read, reply.status, took);
        if edge.log_requests {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            tracing::info!(
                id = self.id,
                method = self.method.as_str(),
                operation = reply.operation,
                status = reply.status,
                micros,
                "request"
            );
        }
        let bytes = std::mem::take(&mut reply.body);
        let left = edge.http.request_timeout.saturating_sub(took);
        let slot = line.hold(reply.permit.take(), left);
        let body = Bytes::from_owner(Owned::new(bytes, slot));
        let empty = reply.status == 204;
        let content = match file {
            Some(file) => Content::File(file),
            None => Content::Bytes((!empty).then_some(body)),
        };
        let mut response = Response::new(Outgoing::new(content, Some(self.busy)));
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        fill(headers, kind, &reply);
        if let Ok(id) = HeaderValue::try_from(self.id) {
            headers.insert(&REQUEST_ID, id);
        }
        if self.origin {
            cors(headers, self.method == hyper::Method::OPTIONS);
        }
        if self.old && (close || self.last) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The reply to a read that was answered before, if it is still true.
fn at_once(peer: &Peer, head: &Parts) -> Option<Reply> {
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

/// The headers of a reply.
fn fill(headers: &mut HeaderMap, kind: &'static str, reply: &Reply) {
    headers.clone_from(&HEADERS);
    if kind != JSON {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            if name == header::SET_COOKIE {
                headers.append(name, value);
            } else {
                headers.insert(name, value);
            }
        }
    }
}

/// Answers on the listener of the metrics, which has nothing of the API.
pub(crate) async fn serve_metrics(
    edge: Arc<Edge>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let answer = health(&edge, &request.into_parts().0, true).await;
    let Answer {
        mut reply, kind, ..
    } = answer.unwrap_or_else(|| Answer::refuse(404, message::NO_ROUTE));
    let content = Content::Bytes(Some(std::mem::take(&mut reply.body).into()));
    let mut response = Response::new(Outgoing::new(content, None));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    fill(headers, kind, &reply);
    // Requests here have no number.
    headers.remove(&REQUEST_ID);
    Ok(response)
}

/// What is wrong with a request before anything looks at what it asks for.
fn check(head: &Parts) -> Option<Answer> {
    let headers = &head.headers;
    let path = head.uri.path_and_query().map_or(0, |p| p.as_str().len());
    if path > URI_MAX {
        return Some(Answer::refuse(414, "The request address is too long"));
    }
    let (mut size, mut hosts, mut readable) = (0, 0, true);
    for (name, value) in headers {
        size += name.as_str().len() + value.len() + 4;
        if name == header::HOST {
            hosts += 1;
            readable &= value.to_str().is_ok();
        }
    }
    // Of HTTP/1 hyper itself reads no more headers than this.
    if headers.len() > HEADERS_MAX || size + path > HEAD_MAX {
        return Some(Answer::refuse(431, "The request headers are too large"));
    }
    let host_is_wrong = match hosts {
        0 => {
            head.version != Version::HTTP_10
                && (head.version != Version::HTTP_2 || head.uri.authority().is_none())
        }
        1 => !readable,
        _ => true,
    };
    if host_is_wrong {
        return Some(Answer::refuse(400, "Host: one such header is needed"));
    }
    None
}

async fn route(peer: &Arc<Peer>, head: &mut Parts, body: Incoming) -> Answer {
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
    let own = Box::pin(health(edge, head, edge.own_metrics)).await;
    own.unwrap_or_else(|| Answer::refuse(404, message::NO_ROUTE))
}

/// What the limits have counted for a token.
async fn limits(edge: &Edge, head: &Parts) -> Answer {
    let token = texts(&head.headers, header::AUTHORIZATION);
    let api = Arc::clone(&edge.api);
    let limits = Box::pin(async move { api.limits(&token).await });
    match edge.guard(true, limits).await {
        Ran::Replied(reply) => Answer::of(reply),
        Ran::Late => Answer::refuse(504, "The request took too long"),
    }
}

/// The server's own pages for those who run it: health and metrics.
async fn health(edge: &Edge, head: &Parts, metrics: bool) -> Option<Answer> {
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
        address: edge.http.trusted_proxies.client(line.ip(), headers),
        agent: text(headers, header::USER_AGENT),
        body: bytes,
    };
    match edge.show(route, request).await {
        Ran::Replied(reply) => Answer::of(reply),
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

/// Lets scripts of any page call the API with a token of their own; cookies play no part.
fn cors(headers: &mut HeaderMap, preflight: bool) {
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        HeaderValue::from_static("*"),
    );
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "Location, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy, Workgraph-Cost",
        ),
    );
    if preflight {
        let allowed = "Authorization, Content-Type, X-Asana-Client-Lib, Asana-Enable, Asana-Disable, Workgraph-Explain";
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(allowed),
        );
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, POST, PUT, DELETE, OPTIONS"),
        );
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("600"),
        );
    }
}

//! HTTP: from a request of hyper's to one of the API's, and back.
use crate::body::{self, Refusal};
use crate::door::{Busy, Line, Slot};
use crate::edge::{Edge, Ran};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use workgraph_api::{Reply, explain};
use workgraph_portal::Route;
use workgraph_wire::{error::error, form::FORM_BYTES, message};

/// Where the API begins.
pub(crate) const BASE: &str = "/api/1.0";
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;
const URI_MAX: usize = 8 << 10;

/// A body, and that its request is being answered.
#[derive(Debug)]
pub(crate) struct Outgoing {
    bytes: Option<Bytes>,
    _busy: Option<Busy>,
}

/// The bytes of a body with the slot of its permit. hyper keeps them until they are written, or the connection is gone.
struct Owned {
    bytes: Vec<u8>,
    _slot: Slot,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|b| Ok(Frame::data(b))))
    }
    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |b| b.len() as u64))
    }
}

/// An answer on its way out.
struct Answer {
    reply: Reply,
    close: bool,
    kind: &'static str,
}

impl Answer {
    fn refuse(status: u16, text: &str) -> Self {
        Self {
            reply: Reply::json(status, error(text)),
            close: status != 404,
            kind: JSON,
        }
    }
    fn text(status: u16, text: String) -> Self {
        Self {
            reply: Reply::json(status, text.into_bytes()),
            close: false,
            kind: TEXT,
        }
    }
}

const JSON: &str = "application/json; charset=UTF-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Asks for what the limits say.
static EXPLAIN: HeaderName = HeaderName::from_static(explain::EXPLAIN);

/// Answers a request.
pub(crate) async fn serve(
    edge: Arc<Edge>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let loose = line.is_loose();
    let busy = line.request();
    let began = edge.clock.uptime();
    let counted = Gauge::up(&edge);
    let id = edge.next_id();
    let method = request.method().clone();
    let read = method == hyper::Method::GET || method == hyper::Method::HEAD;
    let preflight = method == hyper::Method::OPTIONS;
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let old = request.version() <= Version::HTTP_11;
    let origin = edge.http.cors && request.headers().contains_key(header::ORIGIN);
    let answer = match check(&request) {
        Some(refusal) => refusal,
        None => route(&edge, &line, request).await,
    };
    let Answer {
        mut reply,
        close,
        kind,
    } = answer;
    let took = edge.clock.uptime().saturating_sub(began);
    edge.metrics
        .count(reply.operation, read, reply.status, took);
    if edge.log_requests {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(
            id,
            method = method.as_str(),
            operation = reply.operation,
            status = reply.status,
            micros,
            "request"
        );
    }
    drop(counted);
    let bytes = std::mem::take(&mut reply.body);
    let body = match reply.permit.take() {
        Some(permit) => {
            let left = edge.http.request_timeout.saturating_sub(took);
            let slot = line.hold(permit, left);
            Bytes::from_owner(Owned { bytes, _slot: slot })
        }
        None => Bytes::from(bytes),
    };
    let empty = reply.status == 204;
    let outgoing = Outgoing {
        bytes: (!empty).then_some(body),
        _busy: Some(busy),
    };
    let mut response = Response::new(outgoing);
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.reserve(12);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-store"),
    );
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
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
    if origin {
        cors(headers, preflight);
    }
    // After a chunked body of HTTP/1, or a head with loose lines, nothing is read from the connection
    // any more, lest a proxy saw its end elsewhere.
    if old && (close || chunked || loose) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Answers on the listener of the metrics, which has nothing of the API.
pub(crate) async fn serve_metrics(
    edge: Arc<Edge>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let answer = if request.uri().path().starts_with("/-/") {
        own(&edge, &request, true).await
    } else {
        None
    };
    let Answer { reply, kind, .. } =
        answer.unwrap_or_else(|| Answer::refuse(404, message::NO_ROUTE));
    let mut response = Response::new(Outgoing {
        bytes: Some(reply.body.into()),
        _busy: None,
    });
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// What is wrong with a request before anything looks at what it asks for.
fn check(request: &Request<Incoming>) -> Option<Answer> {
    let headers = request.headers();
    let path = request
        .uri()
        .path_and_query()
        .map_or(0, |p| p.as_str().len());
    if path > URI_MAX {
        return Some(Answer::refuse(414, "The request address is too long"));
    }
    let size: usize = headers
        .iter()
        .map(|(n, v)| n.as_str().len() + v.len() + 4)
        .sum();
    if headers.len() > HEADERS_MAX || size + path > HEAD_MAX {
        return Some(Answer::refuse(431, "The request headers are too large"));
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host_is_wrong = match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => true,
        (Some(host), None) => host.to_str().is_err(),
        (None, _) => {
            request.version() != Version::HTTP_10
                && (request.version() != Version::HTTP_2 || request.uri().authority().is_none())
        }
    };
    if host_is_wrong {
        return Some(Answer::refuse(400, "Host: one such header is needed"));
    }
    None
}

async fn route(edge: &Arc<Edge>, line: &Line, request: Request<Incoming>) -> Answer {
    let path = request.uri().path();
    let below = path
        .strip_prefix(BASE)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    // Most requests are for the API, and what the portal has below its base begins like this.
    let ours =
        below.is_none_or(|b| b.starts_with("/openid_connect/") || b.starts_with("/.well-known/"));
    if ours && let Some(route) = edge.portal.route(request.method().as_str(), path) {
        return Box::pin(portal(edge, line, route, request)).await;
    }
    if let Some(below) = below {
        if request.method() == hyper::Method::OPTIONS && edge.http.cors {
            return Answer {
                reply: Reply::json(204, Vec::new()),
                close: false,
                kind: JSON,
            };
        }
        let start = path.len() - below.len();
        return api(edge, line, request, start).await;
    }
    let own = own(edge, &request, edge.own_metrics).await;
    own.unwrap_or_else(|| Answer::refuse(404, message::NO_ROUTE))
}

/// The server's own pages: health, metrics, and what the limits have counted for a token.
async fn own(edge: &Edge, request: &Request<Incoming>, metrics: bool) -> Option<Answer> {
    if request.method() != hyper::Method::GET {
        return None;
    }
    match request.uri().path() {
        "/-/livez" => Some(Answer::text(200, "ok\n".to_owned())),
        "/-/readyz" => {
            let (status, text) = edge.ready().await;
            Some(Answer::text(status, text))
        }
        "/-/limits" => Some(Answer {
            reply: edge
                .api
                .limits(&texts(request.headers(), header::AUTHORIZATION))
                .await,
            close: false,
            kind: JSON,
        }),
        "/-/metrics" if metrics => Some(Answer::text(200, edge.metrics_text())),
        _ => None,
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
    let in_time = tokio::time::timeout(edge.http.body_timeout, whole).await;
    in_time.unwrap_or(Err(late))
}

/// The values of a header.
fn texts(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let all = headers.get_all(name).iter();
    all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect()
}

/// The value of a header; the first one, if there are several.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    texts(headers, name).into_iter().next()
}

/// A request of the authorization server or for its pages.
async fn portal(edge: &Edge, line: &Line, route: Route, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let refuse = |status, why| Answer {
        reply: edge.portal.refused(route, status, why),
        close: true,
        kind: JSON,
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
        Ran::Replied(reply) => Answer {
            reply,
            close: false,
            kind: JSON,
        },
        Ran::Late => refuse(
            504,
            "The request took too long. What it asks may still be done.",
        ),
    }
}

/// A request below the API base. `start` is where its path begins in the whole.
async fn api(edge: &Arc<Edge>, line: &Line, request: Request<Incoming>, start: usize) -> Answer {
    let (mut head, body) = request.into_parts();
    let bytes = match read(edge, &head.headers, body, edge.api.settings().body_max).await {
        Ok(bytes) => bytes,
        Err(Refusal(status, text)) => return Answer::refuse(status, text),
    };
    let content_type = text(&head.headers, header::CONTENT_TYPE);
    let request = workgraph_api::Request {
        method: head.method.as_str().to_owned(),
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
    match edge.run(request, address, agent).await {
        Ran::Replied(reply) => Answer {
            reply,
            close: false,
            kind: JSON,
        },
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

/// Counts a request while it is answered, however that ends.
struct Gauge<'a>(&'a Edge);

impl<'a> Gauge<'a> {
    fn up(edge: &'a Edge) -> Self {
        edge.metrics.in_flight.fetch_add(1, Relaxed);
        Self(edge)
    }
}

impl Drop for Gauge<'_> {
    fn drop(&mut self) {
        self.0.metrics.in_flight.fetch_sub(1, Relaxed);
    }
}

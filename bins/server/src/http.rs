//! HTTP: what holds for every request of hyper's, and the response to it.
use crate::door::{Busy, Client};
use crate::edge::{Boxed, Edge, Peer};
use crate::outgoing::{Content, Outgoing, Owned};
use crate::routes::{Answer, JSON, at_once, health, route};
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
use workgraph_api::Reply;
use workgraph_wire::message;

const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;
const URI_MAX: usize = 8 << 10;

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

/// Answers a request: at once, if that takes nothing but memory.
pub(crate) fn serve(peer: Arc<Peer>, request: Request<Incoming>) -> Answering {
    let (mut head, body) = request.into_parts();
    let client = client(&peer, &head);
    let refusal = check(&head).or_else(|| client.is_err().then(crowded));
    let begun = Begun::new(&peer, &head, client.unwrap_or_default());
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
    fn new(peer: &Peer, head: &Parts, client: Option<Client>) -> Self {
        let Peer { edge, line, .. } = peer;
        let old = head.version <= Version::HTTP_11;
        // After a chunked body of HTTP/1, or a head with loose lines, nothing is read from the connection
        // any more, lest a proxy saw its end elsewhere.
        let last = line.is_loose() || head.headers.contains_key(header::TRANSFER_ENCODING);
        Self {
            busy: line.request(client),
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

/// The place of a request among those of its client, if it came through a proxy.
fn client(peer: &Peer, head: &Parts) -> Result<Option<Client>, Crowded> {
    let Peer { edge, line, .. } = peer;
    if !line.is_proxied() {
        return Ok(None);
    }
    let address = edge.http.trusted_proxies.client(line.ip(), &head.headers);
    edge.door.admit(address).map(Some).ok_or(Crowded)
}

/// A client has too many requests under way.
struct Crowded;

/// The answer to a request of a client with too many. The connection is the proxy's, and goes on.
fn crowded() -> Answer {
    let mut answer = Answer::refuse(429, "Too many requests of this address at the same time");
    answer.close = false;
    answer.reply.headers.push(("Retry-After", "1".to_owned()));
    answer
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

//! The service that hyper calls for every request, and the responses that it returns.
use crate::http::connection_context::ConnectionContext;
use crate::http::connections::{ProxiedRequestGuard, RequestGuard};
use crate::http::head_checks::{check, no_host};
use crate::http::process::Process;
use crate::http::request_body::ClientBody;
use crate::http::response_body::{BodyBytes, BodyContent, ResponseBody};
use crate::http::routed_response::{JSON, RoutedResponse};
use crate::http::routes::{fast_path_response, health, route};
use crate::http::world::World;
use crate::log::request_id::{REQUEST_ID, RequestId};
use crate::log::request_scope::{RequestScope, in_request};
use crate::workers::offload::BoxFuture;
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tracing::{Span, field};
use workgraph_api::{ApiResponse, Refusal, RequestRefusal};
use workgraph_wire::messages;

/// Headers of every reply; copying them takes less work than assembling them.
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

/// Service that answers the requests of connections: [`Direct`], or the one of a stand-in, which first determines the world
/// and the faults of a request.
pub(crate) trait RequestHandler: Send + Sync {
    /// Answers a request.
    fn handle(
        self: Arc<Self>,
        peer: Arc<ConnectionContext>,
        request: Request<ClientBody>,
    ) -> ResponseFuture;
}

/// Handler that passes each request on.
pub(crate) struct Direct;

impl RequestHandler for Direct {
    fn handle(
        self: Arc<Self>,
        peer: Arc<ConnectionContext>,
        request: Request<ClientBody>,
    ) -> ResponseFuture {
        handle_request(peer, request)
    }
}

/// Answers a request: immediately, if that only needs data in memory.
pub(crate) fn handle_request(
    peer: Arc<ConnectionContext>,
    request: Request<ClientBody>,
) -> ResponseFuture {
    let (mut head, body) = request.into_parts();
    let (begun, refusal) = begin(&peer, &head);
    let _scope = RequestScope::enter(Some(begun.id));
    if refusal.is_none()
        && body.is_end_stream()
        && let Some(reply) = fast_path_response(&peer, &head, begun.base_url.as_deref())
    {
        return ResponseFuture::Ready(Some(begun.finish(&peer, RoutedResponse::of(reply))));
    }
    let (id, span) = (Some(begun.id), begun.span.clone());
    ResponseFuture::Pending(Box::pin(in_request(id, span, async move {
        let answer = match refusal {
            Some(refusal) => refusal,
            None => route(&peer, &mut head, body, begun.base_url.as_deref()).await,
        };
        begun.finish(&peer, answer)
    })))
}

/// Answers a request with the result of `answer` for its head and its body, unless its head is invalid.
pub(crate) async fn handle_request_with<F: Future<Output = RoutedResponse>>(
    peer: &ConnectionContext,
    request: Request<ClientBody>,
    answer: impl FnOnce(Parts, ClientBody) -> F,
) -> Response<ResponseBody> {
    let (head, body) = request.into_parts();
    let (begun, refusal) = begin(peer, &head);
    let (id, span) = (Some(begun.id), begun.span.clone());
    in_request(id, span, async move {
        let answer = match refusal {
            Some(refusal) => refusal,
            None => answer(head, body).await,
        };
        begun.finish(peer, answer)
    })
    .await
}

/// Begins a request. If its head is invalid, also returns the refusal.
fn begin(peer: &ConnectionContext, head: &Parts) -> (RequestMeta, Option<RoutedResponse>) {
    let client = client(peer, head);
    let is_proxied = peer.connection.is_proxied();
    let address = peer.world.own_address.base_url_of(head, is_proxied);
    let refusal = check(head)
        .or_else(|| client.is_err().then(crowded))
        .or_else(|| address.is_err().then(no_host));
    let base_url = address.unwrap_or_default();
    let begun = RequestMeta::new(peer, head, client.unwrap_or_default(), base_url);
    (begun, refusal)
}

/// Response to a request, or the work on it.
#[expect(
    clippy::large_enum_variant,
    reason = "a response that is ready takes no allocation"
)]
pub(crate) enum ResponseFuture {
    /// The response, until hyper takes it.
    Ready(Option<Response<ResponseBody>>),
    /// Work on the response. It is boxed, since hyper moves the whole future that it gets here.
    Pending(BoxFuture<Response<ResponseBody>>),
}

impl Future for ResponseFuture {
    type Output = Result<Response<ResponseBody>, Infallible>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Ready(response) => response
                .take()
                .map_or(Poll::Pending, |r| Poll::Ready(Ok(r))),
            Self::Pending(work) => work.as_mut().poll(cx).map(Ok),
        }
    }
}

/// Data about a request that is known from its head and needed at its end.
struct RequestMeta {
    guard: RequestGuard,
    started_at: Duration,
    id: RequestId,
    /// Span with the details of the request; only at the level `debug`.
    span: Span,
    method: hyper::Method,
    /// Headers that a page of another origin asks for, if the request comes from a page that may call the API.
    cross_origin: Option<HeaderValue>,
    /// True if nothing is read from the connection after this request.
    closes_connection: bool,
    is_http1: bool,
    /// Network of the client, which holds the reply if the token is unknown.
    network: IpAddr,
    /// Address at which the client reached the API; `None` if it is the one in the settings.
    base_url: Option<String>,
}

impl RequestMeta {
    fn new(
        peer: &ConnectionContext,
        head: &Parts,
        client: Option<ProxiedRequestGuard>,
        base_url: Option<String>,
    ) -> Self {
        let ConnectionContext {
            process,
            connection,
            ..
        } = peer;
        let old = head.version <= Version::HTTP_11;
        // After a chunked HTTP/1 body, or a head with bare line feeds, nothing more is read from the connection, in case a proxy
        // saw its end elsewhere.
        let last = connection.is_loose() || head.headers.contains_key(header::TRANSFER_ENCODING);
        let id = peer.request_id(head);
        let span = tracing::debug_span!(
            "request",
            request_id = %id,
            method = head.method.as_str(),
            operation = field::Empty,
            status = field::Empty,
            micros = field::Empty,
            bytes = field::Empty,
            reason = field::Empty,
            client_id = field::Empty,
        );
        Self {
            guard: connection.begin_request(client),
            started_at: process.clock.uptime(),
            id,
            span,
            method: head.method.clone(),
            cross_origin: (process.http.cors && head.headers.contains_key(header::ORIGIN)).then(
                || {
                    let asked = head.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
                    asked.cloned().unwrap_or(HeaderValue::from_static("*"))
                },
            ),
            closes_connection: last,
            is_http1: old,
            network: peer.client_network(head),
            base_url,
        }
    }

    /// Counts and logs the request, and returns hyper's response.
    fn finish(self, peer: &ConnectionContext, answer: RoutedResponse) -> Response<ResponseBody> {
        let ConnectionContext {
            process,
            world,
            connection,
            ..
        } = peer;
        let RoutedResponse {
            mut reply,
            close_connection: close,
            media_type: kind,
            file,
        } = answer;
        let base_url = self.base_url.as_deref();
        reply.complete(world.api.settings(), base_url);
        if reply.status >= 400 && reply.refusal.is_none() {
            reply.refusal = Some(RequestRefusal::Other.into());
        }
        let took = process.clock.uptime().saturating_sub(self.started_at);
        let read = self.method == hyper::Method::GET || self.method == hyper::Method::HEAD;
        let number = connection.number();
        process
            .metrics
            .count(number, reply.operation, read, reply.status, took);
        let reason = reply.refusal.map(|refusal| refusal.reason);
        process.metrics.count_outcome(reply.operation, reason);
        if let Some(refusal) = reply.refusal {
            self.log_refusal(&reply, refusal);
        }
        // A request that failed inside has other log lines, which this one puts in context.
        let failed = matches!(reply.status, 500 | 504);
        if process.log_requests || failed || !self.span.is_disabled() {
            let bytes = file
                .as_ref()
                .map_or(reply.body.len() as u64, |file| file.left());
            self.log_outcome(&reply, took, bytes, process.log_requests || failed);
        }
        if reply.room.is_none() {
            reply = peer.with_room(reply, read, self.network, base_url);
        }
        let room = reply.room.take();
        if let Some(record) = reply.record.take() {
            world
                .api
                .inspector()
                .push(*record, &self.id.to_text(), took);
        }
        let bytes = std::mem::take(&mut reply.body);
        let left = process.http.request_timeout.saturating_sub(took);
        let slot = connection.begin_response(reply.permit.take(), left);
        let body = BodyBytes::new(bytes, Some(slot), room, self.is_http1);
        let empty = reply.status == 204;
        let content = match file {
            Some(file) => BodyContent::File(file),
            None if empty => BodyContent::Empty,
            None => BodyContent::Bytes(body),
        };
        let mut response = Response::new(ResponseBody::new(content, Some(self.guard)));
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        fill(headers, kind, &reply);
        if let Ok(id) = HeaderValue::try_from(self.id.to_text()) {
            headers.insert(&REQUEST_ID, id);
        }
        if let Some(asked) = self.cross_origin {
            let preflight = self.method == hyper::Method::OPTIONS;
            cors(headers, preflight.then_some(asked));
        }
        if self.is_http1 && (close || self.closes_connection) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Records the reason of a refusal in the span of the request, and as a log line. The line has the level `info` for requests
    /// to the authorization server and for sign-ins, and `debug` for others, of which a client can send many. It has no secrets.
    #[cold]
    fn log_refusal(&self, reply: &ApiResponse, refusal: Refusal) {
        let reason = refusal.reason.name();
        self.span.record("reason", reason);
        self.span.record("client_id", refusal.client);
        // The level of an event must be a constant.
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    operation = reply.operation,
                    reason,
                    client_id = refusal.client,
                    user = refusal.user,
                    status = reply.status,
                    "request refused"
                )
            };
        }
        if workgraph_portal::is_refusal_logged(reply.operation) {
            line!(info);
        } else {
            line!(debug);
        }
    }

    /// Records the outcome of the request in its span and, if `is_logged` is set, as a separate line.
    #[cold]
    fn log_outcome(&self, reply: &ApiResponse, took: Duration, bytes: u64, is_logged: bool) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.span.record("operation", reply.operation);
        self.span.record("status", reply.status);
        self.span.record("micros", micros);
        self.span.record("bytes", bytes);
        if is_logged {
            tracing::info!(
                method = self.method.as_str(),
                operation = reply.operation,
                status = reply.status,
                micros,
                bytes,
                reason = reply.refusal.map(|refusal| refusal.reason.name()),
                "request"
            );
        }
    }
}

/// Sets the headers of a reply, after the headers that all replies have.
fn fill(headers: &mut HeaderMap, kind: &'static str, reply: &ApiResponse) {
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

/// Answers on the metrics listener, which has no routes of the API.
pub(crate) async fn serve_metrics(
    (process, world): (Arc<Process>, Arc<World>),
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let answer = health(&process, &world, &request.into_parts().0, true).await;
    let RoutedResponse {
        mut reply,
        media_type: kind,
        ..
    } = answer.unwrap_or_else(|| {
        RoutedResponse::refuse(RequestRefusal::NoRoute, 404, messages::NO_ROUTE)
    });
    reply.complete(world.api.settings(), None);
    let bytes = std::mem::take(&mut reply.body);
    let content = BodyContent::Bytes(BodyBytes::new(bytes, None, None, true));
    let mut response = Response::new(ResponseBody::new(content, None));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    fill(headers, kind, &reply);
    // Requests here have no number.
    headers.remove(&REQUEST_ID);
    Ok(response)
}

/// Counts a request for its client, if it came through a proxy.
fn client(
    peer: &ConnectionContext,
    head: &Parts,
) -> Result<Option<ProxiedRequestGuard>, TooManyClientRequests> {
    let ConnectionContext {
        process,
        connection,
        ..
    } = peer;
    if !connection.is_proxied() {
        return Ok(None);
    }
    let address = process
        .http
        .trusted_proxies
        .client_ip(connection.ip(), &head.headers);
    process
        .connections
        .admit_proxied_request(address)
        .map(Some)
        .ok_or(TooManyClientRequests)
}

/// Error of a client with too many requests in progress.
struct TooManyClientRequests;

/// Returns the answer to a client with too many requests. The connection is the proxy's, and stays open.
fn crowded() -> RoutedResponse {
    let mut answer = RoutedResponse::refuse(
        RequestRefusal::TooManyRequestsOfAddress,
        429,
        "Too many requests of this address at the same time",
    );
    answer.close_connection = false;
    answer.reply.headers.push(("Retry-After", "1".to_owned()));
    answer
}

/// Lets scripts on any page call the API with their own token; cookies are not used. A preflight allows the headers
/// that it asks for.
fn cors(headers: &mut HeaderMap, preflight: Option<HeaderValue>) {
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        HeaderValue::from_static("*"),
    );
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "Location, Retry-After, Asana-Change, X-Request-Id, RateLimit, RateLimit-Policy, Workgraph-Cost",
        ),
    );
    if let Some(asked) = preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
        headers.insert(
            header::VARY,
            HeaderValue::from_static("Access-Control-Request-Headers"),
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

//! The API as a tower service over HTTP, for any server that runs such services.
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;
use workgraph_limits::Permit;
use workgraph_operations::{Caller, Method};

use crate::limits::explain;
use crate::ports::body_source::{BodyReadError, BodySource};
use crate::request::{ApiRequest, ApiResponse, RequestOrigin, ResponseRoom};
use crate::state::Api;

/// Media type of every reply.
const JSON: &str = "application/json; charset=UTF-8";

/// Address of the client, for the audit log: an extension that the server puts into the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// Returns the API as a service. It expects paths below the base of the API, as a router passes on to a nested service
/// (`Router::new().nest_service("/api/1.0", service(api))` in axum); [`ApiService::below`] expects whole paths.
///
/// The service reads a body once token, limits and scope allow it, and holds the permit of a request until the last byte of
/// its reply is dropped. Connection time limits are up to the server; webhooks, exports and jobs still need their
/// workers ([`job_runner`](crate::job_runner)).
#[must_use]
pub fn service(api: Arc<Api>) -> ApiService {
    let base = Arc::from("");
    ApiService { api, base }
}

/// Service that [`service`] returns. Clones share one API.
#[derive(Clone)]
pub struct ApiService {
    api: Arc<Api>,
    base: Arc<str>,
}

impl ApiService {
    /// Makes the service expect whole paths. Those below `path`, such as `/api/1.0`, are the API's; others get a 404.
    #[must_use]
    pub fn below(mut self, path: &str) -> Self {
        self.base = path.trim_end_matches('/').into();
        self
    }

    /// Returns the request without its body. A path that is not below the base matches no operation.
    fn request(&self, head: &Parts) -> ApiRequest {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = &head.headers;
        let below = head.uri.path().strip_prefix(&*self.base);
        let explains = |value: &HeaderValue| value.as_bytes() == explain::EXPLAIN_LIMITS.as_bytes();
        ApiRequest {
            method: Method::parse(head.method.as_str()),
            path: below.unwrap_or_default().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            authorization: headers
                .get_all(header::AUTHORIZATION)
                .iter()
                .map(text)
                .collect(),
            content_type: headers.get(header::CONTENT_TYPE).map(text),
            explain: headers
                .get_all(explain::EXPLAIN_HEADER)
                .iter()
                .any(explains),
            body: Bytes::new(),
        }
    }
}

impl fmt::Debug for ApiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiService")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ApiBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let agent = head.headers.get(header::USER_AGENT);
            let caller = Caller {
                address: head
                    .extensions
                    .get::<ClientAddress>()
                    .map(|client| client.0),
                user_agent: agent.and_then(|agent| agent.to_str().ok()),
                ..Caller::default()
            };
            let mut source = IncomingBody(Box::pin(body));
            let id = head.headers.get("x-request-id");
            let begun = service.api.clock.now();
            let (api, origin) = (&service.api, RequestOrigin::from(caller));
            let request = service.request(&head);
            let mut reply = api.handle_streamed(&request, origin, &mut source).await;
            reply.complete(api.settings(), None);
            if let Some(record) = reply.record.take() {
                let took = api.clock.now().duration_since(begun).unwrap_or_default();
                let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
                api.inspector().push(*record, id, took);
            }
            Ok(response(reply))
        })
    }
}

/// Returns a reply as a response. For the log, the extensions of a refused request's response contain its
/// [`Refusal`](crate::Refusal).
fn response(reply: ApiResponse) -> Response<ApiBody> {
    let content = Some(HeldBytes {
        bytes: reply.body,
        _permit: reply.permit,
        _room: reply.room,
    });
    let mut response = Response::new(ApiBody(content));
    let status = StatusCode::from_u16(reply.status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, JSON),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in &reply.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        // A header that HTTP can't carry is left out.
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    if let Some(refusal) = reply.refusal {
        response.extensions_mut().insert(refusal);
    }
    response
}

/// Body of a request, read as it arrives.
struct IncomingBody<B>(Pin<Box<B>>);

impl<B: Body + Send> BodySource for IncomingBody<B> {
    fn announced(&self) -> u64 {
        self.0.size_hint().lower()
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>> {
        loop {
            match ready!(self.0.as_mut().poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(_)) => return Poll::Ready(Some(Err(BodyReadError::Broken))),
                // Any frame that is not data is a trailer, which the API doesn't use.
                Some(Ok(frame)) => {
                    if let Ok(mut data) = frame.into_data() {
                        let bytes = data.copy_to_bytes(data.remaining());
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
            }
        }
    }
}

/// Bytes of a reply, with resources that are released when they are dropped.
#[derive(Debug)]
struct HeldBytes {
    bytes: Bytes,
    _permit: Option<Permit>,
    _room: Option<ResponseRoom>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Body of a response, in one piece.
#[derive(Debug)]
pub struct ApiBody(Option<HeldBytes>);

impl Body for ApiBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let held = self.0.take().filter(|held| !held.bytes.is_empty());
        Poll::Ready(held.map(|held| Ok(Frame::data(Bytes::from_owner(held)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|held| held.bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.0.as_ref().map_or(0, |held| held.bytes.len());
        SizeHint::with_exact(length as u64)
    }
}

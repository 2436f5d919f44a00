//! The routes of requests: to the API, to the authorization server, and to the server's own pages.
use crate::adapters::blob_folder::FileReader;
use crate::config::schema::HttpConfig;
use crate::http::attachment_download;
use crate::http::byte_budgets::ByteHolder;
use crate::http::byte_budgets::NO_ROOM;
use crate::http::connection_context::{CallOutcome, ConnectionContext, RequestClient};
use crate::http::download::Download;
use crate::http::own_address::BASE;
use crate::http::process::Process;
use crate::http::request_body::{BodyPace, ClientBody, CollectError, StreamedBody};
use crate::http::routed_response::RoutedResponse;
use crate::http::world::World;
use crate::log::request_id::RequestId;
use crate::log::request_scope::{current_request, in_current_request};
use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::task::JoinError;
use workgraph_api::error::{ApiError, error_response};
use workgraph_api::limits::explain;
use workgraph_api::ports::body_source::BodyReadError;
use workgraph_api::request::Method;
use workgraph_api::request_inspector::PendingRecord;
use workgraph_api::{ApiResponse, FastPathRequest, RequestRefusal};
use workgraph_auth::SecretDigest;
use workgraph_portal::Route;
use workgraph_portal::reference::ReferenceSite;
use workgraph_wire::form_body::FORM_BYTES;
use workgraph_wire::messages;

/// Header of a request for an explanation of the limits.
static EXPLAIN: HeaderName = HeaderName::from_static(explain::EXPLAIN_HEADER);

/// Returns the reply of a read from the response cache, if it is still valid.
pub(crate) fn fast_path_response(
    peer: &ConnectionContext,
    head: &Parts,
    base_url: Option<&str>,
) -> Option<ApiResponse> {
    if head.method != hyper::Method::GET || head.headers.contains_key(&EXPLAIN) {
        return None;
    }
    let mut tokens = head.headers.get_all(header::AUTHORIZATION).iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else {
        return None;
    };
    peer.try_fast_path(&FastPathRequest {
        path: head.uri.path().strip_prefix(BASE)?,
        query: head.uri.query().unwrap_or_default(),
        authorization: token.to_str().ok()?,
        base_url,
    })
}

/// Routes a request, and returns the response. `base_url` is the address at which the client reached the API.
pub(crate) async fn route(
    peer: &Arc<ConnectionContext>,
    head: &mut Parts,
    body: ClientBody,
    base_url: Option<&str>,
) -> RoutedResponse {
    let ConnectionContext { process, world, .. } = &**peer;
    let path = head.uri.path();
    let below = path
        .strip_prefix(BASE)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    // Most requests are for the API, and the portal's paths below the API's base start like this.
    let ours =
        below.is_none_or(|b| b.starts_with("/openid_connect/") || b.starts_with("/.well-known/"));
    // An address without a ticket leads to a page of the portal.
    if below.is_none() && path.starts_with(attachment_download::PATH) && head.uri.query().is_some()
    {
        return Box::pin(attachment_download::respond(peer, head)).await;
    }
    if ours && let Some(route) = world.portal.route(head.method.as_str(), path) {
        return Box::pin(portal(peer, (route, base_url), head, body)).await;
    }
    if let Some(below) = below {
        if head.method == hyper::Method::OPTIONS && process.http.cors {
            return RoutedResponse::of(ApiResponse::json(204, Vec::new()));
        }
        if below == "/openapi.json" && head.method == hyper::Method::GET {
            return described(
                peer,
                base_url,
                Box::pin(world.description.document(head)).await,
            );
        }
        let start = path.len() - below.len();
        // Boxed, like the portal's, so that a future of one kind is not moved with the space for the other.
        return Box::pin(api(peer, head, body, (start, base_url))).await;
    }
    if let Some(name) = path.strip_prefix("/-/exports/")
        && head.method == hyper::Method::GET
    {
        return download(peer, name, head);
    }
    if ReferenceSite::is_below(path) && head.method == hyper::Method::GET {
        return described(
            peer,
            base_url,
            Box::pin(world.description.reference(head)).await,
        );
    }
    if path == "/-/limits" && head.method == hyper::Method::GET {
        return Box::pin(limits(peer, head, base_url)).await;
    }
    let metrics = process.metrics_public || has_metrics_token(process, head);
    let own = Box::pin(health(process, world, head, metrics)).await;
    own.unwrap_or_else(|| RoutedResponse::refuse(RequestRefusal::NoRoute, 404, messages::NO_ROUTE))
}

/// Returns the response of the API's description, or the failure to generate it.
fn described(
    peer: &ConnectionContext,
    base_url: Option<&str>,
    made: Result<ApiResponse, JoinError>,
) -> RoutedResponse {
    let mut reply = made.unwrap_or_else(|panicked| {
        let help = peer.world.api.settings().error_help(base_url);
        error_response(
            &ApiError::Server(panicked.to_string()),
            &*peer.world.entropy,
            &help,
        )
    });
    let security = peer.process.transport_security.clone();
    let header = security.map(|value| ("Strict-Transport-Security", value));
    reply.headers.extend(header);
    RoutedResponse::of(reply)
}

/// Returns true if a request has the metrics token.
fn has_metrics_token(process: &Process, head: &Parts) -> bool {
    let Some(token) = process.metrics_token else {
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
    // Comparing digests: the time does not reveal how much of a guess is right.
    bearer.is_some_and(|text| SecretDigest::of(text) == token)
}

/// Returns the counts of the limits for a token.
async fn limits(peer: &ConnectionContext, head: &Parts, base_url: Option<&str>) -> RoutedResponse {
    let token = texts(&head.headers, header::AUTHORIZATION);
    let (api, own_url) = (Arc::clone(&peer.world.api), base_url.map(str::to_owned));
    let limits = async move { api.limits_response(&token, own_url.as_deref()).await };
    let limits = Box::pin(in_current_request(limits));
    match peer
        .guard(
            true,
            peer.process.http.request_timeout,
            None,
            base_url,
            limits,
        )
        .await
    {
        CallOutcome::Replied(reply) => RoutedResponse::of(reply),
        CallOutcome::TimedOut => RoutedResponse::refuse(
            RequestRefusal::DeadlineExceeded,
            504,
            "The request took too long",
        ),
    }
}

/// Returns the server's own pages for operators: health and metrics.
pub(crate) async fn health(
    process: &Process,
    world: &World,
    head: &Parts,
    metrics: bool,
) -> Option<RoutedResponse> {
    if head.method != hyper::Method::GET {
        return None;
    }
    match head.uri.path() {
        "/-/livez" => Some(RoutedResponse::text(200, "ok\n".to_owned())),
        "/-/readyz" => {
            let (status, text) = match process.draining.load(Relaxed) {
                true => (503, "draining\n".to_owned()),
                false => world.ready().await,
            };
            let mut answer = RoutedResponse::text(status, text);
            if status >= 400 {
                answer.reply = answer.reply.refused_for(RequestRefusal::NotReady);
            }
            Some(answer)
        }
        "/-/metrics" if metrics => {
            Some(RoutedResponse::text(200, process.metrics_text(world).await))
        }
        _ => None,
    }
}

/// Returns the file of an export, if the address of the request contains a valid ticket.
fn download(peer: &ConnectionContext, name: &str, head: &Parts) -> RoutedResponse {
    let query = head.uri.query().unwrap_or_default();
    let refuse = |reason: RequestRefusal, status, text: &str| {
        RoutedResponse::of(ApiResponse::refusal(reason, status, text))
    };
    let ticket = query.strip_prefix("ticket=").unwrap_or_default();
    let file = match peer.world.api.admit_download(name, ticket) {
        Ok(file) => file,
        Err(reason) => return refuse(RequestRefusal::TicketInvalid, 403, &reason.to_string()),
    };
    let network = peer.client_network(head);
    let Some(slot) = peer.process.downloads.take(network, file) else {
        return attachment_download::busy();
    };
    match peer.world.exports.open(file) {
        Ok(Some((file, length))) => {
            let patience = peer.process.http.request_timeout;
            let file = FileReader::boxed(file);
            let mut reply = ApiResponse::json(200, Vec::new());
            let shown = format!("attachment; filename=\"{name}\"");
            reply.headers.push(("Content-Disposition", shown));
            RoutedResponse {
                media_type: "application/gzip",
                file: Some(Box::new(Download::new(
                    file,
                    length,
                    slot,
                    &peer.connection,
                    patience,
                ))),
                ..RoutedResponse::of(reply)
            }
        }
        Ok(None) => refuse(RequestRefusal::FileGone, 404, "The file is no longer there"),
        Err(e) => {
            tracing::error!(file = name, reason = e.to_string(), "a file can't be sent");
            refuse(
                RequestRefusal::FileUnreadable,
                503,
                "The file can't be read",
            )
        }
    }
}

/// Returns the body of a request, unless it has none. It is either kept as a whole, counted for the client's network, or
/// passed on.
fn streamed(
    peer: &ConnectionContext,
    head: &Parts,
    body: ClientBody,
    pace: BodyPace,
    is_kept: bool,
) -> Option<StreamedBody> {
    if body.is_end_stream() {
        return None;
    }
    let lease = is_kept.then(|| {
        let holder = ByteHolder::Network(peer.client_network(head));
        peer.process.byte_budgets.lease(&peer.connection, holder)
    });
    let awaits = head.headers.contains_key(header::EXPECT);
    Some(StreamedBody::new(body, pace, lease, awaits))
}

/// Returns the pace of a body that is kept as a whole.
fn kept_pace(http: &HttpConfig) -> BodyPace {
    BodyPace {
        pause_max: http.stall_timeout.min(http.body_timeout),
        time_max: http.body_timeout,
    }
}

fn header_text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(value.as_bytes()).into_owned(),
    }
}

fn texts(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    headers.get_all(name).iter().map(header_text).collect()
}

/// Returns the value of a header; the first one if there are several.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(header_text)
}

/// Answers a request to the authorization server or for its pages.
async fn portal(
    peer: &ConnectionContext,
    (route, base_url): (Route, Option<&str>),
    head: &Parts,
    body: ClientBody,
) -> RoutedResponse {
    let ConnectionContext {
        process,
        world,
        connection,
        ..
    } = peer;
    let refuse = |reason, status, text| RoutedResponse {
        close_connection: true,
        ..RoutedResponse::of(world.portal.refused(route, reason, status, text))
    };
    let pace = kept_pace(&process.http);
    let mut bytes = Vec::new();
    let mut form = match route.takes_form {
        true => streamed(peer, head, body, pace, true),
        false => None,
    };
    if let Some(form) = &mut form {
        match form.collect(FORM_BYTES).await {
            Ok(received) => bytes = received,
            Err(error) => {
                form.drain().await;
                let (reason, status, text) = match error {
                    CollectError::TooLarge => {
                        (RequestRefusal::BodyTooLarge, 413, messages::BODY_TOO_LARGE)
                    }
                    CollectError::Unreadable(BodyReadError::TimedOut) => {
                        let text = "The request body did not arrive in time";
                        (RequestRefusal::BodyTimedOut, 408, text)
                    }
                    CollectError::Unreadable(BodyReadError::Broken) => (
                        RequestRefusal::BodyBroken,
                        400,
                        "The request body is broken",
                    ),
                    CollectError::Unreadable(BodyReadError::NoRoom) => {
                        (RequestRefusal::NoRoom, 503, NO_ROOM)
                    }
                };
                return refuse(reason, status, text);
            }
        }
    }
    let headers = &head.headers;
    let request = workgraph_portal::PortalRequest {
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
        address: process
            .http
            .trusted_proxies
            .client_ip(connection.ip(), headers),
        user_agent: text(headers, header::USER_AGENT),
        base_url: base_url.map(str::to_owned),
        request_id: current_request().map(RequestId::to_text),
        body: bytes.into(),
    };
    match peer.run_portal(route, request).await {
        CallOutcome::Replied(mut reply) => {
            let security = process.transport_security.clone();
            let header = security.map(|value| ("Strict-Transport-Security", value));
            reply.headers.extend(header);
            RoutedResponse::of(reply)
        }
        CallOutcome::TimedOut => refuse(
            RequestRefusal::DeadlineExceeded,
            504,
            "The request took too long. What it asks may still be done.",
        ),
    }
}

/// Answers a request below the API base. `start` is the index at which its path starts in the full path.
async fn api(
    peer: &Arc<ConnectionContext>,
    head: &mut Parts,
    body: ClientBody,
    (start, base_url): (usize, Option<&str>),
) -> RoutedResponse {
    let ConnectionContext {
        process,
        world,
        connection,
        ..
    } = &**peer;
    let content_type = text(&head.headers, header::CONTENT_TYPE);
    let request = workgraph_api::ApiRequest {
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
        body: Bytes::new(),
    };
    let is_upload = world.api.is_upload(&request);
    let pace = match is_upload {
        true => BodyPace {
            pause_max: process.http.body_timeout,
            time_max: process.http.upload_timeout,
        },
        false => kept_pace(&process.http),
    };
    let streamed = streamed(peer, head, body, pace, !is_upload);
    let has_ended = streamed.as_ref().map(StreamedBody::has_ended);
    let streamed = streamed.map(|body| (body, pace.time_max));
    let address = process
        .http
        .trusted_proxies
        .client_ip(connection.ip(), &head.headers);
    let agent = head.headers.remove(header::USER_AGENT);
    let is_recorded = world.api.inspector().is_on();
    let pending = is_recorded.then(|| Arc::new(PendingRecord::default()));
    let client = RequestClient {
        address,
        agent,
        base_url: base_url.map(str::to_owned),
    };
    match peer.run(request, streamed, client, pending.clone()).await {
        CallOutcome::Replied(reply) => RoutedResponse {
            close_connection: has_ended.is_some_and(|ended| !ended.load(Relaxed))
                || !is_upload && matches!(reply.status, 408 | 413),
            ..RoutedResponse::of(reply)
        },
        CallOutcome::TimedOut => {
            let message = "The request took too long. A change it makes may still be made";
            let mut routed = RoutedResponse::refuse(RequestRefusal::DeadlineExceeded, 504, message);
            routed.reply.record = pending.and_then(|pending| pending.given_up(message));
            routed
        }
    }
}

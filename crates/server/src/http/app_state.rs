//! State shared by all connections: the API, and the guards around calls to it.
use crate::adapters::export_folder::ExportFolder;
use crate::adapters::process_figures;
use crate::adapters::shared_limits;
use crate::adapters::stores::Storage;
use crate::adapters::system_clock::WallClock;
use crate::config::schema::HttpConfig;
use crate::http::byte_budgets::NO_ROOM;
use crate::http::byte_budgets::{ByteBudgets, ByteHolder};
use crate::http::connections::{ClientConnection, ConnectionTracker, network};
use crate::http::detach_on_drop::DetachOnDrop;
use crate::http::download_slots::DownloadSlots;
use crate::http::openapi::ApiDescription;
use crate::http::own_address::OwnAddress;
use crate::http::request_body::StreamedBody;
use crate::log::request_id::REQUEST_ID;
use crate::log::request_id::{RequestId, RequestIdSeed};
use crate::log::request_scope::in_current_request;
use crate::metrics::{Metrics, OtherFigures};
use crate::workers::offload::{BoxFuture, Offload, OffloadFlow, WorkInterrupt};
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;
use workgraph_api::error::ApiError;
use workgraph_api::request::Method;
use workgraph_api::request_inspector::PendingRecord;
use workgraph_api::{
    Api, ApiRequest, ApiResponse, Caller, Clock, ConnectionTokenCache, Entropy, FastPathRequest,
    RequestOrigin, RequestRefusal, error,
};
use workgraph_auth::SecretDigest;
use workgraph_core::Interrupt;
use workgraph_portal::{Portal, Route};

/// Maximum time that the store may take to answer a readiness check. Callers of the check usually wait only a few
/// seconds.
const READY: Duration = Duration::from_secs(2);

/// State shared by all connections.
pub(crate) struct AppState {
    pub(crate) api: Arc<Api>,
    pub(crate) portal: Arc<Portal>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) metrics: Arc<Metrics>,
    /// Threads for long requests.
    pub(crate) offload: Arc<Offload>,
    pub(crate) http: HttpConfig,
    pub(crate) log_requests: bool,
    /// True if metrics are shown on the main listener to all clients, because only this machine can reach it.
    pub(crate) metrics_public: bool,
    /// Digest of the bearer token with which the main listener shows metrics, if there is one.
    pub(crate) metrics_token: Option<SecretDigest>,
    /// Value of `Strict-Transport-Security` for pages, if they have that header.
    pub(crate) transport_security: Option<String>,
    pub(crate) draining: AtomicBool,
    /// Files of exports.
    pub(crate) exports: Arc<ExportFolder>,
    /// Slots for concurrent file downloads.
    pub(crate) downloads: Arc<DownloadSlots>,
    /// Random part of the request ids of this process.
    pub(crate) request_id_seed: RequestIdSeed,
    /// The OpenAPI document and the reference pages.
    pub(crate) description: ApiDescription,
    /// Address with which links begin.
    pub(crate) own_address: OwnAddress,
    /// Open connections.
    pub(crate) connections: Arc<ConnectionTracker>,
    /// Bytes held for clients.
    pub(crate) byte_budgets: Arc<ByteBudgets>,
}

/// Connection as its requests see it. They hold this instead of the app state, so that they change the counts of their
/// own connection.
pub(crate) struct ConnectionContext {
    pub(crate) edge: Arc<AppState>,
    pub(crate) connection: Arc<ClientConnection>,
    pub(crate) token_cache: ConnectionTokenCache,
}

/// Returns the refusal that replaces a reply for which there is no room.
#[cold]
fn no_room(reply: ApiResponse) -> ApiResponse {
    ApiResponse {
        operation: reply.operation,
        permit: reply.permit,
        record: reply.record,
        user: reply.user,
        ..ApiResponse::refusal(RequestRefusal::NoRoom, 503, NO_ROOM).with("Retry-After", "1")
    }
}

/// Approximate bytes that a reply takes besides its body: its headers, and the state of its stream.
const REPLY_OVERHEAD: usize = 2 << 10;

/// Client of an API request, as the transport knows it.
pub(crate) struct RequestClient {
    pub(crate) address: IpAddr,
    /// `User-Agent`.
    pub(crate) agent: Option<HeaderValue>,
    /// Address at which the client reached the API; `None` if it is that of the settings.
    pub(crate) base_url: Option<String>,
}

/// Outcome of a call of the API.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every call ends with a response, which is moved at once"
)]
pub(crate) enum CallOutcome {
    /// The call ended with a response.
    Replied(ApiResponse),
    /// The call did not end before the deadline.
    TimedOut,
}

/// Returns the flow of a request: that of its token, which is the last word of its header. A word that is not a token is
/// refused long before its request could become long work.
pub(crate) fn flow_of(request: &ApiRequest) -> OffloadFlow {
    let mut hasher = FxHasher::default();
    let header = request.authorization.first();
    let token = header.and_then(|header| header.trim_end().rsplit(' ').next());
    token.hash(&mut hasher);
    OffloadFlow::Token(hasher.finish())
}

/// Returns the response to a read when the queue of long reads is full.
fn read_queue_full() -> ApiResponse {
    let reason = "Too many long requests are waiting; try again later, or ask for less: fewer opt_fields, a smaller limit";
    ApiResponse::refusal(RequestRefusal::ReadQueueFull, 503, reason).with("Retry-After", "5")
}

impl ConnectionContext {
    /// Returns the id of a request: the one from a trusted proxy, or else a new one.
    pub(crate) fn request_id(&self, head: &Parts) -> RequestId {
        let connection = &self.connection;
        let number = connection.next_request_number();
        let given = match connection.is_proxied() {
            true => head
                .headers
                .get(&REQUEST_ID)
                .and_then(|id| id.to_str().ok()),
            false => None,
        };
        given.and_then(RequestId::given).unwrap_or_else(|| {
            let now = workgraph_api::Clock::now(&*self.edge.clock);
            let seed = self.edge.request_id_seed;
            seed.id(now, connection.number(), number)
        })
    }

    /// Reserves memory for a reply until it is sent. A read for which there is no room becomes a 503; completed writes must
    /// not be answered with a refusal. `base_url` is the address at which the client reached the API.
    pub(crate) fn with_room(
        &self,
        mut reply: ApiResponse,
        is_read: bool,
        network: IpAddr,
        base_url: Option<&str>,
    ) -> ApiResponse {
        reply.complete(self.edge.api.settings(), base_url);
        if reply.body.is_empty() {
            return reply;
        }
        let user = reply.user.map(ByteHolder::User);
        let holder = user.unwrap_or(ByteHolder::Network(network));
        let mut lease = self.edge.byte_budgets.lease(&self.connection, holder);
        // A document that replies share takes no room.
        let body = match reply.is_body_shared {
            true => 0,
            false => reply.body.len(),
        };
        if !lease.grow(body + REPLY_OVERHEAD) {
            if is_read && reply.status < 400 {
                reply = no_room(reply);
                reply.complete(self.edge.api.settings(), base_url);
            }
            lease.grow_regardless(reply.body.len() + REPLY_OVERHEAD);
        }
        reply.room = Some(Box::new(lease));
        reply
    }

    /// Returns the network of the client that sent a request.
    pub(crate) fn client_network(&self, head: &Parts) -> IpAddr {
        self.edge.client_network(&self.connection, head)
    }

    /// Answers a read, if that only needs data in memory. A panic becomes a 500.
    pub(crate) fn try_fast_path(&self, glance: &FastPathRequest<'_>) -> Option<ApiResponse> {
        let answer = AssertUnwindSafe(|| self.edge.api.try_fast_path(glance, &self.token_cache));
        catch_unwind(answer).unwrap_or_else(|_| Some(self.edge.panicked(glance.base_url)))
    }

    /// Runs a request of the API for its client. Its body and its time limit are passed separately. If requests are recorded
    /// and this one does not end in time, `pending_record` then contains its record.
    pub(crate) async fn run(
        self: &Arc<Self>,
        request: ApiRequest,
        body: Option<(StreamedBody, Duration)>,
        client: RequestClient,
        pending_record: Option<Arc<PendingRecord>>,
    ) -> CallOutcome {
        let read = request.method == Some(Method::Get);
        let (peer, network) = (Arc::clone(self), network(client.address.to_canonical()));
        let request_timeout = self.edge.http.request_timeout;
        let timeout = match &body {
            Some((_, time)) => request_timeout.saturating_add(*time),
            None => request_timeout,
        };
        let base_url = client.base_url.clone();
        // A completed change must not be answered with a refusal.
        let refused = read.then_some(read_queue_full as fn() -> ApiResponse);
        let call = self
            .edge
            .offload
            .offloaded(flow_of(&request), refused, |watch| {
                Box::pin(in_current_request(async move {
                    let interrupt: Arc<dyn Interrupt> = watch;
                    let caller = Caller {
                        address: Some(client.address),
                        user_agent: client.agent.as_ref().and_then(|agent| agent.to_str().ok()),
                        interrupt: Some(&interrupt),
                        base_url: client.base_url.as_deref(),
                    };
                    let origin = RequestOrigin {
                        caller,
                        token_cache: Some(&peer.token_cache),
                        memory: Some(&*peer.edge.byte_budgets),
                        pending_record: pending_record.as_deref(),
                    };
                    let api = &peer.edge.api;
                    let Some((mut body, _)) = body else {
                        // The reply is counted from here on: it may wait for the thread of its connection.
                        let reply = api.handle_from(&request, origin).await;
                        return peer.with_room(reply, read, network, caller.base_url);
                    };
                    let reply = Box::pin(api.handle_streamed(&request, origin, &mut body)).await;
                    let reply = peer.with_room(reply, read, network, caller.base_url);
                    body.drain().await;
                    reply
                }))
            });
        let watch = read.then(|| call.watch());
        let base_url = base_url.as_deref();
        let guarded = self
            .edge
            .guard(read, timeout, watch, base_url, Box::pin(call));
        guarded.await
    }
}

impl AppState {
    /// Returns the network of the client that sent a request over a connection.
    pub(crate) fn client_network(&self, connection: &ClientConnection, head: &Parts) -> IpAddr {
        let ip = connection.ip();
        network(match connection.is_proxied() {
            true => {
                let proxies = &self.http.trusted_proxies;
                proxies.client_ip(ip, &head.headers).to_canonical()
            }
            false => ip,
        })
    }

    /// Runs a request of the portal.
    pub(crate) async fn run_portal(
        &self,
        route: Route,
        request: workgraph_portal::PortalRequest,
    ) -> CallOutcome {
        let portal = Arc::clone(&self.portal);
        let base_url = request.base_url.clone();
        let call = async move { portal.answer(route, &request).await };
        let call = Box::pin(in_current_request(call));
        let timeout = self.http.request_timeout;
        let (read, base_url) = (route.is_read_only, base_url.as_deref());
        self.guard(read, timeout, None, base_url, call).await
    }

    /// Runs a call. A client that closes its connection abandons a read that has an interrupt: its work ends at the next
    /// check, and frees its permit. Other calls continue, so that their permits show how long the store works on them: a
    /// write runs on its own task from the start, a read continues on one. A panic becomes a 500.
    pub(crate) async fn guard(
        &self,
        read: bool,
        timeout: Duration,
        watch: Option<Arc<WorkInterrupt>>,
        base_url: Option<&str>,
        call: BoxFuture<ApiResponse>,
    ) -> CallOutcome {
        let outcome = if read {
            let mut call = DetachOnDrop::new(call, watch, timeout);
            // Most reads complete immediately: no timer is set for them.
            let first = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut call).poll(cx))).await;
            let outcome = match first {
                Poll::Ready(outcome) => Ok(outcome),
                Poll::Pending => Box::pin(tokio::time::timeout(timeout, &mut call)).await,
            };
            call.end();
            outcome.map(|r| r.unwrap_or_else(|| self.panicked(base_url)))
        } else {
            Box::pin(tokio::time::timeout(timeout, tokio::spawn(call)))
                .await
                .map(|r| r.unwrap_or_else(|_| self.panicked(base_url)))
        };
        match outcome {
            Ok(reply) => CallOutcome::Replied(reply),
            Err(_) => {
                self.metrics.faults.fetch_add(1, Relaxed);
                CallOutcome::TimedOut
            }
        }
    }

    /// Returns the response to a request whose handler panicked, for a client that reached the API at `base_url`.
    fn panicked(&self, base_url: Option<&str>) -> ApiResponse {
        self.metrics.faults.fetch_add(1, Relaxed);
        let reason = "a handler panicked".to_owned();
        let help = self.api.settings().error_help(base_url);
        error::error_response(&ApiError::Server(reason), &*self.entropy, &help)
    }

    /// Returns 200 or 503 for the readiness check, with a short text.
    pub(crate) async fn ready(&self) -> (u16, String) {
        if self.draining.load(Relaxed) {
            return (503, "draining\n".to_owned());
        }
        let asked = self
            .storage
            .graph
            .journal_entries(i64::MAX.cast_unsigned(), 1);
        let reason = match tokio::time::timeout(READY, asked).await {
            Ok(Ok(_)) => {
                let limiter = self.api.shared_limiter();
                let limits =
                    limiter.map_or_else(String::new, |shared| shared_limits::readiness(&**shared));
                return (200, format!("ok\n{limits}"));
            }
            Ok(Err(e)) => e.to_string(),
            Err(late) => late.to_string(),
        };
        let store = self.storage.name;
        tracing::warn!(reason, "the {store} does not answer");
        (503, format!("the {store} does not answer\n"))
    }

    /// Returns the metrics as Prometheus text.
    pub(crate) async fn metrics_text(&self) -> String {
        let mut text = self.metrics.text(&OtherFigures {
            buffered: self.byte_budgets.kept(),
            unbuffered: self.byte_budgets.refusals(),
            busy: self.connections.active_requests(),
            limiter: self.api.limiter(),
            deliveries: self.api.delivery_counts(),
            jobs: self.api.ended_jobs().collect(),
            store: self.storage.stats().await,
        });
        if let Some(shared) = self.api.shared_limiter() {
            shared_limits::metrics(&**shared, &mut text);
        }
        let now = Clock::now(&*self.clock);
        let started = now.checked_sub(self.clock.uptime()).unwrap_or(now);
        process_figures::write(&mut text, started);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_flow_however_its_header_is_written() {
        let flow = |header: &str| {
            let authorization = vec![header.to_owned()];
            flow_of(&ApiRequest {
                authorization,
                ..ApiRequest::default()
            })
        };
        for same in ["bearer one", "BEARER   one", " Bearer one \t"] {
            assert_eq!(flow(same), flow("Bearer one"), "{same:?}");
        }
        assert_ne!(flow("Bearer two"), flow("Bearer one"));
    }
}

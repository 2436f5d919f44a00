//! A connection as its requests see it: the world and the process that they use, and the guards around calls to them.
use crate::http::byte_budgets::{ByteHolder, NO_ROOM};
use crate::http::connections::{ClientConnection, network};
use crate::http::detach_on_drop::DetachOnDrop;
use crate::http::process::Process;
use crate::http::request_body::StreamedBody;
use crate::http::world::World;
use crate::log::request_id::{REQUEST_ID, RequestId};
use crate::log::request_scope::in_current_request;
use crate::workers::offload::{BoxFuture, OffloadFlow, WorkInterrupt};
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;
use workgraph_api::error::ApiError;
use workgraph_api::request::Method;
use workgraph_api::request_inspector::PendingRecord;
use workgraph_api::{
    ApiRequest, ApiResponse, Caller, ConnectionTokenCache, FastPathRequest, RequestOrigin,
    RequestRefusal, error,
};
use workgraph_core::Interrupt;
use workgraph_portal::Route;

/// Connection as its requests see it. A request holds this instead of the connection tracker, so that it changes the counts
/// of its own connection.
pub(crate) struct ConnectionContext {
    pub(crate) process: Arc<Process>,
    pub(crate) world: Arc<World>,
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
    /// Value of `User-Agent`.
    pub(crate) agent: Option<HeaderValue>,
    /// Address at which the client reached the API; `None` if it is the one in the settings.
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

/// Returns the token in an `Authorization` header: its last word.
pub(crate) fn token_text(header: &str) -> Option<&str> {
    header.trim_end().rsplit(' ').next()
}

/// Returns the flow of a request, which is the flow of its token: the last word of its header. A word that is not a token is
/// refused long before its request could become long work.
pub(crate) fn flow_of(request: &ApiRequest) -> OffloadFlow {
    let mut hasher = FxHasher::default();
    let header = request.authorization.first();
    header
        .and_then(|header| token_text(header))
        .hash(&mut hasher);
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
            let (now, seed) = (self.world.clock.now(), self.world.request_id_seed);
            match &self.world.request_count {
                Some(count) => seed.id(now, 0, count.fetch_add(1, Relaxed)),
                None => seed.id(now, connection.number(), number),
            }
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
        reply.complete(self.world.api.settings(), base_url);
        if reply.body.is_empty() {
            return reply;
        }
        let user = reply.user.map(ByteHolder::User);
        let holder = user.unwrap_or(ByteHolder::Network(network));
        let mut lease = self.process.byte_budgets.lease(&self.connection, holder);
        // A document that replies share takes no room.
        let body = match reply.is_body_shared {
            true => 0,
            false => reply.body.len(),
        };
        if !lease.grow(body + REPLY_OVERHEAD) {
            if is_read && reply.status < 400 {
                reply = no_room(reply);
                reply.complete(self.world.api.settings(), base_url);
            }
            lease.grow_regardless(reply.body.len() + REPLY_OVERHEAD);
        }
        reply.room = Some(Box::new(lease));
        reply
    }

    /// Returns the network of the client that sent a request.
    pub(crate) fn client_network(&self, head: &Parts) -> IpAddr {
        self.process.client_network(&self.connection, head)
    }

    /// Answers a read, if that only needs data in memory. A panic becomes a 500.
    pub(crate) fn try_fast_path(&self, glance: &FastPathRequest<'_>) -> Option<ApiResponse> {
        let answer = AssertUnwindSafe(|| self.world.api.try_fast_path(glance, &self.token_cache));
        catch_unwind(answer).unwrap_or_else(|_| Some(self.panicked(glance.base_url)))
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
        let request_timeout = self.process.http.request_timeout;
        let timeout = match &body {
            Some((_, time)) => request_timeout.saturating_add(*time),
            None => request_timeout,
        };
        let base_url = client.base_url.clone();
        // A completed change must not be answered with a refusal.
        let refused = read.then_some(read_queue_full as fn() -> ApiResponse);
        let call = self
            .process
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
                        memory: Some(&*peer.process.byte_budgets),
                        pending_record: pending_record.as_deref(),
                    };
                    let api = &peer.world.api;
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
        let guarded = self.guard(read, timeout, watch, base_url, Box::pin(call));
        guarded.await
    }

    /// Runs a request of the portal for its client.
    pub(crate) async fn run_portal(
        &self,
        route: Route,
        request: workgraph_portal::PortalRequest,
    ) -> CallOutcome {
        let portal = Arc::clone(&self.world.portal);
        let base_url = request.base_url.clone();
        let call = async move { portal.answer(route, &request).await };
        let call = Box::pin(in_current_request(call));
        let timeout = self.process.http.request_timeout;
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
                self.process.metrics.faults.fetch_add(1, Relaxed);
                CallOutcome::TimedOut
            }
        }
    }

    /// Returns the response to a request whose handler panicked, for a client that reached the API at `base_url`.
    fn panicked(&self, base_url: Option<&str>) -> ApiResponse {
        self.process.metrics.faults.fetch_add(1, Relaxed);
        let reason = "a handler panicked".to_owned();
        let help = self.world.api.settings().error_help(base_url);
        error::error_response(&ApiError::Server(reason), &*self.world.entropy, &help)
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

//! What every connection shares: the API, and the guards around a call of it.
use crate::config::Http;
use crate::door::{Door, Line};
use crate::exports::ExportFolder;
use crate::metrics::Metrics;
use crate::offload::{Lane, Offload, Watch};
use crate::seams::WallClock;
use crate::storage::Storage;
use hyper::header::HeaderValue;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use workgraph_api::fault::{self, Failure};
use workgraph_api::request::Method;
use workgraph_api::{Api, Caller, Entropy, Glance, LastToken, Reply, Request};
use workgraph_auth::Digest;
use workgraph_core::Interrupt;
use workgraph_portal::{Portal, Route};
use workgraph_wire::error::error;

/// How long the store may take to say that it is there. Whoever asks waits no longer than a few seconds, mostly.
const READY: Duration = Duration::from_secs(2);

/// Shared by all connections.
pub(crate) struct Edge {
    pub(crate) api: Arc<Api>,
    pub(crate) portal: Arc<Portal>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) metrics: Arc<Metrics>,
    /// Where requests go on that turn out to be long.
    pub(crate) offload: Arc<Offload>,
    pub(crate) http: Http,
    pub(crate) log_requests: bool,
    /// Metrics are shown here to whoever asks: nobody but this machine gets here.
    pub(crate) own_metrics: bool,
    /// Shows metrics here to whoever has it, if there is one.
    pub(crate) metrics_token: Option<Digest>,
    /// The value of `Strict-Transport-Security` for pages, if they have it.
    pub(crate) transport_security: Option<String>,
    pub(crate) draining: AtomicBool,
    /// The files of exports.
    pub(crate) exports: Arc<ExportFolder>,
    /// How many of them may still be sent at the same time.
    pub(crate) downloads: Arc<Semaphore>,
    /// The start of every request id of this process.
    pub(crate) prefix: String,
    /// The connections to it.
    pub(crate) door: Arc<Door>,
}

/// A connection as its requests see it. They keep this rather than the edge, so that what they count up and down is
/// their connection's own.
pub(crate) struct Peer {
    pub(crate) edge: Arc<Edge>,
    pub(crate) line: Arc<Line>,
    pub(crate) last: LastToken,
}

/// Something to do. It is put on the heap where it is made: else each future around it would have room for it.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How a call of the API ended.
pub(crate) enum Ran {
    /// With a reply.
    Replied(Reply),
    /// Not within the deadline.
    Late,
}

/// The lane of a request: that of its token, which is the last word of its header. What is no token is refused long
/// before it could be long.
pub(crate) fn lane_of(request: &Request) -> Lane {
    let mut hasher = FxHasher::default();
    let header = request.authorization.first();
    let token = header.and_then(|header| header.trim_end().rsplit(' ').next());
    token.hash(&mut hasher);
    Lane::Token(hasher.finish())
}

/// The reply to a read that is one too many.
fn busy() -> Reply {
    let why = "Too many long requests are waiting; try again later, or ask for less: fewer opt_fields, a smaller limit";
    Reply::json(503, error(why)).with("Retry-After", "5")
}

impl Peer {
    /// A fresh request id: the process, the connection, and which of its requests it is.
    pub(crate) fn next_id(&self) -> String {
        let parts = [self.line.number(), self.line.next()];
        let digits = |number: u64| (number.max(1).ilog2() / 4 + 1) as usize;
        // With room for just this, it becomes a header's value as it is.
        let room = parts.map(|number| 1 + digits(number)).iter().sum::<usize>();
        let mut id = String::with_capacity(self.edge.prefix.len() + room);
        id.push_str(&self.edge.prefix);
        for number in parts {
            id.push('-');
            for digit in (0..digits(number)).rev() {
                id.extend(char::from_digit((number >> (4 * digit) & 0xf) as u32, 16));
            }
        }
        id
    }

    /// Answers a read, if that takes nothing but memory. A panic becomes a 500.
    pub(crate) fn at_once(&self, glance: &Glance<'_>) -> Option<Reply> {
        let answer = AssertUnwindSafe(|| self.edge.api.at_once(glance, &self.last));
        catch_unwind(answer).unwrap_or_else(|_| Some(self.edge.panicked()))
    }

    /// Runs a request of the API, by a client that calls itself something.
    pub(crate) async fn run(
        self: &Arc<Self>,
        request: Request,
        address: IpAddr,
        agent: Option<HeaderValue>,
    ) -> Ran {
        let read = request.method == Some(Method::Get);
        let peer = Arc::clone(self);
        // A change that was made is not to be answered with a refusal.
        let refused = read.then_some(busy as fn() -> Reply);
        let call = self
            .edge
            .offload
            .offloaded(lane_of(&request), refused, |watch| {
                Box::pin(async move {
                    let interrupt: Arc<dyn Interrupt> = watch;
                    let caller = Caller {
                        last: Some(&peer.last),
                        address: Some(address),
                        agent: agent.as_ref().and_then(|agent| agent.to_str().ok()),
                        interrupt: Some(&interrupt),
                    };
                    peer.edge.api.handle_from(&request, caller).await
                })
            });
        let watch = read.then(|| call.watch());
        self.edge.guard(read, watch, Box::pin(call)).await
    }
}

impl Edge {
    /// Runs a request of the portal.
    pub(crate) async fn show(&self, route: Route, request: workgraph_portal::Request) -> Ran {
        let portal = Arc::clone(&self.portal);
        let call = Box::pin(async move { portal.answer(route, &request).await });
        self.guard(route.read, None, call).await
    }

    /// Runs a call. A client that goes away abandons a read that has a watch: its work ends at its next check, and its
    /// permit with it. Other calls go on, so that their permits say how long the store works for them: a write runs on a
    /// task of its own from the start, a read goes on on one. A panic becomes a 500.
    pub(crate) async fn guard(
        &self,
        read: bool,
        watch: Option<Arc<Watch>>,
        call: Boxed<Reply>,
    ) -> Ran {
        let timeout = self.http.request_timeout;
        let outcome = if read {
            let mut call = Call::new(call, watch, timeout);
            // Most reads are done at once: for them no timer is set.
            let first = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut call).poll(cx))).await;
            let outcome = match first {
                Poll::Ready(outcome) => Ok(outcome),
                Poll::Pending => Box::pin(tokio::time::timeout(timeout, &mut call)).await,
            };
            call.end();
            outcome.map(|r| r.unwrap_or_else(|| self.panicked()))
        } else {
            Box::pin(tokio::time::timeout(timeout, tokio::spawn(call)))
                .await
                .map(|r| r.unwrap_or_else(|_| self.panicked()))
        };
        match outcome {
            Ok(reply) => Ran::Replied(reply),
            Err(_) => {
                self.metrics.faults.fetch_add(1, Relaxed);
                Ran::Late
            }
        }
    }

    fn panicked(&self) -> Reply {
        self.metrics.faults.fetch_add(1, Relaxed);
        let why = "a handler panicked".to_owned();
        fault::reply(&Failure::Server(why), &*self.entropy)
    }

    /// Whether requests can be served, with a word on it.
    pub(crate) async fn ready(&self) -> (u16, String) {
        if self.draining.load(Relaxed) {
            return (503, "draining\n".to_owned());
        }
        let asked = self.storage.graph.events(i64::MAX.cast_unsigned(), 1);
        let why = match tokio::time::timeout(READY, asked).await {
            Ok(Ok(_)) => return (200, "ok\n".to_owned()),
            Ok(Err(e)) => e.to_string(),
            Err(late) => late.to_string(),
        };
        tracing::warn!(why, "the store does not answer");
        (503, "the store does not answer\n".to_owned())
    }

    /// The Prometheus text.
    pub(crate) fn metrics_text(&self) -> String {
        self.metrics
            .text(self.door.busy(), self.api.limiter(), &self.storage.stats())
    }
}

/// A future whose panic is a `None`, and which goes on without its owner, for a time after it first had to wait.
struct Call<T: Send + 'static> {
    future: Option<Boxed<T>>,
    watch: Option<Arc<Watch>>,
    timeout: Duration,
    /// Once it had to wait: until when it may go on.
    deadline: Option<Instant>,
}

impl<T: Send + 'static> Call<T> {
    fn new(future: Boxed<T>, watch: Option<Arc<Watch>>, timeout: Duration) -> Self {
        Self {
            future: Some(future),
            watch,
            timeout,
            deadline: None,
        }
    }

    /// Gives it up, wherever it is.
    fn end(&mut self) {
        self.future = None;
    }
}

impl<T: Send + 'static> Future for Call<T> {
    type Output = Option<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Ready(None);
        };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        if matches!(polled, Ok(Poll::Pending)) {
            let timeout = self.timeout;
            self.deadline
                .get_or_insert_with(|| Instant::now() + timeout);
        } else {
            self.future = None;
        }
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    }
}

impl<T: Send + 'static> Drop for Call<T> {
    fn drop(&mut self) {
        if let (Some(watch), Some(_)) = (&self.watch, &self.future) {
            watch.abandon();
            if watch.is_away() {
                // To drop it is to stop it.
                return;
            }
        }
        if let (Some(future), Ok(runtime)) = (self.future.take(), Handle::try_current()) {
            let deadline = self.deadline;
            let deadline = deadline.unwrap_or_else(|| Instant::now() + self.timeout);
            runtime.spawn(tokio::time::timeout_at(deadline, future));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_lane_however_its_header_is_written() {
        let lane = |header: &str| {
            let authorization = vec![header.to_owned()];
            lane_of(&Request {
                authorization,
                ..Request::default()
            })
        };
        for same in ["bearer one", "BEARER   one", " Bearer one \t"] {
            assert_eq!(lane(same), lane("Bearer one"), "{same:?}");
        }
        assert_ne!(lane("Bearer two"), lane("Bearer one"));
    }

    #[tokio::test]
    async fn a_panic_in_a_call_is_caught() {
        let timeout = Duration::from_secs(60);
        assert_eq!(
            Call::new(Box::pin(async { 7 }), None, timeout).await,
            Some(7)
        );
        let broken = async {
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
        };
        assert_eq!(Call::new(Box::pin(broken), None, timeout).await, None);
    }

    /// S88.
    #[tokio::test]
    async fn a_call_goes_on_when_its_client_is_gone_but_not_beyond_its_deadline() {
        let (go, told) = tokio::sync::oneshot::channel::<()>();
        let (done, over) = tokio::sync::oneshot::channel();
        let call = async move {
            told.await.unwrap();
            done.send(()).unwrap();
        };
        let mut call = Call::new(Box::pin(call), None, Duration::from_secs(60));
        assert!(futures_poll(&mut call).await.is_pending());
        drop(call);
        go.send(()).unwrap();
        over.await.unwrap();

        let (held, freed) = tokio::sync::oneshot::channel::<()>();
        let hang = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        drop(Call::new(Box::pin(hang), None, Duration::ZERO));
        assert!(freed.await.is_err(), "what it held is free");
    }

    /// Polls once.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
    }
}

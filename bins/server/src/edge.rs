//! What every connection shares: the API, and the guards around a call of it.
use crate::config::Http;
use crate::metrics::Metrics;
use crate::seams::WallClock;
use crate::storage::Storage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use workgraph_api::fault::{self, Failure};
use workgraph_api::{Api, Entropy, Reply, Request};
use workgraph_portal::{Portal, Route};

/// Shared by all connections.
pub(crate) struct Edge {
    pub(crate) api: Arc<Api>,
    pub(crate) portal: Arc<Portal>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) http: Http,
    pub(crate) log_requests: bool,
    /// Metrics are served here, and not on a listener of their own.
    pub(crate) own_metrics: bool,
    pub(crate) draining: AtomicBool,
    /// The start of every request id of this process.
    pub(crate) prefix: String,
    pub(crate) number: AtomicU64,
}

/// How a call of the API ended.
pub(crate) enum Ran {
    /// With a reply.
    Replied(Reply),
    /// Not within the deadline.
    Late,
}

impl Edge {
    /// A fresh request id.
    pub(crate) fn next_id(&self) -> String {
        let mut number = self.number.fetch_add(1, Relaxed);
        let mut id = String::with_capacity(self.prefix.len() + 17);
        id.push_str(&self.prefix);
        id.push('-');
        // Digits from the last to the first: an id is only ever compared.
        loop {
            id.extend(char::from_digit((number % 16) as u32, 16));
            number /= 16;
            if number == 0 {
                return id;
            }
        }
    }

    /// Runs a request of the API.
    pub(crate) async fn run(&self, request: Request) -> Ran {
        let read = request.method == "GET";
        let api = Arc::clone(&self.api);
        self.guard(read, async move { api.handle(request).await })
            .await
    }

    /// Runs a request of the portal.
    pub(crate) async fn show(&self, route: Route, request: workgraph_portal::Request) -> Ran {
        let portal = Arc::clone(&self.portal);
        let call = async move { portal.answer(route, &request).await };
        self.guard(!route.form, call).await
    }

    /// Runs a call. Writes run on a task of their own: a client that goes away does not stop one
    /// halfway. A panic becomes a 500.
    async fn guard(&self, read: bool, call: impl Future<Output = Reply> + Send + 'static) -> Ran {
        let limit = self.http.request_timeout;
        let outcome = if read {
            let mut call = Caught(Box::pin(call));
            // Most reads are done at once: for them no timer is set.
            let first = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut call).poll(cx))).await;
            let outcome = match first {
                Poll::Ready(outcome) => Ok(outcome),
                Poll::Pending => tokio::time::timeout(limit, call).await,
            };
            outcome.map(|r| r.ok_or("a handler panicked".to_owned()))
        } else {
            tokio::time::timeout(limit, tokio::spawn(call))
                .await
                .map(|r| r.map_err(|_| "a handler panicked".to_owned()))
        };
        match outcome {
            Ok(Ok(reply)) => Ran::Replied(reply),
            Ok(Err(why)) => {
                self.metrics.faults.fetch_add(1, Relaxed);
                Ran::Replied(fault::reply(&Failure::Server(why), &*self.entropy))
            }
            Err(_) => {
                self.metrics.faults.fetch_add(1, Relaxed);
                Ran::Late
            }
        }
    }

    /// Whether requests can be served, with a word on it.
    pub(crate) async fn ready(&self) -> (u16, String) {
        if self.draining.load(Relaxed) {
            return (503, "draining\n".to_owned());
        }
        match self.storage.graph.events(i64::MAX.cast_unsigned(), 1).await {
            Ok(_) => (200, "ok\n".to_owned()),
            Err(e) => {
                tracing::warn!(why = e.to_string(), "the store does not answer");
                (503, "the store does not answer\n".to_owned())
            }
        }
    }

    /// The Prometheus text.
    pub(crate) fn metrics_text(&self) -> String {
        self.metrics.text(self.api.limiter(), &self.storage.stats())
    }
}

/// A future whose panic is a `None`.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Option<F::Output>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_call_is_caught() {
        assert_eq!(Caught(Box::pin(async { 7 })).await, Some(7));
        let broken = async {
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
        };
        assert_eq!(Caught(Box::pin(broken)).await, None);
    }
}

//! Webhooks: a receiver on this machine, and the time from the acknowledgement of a write to the delivery of its event.

use anyhow::Result;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::bench_clock;
use crate::graph_builder;
use crate::graph_builder::{WRITERS, created, gid_of};
use crate::http_client::BenchClient;
use crate::loadgen::{self, LoadEnd, LoadSpec, RequestMaker};
use crate::measure::Figure;
use crate::server_process::ServerProcess;

const SECRET: &str = "x-hook-secret";
/// Maximum wait for the last deliveries.
const PATIENCE: Duration = Duration::from_secs(10);

/// Instant of the first event of each resource, by gid.
type FirstSeenTimes = HashMap<String, Instant>;

/// Webhook receiver; dropping this value ends it.
pub(crate) struct WebhookReceiver {
    addr: SocketAddr,
    /// Instant of the first event of each resource, while a measurement needs them.
    first_seen: Arc<Mutex<Option<FirstSeenTimes>>>,
    _runtime: Runtime,
}

impl WebhookReceiver {
    /// Starts a receiver on a free port.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let (addr, first_seen) = (listener.local_addr()?, Arc::default());
        runtime.spawn(accept(listener, Arc::clone(&first_seen)));
        Ok(Self {
            addr,
            first_seen,
            _runtime: runtime,
        })
    }

    /// Creates webhooks on a project. Returns their gids.
    pub(crate) fn watch(
        &self,
        client: &BenchClient,
        project: &str,
        count: usize,
        filters: &Value,
    ) -> Result<Vec<String>> {
        let make = |number| {
            let target = format!("http://{}/{number}", self.addr);
            let body = json!({"data": {"resource": project, "target": target, "filters": filters}});
            gid_of(&client.post("/api/1.0/webhooks", &body)?)
        };
        (0..count).map(make).collect()
    }

    /// Creates tasks in a project at a pace, and compares the time of each acknowledgement with that of the first
    /// event at the receiver. The rate is in events per second, the latency is the lag.
    pub(crate) fn lag(
        &self,
        server: &ServerProcess,
        client: &BenchClient,
        (project, make): (&str, &Arc<RequestMaker>),
        pace: u32,
        time: Duration,
    ) -> Result<Figure> {
        let filters = json!([{"resource_type": "task", "action": "added"}]);
        let hooks = self.watch(client, project, 1, &filters)?;
        let done: Arc<Mutex<FirstSeenTimes>> = Arc::default();
        let seen = Arc::clone(&done);
        let before = server.cpu()?;
        *self.first_seen.lock() = Some(FirstSeenTimes::new());
        let outcome = loadgen::run(LoadSpec {
            addr: client.addr,
            connections: WRITERS,
            stop: LoadEnd::After(time),
            seed: None,
            pace: Some(pace),
            make: Arc::clone(make),
            seen: Some(Arc::new(move |body: &[u8]| {
                let now = bench_clock::now();
                seen.lock().extend(created(body).map(|gid| (gid, now)));
            })),
        })?;
        let done = std::mem::take(&mut *done.lock());
        let ended = bench_clock::now();
        while !self.received_all(&done) && bench_clock::now().duration_since(ended) < PATIENCE {
            bench_clock::pause(Duration::from_millis(20));
        }
        let cpu = server.cpu()?.saturating_sub(before);
        for hook in hooks {
            client.delete(&format!("/api/1.0/webhooks/{hook}"))?;
        }
        let first_seen = self.first_seen.lock().take().unwrap_or_default();
        let mut lags: Vec<f64> = done
            .iter()
            .filter_map(|(gid, done)| Some(first_seen.get(gid)?.saturating_duration_since(*done)))
            .map(|lag| lag.as_secs_f64() * 1e6)
            .collect();
        let mut errors = outcome.errors;
        if lags.len() < done.len() {
            let missing = (done.len() - lags.len()) as u64;
            errors.insert("events that were not delivered".to_owned(), missing);
        }
        lags.sort_by(f64::total_cmp);
        let at = |percent: usize| lags.get(lags.len() * percent / 100).copied().unwrap_or(0.0);
        Ok(Figure {
            rate: lags.len() as f64 / outcome.seconds,
            cpu: (!lags.is_empty()).then(|| cpu.as_secs_f64() * 1e6 / lags.len() as f64),
            latency: Some((at(50), at(99))),
            errors,
        })
    }

    /// Returns true if the receiver got an event for every resource that was written.
    fn received_all(&self, done: &FirstSeenTimes) -> bool {
        let seen = self.first_seen.lock();
        let seen = seen.as_ref();
        done.keys()
            .all(|gid| seen.is_some_and(|t| t.contains_key(gid)))
    }
}

async fn accept(listener: TcpListener, first_seen: Arc<Mutex<Option<FirstSeenTimes>>>) -> ! {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let first_seen = Arc::clone(&first_seen);
        tokio::spawn(async move {
            let service =
                hyper::service::service_fn(|request| receive(request, Arc::clone(&first_seen)));
            // A disconnecting sender is ignored here.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Answers the handshake of a webhook, or records the events of a delivery.
async fn receive(
    request: Request<Incoming>,
    first_seen: Arc<Mutex<Option<FirstSeenTimes>>>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    if let Some(secret) = request.headers().get(SECRET) {
        response.headers_mut().insert(SECRET, secret.clone());
    }
    let now = bench_clock::now();
    let body = request.into_body().collect().await;
    if let (Ok(body), Some(seen)) = (body, &mut *first_seen.lock()) {
        let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        for event in graph_builder::list(&body, "events").unwrap_or_default() {
            if let Some(gid) = event.pointer("/resource/gid").and_then(Value::as_str) {
                seen.entry(gid.to_owned()).or_insert(now);
            }
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_client;

    #[test]
    fn the_receiver_shakes_hands_and_notes_the_first_time() {
        let receiver = WebhookReceiver::start().unwrap();
        let shake = "POST / HTTP/1.1\r\nHost: x\r\nX-Hook-Secret: s\r\nContent-Length: 2\r\n\r\n{}";
        let (head, _) = http_client::whole(receiver.addr, shake.as_bytes()).unwrap();
        assert!(head.to_lowercase().contains("x-hook-secret: s"), "{head}");
        *receiver.first_seen.lock() = Some(FirstSeenTimes::new());
        let body = r#"{"events":[{"resource":{"gid":"7"}},{"resource":{"gid":"8"}}]}"#;
        let mut request = Vec::new();
        http_client::write_post(&mut request, "/", "none", body);
        http_client::whole(receiver.addr, &request).unwrap();
        let first = receiver.first_seen.lock().clone();
        assert_eq!(first.as_ref().map(FirstSeenTimes::len), Some(2));
        http_client::whole(receiver.addr, &request).unwrap();
        assert_eq!(*receiver.first_seen.lock(), first);
    }
}

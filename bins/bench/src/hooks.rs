//! Webhooks: a receiver on this machine, and how long after its acknowledgement something is told there.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::child::Server;
use crate::graph::{self, WRITERS, created, gid_of};
use crate::http::Client;
use crate::loadgen::{self, Load, Make, Stop};
use crate::measure::Figure;
use crate::{Result, clock};

const SECRET: &str = "x-hook-secret";
/// How long it is waited for the last deliveries.
const PATIENCE: Duration = Duration::from_secs(10);

/// When something happened first, by gid.
type Times = HashMap<String, Instant>;

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A receiver of webhooks; it ends with this value.
pub(crate) struct Receiver {
    addr: SocketAddr,
    /// When each resource was first told of, while somebody wants to know.
    told: Arc<Mutex<Option<Times>>>,
    _runtime: Runtime,
}

impl Receiver {
    /// Starts to listen.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let (addr, told) = (listener.local_addr()?, Arc::default());
        runtime.spawn(accept(listener, Arc::clone(&told)));
        Ok(Self {
            addr,
            told,
            _runtime: runtime,
        })
    }

    /// Makes webhooks on a project; their gids.
    pub(crate) fn watch(
        &self,
        client: &Client,
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

    /// Creates tasks in a project at a pace, and compares when each was acknowledged with when the
    /// receiver was told of it: events a second, and the lag.
    pub(crate) fn lag(
        &self,
        server: &Server,
        client: &Client,
        (project, make): (&str, &Arc<Make>),
        pace: u32,
        time: Duration,
    ) -> Result<Figure> {
        let filters = json!([{"resource_type": "task", "action": "added"}]);
        let hooks = self.watch(client, project, 1, &filters)?;
        let done: Arc<Mutex<Times>> = Arc::default();
        let seen = Arc::clone(&done);
        let before = server.cpu()?;
        *lock(&self.told) = Some(Times::new());
        let outcome = loadgen::run(Load {
            addr: client.addr,
            connections: WRITERS,
            stop: Stop::After(time),
            pace: Some(pace),
            make: Arc::clone(make),
            seen: Some(Arc::new(move |body: &[u8]| {
                let now = clock::now();
                lock(&seen).extend(created(body).map(|gid| (gid, now)));
            })),
        })?;
        let done = std::mem::take(&mut *lock(&done));
        let ended = clock::now();
        while !self.was_told(&done) && clock::now().duration_since(ended) < PATIENCE {
            clock::pause(Duration::from_millis(20));
        }
        let cpu = server.cpu()?.saturating_sub(before);
        for hook in hooks {
            client.delete(&format!("/api/1.0/webhooks/{hook}"))?;
        }
        let told = lock(&self.told).take().unwrap_or_default();
        let mut lags: Vec<f64> = done
            .iter()
            .filter_map(|(gid, done)| Some(told.get(gid)?.saturating_duration_since(*done)))
            .map(|lag| lag.as_secs_f64() * 1e6)
            .collect();
        let mut errors = outcome.errors;
        if lags.len() < done.len() {
            let missing = (done.len() - lags.len()) as u64;
            errors.insert("events that were not told".to_owned(), missing);
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

    /// Whether it was told of everything that was done.
    fn was_told(&self, done: &Times) -> bool {
        let told = lock(&self.told);
        let told = told.as_ref();
        done.keys()
            .all(|gid| told.is_some_and(|t| t.contains_key(gid)))
    }
}

async fn accept(listener: TcpListener, told: Arc<Mutex<Option<Times>>>) -> ! {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let told = Arc::clone(&told);
        tokio::spawn(async move {
            let service = hyper::service::service_fn(|request| receive(request, Arc::clone(&told)));
            // A sender that goes away is no event here.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Shakes hands, or notes what is told.
async fn receive(
    request: Request<Incoming>,
    told: Arc<Mutex<Option<Times>>>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    if let Some(secret) = request.headers().get(SECRET) {
        response.headers_mut().insert(SECRET, secret.clone());
    }
    let now = clock::now();
    let body = request.into_body().collect().await;
    if let (Ok(body), Some(told)) = (body, &mut *lock(&told)) {
        let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        for event in graph::list(&body, "events").unwrap_or_default() {
            if let Some(gid) = event.pointer("/resource/gid").and_then(Value::as_str) {
                told.entry(gid.to_owned()).or_insert(now);
            }
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http;

    #[test]
    fn the_receiver_shakes_hands_and_notes_the_first_time() {
        let receiver = Receiver::start().unwrap();
        let shake = "POST / HTTP/1.1\r\nHost: x\r\nX-Hook-Secret: s\r\nContent-Length: 2\r\n\r\n{}";
        let (head, _) = http::whole(receiver.addr, shake.as_bytes()).unwrap();
        assert!(head.to_lowercase().contains("x-hook-secret: s"), "{head}");
        *lock(&receiver.told) = Some(Times::new());
        let body = r#"{"events":[{"resource":{"gid":"7"}},{"resource":{"gid":"8"}}]}"#;
        let mut request = Vec::new();
        http::write_post(&mut request, "/", "none", body);
        http::whole(receiver.addr, &request).unwrap();
        let first = lock(&receiver.told).clone();
        assert_eq!(first.as_ref().map(Times::len), Some(2));
        http::whole(receiver.addr, &request).unwrap();
        assert_eq!(*lock(&receiver.told), first);
    }
}

//! Clients: each on a thread of its own, with requests that its seed decides, until it is told to stop.
pub(crate) mod app_client;
pub(crate) mod job_client;
pub(crate) mod limited_clients;
pub(crate) mod list_clients;
pub(crate) mod task_client;

use crate::common::{RawConnection, Reply, Seeded, request};
use crate::history::{Act, Entry, Found, Micros, Outcome};
use crate::scene::{NODES, Ports};
use crate::template::Access;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait of a client for a reply; after that it does not know what became of its request.
const PATIENCE: Duration = Duration::from_secs(4);

/// Parts that all clients of a history share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) began: Instant,
    pub(crate) access: Access,
    pub(crate) ports: Ports,
    /// Project whose tasks the clients change.
    pub(crate) project: String,
    pub(crate) entries: Mutex<Vec<Entry>>,
    /// Tasks that were made lately.
    pub(crate) tasks: Mutex<Vec<String>>,
    pub(crate) next_value: AtomicU64,
    pub(crate) next_token: AtomicU64,
    pub(crate) is_over: AtomicBool,
    /// True once nothing will happen any more.
    pub(crate) is_settled: AtomicBool,
}

impl Shared {
    /// Returns the time since the history began.
    pub(crate) fn now(&self) -> Micros {
        u64::try_from(self.began.elapsed().as_micros()).unwrap()
    }

    /// Returns true once clients are to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Client with its connections to all nodes.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) random: Seeded,
    connections: Vec<Option<(u16, RawConnection)>>,
}

impl Client {
    /// Makes a client.
    pub(crate) fn new(shared: &Arc<Shared>, seed: u64) -> Self {
        Self {
            shared: Arc::clone(shared),
            random: Seeded(seed),
            connections: (0..NODES).map(|_| None).collect(),
        }
    }

    /// Returns a random node.
    pub(crate) fn any_node(&mut self) -> usize {
        self.random.below(NODES)
    }

    /// Sends bytes to a node. Returns the whole reply, if there is one.
    pub(crate) fn send(&mut self, node: usize, bytes: &[u8]) -> Option<Reply> {
        let port = self.shared.ports.of(node);
        let kept = self.connections[node].take();
        let mut connection = match kept.filter(|(opened, _)| *opened == port) {
            Some((_, connection)) => connection,
            None => RawConnection::open_with(port, PATIENCE).ok()?,
        };
        let reply = connection.ask(bytes).ok()?;
        if reply.header("connection") != Some("close") {
            self.connections[node] = Some((port, connection));
        }
        Some(reply)
    }

    /// Sends an API request with the token of the demo's first user.
    pub(crate) fn api(
        &mut self,
        node: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<Reply> {
        let bytes = request(method, path, &self.shared.access.token, body);
        self.send(node, &bytes)
    }

    /// Does something and records it. Returns what was found.
    pub(crate) fn record(
        &mut self,
        node: usize,
        act: Act,
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let begun = self.shared.now();
        let outcome = run(self);
        let ended = self.shared.now();
        self.shared.entries.lock().unwrap().push(Entry {
            node,
            begun,
            ended,
            act,
            outcome: outcome.clone(),
        });
        outcome
    }

    /// Sends an API request and records it, with what a success has in it.
    pub(crate) fn ask(
        &mut self,
        node: usize,
        act: Act,
        (method, path, body): (&str, &str, Option<&Value>),
        found: impl Fn(&Value) -> Option<Found>,
    ) -> Outcome {
        self.record(node, act, |client| {
            outcome(client.api(node, method, path, body), found)
        })
    }
}

/// Returns the outcome of a reply, with what a success has in it.
pub(crate) fn outcome(reply: Option<Reply>, found: impl Fn(&Value) -> Option<Found>) -> Outcome {
    let Some(reply) = reply else {
        return Outcome::Lost;
    };
    let json: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    if reply.status < 300 {
        return found(&json).map_or(Outcome::Lost, Outcome::Done);
    }
    let error = &json["errors"][0];
    let message = error["message"].as_str().or(json["error"].as_str());
    let has_form = reply.status != 500 || error["phrase"].is_string() || json["error"].is_string();
    let reason = message.filter(|_| has_form).unwrap_or_default();
    Outcome::Refused {
        status: reply.status,
        reason: reason.to_owned(),
    }
}

/// Returns the gid of a reply's data.
pub(crate) fn gid(json: &Value) -> Option<Found> {
    Some(Found::Gid(json["data"]["gid"].as_str()?.to_owned()))
}

/// Returns nothing, of any reply.
pub(crate) fn nothing(_json: &Value) -> Option<Found> {
    Some(Found::Nothing)
}

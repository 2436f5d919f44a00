//! Webhooks: a day of retries and heartbeats by the clock alone, and faults and kills by seed.
mod deliveries;
mod filters;
mod partial_writes;
mod shared_store;
mod simulation;
mod stopped;

use crate::world::{KINDS, Kind, World};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::SystemTime;
use tokio::sync::Notify;
use workgraph_auth::{App, OAuthStore};
use workgraph_core::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{ChangeAction, ChangeRecord, Changes};
use workgraph_testkit::SeededBytes;
use workgraph_webhooks::signature::signature;
use workgraph_webhooks::{DeliveryError, DeliveryRequest, TargetReply, WebhookClient};
use workgraph_wire::KeyRing;

/// A delivery as a target received it.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) events: Vec<Value>,
    pub(crate) ids: Vec<String>,
    /// True if the target replied 200 or 204, and no worker was killed meanwhile.
    pub(crate) acked: bool,
}

/// The targets. The start of its path is the behaviour of a target: `/echo` follows the contract, `/mute` does not
/// return the secret, `/wrong` returns another, `/down` completes the handshake and then replies 503.
#[derive(Default)]
pub(crate) struct Receiver {
    secrets: Mutex<BTreeMap<String, String>>,
    /// Ids of deliveries, by path and events.
    deliveries: Mutex<BTreeMap<(String, Vec<String>), String>>,
    got: Mutex<Vec<Got>>,
    /// Chooses the faults of deliveries; without it the path decides the reply.
    faults: Mutex<Option<SeededBytes>>,
    /// True if lost deliveries get a 200: the twin that the test must notice.
    lies: AtomicBool,
    /// Notified when an attempt hangs: it was received, and its sender is to be killed now.
    pub(crate) hung: Notify,
}

/// The faults that an attempt meets.
enum Fault {
    None,
    Refused,
    Slow,
    Cut,
    Status(u16),
    Killed,
}

impl Receiver {
    fn fault(&self) -> Fault {
        let faults = self.faults.lock().unwrap();
        let Some(random) = faults.as_ref() else {
            return Fault::None;
        };
        let mut byte = [0];
        random.fill(&mut byte);
        match byte[0] % 32 {
            0 | 1 => Fault::Refused,
            2 => Fault::Slow,
            3 => Fault::Cut,
            4 => Fault::Status(500),
            5 => Fault::Status(302),
            6 => Fault::Status(201),
            7 => Fault::Status(429),
            8..=10 => Fault::Killed,
            _ => Fault::None,
        }
    }

    /// Returns a receiver that has received the same.
    pub(crate) fn copy(&self) -> Self {
        Self {
            secrets: Mutex::new(self.secrets.lock().unwrap().clone()),
            deliveries: Mutex::new(self.deliveries.lock().unwrap().clone()),
            got: Mutex::new(self.got.lock().unwrap().clone()),
            ..Self::default()
        }
    }

    /// Returns the deliveries to a path.
    pub(crate) fn got(&self, path: &str) -> Vec<Got> {
        let all = self.got.lock().unwrap();
        all.iter().filter(|g| g.path == path).cloned().collect()
    }

    fn forget(&self) {
        self.got.lock().unwrap().clear();
    }
}

fn reply(status: u16, secret: Option<String>) -> TargetReply {
    TargetReply {
        status,
        secret,
        content: if status < 300 {
            String::new()
        } else {
            format!("said {status}")
        },
        ..TargetReply::default()
    }
}

#[async_trait]
impl WebhookClient for Receiver {
    async fn post(&self, attempt: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        let path = attempt.target.path.clone();
        let header = |name: &str| {
            let found = attempt.headers.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| value.clone())
        };
        let mode = path.split('/').nth(1).unwrap_or("").to_owned();
        if let Some(secret) = header("X-Hook-Secret") {
            self.secrets.lock().unwrap().insert(path, secret.clone());
            return Ok(match mode.as_str() {
                "mute" => reply(200, None),
                "wrong" => reply(200, Some("0".repeat(64))),
                "late" => return Err(DeliveryError::Broken("no answer in 10 seconds".to_owned())),
                "error" => reply(500, Some(secret)),
                _ => reply(204, Some(secret)),
            });
        }
        let secret = self.secrets.lock().unwrap().get(&path).cloned().unwrap();
        let signed = header("X-Hook-Signature").unwrap();
        assert_eq!(
            signed,
            signature(&secret, &attempt.body),
            "the signature of {path}"
        );
        let text = std::str::from_utf8(&attempt.body).unwrap();
        let body: Value = serde_json::from_str(text).unwrap();
        // As JSON.stringify writes it: receivers may verify the text after parsing and writing it again.
        assert_eq!(body.to_string(), text, "the body is compact");
        let ids = header("X-Workgraph-Event-Ids").unwrap();
        let ids: Vec<String> = ids
            .split(',')
            .filter(|i| !i.is_empty())
            .map(str::to_owned)
            .collect();
        let events = body["events"].as_array().unwrap().clone();
        assert_eq!(events.len(), ids.len());
        let delivery = header("X-Workgraph-Delivery").unwrap();
        if !ids.is_empty() {
            let mut known = self.deliveries.lock().unwrap();
            let first = known.entry((path.clone(), ids.clone()));
            let first = first.or_insert_with(|| delivery.clone());
            assert_eq!(*first, delivery, "every attempt has the same id");
        }
        let fault = self.fault();
        let acked = matches!(fault, Fault::None) && mode != "down";
        if !matches!(fault, Fault::Refused) {
            let got = Got {
                path,
                events,
                ids,
                acked,
            };
            self.got.lock().unwrap().push(got);
        }
        let killed = matches!(fault, Fault::Killed);
        if !acked && !killed && self.lies.load(Ordering::Relaxed) {
            return Ok(reply(200, None));
        }
        match fault {
            Fault::None if mode == "down" => Ok(reply(503, None)),
            Fault::None => Ok(reply(200, None)),
            Fault::Refused => Err(DeliveryError::Broken("connection refused".to_owned())),
            Fault::Slow => Err(DeliveryError::Broken("no answer in 10 seconds".to_owned())),
            Fault::Cut => Err(DeliveryError::Broken("the connection broke".to_owned())),
            Fault::Status(status) => Ok(reply(status, None)),
            Fault::Killed => {
                self.hung.notify_one();
                std::future::pending().await
            }
        }
    }
}

impl World {
    /// Carries out every attempt that is due; returns their number.
    pub(crate) fn deliver(&self) -> usize {
        let mut count = 0;
        loop {
            self.run(self.api.scan_commits()).unwrap();
            let Some(taken) = self.api.take_delivery() else {
                return count;
            };
            self.run(self.api.deliver(&taken)).unwrap();
            count += 1;
        }
    }

    pub(crate) fn hook(&self, token: &str, name: &str, path: &str, filters: Value) -> String {
        let data = json!({
            "resource": self.gid(name).to_string(),
            "target": format!("https://hooks.test{path}"),
            "filters": filters,
        });
        let made = self.post(token, "/webhooks", data);
        assert_eq!(made.status, 201, "{}", made.text);
        made.gid()
    }

    fn show(&self, gid: &str) -> Value {
        self.get("ada", &format!("/webhooks/{gid}")).json["data"].clone()
    }

    /// Moves the clock to the next attempt, delivers, and returns the seconds in between.
    fn next_delivery(&self) -> u64 {
        let due = self.api.next_delivery().unwrap();
        let wait = due.duration_since(self.clock.0.now()).unwrap_or_default();
        self.clock.0.advance(wait);
        self.deliver();
        wait.as_secs()
    }
}

/// A target that never replies.
struct Silent;

#[async_trait]
impl WebhookClient for Silent {
    async fn post(&self, _: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        std::future::pending().await
    }
}

/// S121. A user with three handshakes under way must try again later. Other users are not concerned, and a user who
/// gives up waiting has room for another.
#[test]
fn handshakes_under_way_are_limited_by_user() {
    let mut world = World::new(Kind::Memory);
    world.carried_by(Arc::new(Silent));
    let ask = |reader: &str| {
        let resource = world.gid("garden").to_string();
        let data = json!({"data": {"resource": resource, "target": "https://hooks.example.org/x"}});
        let request = world.request(reader, "POST", "/webhooks", data.to_string());
        let api = &world.api;
        let call: Pin<Box<dyn Future<Output = workgraph_api::ApiResponse> + '_>> =
            Box::pin(async move { api.handle(&request).await });
        call
    };
    let look = |call: &mut Pin<Box<dyn Future<Output = workgraph_api::ApiResponse> + '_>>| {
        world.run(poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))))
    };
    let mut open = Vec::new();
    for reader in [
        "ada",
        "ada",
        "ada[webhooks:write,webhooks:read,projects:read]",
    ] {
        let mut call = ask(reader);
        assert!(
            look(&mut call).is_pending(),
            "{reader} waits for the target"
        );
        open.push(call);
    }
    let Poll::Ready(refused) = look(&mut ask("ada")) else {
        panic!("a fourth one waits");
    };
    assert_eq!(
        (refused.status, refused.header("Retry-After")),
        (429, Some("10"))
    );
    assert!(look(&mut ask("mel")).is_pending(), "others have their own");
    open.pop();
    assert!(look(&mut ask("ada")).is_pending());
}

//! Webhooks: a day of retries and heartbeats by the clock alone, and faults and kills by seed.
mod between;
mod deliveries;
mod simulation;
mod stopped;

use crate::world::{KINDS, Kind, World};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::SystemTime;
use tokio::sync::Notify;
use workgraph_auth::{App, OAuthStore};
use workgraph_core::Gid;
use workgraph_core::feed::said;
use workgraph_core::graph::{Action, Changes, Fact};
use workgraph_core::registry::Type;
use workgraph_core::time::Time;
use workgraph_testkit::SeededBytes;
use workgraph_webhooks::sign::signature;
use workgraph_webhooks::{Attempt, Deliver, Failed, Replied};
use workgraph_wire::KeyRing;

/// A delivery as a target got it.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) events: Vec<Value>,
    pub(crate) ids: Vec<String>,
    /// The target said 200 or 204, and nobody was killed meanwhile.
    pub(crate) acked: bool,
}

/// Targets. What one does is the start of its path: `/echo` plays by the rules, `/mute` does not
/// return the secret, `/wrong` returns another, `/down` shakes hands and then answers 503.
#[derive(Default)]
pub(crate) struct Receiver {
    secrets: Mutex<BTreeMap<String, String>>,
    got: Mutex<Vec<Got>>,
    /// Chooses what deliveries meet; without it they are answered as the path says.
    faults: Mutex<Option<SeededBytes>>,
    /// Says 200 though the delivery was lost: the twin that must be noticed.
    lies: AtomicBool,
    /// An attempt hangs: it was received, and whoever sends it is to be killed now.
    pub(crate) hung: Notify,
}

/// Which faults an attempt meets.
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

    /// What was delivered to a path.
    pub(crate) fn got(&self, path: &str) -> Vec<Got> {
        let all = self.got.lock().unwrap();
        all.iter().filter(|g| g.path == path).cloned().collect()
    }

    fn forget(&self) {
        self.got.lock().unwrap().clear();
    }
}

fn reply(status: u16, secret: Option<String>) -> Replied {
    Replied {
        status,
        secret,
        content: if status < 300 {
            String::new()
        } else {
            format!("said {status}")
        },
        ..Replied::default()
    }
}

#[async_trait]
impl Deliver for Receiver {
    async fn post(&self, attempt: Attempt) -> Result<Replied, Failed> {
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
                "late" => return Err(Failed::Broken("no answer in 10 seconds".to_owned())),
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
        // As JSON.stringify writes it: receivers may verify what they parsed and wrote again.
        assert_eq!(body.to_string(), text, "the body is compact");
        let ids = header("X-Workgraph-Event-Ids").unwrap();
        let ids: Vec<String> = ids
            .split(',')
            .filter(|i| !i.is_empty())
            .map(str::to_owned)
            .collect();
        let events = body["events"].as_array().unwrap().clone();
        assert_eq!(events.len(), ids.len());
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
            Fault::Refused => Err(Failed::Broken("connection refused".to_owned())),
            Fault::Slow => Err(Failed::Broken("no answer in 10 seconds".to_owned())),
            Fault::Cut => Err(Failed::Broken("the connection broke".to_owned())),
            Fault::Status(status) => Ok(reply(status, None)),
            Fault::Killed => {
                self.hung.notify_one();
                std::future::pending().await
            }
        }
    }
}

impl World {
    /// Carries out every attempt that is due; says how many.
    pub(crate) fn deliver(&self) -> usize {
        let mut count = 0;
        loop {
            self.run(self.api.hear()).unwrap();
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

    /// Turns the clock to the next attempt, delivers, and says how many seconds that was.
    fn next_delivery(&self) -> u64 {
        let due = self.api.next_delivery().unwrap();
        let wait = due.duration_since(self.clock.0.now()).unwrap_or_default();
        self.clock.0.advance(wait);
        self.deliver();
        wait.as_secs()
    }
}

/// A target that keeps silent.
struct Silent;

#[async_trait]
impl Deliver for Silent {
    async fn post(&self, _: Attempt) -> Result<Replied, Failed> {
        std::future::pending().await
    }
}

/// S121. Who has three targets to wait for is told to try again; others are not concerned, and who
/// gives up waiting has room for another.
#[test]
fn handshakes_under_way_are_limited_by_user() {
    let mut world = World::new(Kind::Memory);
    world.carried_by(Arc::new(Silent));
    let ask = |who: &str| {
        let resource = world.gid("garden").to_string();
        let data = json!({"data": {"resource": resource, "target": "https://hooks.example.org/x"}});
        let request = world.request(who, "POST", "/webhooks", data.to_string());
        let api = &world.api;
        let call: Pin<Box<dyn Future<Output = workgraph_api::Reply> + '_>> =
            Box::pin(async move { api.handle(&request).await });
        call
    };
    let look = |call: &mut Pin<Box<dyn Future<Output = workgraph_api::Reply> + '_>>| {
        world.run(poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))))
    };
    let mut open = Vec::new();
    for who in [
        "ada",
        "ada",
        "ada[webhooks:write,webhooks:read,projects:read]",
    ] {
        let mut call = ask(who);
        assert!(look(&mut call).is_pending(), "{who} waits for the target");
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

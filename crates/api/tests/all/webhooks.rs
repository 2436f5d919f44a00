//! Webhooks: a day of retries and heartbeats by the clock alone, and faults and kills by seed.
use crate::world::{KINDS, Kind, World};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;
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
    fn deliver(&self) -> usize {
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

    fn hook(&self, token: &str, name: &str, path: &str, filters: Value) -> String {
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

/// S62.
#[test]
fn changes_are_delivered_signed_and_filtered_and_heartbeats_follow() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let all = world.hook("ada", "garden", "/echo/all", Value::Null);
        world.hook(
            "ada",
            "garden",
            "/echo/due",
            json!([
                {"resource_type": "task", "action": "changed", "fields": ["due_on"]},
                {"resource_type": "story", "resource_subtype": "comment_added"},
            ]),
        );
        assert_eq!(world.deliver(), 2, "a heartbeat each follows the handshake");
        let first = world.receiver.got("/echo/all");
        assert!(first.len() == 1 && first[0].events.is_empty());
        world.receiver.forget();

        let task = world
            .post(
                "mel",
                "/tasks",
                json!({"name": "Dig", "projects": [garden]}),
            )
            .gid();
        let path = format!("/tasks/{task}");
        world.call("mel", "PUT", &path, &json!({"name": "Dig deep"}));
        world.call("mel", "PUT", &path, &json!({"due_on": "2026-02-02"}));
        world.post("mel", &format!("{path}/stories"), json!({"text": "Ready"}));
        world.deliver();
        let due = world.receiver.got("/echo/due");
        let shown: Vec<_> = due
            .iter()
            .flat_map(|g| &g.events)
            .map(|e| e["action"].clone())
            .collect();
        assert_eq!(shown, ["changed", "added"], "{due:?}");
        let got = world.receiver.got("/echo/all");
        let events: Vec<&Value> = got.iter().flat_map(|g| &g.events).collect();
        assert_eq!(
            *events[0],
            json!({
                "user": {"gid": world.gid("mel").to_string(), "resource_type": "user"},
                "resource": {"gid": task, "resource_type": "task"},
                "type": "task",
                "action": "added",
                "parent": {"gid": garden, "resource_type": "project"},
                "created_at": "2026-01-15T09:30:00.000Z",
            })
        );
        assert!(events.iter().any(|e| e["change"]["field"] == "name"));
        assert_eq!(world.deliver(), 0, "nothing is left");

        // Eight hours of silence later, and not before.
        assert_eq!(world.next_delivery(), 8 * 3600);
        assert_eq!(
            world.receiver.got("/echo/all").last().unwrap().events.len(),
            0
        );
        assert_eq!(
            world.show(&all)["last_success_at"],
            "2026-01-15T17:30:00.000Z"
        );
    }
}

#[test]
fn a_target_that_fails_for_a_day_loses_its_webhook() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = world.hook("ada", "garden", "/down/a", Value::Null);
        world.deliver();
        let held = world.show(&gid);
        assert_eq!(held["delivery_retry_count"], 1);
        assert_eq!(held["last_failure_content"], "said 503");
        assert_eq!(
            held["failure_deletion_timestamp"],
            "2026-01-16T09:30:00.000Z"
        );
        assert!(held["next_attempt_after"].as_str().unwrap() > "2026-01-15T09:30:00.000Z");
        let (start, mut attempts) = (world.clock.0.now(), 1);
        while world.api.next_delivery().is_some() {
            let wait = world.next_delivery();
            assert!(wait <= 3600, "an hour at most: {wait}");
            attempts += 1;
        }
        let day = world.clock.0.now().duration_since(start).unwrap();
        assert_eq!(day.as_secs(), 86_400);
        assert!(attempts > 25, "{attempts}");
        assert_eq!(world.get("ada", &format!("/webhooks/{gid}")).status, 404);
    }
}

#[test]
fn an_outage_is_made_up_for_in_order() {
    let world = World::new(Kind::Memory);
    let gid = world.hook("ada", "garden", "/echo/a", Value::Null);
    world.deliver();
    *world.receiver.faults.lock().unwrap() = None;
    world.receiver.forget();
    let garden = world.gid("garden").to_string();
    world.post(
        "ada",
        "/tasks",
        json!({"name": "one", "projects": [garden]}),
    );
    // The target's machine is away for three hours.
    let path = format!("/webhooks/{gid}");
    world
        .receiver
        .secrets
        .lock()
        .unwrap()
        .insert("/echo/a".to_owned(), String::new());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.deliver())).is_err());
    assert_eq!(
        world.get("ada", &path).status,
        200,
        "a worker that panicked changed nothing"
    );
    world.receiver.secrets.lock().unwrap().clear();
    let hook = world
        .run(world.hooks.get(gid.parse().unwrap()))
        .unwrap()
        .unwrap();
    world
        .receiver
        .secrets
        .lock()
        .unwrap()
        .insert("/echo/a".to_owned(), hook.secret);
    assert_eq!(world.deliver(), 0, "its lease still holds the webhook");
    world.advance(31);
    assert_eq!(world.deliver(), 1, "and then ends");
    assert_eq!(
        world.receiver.got("/echo/a").last().unwrap().events.len(),
        2
    );
}

#[test]
fn handshakes_that_fail_make_no_webhook() {
    let world = World::new(Kind::Memory);
    let garden = world.gid("garden").to_string();
    for mode in ["mute", "wrong", "late", "error"] {
        let data = json!({"resource": garden, "target": format!("https://hooks.test/{mode}/a")});
        let made = world.post("ada", "/webhooks", data);
        assert_eq!(made.status, 400, "{mode}: {}", made.text);
        assert!(made.message().contains("handshake secret"), "{}", made.text);
    }
    for (target, status) in [
        ("https://127.0.0.1/", 400),
        ("http://[::ffff:10.0.0.1]/", 400),
        ("http://hooks.test/", 400),
        ("https://hooks.test:22/", 400),
        ("https://localhost:8443/", 403),
        ("nonsense", 400),
    ] {
        let made = world.post(
            "ada",
            "/webhooks",
            json!({"resource": garden, "target": target}),
        );
        assert_eq!(made.status, status, "{target}: {}", made.text);
        assert!(made.message().starts_with("target: "), "{}", made.text);
    }
    assert!(world.run(world.hooks.all()).unwrap().is_empty());
}

#[test]
fn owners_hear_only_what_they_may_see() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = |name: &str| world.gid(name).to_string();
        world.hook("mel", "garden", "/echo/mel", Value::Null);
        world.deliver();
        world.receiver.forget();
        let hidden = world.post(
            "ada",
            "/tasks",
            json!({"name": "x", "projects": [gid("garden"), gid("moss")]}),
        );
        let out = format!("/tasks/{}/removeProject", hidden.gid());
        world.post("ada", &out, json!({"project": gid("garden")}));
        world.deliver();
        let got = world.receiver.got("/echo/mel");
        let events: Vec<&Value> = got.iter().flat_map(|g| &g.events).collect();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0]["action"], "removed");
        // A project that she may not see any more says nothing at all.
        world.call(
            "ada",
            "PUT",
            &format!("/projects/{}", gid("garden")),
            &json!({"privacy_setting": "private"}),
        );
        world.receiver.forget();
        world.post(
            "ada",
            "/tasks",
            json!({"name": "y", "projects": [gid("garden")]}),
        );
        world.deliver();
        assert!(world.receiver.got("/echo/mel").is_empty());
    }
}

#[test]
fn the_end_of_what_is_watched_is_the_last_thing_told() {
    let world = World::new(Kind::Sqlite);
    world.hook("ada", "garden", "/echo/a", Value::Null);
    world.deliver();
    world.receiver.forget();
    world.call(
        "ada",
        "DELETE",
        &format!("/projects/{}", world.gid("garden")),
        &Value::Null,
    );
    world.deliver();
    let got = world.receiver.got("/echo/a");
    let last = got.last().unwrap();
    assert_eq!(last.events.len(), 1, "{got:?}");
    assert_eq!(last.events[0]["action"], "deleted");
    assert_eq!(last.events[0]["resource"]["resource_type"], "project");
}

#[test]
fn a_logged_delivery_can_be_sent_again() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = world.hook("ada", "garden", "/echo/a", Value::Null);
        world.deliver();
        world.post(
            "ada",
            "/tasks",
            json!({"name": "x", "projects": [world.gid("garden").to_string()]}),
        );
        world.deliver();
        let id: u64 = gid.parse().unwrap();
        let log = world.run(world.api.deliveries(id, 10)).unwrap();
        assert_eq!(log.iter().map(|d| d.events).collect::<Vec<_>>(), [2, 0]);
        world.receiver.forget();
        let sent = world.run(world.api.redeliver(id, log[0].id)).unwrap();
        let again = world.receiver.got("/echo/a");
        assert_eq!((sent, again.len(), again[0].ids.len()), (2, 1, 2));
        assert!(world.run(world.api.redeliver(id, 999)).is_err());
        assert_eq!(world.deliver(), 0, "what was told stays told");
    }
}

#[test]
fn webhooks_of_a_restarted_server_go_on_where_they_were() {
    for kind in KINDS {
        let mut world = World::new(kind);
        let garden = world.gid("garden").to_string();
        world.hook("ada", "garden", "/echo/a", Value::Null);
        world.deliver();
        world.receiver.forget();
        world.post(
            "ada",
            "/tasks",
            json!({"name": "before", "projects": [garden]}),
        );
        world.restart(KeyRing::new(1, [7; 32]), 1);
        world.post(
            "ada",
            "/tasks",
            json!({"name": "after", "projects": [garden]}),
        );
        world.deliver();
        let events: usize = world
            .receiver
            .got("/echo/a")
            .iter()
            .map(|g| g.events.len())
            .sum();
        assert_eq!(events, 4);
        // The journal is kept for those who were not told, and only for them.
        let upto = world.run(world.api.keep_hooks()).unwrap();
        assert_eq!(upto, world.events(0).last().unwrap().seq);
    }
}

/// What a run of the simulation is like.
struct Run {
    kind: Kind,
    seed: u64,
    events: usize,
    kills: usize,
    lies: bool,
}

/// Commits, delivers to targets that fail and kills workers and servers by turns; then lets all of it
/// settle. Says what is wrong with what the targets got.
fn simulate(run: &Run) -> Result<(), String> {
    const HOOKS: [(&str, &str); 5] = [
        ("garden", "/echo/0"),
        ("garden", "/echo/1"),
        ("herbs", "/echo/2"),
        ("moss", "/echo/3"),
        ("water", "/echo/4"),
    ];
    let mut world = World::new(run.kind);
    let start = world.events(0).last().unwrap().seq;
    for (i, (name, path)) in HOOKS.iter().enumerate() {
        let filters = if i == 1 {
            json!([{"resource_type": "task", "action": "changed", "fields": ["name"]}])
        } else {
            Value::Null
        };
        world.hook("robot", name, path, filters);
    }
    world.deliver();
    world.receiver.forget();
    world.receiver.lies.store(run.lies, Ordering::Relaxed);
    let faults = SeededBytes::new(run.seed);
    *world.receiver.faults.lock().unwrap() = Some(SeededBytes::new(run.seed + 1_000_000));
    let tasks: Vec<Gid> = ["water", "rake", "mint", "lichen", "water_buds"]
        .map(|name| world.gid(name))
        .to_vec();
    let (mut made, mut kills) = (0, 0);
    // Enough attempts lie between two kills for the targets to hear something.
    let gap = (run.events / run.kills.max(1)).max(1);
    while made < run.events || kills < run.kills {
        let mut bytes = [0; 4];
        faults.fill(&mut bytes);
        for _ in 0..gap {
            faults.fill(&mut bytes);
            let facts: Vec<Fact> = (0..=bytes[0] % 3)
                .map(|i| Fact {
                    gid: tasks[usize::from(bytes[1] ^ i) % tasks.len()],
                    ty: Type::Task,
                    action: Action::Changed {
                        field: if (bytes[2] >> i) & 1 == 0 {
                            "name"
                        } else {
                            "notes"
                        },
                        added: None,
                        removed: None,
                    },
                })
                .collect();
            made += facts.len();
            let at = Time::from_system(world.clock.0.now());
            let changes = Changes {
                at,
                facts,
                ..Changes::default()
            };
            world.run(world.graph.commit(changes)).unwrap();
        }
        world.advance(u64::from(bytes[3]) * 4);
        world.run(world.api.hear()).unwrap();
        while let Some(taken) = world.api.take_delivery() {
            let killed = world.run(async {
                tokio::select! {
                    biased;
                    done = world.api.deliver(&taken) => { done.unwrap(); false }
                    () = world.receiver.hung.notified() => true,
                }
            });
            kills += usize::from(killed);
            // One in two takes the whole server along.
            if killed && kills & 1 == 0 {
                world.restart(KeyRing::new(1, [7; 32]), (kills % 32) as u8);
                world.run(world.api.hear()).unwrap();
            }
        }
        if bytes[0] == 0 {
            world.run(world.api.keep_hooks()).unwrap();
        }
    }
    *world.receiver.faults.lock().unwrap() = None;
    world.receiver.lies.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        world.advance(3_601);
        world.deliver();
    }
    for (i, (name, path)) in HOOKS.iter().enumerate() {
        let at = world.gid(name);
        let mut expected = Vec::new();
        for event in world.events(start) {
            for (n, fact) in event.facts.iter().enumerate() {
                let wanted = said(fact)
                    .is_some_and(|s| i != 1 || s.change.is_some_and(|c| c.field == "name"));
                if wanted && event.reaches(fact, at) {
                    expected.push(format!("{}-{n}", event.seq));
                }
            }
        }
        let mut heard = 0;
        for got in world.receiver.got(path) {
            let window = expected.get(heard..heard + got.ids.len());
            if window != Some(got.ids.as_slice()) {
                return Err(format!(
                    "{path}: not what comes after {heard}: {:?}",
                    got.ids
                ));
            }
            if got.acked {
                heard += got.ids.len();
            }
        }
        if heard != expected.len() {
            return Err(format!("{path}: {heard} of {} came", expected.len()));
        }
    }
    Ok(())
}

fn from_env(name: &str, otherwise: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |n| n.parse().unwrap())
}

#[test]
fn nothing_is_lost_or_out_of_order_and_repeats_follow_failures_only() {
    let run = |kind, seed, events, kills| Run {
        kind,
        seed,
        events,
        kills,
        lies: false,
    };
    let events = from_env("WORKGRAPH_TEST_HOOK_EVENTS", 3_000);
    let kills = from_env("WORKGRAPH_TEST_HOOK_KILLS", 60);
    simulate(&run(Kind::Memory, 1, events, kills)).unwrap();
    for (kind, seed) in [(Kind::Memory, 2), (Kind::Sqlite, 3)] {
        simulate(&run(kind, seed, 300, 15)).unwrap();
    }
}

#[test]
fn a_courier_that_believes_what_did_not_arrive_is_noticed() {
    let run = Run {
        kind: Kind::Memory,
        seed: 1,
        events: 600,
        kills: 5,
        lies: true,
    };
    assert!(simulate(&run).is_err());
}

#[test]
fn there_are_so_many_webhooks_and_no_more() {
    use workgraph_webhooks::Limits;
    assert_eq!(
        Limits::default(),
        Limits {
            per_resource: 1_000,
            per_owner: 10_000
        }
    );
    let world = World::new(Kind::Memory);
    let data =
        json!({"resource": world.gid("water").to_string(), "target": "https://hooks.test/echo/a"});
    for _ in 0..1_000 {
        assert_eq!(world.post("ada", "/webhooks", data.clone()).status, 201);
    }
    let more = world.post("mel", "/webhooks", data);
    assert_eq!(more.status, 403, "{}", more.text);
    let all = format!("/webhooks?workspace={}&limit=100", world.gid("orchid"));
    let (mut count, mut offset) = (0, String::new());
    loop {
        let page = world.get("ada", &format!("{all}{offset}"));
        count += page.gids().len();
        match page.next() {
            Some(next) => offset = format!("&offset={next}"),
            None => break,
        }
    }
    assert_eq!(count, 1_000);
}

//! Requests whose work is stopped: their replies, their costs, and their restarts.
use crate::budget::{path, thicket};
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::task::Poll;
use workgraph_api::error::INTERRUPTED_COST;
use workgraph_api::{ApiRequest, ApiResponse, ApiSettings, Caller};
use workgraph_core::{Interrupt, InterruptReason};

/// An interrupt that lets a number of checks pass. Then it stops the work, until that is allowed to go on.
#[derive(Debug)]
pub(crate) struct After {
    checks: AtomicU32,
    reason: InterruptReason,
    stopped: AtomicBool,
    allowed: AtomicU32,
}

impl After {
    pub(crate) fn new(checks: u32, reason: InterruptReason) -> Arc<Self> {
        Arc::new(Self {
            checks: AtomicU32::new(checks),
            reason,
            stopped: AtomicBool::new(false),
            allowed: AtomicU32::new(0),
        })
    }
}

impl Interrupt for After {
    fn check(&self, _steps: u32) -> Result<(), InterruptReason> {
        if self.allowed.load(Relaxed) > 0 {
            return Ok(());
        }
        let left = self
            .checks
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| {
            self.stopped.store(true, Relaxed);
            self.reason
        })
    }

    fn poll_allowed(&self) -> Poll<()> {
        self.allowed.fetch_add(1, Relaxed);
        Poll::Ready(())
    }
}

fn under(world: &World, after: &Arc<After>, target: &str) -> ApiResponse {
    let mut request = world.request("ada", "GET", target, String::new());
    request.explain = true;
    send(world, after, &request)
}

fn send(world: &World, after: &Arc<After>, request: &ApiRequest) -> ApiResponse {
    let interrupt = Arc::clone(after) as Arc<dyn Interrupt>;
    let caller = Caller {
        interrupt: Some(&interrupt),
        ..Caller::default()
    };
    world.run(world.api.handle_from(request, caller.into()))
}

/// Returns a world with long lists, and reads of each kind in it.
fn scene(kind: Kind) -> (World, Vec<String>) {
    let mut world = World::new(kind);
    let project = world.gid("garden");
    for n in 0..80 {
        let task = json!({"name": format!("leaf {n}"), "projects": [project.to_string()]});
        assert_eq!(world.post("ada", "/tasks", task).status, 201);
    }
    world.limit();
    let fields = "opt_fields=name,projects.name,memberships.section.name,followers.name";
    let workspace = world.gid("orchid");
    let targets = vec![
        format!("/projects/{project}/tasks?limit=100&{fields}"),
        format!("/projects/{project}/tasks?limit=100&{fields}&opt_pretty"),
        format!("/workspaces/{workspace}/tasks/search?text=leaf&limit=100&{fields}"),
        format!("/projects/{project}/task_counts?opt_fields=num_tasks"),
    ];
    (world, targets)
}

const ALL: u32 = u32::MAX;

/// S101.
#[test]
fn a_read_that_has_used_up_its_allowance_starts_again_and_answers_the_same() {
    for kind in KINDS {
        let (world, targets) = scene(kind);
        for target in &targets {
            let free = After::new(ALL, InterruptReason::AllowanceSpent);
            let expected = under(&world, &free, target);
            assert_eq!(expected.status, 200, "{target}");
            let checks = ALL - free.checks.load(Relaxed);
            assert!(checks > 0, "{target} is long");
            for passed in 0..checks {
                let after = After::new(passed, InterruptReason::AllowanceSpent);
                let reply = under(&world, &after, target);
                assert_eq!(reply.status, 200, "{target} after {passed}");
                assert_eq!(reply.body, expected.body, "{target} after {passed}");
                // By now the store has data in memory, so it needs fewer checks.
                let stopped = after.stopped.load(Relaxed);
                let allowed = after.allowed.load(Relaxed) == 1;
                assert_eq!(allowed, stopped, "{target} after {passed}");
            }
        }
    }
}

/// S100.
#[test]
fn a_read_that_is_stopped_at_its_deadline_is_504_and_costs_what_the_largest_replies_do() {
    for kind in KINDS {
        let (world, targets) = scene(kind);
        for target in &targets {
            let after = After::new(0, InterruptReason::Deadline);
            let reply = under(&world, &after, target);
            assert_eq!(reply.status, 504, "{target}");
            let cost = reply.header("Workgraph-Cost").map(str::to_owned);
            assert_eq!(cost, Some(INTERRUPTED_COST.to_string()), "{target}");
            let body = String::from_utf8(reply.body.to_vec()).unwrap();
            assert!(body.contains("The request took too long"), "{body}");
            assert!(body.contains("\"help\""), "{body}");
            assert_eq!(after.allowed.load(Relaxed), 0, "it does not start again");
        }
        let explained = world.get("ada", "/users/me");
        assert_eq!(explained.status, 200, "others of its token go on");
    }
}

/// A batch goes on after its long parts were started again.
#[test]
fn the_actions_of_a_batch_start_again_each_by_itself() {
    let (world, targets) = scene(Kind::Memory);
    let actions: Vec<_> = targets
        .iter()
        .map(|target| {
            let (path, query) = target.split_once('?').unwrap();
            let data: serde_json::Map<_, _> = query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .filter(|(name, _)| *name != "opt_fields")
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            let fields = query.split_once("opt_fields=").map_or("", |(_, fields)| fields);
            let fields: Vec<&str> = fields.trim_end_matches("&opt_pretty").split(',').collect();
            json!({"method": "get", "relative_path": path, "data": data, "options": {"fields": fields}})
        })
        .collect();
    let body = json!({"data": {"actions": actions}}).to_string();
    let request = world.request("ada", "POST", "/batch", body);
    let send = |after: &Arc<After>| send(&world, after, &request);
    let expected = send(&After::new(ALL, InterruptReason::AllowanceSpent));
    let outcomes: Value = serde_json::from_slice(&expected.body).unwrap();
    for outcome in outcomes["data"].as_array().unwrap() {
        assert_eq!(outcome["status_code"], 200, "{outcome}");
    }
    let again = send(&After::new(1, InterruptReason::AllowanceSpent));
    assert_eq!(again.body, expected.body);
}

/// Sends a change with a large reply again and again, under a deadline that passes after one more check each time.
/// `made` returns true if the change was made since its last call. Returns the replies to the changes that succeeded.
fn at_every_check(
    world: &World,
    mut change: impl FnMut() -> ApiRequest,
    mut made: impl FnMut() -> bool,
) -> Vec<Value> {
    let mut shown = Vec::new();
    for passed in 0.. {
        let after = After::new(passed, InterruptReason::Deadline);
        let reply = send(world, &after, &change());
        let body: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(made(), reply.status < 300, "after {passed}: {body}");
        if reply.status < 300 {
            shown.push(body);
        } else {
            assert_eq!(reply.status, 504, "after {passed}: {body}");
        }
        if !after.stopped.load(Relaxed) {
            return shown;
        }
    }
    unreachable!("the work has an end")
}

#[test]
fn a_change_that_was_made_before_the_deadline_is_no_504() {
    for kind in KINDS {
        let world = World::build(kind, ApiSettings::default(), thicket);
        let thorn = world.gid("thorn").to_string();
        let fields = path("dependencies", "dependents", 2);
        let (mut count, mut name) = (0, world.get("ada", &format!("/tasks/{thorn}")).json);
        let change = || {
            count += 1;
            let body = json!({"data": {"name": format!("thorn {count}")}}).to_string();
            let at = format!("/tasks/{thorn}?opt_fields={fields}");
            world.request("ada", "PUT", &at, body)
        };
        let made = || {
            let now = world.get("ada", &format!("/tasks/{thorn}")).json;
            let before = std::mem::replace(&mut name, now);
            before["data"]["name"] != name["data"]["name"]
        };
        let shown = at_every_check(&world, change, made);
        let stub = json!({"data": {"gid": thorn, "resource_type": "task"}});
        assert_eq!(shown.first(), Some(&stub));
        assert_eq!(
            shown.last().unwrap()["data"]["dependencies"]
                .as_array()
                .unwrap()
                .len(),
            30
        );
    }
}

#[test]
fn the_secret_of_a_webhook_that_was_made_is_shown_after_the_deadline_too() {
    for kind in KINDS {
        let world = World::build(kind, ApiSettings::default(), thicket);
        let thorn = world.gid("thorn").to_string();
        let all = || world.run(world.api.all_webhooks()).unwrap();
        let change = || {
            // One task may not have many webhooks.
            for hook in all() {
                let at = format!("/webhooks/{}", hook.id);
                let gone = world.call("ada", "DELETE", &at, &Value::Null);
                assert_eq!(gone.status, 200);
            }
            let data = json!({"resource": thorn, "target": "https://hooks.test/echo/a"});
            let fields = "resource.dependencies.dependents";
            let at = format!("/webhooks?opt_fields={fields}");
            world.request("ada", "POST", &at, json!({ "data": data }).to_string())
        };
        let shown = at_every_check(&world, change, || !all().is_empty());
        assert!(shown.iter().all(|s| s["X-Hook-Secret"].is_string()));
        let stub = &shown.first().unwrap()["data"];
        assert!(stub["gid"].is_string(), "{stub}");
        let expected = json!({"gid": stub["gid"], "resource_type": "webhook"});
        assert_eq!(*stub, expected);
        assert!(shown.last().unwrap()["data"]["resource"].is_object());
    }
}

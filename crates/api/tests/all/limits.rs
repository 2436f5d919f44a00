//! The limits as clients meet them, on a clock set by hand: the refusals and their waits, the cost of a reply, and the
//! replies that explain the limits.
mod shared;
mod together;

use crate::jobs::forest;
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use workgraph_api::limits::limit_overrides::{LimitOverride, LimitOverrides};
use workgraph_api::{ApiResponse, ApiSettings};

/// Returns a world in which Bob's workspace is free, and Ada's is paid; the limits are those of the contract.
fn limited() -> World {
    let mut world = World::new(Kind::Memory);
    world.limit();
    world
}

fn reply(world: &World, token: &str, method: &str, target: &str) -> ApiResponse {
    let body = if method == "GET" {
        ""
    } else {
        r#"{"data":{}}"#
    };
    world.reply(world.request(token, method, target, body.to_owned()))
}

fn wait(reply: &ApiResponse) -> u64 {
    assert_eq!(
        reply.status,
        429,
        "{}",
        String::from_utf8_lossy(&reply.body)
    );
    reply.header("Retry-After").unwrap().parse().unwrap()
}

/// Returns the cost of a read.
fn cost(world: &World, token: &str, target: &str) -> u32 {
    let explained = explained(world, token, target);
    assert_eq!(explained.status, 200, "{target}: {}", explained.text);
    header(&explained, "Workgraph-Cost")
        .unwrap()
        .parse()
        .unwrap()
}

fn explained(world: &World, token: &str, target: &str) -> Answer {
    let mut request = world.request(token, "GET", target, String::new());
    request.explain = true;
    world.send(request)
}

fn header(answer: &Answer, name: &str) -> Option<String> {
    let found = answer.headers.iter().find(|(n, _)| *n == name);
    found.map(|(_, value)| value.clone())
}

/// Returns the reply of `/-/limits`.
fn state(world: &World, token: &str) -> Value {
    let bearer = vec![format!("Bearer {}", world.text(token))];
    let reply = world.run(world.api.limits_response(&bearer, None));
    assert_eq!(reply.status, 200);
    serde_json::from_slice::<Value>(&reply.body).unwrap()["data"].take()
}

/// S75. S82.
#[test]
fn the_request_after_the_quota_waits_as_long_as_it_is_told() {
    let world = limited();
    for _ in 0..150 {
        assert_eq!(reply(&world, "bob", "GET", "/users/me").status, 200);
    }
    world.advance(20);
    assert_eq!(wait(&reply(&world, "bob", "GET", "/users/me")), 40);
    // Another token has its own quota, and a paid one has ten times as much.
    assert_eq!(reply(&world, "ben", "GET", "/users/me").status, 200);
    for _ in 0..1_500 {
        assert_eq!(reply(&world, "ada", "GET", "/users/me").status, 200);
    }
    assert_eq!(wait(&reply(&world, "ada", "GET", "/users/me")), 60);
    world.advance(40);
    assert_eq!(reply(&world, "bob", "GET", "/users/me").status, 200);
}

/// S77.
#[test]
fn of_51_reads_and_16_writes_at_once_one_each_is_refused() {
    let world = limited();
    for (method, path, most) in [("GET", "/users/me", 50), ("POST", "/tasks", 15)] {
        let mut held: Vec<ApiResponse> = (0..most)
            .map(|_| reply(&world, "bob", method, path))
            .collect();
        assert!(held.iter().all(|r| r.status != 429), "{method}");
        world.advance(7);
        // The others end at the latest when their thirty seconds are over.
        assert_eq!(wait(&reply(&world, "bob", method, path)), 23, "{method}");
        assert_ne!(reply(&world, "ben", method, path).status, 429);
        drop(held.pop());
        assert_ne!(reply(&world, "bob", method, path).status, 429, "{method}");
    }
}

/// S76.
#[test]
fn searches_have_a_quota_of_their_own_in_batches_too() {
    let world = limited();
    let path = format!("/workspaces/{}/tasks/search", world.gid("orchid"));
    let search = json!({"relative_path": path, "method": "get", "data": {"text": "roses"}});
    let path = format!("{path}?text=roses");
    let read = json!({"relative_path": "/users/me", "method": "get"});
    let batch = |actions: Vec<Value>| {
        world
            .post("ada", "/batch", json!({ "actions": actions }))
            .status
    };
    for _ in 0..5 {
        assert_eq!(batch(vec![search.clone(); 10]), 200);
    }
    for _ in 0..9 {
        assert_eq!(reply(&world, "ada", "GET", &path).status, 200);
    }
    assert_eq!(state(&world, "ada")["limits"]["standard"]["used"], 0);
    // 59 of 60 are used: one of two searches does not fit, so no action of the batch runs.
    let two = [vec![search.clone(); 2], vec![read.clone(); 8]].concat();
    assert_eq!(batch(two), 429);
    let one = [vec![search], vec![read; 9]].concat();
    assert_eq!(batch(one), 200);
    assert_eq!(wait(&reply(&world, "ada", "GET", &path)), 60);
    let limits = state(&world, "ada")["limits"].take();
    // The refused batch's eight reads count; its searches do not.
    assert_eq!(
        (&limits["standard"]["used"], &limits["search"]["used"]),
        (&json!(17), &json!(60))
    );
}

#[test]
fn the_actions_of_a_batch_hold_a_permit_each() {
    let world = limited();
    let held: Vec<ApiResponse> = (0..6)
        .map(|_| reply(&world, "bob", "POST", "/tasks"))
        .collect();
    let action = |method: &str| json!({"relative_path": "/users/me", "method": method});
    let batch = |actions: Vec<Value>| world.post("bob", "/batch", json!({ "actions": actions }));
    let mixed = [vec![action("delete"); 9], vec![action("get")]].concat();
    assert_eq!(batch(mixed).status, 200, "9 writes have room beside 6");
    // A request without a route is no write.
    assert_eq!(batch(vec![action("delete"); 10]).status, 200);
    let delete = json!({"relative_path": "/tasks/1", "method": "delete"});
    assert_eq!(batch(vec![delete.clone(); 10]).status, 429, "10 have not");
    drop(held);
    assert_eq!(batch(vec![delete; 10]).status, 200);
}

/// S85.
#[test]
fn without_credits_a_request_waits_until_some_are_back() {
    let mut world = World::new(Kind::Memory);
    world.limit();
    let settings = workgraph_api::TokenLimits {
        cost_per_minute: Some(60),
        ..world.api.token_limits()
    };
    world.api.set_token_limits(settings);
    // A member's tasks cost far more than is left, and are sent all the same.
    let target = format!("/projects/{}/tasks", world.gid("quarry"));
    let mut spent = 0;
    let refused = loop {
        let answer = explained(&world, "bob", &target);
        if answer.status == 429 {
            break answer;
        }
        spent += header(&answer, "Workgraph-Cost")
            .unwrap()
            .parse::<u64>()
            .unwrap();
    };
    assert!(spent >= 60);
    let wait_seconds: u64 = header(&refused, "Retry-After").unwrap().parse().unwrap();
    assert_eq!(wait_seconds, spent - 60 + 1, "a credit a second");
    assert_eq!(header(&refused, "Workgraph-Cost").unwrap(), "0");
    world.advance(wait_seconds - 1);
    assert_eq!(reply(&world, "bob", "GET", &target).status, 429);
    // Refused requests cost nothing, so the promise still holds.
    world.advance(1);
    assert_eq!(reply(&world, "bob", "GET", &target).status, 200);
}

#[test]
fn the_cost_is_the_published_formula() {
    let world = World::new(Kind::Memory);
    let water = world.gid("water");
    let garden = world.gid("garden");
    let task = |fields: &str| {
        cost(
            &world,
            "ada",
            &format!("/tasks/{water}?opt_fields={fields}"),
        )
    };
    // 1 for the request, 1 for the task, 1 for each named field.
    assert_eq!(task("gid"), 2);
    assert_eq!(task("name"), 3);
    assert_eq!(task("name,due_on"), 4);
    assert_eq!(task("name,no_such_field"), 3);
    // A link is one more, whatever the request names at its end; two followers are two links.
    assert_eq!(task("followers"), 2 + 1 + 2);
    assert_eq!(task("followers.name"), 2 + 2 + 2);
    let list = |fields: &str| {
        let target = format!("/projects/{garden}/tasks?limit=2&opt_fields={fields}");
        cost(&world, "ada", &target)
    };
    assert_eq!(list("gid"), 3);
    assert_eq!(list("name"), 3 + 2);
    assert_eq!(list("name,due_on"), 3 + 4);
    assert_eq!(
        cost(&world, "ada", &format!("/projects/{garden}/tasks?limit=2")),
        3
    );
}

/// S86.
#[test]
fn counting_tasks_costs_what_is_walked_through_and_each_count_once() {
    let world = |set_cap: u32| {
        let settings = ApiSettings {
            set_cap,
            ..ApiSettings::default()
        };
        World::build(Kind::Memory, settings, |f, names| {
            let project = forest(f, names["orchid"], names["ada"], 1_030);
            names.insert("forest".to_owned(), project);
        })
    };
    let counts = |world: &World, fields: &str| {
        let path = format!("/projects/{}/task_counts", world.gid("forest"));
        format!("{path}?opt_fields={fields}")
    };
    let all = world(0);
    for (fields, expected) in [
        ("name", 1),
        ("num_tasks", 1 + 10 + 103),
        ("num_tasks,num_tasks,name,num_tasks", 1 + 10 + 103),
        ("num_tasks,num_milestones", 1 + 20 + 103),
    ] {
        let target = counts(&all, fields);
        assert_eq!(cost(&all, "ada", &target), expected, "{fields}");
    }
    let target = counts(&all, "num_tasks,num_incomplete_tasks");
    let wait_seconds = all.get("ada", &target).json["data"].clone();
    assert_eq!(
        wait_seconds,
        json!({"num_tasks": 1_030, "num_incomplete_tasks": 1_030})
    );
    // The count ends at the same cap as a list of the tasks.
    for (cap, status) in [(1_030, 200), (1_029, 400), (1_000, 400)] {
        let world = world(cap);
        let answer = world.get("ada", &counts(&world, "num_tasks"));
        assert_eq!(answer.status, status, "{cap}: {}", answer.text);
    }
}

/// S86.
#[test]
fn l17_the_same_request_on_the_same_data_costs_the_same_and_a_field_more_never_less() {
    let world = World::new(Kind::Memory);
    let fields = [
        "name",
        "assignee",
        "assignee.name",
        "followers.email",
        "projects.name",
        "tags",
        "memberships.section.name",
        "parent.name",
        "num_subtasks",
        "notes",
        "dependencies",
        "custom_fields.name",
        "workspace",
    ];
    for target in [
        format!("/tasks/{}", world.gid("water")),
        format!("/projects/{}/tasks", world.gid("garden")),
    ] {
        let mut before = 0;
        for count in 1..=fields.len() {
            let target = format!("{target}?opt_fields={}", fields[..count].join(","));
            let first = cost(&world, "ada", &target);
            // The third reply is a cached one.
            assert_eq!(
                (first, first),
                (cost(&world, "ada", &target), cost(&world, "ada", &target))
            );
            assert!(first >= before, "{target}: {first} after {before}");
            before = first;
        }
    }
}

#[test]
fn replies_explain_the_limits_only_to_who_asks() {
    let world = limited();
    let plain = world.get("bob", "/users/me");
    for name in ["RateLimit", "RateLimit-Policy", "Workgraph-Cost"] {
        assert_eq!(header(&plain, name), None);
    }
    world.advance(10);
    let wait_seconds = explained(&world, "bob", "/users/me?opt_fields=name");
    assert_eq!(
        header(&wait_seconds, "RateLimit-Policy").unwrap(),
        "\"standard\";q=150;w=60, \"search\";q=60;w=60, \"concurrent_reads\";q=50;qu=\"concurrent-requests\", \
         \"concurrent_writes\";q=15;qu=\"concurrent-requests\", \"cost\";q=600000;w=60;qu=\"credits\""
    );
    // This request is counted and its cost is charged; its own slot is still held.
    assert_eq!(
        header(&wait_seconds, "RateLimit").unwrap(),
        "\"standard\";r=148;t=60, \"search\";r=60;t=0, \"concurrent_reads\";r=49;t=30, \
         \"concurrent_writes\";r=15;t=0, \"cost\";r=599997;t=1"
    );
    assert_eq!(header(&wait_seconds, "Workgraph-Cost").unwrap(), "3");
    // Failures are explained as well, except for unknown tokens.
    let failed = explained(&world, "bob", "/tasks/1");
    assert_eq!(
        (
            failed.status,
            header(&failed, "Workgraph-Cost").unwrap().as_str()
        ),
        (404, "0")
    );
    assert_eq!(
        header(&explained(&world, "-", "/users/me"), "RateLimit"),
        None
    );
}

#[test]
fn the_state_of_a_token_tells_what_used_its_limits_and_asking_changes_nothing() {
    let world = limited();
    let fresh = state(&world, "bob");
    assert_eq!(fresh["limits"]["standard"]["remaining"], 150);
    assert_eq!(fresh["recent"], json!([]));
    world.get("bob", "/users/me");
    world.advance(15);
    let read = json!({"relative_path": "/users/me", "method": "get"});
    world.post("bob", "/batch", json!({"actions": [read.clone(), read]}));
    let held = reply(&world, "bob", "GET", "/users/me");
    let first = state(&world, "bob");
    let standard = json!({
        "limit": 150, "window": 60, "used": 4, "refused": 0, "remaining": 146,
        "next_in": 45.0, "full_in": 60.0, "shadow": false,
    });
    assert_eq!(first["limits"]["standard"], standard);
    let reads =
        json!({"limit": 50, "running": 1, "remaining": 49, "full_in": 30.0, "shadow": false});
    assert_eq!(first["limits"]["concurrent_reads"], reads);
    let recent = first["recent"].as_array().unwrap();
    let shown: Vec<(&str, u64)> = recent
        .iter()
        .map(|r| {
            (
                r["operation"].as_str().unwrap(),
                r["weight"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [("createBatchRequest", 2), ("getUser", 1), ("getUser", 1)]
    );
    assert_eq!(recent[2]["at"], "2026-01-15T09:30:00.000Z");
    assert_eq!(first, state(&world, "bob"), "asking changes nothing");
    drop(held);
    assert_eq!(world.run(world.api.limits_response(&[], None)).status, 401);
}

#[test]
fn l20_apps_and_tokens_have_quotas_of_their_own_and_new_ones_free_nothing_early() {
    let world = limited();
    let own = |standard| LimitOverride {
        standard,
        ..LimitOverride::default()
    };
    let apps = [(902, own(Some(5)))];
    world.api.set_limit_overrides(LimitOverrides {
        apps: apps.into(),
        ..LimitOverrides::default()
    });
    let token = "bob[users:read]@2";
    for _ in 0..5 {
        assert_eq!(world.get(token, "/users/me").status, 200);
    }
    assert_eq!(world.get(token, "/users/me").status, 429);
    // Tokens of another app, and of none.
    assert_eq!(
        state(&world, "bob[users:read]@3")["limits"]["standard"]["limit"],
        150
    );
    assert_eq!(state(&world, "bob")["limits"]["standard"]["limit"], 150);
    // Six attempts still count when the quota is eight, and when the override is removed.
    world.advance(30);
    world.api.set_limit_overrides(LimitOverrides {
        apps: [(902, own(Some(8)))].into(),
        ..LimitOverrides::default()
    });
    let standard = state(&world, token)["limits"]["standard"].take();
    assert_eq!(
        (&standard["used"], &standard["remaining"]),
        (&json!(6), &json!(2))
    );
    world.api.set_limit_overrides(LimitOverrides::default());
    assert_eq!(state(&world, token)["limits"]["standard"]["used"], 6);
    world.advance(30);
    assert_eq!(state(&world, token)["limits"]["standard"]["used"], 0);
}

/// S120. Twelve tokens of one user may use as much as ten. A user with ten tokens never meets that limit, and it does
/// not concern other users.
#[test]
fn the_tokens_of_a_user_together_are_worth_ten() {
    let world = limited();
    let mut settings = world.api.token_limits();
    settings.standard.free = 5;
    world.api.set_token_limits(settings);
    let token = |n: u32| format!("bob[users:read]@{n}");
    let ask = |n| reply(&world, &token(n), "GET", "/users/me");
    for n in 2..12 {
        for _ in 0..5 {
            assert_eq!(ask(n).status, 200, "token {n}");
        }
    }
    // Fifty a minute are one every 1.2 seconds.
    assert_eq!(wait(&ask(12)), 2);
    assert_eq!(reply(&world, "ada", "GET", "/users/me").status, 200);
    world.advance(2);
    assert_eq!(ask(12).status, 200);
    assert_eq!(wait(&ask(12)), 1);
    world.api.set_user_multiple(None);
    assert_eq!(ask(12).status, 200, "switched off");
    world.api.set_user_multiple(Some(10));
    world.advance(60);
    for n in 2..12 {
        assert_eq!(ask(n).status, 200, "a minute later all is there again");
    }
}

/// S120. The cost of replies is counted together, too.
#[test]
fn the_tokens_of_a_user_share_ten_times_the_credits() {
    let world = limited();
    let mut settings = world.api.token_limits();
    settings.cost_per_minute = Some(60);
    world.api.set_token_limits(settings);
    world.api.set_user_multiple(Some(2));
    let target = "/users/me?opt_fields=name,email,workspaces.name";
    let spend = |n: u32| {
        let token = format!("bob[users:read,workspaces:read]@{n}");
        let mut answered = 0;
        while reply(&world, &token, "GET", target).status == 200 {
            answered += 1;
        }
        answered
    };
    let all: Vec<u32> = (2..6).map(spend).collect();
    assert!(all[0] > 1 && all[0] == all[1], "{all:?}");
    assert_eq!(all[2..], [0, 0], "two are worth what there is: {all:?}");
}

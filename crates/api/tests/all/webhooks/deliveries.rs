//! Deliveries as a target sees them: signed, filtered, retried, given up.
use super::*;
use workgraph_api::background_error::RedeliveryError;
use workgraph_auth::token_digest;

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
        // Its time is that of the commit, after those of what was made before.
        let created_at = events[0]["created_at"].as_str().unwrap();
        assert!(
            created_at.starts_with("2026-01-15T09:30:00."),
            "{created_at}"
        );
        assert_eq!(
            *events[0],
            json!({
                "user": {"gid": world.gid("mel").to_string(), "resource_type": "user"},
                "resource": {"gid": task, "resource_type": "task"},
                "type": "task",
                "action": "added",
                "parent": {"gid": garden, "resource_type": "project"},
                "created_at": created_at,
            })
        );
        assert!(events.iter().any(|e| e["change"]["field"] == "name"));
        assert_eq!(world.deliver(), 0, "nothing is left");

        // A heartbeat follows after eight hours of silence, and not before.
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
    // The target is down for three hours.
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
        // A project that she may not see any more has no events at all.
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
        world.call("ada", "DELETE", &format!("/webhooks/{gid}"), &Value::Null);
        let refused = world.run(world.api.redeliver(id, log[0].id));
        assert!(matches!(refused, Err(RedeliveryError::NoWebhook(gone)) if gone == id));
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
        // The journal is kept for webhooks with waiting events, and only for them.
        let upto = world.run(world.api.maintain_webhooks()).unwrap();
        assert_eq!(upto, world.events(0).last().unwrap().seq);
    }
}

#[test]
fn there_are_so_many_webhooks_and_no_more() {
    use workgraph_webhooks::WebhookLimits;
    assert_eq!(
        WebhookLimits::default(),
        WebhookLimits {
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

/// The scopes of an app that has webhooks.
const SCOPES: &str = "webhooks:read,webhooks:write,webhooks:delete,tasks:read,projects:read";

#[test]
fn the_webhooks_of_an_app_end_with_its_last_refresh_token() {
    for (kind, revoked) in KINDS
        .into_iter()
        .flat_map(|kind| [(kind, true), (kind, false)])
    {
        let world = World::new(kind);
        let (connected, _) = world.connect("ada", 900, SCOPES, "app");
        let kept = [
            ("ada".to_owned(), "/echo/own"),
            (format!("ada[{SCOPES}]@2"), "/echo/other"),
            (format!("mel[{SCOPES}]"), "/echo/mel"),
        ];
        let ended = world.hook("app", "garden", "/echo/app", Value::Null);
        let kept =
            kept.map(|(reader, path)| (world.hook(&reader, "garden", path, Value::Null), reader));
        world.deliver();
        world.receiver.forget();
        let garden = world.gid("garden").to_string();
        let dig = json!({"name": "Dig", "projects": [garden]});
        world.post("mel", "/tasks", dig.clone());
        // Events that already wait are not sent any more either.
        world.run(world.api.scan_commits()).unwrap();
        let (ada, now) = (world.gid("ada").get(), world.now());
        let done = if revoked {
            world.run(world.oauth.revoke(connected.refresh, now))
        } else {
            world.run(world.oauth.deauthorize(connected.grant, ada, now))
        };
        assert_eq!(done, Ok(true));
        world.post("mel", "/tasks", dig);
        world.deliver();
        assert!(world.receiver.got("/echo/app").is_empty());
        assert!(!world.receiver.got("/echo/other").is_empty());
        let path = format!("/webhooks/{ended}");
        assert_eq!(world.get(&format!("ada[{SCOPES}]"), &path).status, 404);
        for (hook, reader) in kept {
            let status = world.get(&reader, &format!("/webhooks/{hook}")).status;
            assert_eq!(status, 200, "{reader}");
        }
    }
}

#[test]
fn an_app_that_is_let_go_during_the_handshake_gets_no_webhook() {
    for kind in KINDS {
        let mut world = World::new(kind);
        let (connected, _) = world.connect("ada", 900, SCOPES, "app");
        let leaving = Leaving {
            oauth: world.oauth.clone(),
            refresh: connected.refresh,
            at: world.now(),
        };
        world.carried_by(Arc::new(leaving));
        let data = json!({
            "resource": world.gid("garden").to_string(),
            "target": "https://hooks.test/echo/app",
        });
        let made = world.post("app", "/webhooks", data);
        assert_eq!(made.status, 401, "{}", made.text);
        assert!(world.run(world.hooks.all()).unwrap().is_empty());
    }
}

/// If a personal token is revoked during the handshake, no webhook is created that would outlive it.
#[test]
fn a_personal_token_that_is_revoked_during_the_handshake_makes_no_webhook() {
    for kind in KINDS {
        let mut world = World::new(kind);
        let shown = token_digest(&world.text("ada")).unwrap();
        let (record, _) = world.run(world.tokens.find_token(&shown)).unwrap().unwrap();
        let leaving = Leaving {
            oauth: world.oauth.clone(),
            refresh: record.id,
            at: world.now(),
        };
        world.carried_by(Arc::new(leaving));
        let data = json!({
            "resource": world.gid("garden").to_string(),
            "target": "https://hooks.test/echo/own",
        });
        let made = world.post("ada", "/webhooks", data);
        assert_eq!(made.status, 401, "{}", made.text);
        assert!(world.run(world.hooks.all()).unwrap().is_empty());
    }
}

/// A user who revokes all access gets no more events, by webhooks of personal tokens either.
#[test]
fn all_webhooks_of_a_user_end_with_all_access() {
    for kind in KINDS {
        let world = World::new(kind);
        world.hook("ada", "garden", "/echo/own", Value::Null);
        world.hook("mel", "garden", "/echo/mel", Value::Null);
        world.deliver();
        world.receiver.forget();
        let (ada, now) = (world.gid("ada").get(), world.now());
        world.run(world.tokens.revoke_all(ada, now)).unwrap();
        let garden = world.gid("garden").to_string();
        world.post(
            "mel",
            "/tasks",
            json!({"name": "Dig", "projects": [garden]}),
        );
        world.deliver();
        assert!(world.receiver.got("/echo/own").is_empty());
        assert!(!world.receiver.got("/echo/mel").is_empty());
    }
}

/// A target that completes the handshake while its app's authorization or its token is revoked.
struct Leaving {
    oauth: Arc<dyn OAuthStore>,
    refresh: u64,
    at: SystemTime,
}

#[async_trait]
impl WebhookClient for Leaving {
    async fn post(&self, attempt: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        self.oauth.revoke(self.refresh, self.at).await.unwrap();
        let (_, secret) = attempt.headers.first().cloned().unwrap();
        Ok(reply(204, Some(secret)))
    }
}

#[test]
fn an_app_that_is_switched_off_is_told_nothing_of_meanwhile() {
    for kind in KINDS {
        let world = World::new(kind);
        let (orchid, garden) = (world.gid("orchid").get(), world.gid("garden").to_string());
        world.connect("ada", 900, SCOPES, "app");
        world.hook("app", "garden", "/echo/app", Value::Null);
        world.deliver();
        world.receiver.forget();
        let on = world.run(world.oauth.app(900)).unwrap().unwrap();
        let off = App {
            disabled_in: vec![orchid],
            ..(*on).clone()
        };
        let put = |app: &App, was: &App| {
            world
                .run(world.oauth.put_app(app.clone(), Some(was)))
                .unwrap();
        };
        put(&off, &on);
        for (name, heard) in [("meanwhile", 0), ("after", 2)] {
            let data = json!({"name": name, "projects": [garden]});
            world.post("ada", "/tasks", data);
            world.deliver();
            let got = world.receiver.got("/echo/app");
            let events: usize = got.iter().map(|g| g.events.len()).sum();
            assert_eq!(events, heard, "{name}: {got:?}");
            if heard == 0 {
                put(&on, &off);
            }
        }
    }
}

#[test]
fn a_webhook_that_the_operator_deletes_is_gone_with_its_deliveries() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = world.hook("ada", "garden", "/echo/all", Value::Null);
        world.deliver();
        world.receiver.forget();
        let garden = format!("/projects/{}", world.gid("garden"));
        world.call("ada", "PUT", &garden, &json!({"notes": "Green"}));
        let id = gid.parse().unwrap();
        assert!(world.run(world.api.delete_webhook(id)).unwrap());
        assert!(!world.run(world.api.delete_webhook(id)).unwrap());
        assert_eq!(world.deliver(), 0);
        assert_eq!(world.get("ada", &format!("/webhooks/{gid}")).status, 404);
    }
}

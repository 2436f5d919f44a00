//! Limits that several processes share, as the gate asks for them: once for each request, beside the token where that
//! takes a trip too.
use super::{explained, header, limited, reply, wait};
use crate::world::{Kind, World};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_api::TokenLimits;
use workgraph_api::token_limits::STANDARD;
use workgraph_auth::{Account, Tier};
use workgraph_limits::shared_limiter::{
    AttemptOutcome, AttemptReceipt, SharedAnswer, SharedAttempt, SharedCounts, SharedMode,
};
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimitExceeded, LimitKey, LimiterSettings, LimiterState,
    LocalLimits, OwnerTotals, Permit, SharedLimiter, SharedRequest, UniformState,
};

/// Limiter that stands for one elsewhere: it has counts of its own, and nothing of this process counts.
#[derive(Debug)]
struct Elsewhere {
    limiter: DigestLimiter,
    totals: OwnerTotals<u64, UniformState>,
    asked: AtomicU32,
}

impl SharedLimiter for Elsewhere {
    fn admit<'a>(
        &'a self,
        request: &'a SharedRequest<'a>,
        _: LocalLimits<'a>,
        now: SystemTime,
    ) -> SharedAnswer<'a, Result<Permit, LimitExceeded>> {
        self.asked.fetch_add(1, Relaxed);
        let own = LocalLimits {
            limiter: &self.limiter,
            totals: &self.totals,
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            own.admit(request, now)
        })
    }

    fn attempt(&self, _: SharedAttempt) -> SharedAnswer<'_, Option<AttemptOutcome>> {
        Box::pin(async { None })
    }

    fn take_back(&self, _: &LimitKey, _: AttemptReceipt) {}

    fn state<'a>(
        &'a self,
        asked: AdmissionRequest<'a, LimitKey>,
        _: &'a DigestLimiter,
        now: SystemTime,
    ) -> SharedAnswer<'a, LimiterState> {
        Box::pin(async move { self.limiter.state(&asked, now) })
    }

    fn mode(&self) -> SharedMode {
        SharedMode::Exact
    }

    fn processes(&self) -> u32 {
        1
    }

    fn counts(&self) -> SharedCounts {
        SharedCounts::default()
    }
}

fn shared(world: &World) -> Arc<Elsewhere> {
    let limits = LimiterSettings::from(&TokenLimits::default());
    let elsewhere = Arc::new(Elsewhere {
        totals: OwnerTotals::new(&limits),
        limiter: DigestLimiter::new(limits),
        asked: AtomicU32::new(0),
    });
    world.api.set_shared_limiter(elsewhere.clone());
    elsewhere
}

fn sqlite() -> World {
    let mut world = World::new(Kind::Sqlite);
    world.limit();
    world
}

/// S72. S75. S82.
#[test]
fn the_limits_are_those_of_the_shared_limiter_and_each_request_asks_it_once() {
    for world in [limited(), sqlite()] {
        let elsewhere = shared(&world);
        for _ in 0..140 {
            assert_eq!(reply(&world, "bob", "GET", "/users/me").status, 200);
        }
        let read = json!({"relative_path": "/users/me", "method": "get"});
        let batch = json!({"data": {"actions": vec![read; 10]}}).to_string();
        let send = || world.reply(world.request("bob", "POST", "/batch", batch.clone()));
        assert_eq!(send().status, 200);
        assert_eq!(elsewhere.asked.load(Relaxed), 141);
        world.advance(20);
        assert_eq!(wait(&send()), 40, "none of the ten has room");
        assert_eq!(wait(&reply(&world, "bob", "GET", "/users/me")), 40);
        assert_eq!(elsewhere.asked.load(Relaxed), 143);
        let counts = elsewhere.limiter.counts();
        assert_eq!((counts.admitted, counts.of(STANDARD).refused), (141, 2));
        let own = world.api.limiter().counts();
        assert_eq!((own.admitted, own.of(STANDARD).refused), (0, 0));
    }
}

/// S86. The cost of a reply is taken where the request was admitted, and explained from there.
#[test]
fn costs_and_explanations_are_those_of_the_shared_limiter() {
    let world = limited();
    let elsewhere = shared(&world);
    let settings = TokenLimits {
        cost_per_minute: Some(10),
        ..TokenLimits::default()
    };
    elsewhere.limiter.set_settings(&(&settings).into());
    world.api.set_token_limits(settings);
    let first = explained(&world, "bob", "/users/me");
    let cost: u64 = header(&first, "Workgraph-Cost").unwrap().parse().unwrap();
    let left = header(&first, "RateLimit").unwrap();
    assert!(
        left.contains(&format!("\"cost\";r={}", 10 - cost)),
        "{left}"
    );
    let admitted = (0..20)
        .filter(|_| reply(&world, "bob", "GET", "/users/me").status == 200)
        .count() as u64;
    assert_eq!(admitted + 1, 10_u64.div_ceil(cost));
}

/// The limits are asked for while the token is looked up, with what it had before; the answer holds only if it has the
/// same now.
#[test]
fn an_answer_that_came_before_the_token_holds_for_this_token_alone() {
    let world = limited();
    let elsewhere = shared(&world);
    let quota = || {
        let left = explained(&world, "bob", "/users/me");
        let policy = header(&left, "RateLimit-Policy").unwrap();
        policy.split(';').nth(1).unwrap().to_owned()
    };
    assert_eq!((quota(), quota()), ("q=150".to_owned(), "q=150".to_owned()));
    assert_eq!(elsewhere.asked.load(Relaxed), 2);
    let account = Account::new(world.gid("bob").get(), Tier::new(1));
    world.run(world.tokens.put_account(account, None)).unwrap();
    assert_eq!(quota(), "q=1500");
    assert_eq!(
        elsewhere.asked.load(Relaxed),
        4,
        "asked again, with the new quota"
    );
    assert_eq!(quota(), "q=1500");
    assert_eq!(elsewhere.asked.load(Relaxed), 5);
    let key = workgraph_auth::token_digest(&world.text("bob"))
        .unwrap()
        .key();
    let asked = AdmissionRequest::new(&key);
    let running = elsewhere.limiter.state(&asked, world.now()).concurrent[0].running;
    assert_eq!(running, 0, "no permit is left over");
}

/// A token that is not valid, or no longer, uses nothing up.
#[test]
fn a_token_that_is_not_valid_is_asked_for_at_most_once() {
    let world = limited();
    let elsewhere = shared(&world);
    let send = |text: &str| {
        let mut request = world.request("bob", "GET", "/users/me", String::new());
        request.authorization = vec![format!("Bearer {text}")];
        world.reply(request).status
    };
    assert_eq!(send("1/0:nothing"), 401);
    assert_eq!(elsewhere.asked.load(Relaxed), 0);
    let own = world.text("bob");
    assert_eq!(send(&own), 200);
    let (bob, now) = (world.gid("bob").get(), world.now());
    world
        .run(world.tokens.set_disabled(bob, true, now))
        .unwrap();
    assert_eq!((send(&own), send(&own), send(&own)), (401, 401, 401));
    assert_eq!(elsewhere.asked.load(Relaxed), 2);
}

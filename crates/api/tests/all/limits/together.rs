//! The totals of a user: the limits of all tokens of a user together, beside those of each token.
use super::{header, limited, reply, wait};
use crate::world::World;
use serde_json::json;
use workgraph_api::limits::limit_overrides::{LimitOverride, LimitOverrides};

/// S120. A full total stops the requests that count against it, and no others.
#[test]
fn a_full_total_of_searches_stops_no_other_request_and_the_reverse() {
    let world = limited();
    world.api.set_user_multiple(Some(1));
    let mut settings = world.api.token_limits();
    (settings.standard.paid, settings.search_per_minute) = (3, 2);
    world.api.set_token_limits(settings);
    let search = format!(
        "/workspaces/{}/tasks/search?text=roses",
        world.gid("orchid")
    );
    let token = |n: u32| format!("ada[tasks:read,users:read]@{n}");
    let ask = |n, target: &str| reply(&world, &token(n), "GET", target);
    for _ in 0..2 {
        assert_eq!(ask(2, &search).status, 200);
    }
    assert_eq!(wait(&ask(3, &search)), 30);
    for _ in 0..3 {
        assert_eq!(ask(3, "/users/me").status, 200);
    }
    assert_eq!(wait(&ask(2, "/users/me")), 20);
    world.advance(30);
    assert_eq!(ask(4, "/users/me").status, 200);
    assert_eq!(wait(&ask(4, "/users/me")), 10);
    assert_eq!(ask(4, &search).status, 200, "searches go on meanwhile");
    // A token that may not search may do everything else.
    let own = LimitOverride {
        search: Some(0),
        ..LimitOverride::default()
    };
    world.api.set_limit_overrides(LimitOverrides {
        apps: [(905, own)].into(),
        ..LimitOverrides::default()
    });
    world.advance(60);
    assert_eq!(ask(5, "/users/me").status, 200);
    assert_eq!(ask(5, &search).status, 429);
}

/// S120. S82. The wait covers the token and all tokens of its user, no matter which of them refuses.
#[test]
fn the_wait_is_the_longest_of_a_token_and_of_all_tokens_of_its_user() {
    let limited = || {
        let world = limited();
        let mut settings = world.api.token_limits();
        settings.standard.free = 2;
        world.api.set_token_limits(settings);
        world.api.set_user_multiple(Some(1));
        world
    };
    let ask = |world: &World, n: u32| {
        let token = format!("bob[users:read]@{n}");
        reply(world, &token, "GET", "/users/me")
    };
    // Together they have one more after half a minute, but the attempts have used up the token's quota.
    let world = limited();
    for _ in 0..2 {
        assert_eq!(ask(&world, 2).status, 200);
    }
    assert_eq!(wait(&ask(&world, 3)), 30);
    assert_eq!(wait(&ask(&world, 3)), 60);
    world.advance(60);
    assert_eq!(ask(&world, 3).status, 200);

    // The early attempts of a token leave it five seconds before there is room for all together.
    let world = limited();
    for _ in 0..2 {
        assert_eq!(ask(&world, 2).status, 200);
    }
    world.advance(30);
    for wait_seconds in [30, 60] {
        assert_eq!(wait(&ask(&world, 2)), wait_seconds);
    }
    world.advance(55);
    for _ in 0..2 {
        assert_eq!(ask(&world, 3).status, 200);
    }
    assert_eq!(wait(&ask(&world, 2)), 30, "not 5");
    world.advance(30);
    assert_eq!(ask(&world, 2).status, 200);
}

/// S120. S82. A client that waits as long as the refusal says is never refused twice in a row while its user sends
/// nothing else, whatever all tokens of that user did before.
#[test]
fn after_the_wait_a_request_is_admitted_whatever_other_tokens_did() {
    let world = limited();
    let mut settings = world.api.token_limits();
    settings.standard.free = 6;
    settings.cost_per_minute = Some(20);
    world.api.set_token_limits(settings);
    world.api.set_user_multiple(Some(2));
    let mut state = 5_u64;
    let mut random = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % n
    };
    let read = json!({"relative_path": "/users/me", "method": "get"});
    let ask = |n: u64, actions: u64| {
        let token = format!("bob[users:read,workspaces:read]@{n}");
        if actions == 0 {
            return world.get(&token, "/users/me?opt_fields=name,workspaces.name");
        }
        let actions = vec![read.clone(); actions as usize];
        world.post(&token, "/batch", json!({ "actions": actions }))
    };
    let mut waited = 0;
    for _ in 0..600 {
        let (n, actions) = (2 + random(5), random(4));
        let answer = ask(n, actions);
        if answer.status == 429 && random(3) == 0 {
            let wait: u64 = header(&answer, "Retry-After").unwrap().parse().unwrap();
            world.advance(wait);
            let again = ask(n, actions);
            assert_ne!(again.status, 429, "{actions} actions after {wait} s");
            waited += 1;
        } else if random(4) == 0 {
            world.advance(random(5));
        }
    }
    assert!(waited > 50, "{waited}");
}

/// S120. The use of an app with a large quota of its own is a part of its own total, not of that of small tokens.
#[test]
fn a_token_with_a_large_quota_leaves_the_others_of_its_user_theirs() {
    let world = limited();
    let own = LimitOverride {
        standard: Some(10_000),
        ..LimitOverride::default()
    };
    world.api.set_limit_overrides(LimitOverrides {
        apps: [(902, own)].into(),
        ..LimitOverrides::default()
    });
    let ask = |n: u32| {
        let token = format!("bob[users:read]@{n}");
        reply(&world, &token, "GET", "/users/me").status
    };
    for _ in 0..2_000 {
        assert_eq!(ask(2), 200);
    }
    for _ in 0..150 {
        assert_eq!(ask(3), 200);
    }
    assert_eq!(ask(3), 429, "by its own quota");
    assert_eq!(ask(2), 200, "2,000 of 100,000 and 150 of 1,500 are 12 %");
}

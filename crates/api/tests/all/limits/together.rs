//! What all tokens of a user may use together, beside the limits of each.
use super::{limited, reply, wait};
use workgraph_api::limits::{Own, Quotas};

/// S120. A total without room stops what uses it, and nothing else.
#[test]
fn a_full_total_of_searches_stops_no_other_request_and_the_reverse() {
    let world = limited();
    world.api.set_user_multiple(Some(1));
    let mut settings = world.api.limiter().settings();
    (settings.standard.paid, settings.search_per_minute) = (3, 2);
    world.api.limiter().set(settings);
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
    // A token that may not search may do all else.
    let own = Own {
        search: Some(0),
        ..Own::default()
    };
    world.api.set_quotas(Quotas {
        apps: [(905, own)].into(),
        ..Quotas::default()
    });
    world.advance(60);
    assert_eq!(ask(5, "/users/me").status, 200);
    assert_eq!(ask(5, &search).status, 429);
}

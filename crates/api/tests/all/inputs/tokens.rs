//! Tokens in the query: only one request accepts them, and nothing stores them.
use super::world;
use crate::world::{Kind, World};
use workgraph_api::{ConnectionTokenCache, FastPathRequest, RequestOrigin};

/// S133.
#[test]
fn who_am_i_takes_its_token_from_the_query() {
    let world = world();
    let (ada, mel) = (world.text("ada"), world.text("mel"));
    let me = |token: &str, query: &str| world.get(token, &format!("/users/me?{query}"));
    for query in [
        format!("access_token={ada}"),
        format!("opt_fields=email&access_token={ada}"),
        format!("access_token={ada}&opt_pretty=true"),
    ] {
        let answer = me("-", &query);
        assert_eq!(
            (answer.status, answer.gid()),
            (200, world.gid("ada").to_string())
        );
    }
    assert_eq!(
        world
            .get("-", &format!("/users/me/?access_token={ada}"))
            .status,
        200
    );
    // A header wins, even a wrong one.
    assert_eq!(
        me("mel", &format!("access_token={ada}")).gid(),
        world.gid("mel").to_string()
    );
    let mut wrong = world.request(
        "ada",
        "GET",
        &format!("/users/me?access_token={ada}"),
        String::new(),
    );
    wrong.authorization = vec!["Bearer nonsense".to_owned()];
    assert_eq!(world.send(wrong).status, 401);
    for query in [
        "access_token=".to_owned(),
        "access_token=nonsense".to_owned(),
        "access_token=%zz".to_owned(),
        format!("access_token={ada}&access_token={mel}"),
        format!("access_token={ada}x"),
        format!("token={ada}"),
    ] {
        assert_eq!(me("-", &query).status, 401, "{query}");
    }
}

/// S133. Every other request ignores it, even one about the same user.
#[test]
fn nothing_else_takes_a_token_from_the_query() {
    let world = world();
    let ada = world.text("ada");
    for path in [
        "/workspaces".to_owned(),
        format!("/users/{}", world.gid("ada")),
        "/users/ada%40orchid.test".to_owned(),
        "/users/me/user_task_list".to_owned(),
        format!("/tasks/{}", world.gid("water")),
    ] {
        let answer = world.get("-", &format!("{path}?access_token={ada}"));
        assert_eq!(answer.status, 401, "{path}");
    }
    let put = world.call(
        "-",
        "PUT",
        &format!("/users/me?access_token={ada}"),
        &serde_json::json!({}),
    );
    assert_eq!(put.status, 401);
}

/// S133. The reply is cached for the query without the token, so no token stays where queries stay.
#[test]
fn a_token_of_a_query_is_kept_by_nothing() {
    // Nothing is cached over a token store without a version.
    let world = World::new(Kind::Sqlite);
    let last = ConnectionTokenCache::default();
    let header = format!("Bearer {}", world.text("ada"));
    let with_token = format!("opt_fields=email&access_token={}", world.text("ada"));
    let kept = |query: &str| {
        let glance = FastPathRequest {
            path: "/users/me",
            query,
            authorization: &header,
            base_url: None,
        };
        world.api.try_fast_path(&glance, &last).is_some()
    };
    for token in ["-", "ada"] {
        for _ in 0..3 {
            let origin = RequestOrigin {
                token_cache: Some(&last),
                ..RequestOrigin::default()
            };
            let target = format!("/users/me?{with_token}");
            let request = world.request(token, "GET", &target, String::new());
            let reply = world.run(world.api.handle_from(&request, origin));
            assert_eq!(reply.status, 200);
        }
    }
    assert!(
        kept("opt_fields=email"),
        "the same question is answered at once"
    );
    assert!(!kept(&with_token));
}

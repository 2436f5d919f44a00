//! The fast path: a read that is answered from memory alone is answered, counted and refused as any other.
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_api::{ApiResponse, ConnectionTokenCache, FastPathRequest, RequestOrigin};

/// A client with one connection.
struct Client {
    world: World,
    last: ConnectionTokenCache,
}

impl Client {
    fn new(kind: Kind) -> Self {
        Self {
            world: World::new(kind),
            last: ConnectionTokenCache::default(),
        }
    }

    /// Returns the reply of the fast path, if there is one.
    fn at_once(&self, token: &str, target: &str) -> Option<ApiResponse> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let glance = FastPathRequest {
            path,
            query,
            authorization: &format!("Bearer {}", self.world.text(token)),
            base_url: None,
        };
        self.world.api.try_fast_path(&glance, &self.last)
    }

    /// Returns the reply of the whole pipeline.
    fn handled(&self, token: &str, target: &str) -> ApiResponse {
        let origin = RequestOrigin {
            token_cache: Some(&self.last),
            ..RequestOrigin::default()
        };
        let request = self.world.request(token, "GET", target, String::new());
        self.world.run(self.world.api.handle_from(&request, origin))
    }

    /// Sends the request often enough for its reply to be cached.
    fn warm(&self, token: &str, target: &str) {
        for _ in 0..3 {
            assert_eq!(self.handled(token, target).status, 200, "{token} {target}");
        }
    }

    /// Returns the number of requests of a token that were counted.
    fn counted(&self, token: &str) -> u64 {
        let bearer = vec![format!("Bearer {}", self.world.text(token))];
        let reply = self
            .world
            .run(self.world.api.limits_response(&bearer, None));
        let json: Value = serde_json::from_slice(&reply.body).unwrap();
        json["data"]["limits"]["standard"]["used"].as_u64().unwrap()
    }
}

fn essentials(reply: &ApiResponse) -> (u16, &str, &str, Option<&str>, bool) {
    (
        reply.status,
        std::str::from_utf8(&reply.body).unwrap(),
        reply.operation,
        reply.header("Retry-After"),
        reply.permit.is_some(),
    )
}

/// Both ways give the same bytes, and count one request more on the account.
#[test]
fn a_reply_from_memory_is_that_of_the_whole_walk() {
    for kind in KINDS {
        let mut client = Client::new(kind);
        client.world.limit();
        let task = format!("/tasks/{}", client.world.gid("water"));
        for target in [
            "/users/me",
            "/users/me?opt_fields=name&opt_pretty",
            task.as_str(),
        ] {
            assert!(client.at_once("ada", target).is_none(), "never asked for");
            client.warm("ada", target);
            let before = client.counted("ada");
            let handled = client.handled("ada", target);
            let at_once = client.at_once("ada", target);
            assert_eq!(at_once.is_some(), kind == Kind::Sqlite, "{target}");
            let Some(at_once) = at_once else {
                assert_eq!(client.counted("ada"), before + 1, "nothing was counted");
                continue;
            };
            assert_eq!(essentials(&at_once), essentials(&handled), "{target}");
            assert_eq!(client.counted("ada"), before + 2, "{target}");
        }
    }
}

/// The cached reply is dropped at the first change of anything that it depends on.
#[test]
fn a_reply_from_memory_is_given_no_longer_than_it_is_true() {
    let client = Client::new(Kind::Sqlite);
    let world = &client.world;
    let task = format!("/tasks/{}", world.gid("water"));
    let reader = "ada[tasks:read]";
    // The token of an app makes a commit at its first use.
    world.text("ada[users:read]");
    client.warm(reader, &task);
    assert!(client.at_once(reader, &task).is_some());
    // With another query, path, set of scopes or token it is another request.
    assert!(
        client
            .at_once(reader, &format!("{task}?opt_pretty"))
            .is_none()
    );
    assert!(client.at_once(reader, "/users/me").is_none());
    assert!(client.at_once("ada", &task).is_none());
    assert!(client.at_once("ada[users:read]", &task).is_none());
    assert!(client.at_once(reader, &task).is_some());

    let put = world.call("ada", "PUT", &task, &json!({"name": "Renamed"}));
    assert_eq!(put.status, 200, "{}", put.text);
    assert!(client.at_once(reader, &task).is_none(), "it has changed");
    client.warm(reader, &task);
    let renamed = client.at_once(reader, &task).unwrap();
    assert!(essentials(&renamed).1.contains("Renamed"));

    // An app's token ends after an hour, without any action.
    world.advance(3_601);
    assert!(client.at_once(reader, &task).is_none(), "expired");
    assert_eq!(client.handled(reader, &task).status, 401);

    client.warm("ada", &task);
    assert!(client.at_once("ada", &task).is_some());
    let (ada, now) = (world.gid("ada").get(), world.now());
    for disabled in [true, false] {
        let switched = world.tokens.set_disabled(ada, disabled, now);
        world.run(switched).unwrap();
        assert!(client.at_once("ada", &task).is_none(), "switched off");
        assert_eq!(client.handled("ada", &task).status, 401);
    }
}

/// Over the quota, the fast path refuses with the same wait as any other request.
#[test]
fn a_reply_from_memory_is_refused_over_the_quota() {
    let mut client = Client::new(Kind::Sqlite);
    client.world.limit();
    client.warm("bob", "/users/me");
    let mut given = 3;
    let refused = loop {
        let reply = client.at_once("bob", "/users/me").unwrap();
        if reply.status == 429 {
            break reply;
        }
        given += 1;
        drop(reply);
    };
    assert_eq!(given, 150);
    let handled = client.handled("bob", "/users/me");
    assert_eq!(handled.status, 429);
    assert_eq!(essentials(&refused), essentials(&handled));
}

/// Records that are read again and again are kept close to the reader, but no longer than the state that they show.
#[test]
fn what_is_read_often_is_read_anew_after_a_change() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = format!("/tasks/{}", world.gid("water"));
        let shown = || {
            let mut last = Value::Null;
            // No two requests are the same, so each of them reads the store.
            for more in ["gid", "notes", "completed", "due_on", "liked", "start_on"] {
                let fields = format!("name,followers.name,projects.name,{more}");
                let got = world.get("ada", &format!("{task}?opt_fields={fields}"));
                assert_eq!(got.status, 200, "{}", got.text);
                last = got.json["data"].clone();
            }
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let project = text(&last["projects"][0]["name"]);
            let followers = last["followers"].as_array().unwrap().len();
            (text(&last["name"]), project, followers)
        };
        let before = shown();
        let project = format!("/projects/{}", world.gid("garden"));
        let moe = world.gid("moe").to_string();
        for (path, method, data) in [
            (task.clone(), "PUT", json!({"name": "Another"})),
            (project, "PUT", json!({"name": "Elsewhere"})),
            (
                format!("{task}/addFollowers"),
                "POST",
                json!({"followers": [moe]}),
            ),
        ] {
            let done = world.call("ada", method, &path, &data);
            assert_eq!(done.status, 200, "{}", done.text);
        }
        let after = ("Another".to_owned(), "Elsewhere".to_owned(), before.2 + 1);
        assert_eq!(shown(), after);
    }
}

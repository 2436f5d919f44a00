//! What a connection remembers of its token is true for as long as it is used.
use crate::world::{KINDS, World};
use serde_json::Value;
use workgraph_api::{Caller, LastToken};
use workgraph_auth::digest;

/// A token that a connection has shown before is refused from the moment it is revoked, or its
/// account switched off; and the next token on the connection is that token, and no other.
#[test]
fn a_connection_remembers_its_token_no_longer_than_it_is_good() {
    for kind in KINDS {
        let world = World::new(kind);
        let last = LastToken::default();
        let ask = |world: &World, token: &str| {
            let caller = Caller {
                last: Some(&last),
                ..Caller::default()
            };
            let request = world.request(token, "GET", "/users/me", String::new());
            let reply = world.run(world.api.handle_from(&request, caller));
            let json: Value = serde_json::from_slice(&reply.body).unwrap();
            (
                reply.status,
                json["data"]["gid"].as_str().map(str::to_owned),
            )
        };
        let me = |world: &World, who: &str| (200, Some(world.gid(who).to_string()));
        for who in ["ada", "ada", "mel", "mel", "ada"] {
            assert_eq!(ask(&world, who), me(&world, who));
        }
        let mel = world.gid("mel").get();
        let now = world.now();
        world
            .run(world.tokens.set_disabled(mel, true, now))
            .unwrap();
        assert_eq!(ask(&world, "ada"), me(&world, "ada"));
        assert_eq!(ask(&world, "mel").0, 401);
        world
            .run(world.tokens.set_disabled(mel, false, now))
            .unwrap();
        assert_eq!(ask(&world, "mel").0, 401, "its token is dead for good");
        let shown = digest(&world.text("ada")).unwrap();
        let (record, _) = world.run(world.tokens.find(&shown)).unwrap().unwrap();
        assert!(world.run(world.tokens.revoke(record.id, now)).unwrap());
        assert_eq!(ask(&world, "ada").0, 401);
    }
}

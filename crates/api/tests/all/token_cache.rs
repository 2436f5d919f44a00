//! The token cache of a connection is correct for as long as it is used.
use crate::world::{KINDS, World};
use serde_json::Value;
use workgraph_api::{ConnectionTokenCache, RequestOrigin};
use workgraph_auth::token_digest;

/// A token that a connection sent before is refused from the moment it is revoked, or its account switched off. The
/// next token on the connection is looked up by itself.
#[test]
fn a_connection_remembers_its_token_no_longer_than_it_is_good() {
    for kind in KINDS {
        let world = World::new(kind);
        let last = ConnectionTokenCache::default();
        let ask = |world: &World, token: &str| {
            let origin = RequestOrigin {
                token_cache: Some(&last),
                ..RequestOrigin::default()
            };
            let request = world.request(token, "GET", "/users/me", String::new());
            let reply = world.run(world.api.handle_from(&request, origin));
            let json: Value = serde_json::from_slice(&reply.body).unwrap();
            (
                reply.status,
                json["data"]["gid"].as_str().map(str::to_owned),
            )
        };
        let me = |world: &World, reader: &str| (200, Some(world.gid(reader).to_string()));
        for reader in ["ada", "ada", "mel", "mel", "ada"] {
            assert_eq!(ask(&world, reader), me(&world, reader));
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
        let shown = token_digest(&world.text("ada")).unwrap();
        let (record, _) = world.run(world.tokens.find_token(&shown)).unwrap().unwrap();
        assert!(world.run(world.tokens.revoke(record.id, now)).unwrap());
        assert_eq!(ask(&world, "ada").0, 401);
    }
}

//! Writes of a node whose number for new gids is leased.
use crate::world::{KINDS, World};
use serde_json::json;
use std::sync::Arc;
use workgraph_core::GidGenerator;
use workgraph_core::storage::LeasedGidStore;
use workgraph_wire::KeyRing;

/// S923.
#[test]
fn without_the_lease_on_its_number_a_node_writes_nothing_and_reads_on() {
    for kind in KINDS {
        let mut world = World::new(kind);
        let generator = Arc::new(GidGenerator::leased(1, 0, 1_800_000_000_000));
        world.graph = Arc::new(LeasedGidStore {
            store: Arc::clone(&world.graph),
            generator: Arc::clone(&generator),
        });
        world.restart(KeyRing::new(1, [7; 32]), 1);
        let project = world.gid("garden").to_string();
        let post = || {
            let body = json!({"data": {"name": "Dig", "projects": [project]}});
            let request = world.request("ada", "POST", "/tasks", body.to_string());
            world.run(world.api.handle(&request))
        };
        assert_eq!(post().status, 201);
        // The clock went on, and the lease was not renewed.
        generator.next(1_800_000_000_000);
        let refused = post();
        assert_eq!(refused.status, 503);
        assert!(refused.headers.contains(&("Retry-After", "5".to_owned())));
        assert_eq!(
            world.get("ada", &format!("/projects/{project}")).status,
            200
        );
        generator.renew(1_800_000_030_000);
        assert_eq!(post().status, 201);
    }
}

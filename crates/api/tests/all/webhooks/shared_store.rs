//! Deliveries of a store that several nodes share: one of them makes them, for as long as it holds the lease.
use super::partial_writes::{renamed, world_over};
use super::*;
use std::time::Duration;
use workgraph_webhooks::{AttemptRecord, DeliveryStateChange, WebhookStore};

const LEASE: Duration = Duration::from_secs(20);

fn rename(world: &World, task: &str) {
    world.run(world.graph.commit(renamed(world, task))).unwrap();
}

fn hold(world: &World, epoch: u64) {
    let held = world.api.hold_deliveries(epoch, Some(LEASE));
    world.run(held).unwrap();
}

fn events(world: &World, path: &str) -> usize {
    world
        .receiver
        .got(path)
        .iter()
        .map(|got| got.events.len())
        .sum()
}

/// S920.
#[test]
fn only_the_holder_of_the_lease_delivers_and_begins_nothing_near_its_end() {
    for kind in KINDS {
        let world = World::new(kind);
        world.hook("ada", "water", "/echo/a", Value::Null);
        world.deliver();
        world.api.yield_deliveries();
        rename(&world, "water");
        world.advance(9 * 3600);
        assert_eq!(world.deliver(), 0, "another node holds the lease");
        assert_eq!(
            world.api.next_delivery(),
            None,
            "so there is nothing to wake up for"
        );
        assert!(!world.api.holds_deliveries());

        hold(&world, 1);
        world.advance(9);
        assert_eq!(
            world.deliver(),
            0,
            "eleven seconds are too few for an attempt"
        );
        assert!(
            world.api.holds_deliveries(),
            "though the lease is still held"
        );
        hold(&world, 1);
        world.deliver();
        assert_eq!(
            events(&world, "/echo/a"),
            1,
            "what happened meanwhile is not lost"
        );

        rename(&world, "water");
        world.run(world.api.scan_commits()).unwrap();
        let taken = world.api.take_delivery().unwrap();
        world.advance(9);
        world.run(world.api.deliver(&taken)).unwrap();
        assert_eq!(
            events(&world, "/echo/a"),
            1,
            "it took too long until the request"
        );
        hold(&world, 1);
        world.deliver();
        assert_eq!(
            events(&world, "/echo/a"),
            2,
            "the next renewal makes room for it"
        );
        world.advance(20);
        assert!(
            !world.api.holds_deliveries(),
            "a lease that nobody renews ends"
        );
    }
}

/// S921.
#[test]
fn a_result_that_another_node_overtook_changes_nothing_and_is_logged() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = world.hook("ada", "water", "/down/a", Value::Null);
        let id: u64 = gid.parse().unwrap();
        world.deliver();
        world.advance(60);
        rename(&world, "water");
        world.run(world.api.scan_commits()).unwrap();
        let taken = world.api.take_delivery().unwrap();
        // The other node fails twice in the meantime.
        let mut stored = world.run(world.hooks.get(id)).unwrap().unwrap().state;
        for _ in 0..2 {
            let next = stored
                .after_failure(world.clock.0.now(), "503", None, 0)
                .unwrap();
            let change = DeliveryStateChange {
                from: stored,
                to: Some(next.clone()),
            };
            let record = world.hooks.record_attempt(id, Some(change), None);
            assert_eq!(world.run(record).unwrap(), AttemptRecord::Stored);
            stored = next;
        }
        let logged = world.run(world.hooks.deliveries(id, 100)).unwrap().len();
        world.run(world.api.deliver(&taken)).unwrap();
        let state = world.run(world.hooks.get(id)).unwrap().unwrap().state;
        assert_eq!(state, stored, "the late failure is not counted");
        let log = world.run(world.hooks.deliveries(id, 100)).unwrap();
        assert_eq!(log.len(), logged + 1, "but the request was made");
        assert_eq!(
            world.api.next_delivery(),
            state.next_attempt_at,
            "it is read again"
        );
    }
}

/// S922.
#[test]
fn webhooks_that_other_nodes_make_change_and_delete_are_noticed() {
    let (mut world, store) = world_over(Kind::Memory, Some(AtomicU64::new(0)));
    let kept = world.hook("ada", "water", "/echo/kept", Value::Null);
    let gone = world.hook("ada", "water", "/echo/gone", Value::Null);
    // One that is not in the store yet.
    let other: u64 = world
        .hook("ada", "water", "/echo/other", Value::Null)
        .parse()
        .unwrap();
    let other = world.run(world.hooks.get(other)).unwrap().unwrap();
    assert!(world.run(world.hooks.remove(other.id)).unwrap());
    hold(&world, 1);
    world.deliver();
    let (id, gone) = (kept.parse().unwrap(), gone.parse().unwrap());
    // As another node does it: in the store, not through this API.
    let deleted = [json!({"resource_type": "task", "action": "deleted"})];
    let filters = workgraph_webhooks::EventFilter::read_all(&json!(deleted)).unwrap();
    assert!(world.run(store.set_filters(id, filters)).unwrap());
    assert!(world.run(store.remove(gone)).unwrap());
    world.run(store.insert(other, Default::default())).unwrap();
    rename(&world, "water");
    world.run(world.api.scan_commits()).unwrap();

    world.advance(1);
    hold(&world, 1);
    world.receiver.forget();
    world.deliver();
    assert_eq!(events(&world, "/echo/kept"), 0, "its filters changed");
    assert_eq!(events(&world, "/echo/gone"), 0);
    assert_eq!(
        events(&world, "/echo/other"),
        1,
        "also what came before the look"
    );
    // A node that took over in between reads all of it.
    world.restart(KeyRing::new(1, [7; 32]), 1);
    hold(&world, 2);
    rename(&world, "water");
    world.deliver();
    assert_eq!(events(&world, "/echo/other"), 2);
}

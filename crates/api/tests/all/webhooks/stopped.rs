//! Deliveries whose work is stopped, or takes longer than their lease.
use super::*;
use crate::interrupts::After;
use workgraph_api::features::webhooks::service::DeliveryAttempt;
use workgraph_core::InterruptReason;

/// Builds a world with a webhook that has more waiting events than fit one delivery.
fn scene(kind: Kind) -> World {
    let world = World::new(kind);
    let garden = world.gid("garden").to_string();
    world.hook("ada", "garden", "/echo/a", Value::Null);
    world.deliver();
    world.receiver.forget();
    for n in 0..60 {
        let task = json!({"name": format!("leaf {n}"), "projects": [garden]});
        assert_eq!(world.post("ada", "/tasks", task).status, 201);
    }
    world
}

fn take(world: &World) -> DeliveryAttempt {
    world.run(world.api.scan_commits()).unwrap();
    world.api.take_delivery().unwrap()
}

/// Returns the number of events of each delivery.
fn sizes(world: &World) -> Vec<usize> {
    let got = world.receiver.got("/echo/a");
    got.iter().map(|got| got.events.len()).collect()
}

#[test]
fn a_delivery_that_takes_too_long_is_made_in_smaller_parts() {
    for kind in KINDS {
        let world = scene(kind);
        for _ in 0..2 {
            let taken = take(&world);
            let late = After::new(0, InterruptReason::Deadline);
            let stopped = world.api.deliver_interruptible(&taken, Some(late));
            world.run(stopped).unwrap();
            assert!(sizes(&world).is_empty());
        }
        world.deliver();
        assert_eq!(sizes(&world), [25, 50, 45]);
        let log = world.run(world.api.all_webhooks()).unwrap();
        assert_eq!(log[0].state.retries, 0, "its target has not failed");
    }
}

#[test]
fn a_delivery_that_is_abandoned_is_made_when_its_lease_ends() {
    for kind in KINDS {
        let world = scene(kind);
        let taken = take(&world);
        let abandoned = After::new(0, InterruptReason::Abandoned);
        let stopped = world.api.deliver_interruptible(&taken, Some(abandoned));
        assert!(world.run(stopped).is_err());
        assert_eq!(world.deliver(), 0, "it is leased");
        world.advance(31);
        world.deliver();
        assert_eq!(sizes(&world), [100, 20]);
    }
}

#[test]
fn a_delivery_that_was_put_together_after_its_lease_is_left_to_its_successor() {
    for kind in KINDS {
        let world = scene(kind);
        let first = take(&world);
        world.advance(31);
        let second = take(&world);
        world.run(world.api.deliver(&first)).unwrap();
        assert!(sizes(&world).is_empty());
        world.run(world.api.deliver(&second)).unwrap();
        assert_eq!(sizes(&world), [100]);
    }
}

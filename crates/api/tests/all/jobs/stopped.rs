//! Steps whose work is stopped.
use super::*;
use crate::budget::{ask_for_export, path, reason, thicket};
use crate::interrupts::After;
use workgraph_core::Interrupted;

/// Takes a job up that is not at its end.
fn take_up(world: &World) -> Box<Held> {
    match world.run(world.api.take_up()).unwrap() {
        Taken::Job(held) => held,
        Taken::Later(at) => panic!("nothing before {at:?}"),
    }
}

/// Carries a job to its end, each step of which is at its deadline at the first check. Gives how often its rows were
/// halved at most.
fn carry_out(world: &World) -> u32 {
    let (mut held, mut narrowed) = (take_up(world), 0);
    loop {
        // Nearly as long as a lease.
        world.advance(20);
        let late = After::new(0, Interrupted::Deadline);
        match world.run(world.api.go_on_under(&held, Some(late))).unwrap() {
            Gone::On(next) => held = next,
            Gone::Ended(_) => return narrowed,
            Gone::Lost => panic!("nobody else has it"),
        }
        narrowed = narrowed.max(held.narrowed);
        let other = world.run(world.api.take_up()).unwrap();
        assert!(matches!(other, Taken::Later(_)), "it is leased");
    }
}

#[test]
fn a_job_whose_step_is_abandoned_waits_for_the_end_of_its_lease() {
    for kind in KINDS {
        let world = world(kind, 130);
        let job = duplicate(&world, "ada").gid();
        let mut held = take_up(&world);
        loop {
            let abandoned = After::new(0, Interrupted::Abandoned);
            match world.run(world.api.go_on_under(&held, Some(abandoned))) {
                Ok(Gone::On(next)) => held = next,
                Ok(gone) => panic!("no step of it is long: {gone:?}"),
                Err(_) => break,
            }
        }
        assert_eq!(status(&world, &job), "in_progress");
        assert_eq!(world.work(), 0, "it is leased");
        world.advance(31);
        world.work();
        assert_eq!(status(&world, &job), "succeeded");
    }
}

#[test]
fn a_job_whose_steps_take_too_long_goes_on_in_smaller_ones() {
    for kind in KINDS {
        let world = World::build(kind, Default::default(), thicket);
        let records = |job: &str| {
            assert_eq!(status(&world, job), "succeeded");
            let job = world.get("ada", &format!("/jobs/{job}")).json;
            let file = job["data"]["new_resource_export"]["gid"].as_str().unwrap();
            world.files.records(file).len()
        };
        let fields = [
            "followers.name",
            "projects.name",
            "memberships.section.name",
        ];
        let whole = ask_for_export(&world, &fields);
        world.work();
        let late = ask_for_export(&world, &fields);
        assert!(carry_out(&world) > 0);
        assert_eq!(records(&late), records(&whole));
    }
}

#[test]
fn a_job_whose_step_takes_too_long_for_one_record_fails() {
    for kind in KINDS {
        let world = World::build(kind, Default::default(), thicket);
        let job = ask_for_export(&world, &[&path("dependencies", "dependents", 2)]);
        assert!(carry_out(&world) > 0);
        assert_eq!(status(&world, &job), "failed");
        assert_eq!(reason(&world, &job), "A step of it took too long.");
    }
}

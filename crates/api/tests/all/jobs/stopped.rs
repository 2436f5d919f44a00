//! Steps whose work is stopped.
use super::*;
use crate::budget::{ask_for_export, path, reason, thicket};
use crate::interrupts::After;
use workgraph_core::InterruptReason;

/// Claims a job that has not ended.
fn take_up(world: &World) -> Box<LeasedJob> {
    match world.run(world.api.lease_next_job()).unwrap() {
        NextJob::Job(leased_job) => leased_job,
        NextJob::Later(at) => panic!("nothing before {at:?}"),
    }
}

/// Runs a job to its end, with the deadline of each step at its first check. Returns the most times that its rows were
/// halved.
fn carry_out(world: &World) -> u32 {
    let (mut leased_job, mut narrowed) = (take_up(world), 0);
    loop {
        // Nearly the length of a lease.
        world.advance(20);
        let late = After::new(0, InterruptReason::Deadline);
        match world
            .run(
                world
                    .api
                    .run_job_step_interruptible(&leased_job, Some(late)),
            )
            .unwrap()
        {
            JobProgress::Continues(next) => leased_job = next,
            JobProgress::Ended(_) => return narrowed,
            JobProgress::LeaseLost => panic!("nobody else has it"),
        }
        narrowed = narrowed.max(leased_job.halvings);
        let other = world.run(world.api.lease_next_job()).unwrap();
        assert!(matches!(other, NextJob::Later(_)), "it is leased");
    }
}

#[test]
fn a_job_whose_step_is_abandoned_waits_for_the_end_of_its_lease() {
    for kind in KINDS {
        let world = world(kind, 130);
        let job = duplicate(&world, "ada").gid();
        let mut leased_job = take_up(&world);
        loop {
            let abandoned = After::new(0, InterruptReason::Abandoned);
            match world.run(
                world
                    .api
                    .run_job_step_interruptible(&leased_job, Some(abandoned)),
            ) {
                Ok(JobProgress::Continues(next)) => leased_job = next,
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

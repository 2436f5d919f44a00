//! Claims of jobs that make no progress, releases, and cancellations.
use super::*;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// S99.
#[test]
fn a_job_that_was_taken_up_twice_and_came_no_further_has_failed() {
    for kind in KINDS {
        let world = world(kind, 130);
        let job = duplicate(&world, "ada");
        for _ in 0..2 {
            assert!(die_after(&world, 0));
            world.advance(31);
            assert_eq!(status(&world, &job.gid()), "in_progress");
        }
        assert_eq!(world.work(), 0, "it is not tried again");
        assert_eq!(status(&world, &job.gid()), "failed");
        assert_eq!(world.run(active(&*world.graph, world.gid("ada"))), 0);
    }
}

#[test]
fn a_step_that_is_done_sets_the_count_of_take_ups_back() {
    let world = world(Kind::Memory, 130);
    let job = duplicate(&world, "ada");
    for _ in 0..6 {
        // The second runner's first step is kept, with any result.
        for steps in [0, 1] {
            assert!(die_after(&world, steps));
            world.advance(31);
        }
    }
    world.work();
    assert_eq!(status(&world, &job.gid()), "succeeded");
}

#[test]
fn a_job_that_is_given_back_does_not_count_as_tried() {
    let world = world(Kind::Memory, 130);
    let job = duplicate(&world, "ada");
    for at_once in [true, false, true, false, true] {
        let Ok(NextJob::Job(leased_job)) = world.run(world.api.lease_next_job()) else {
            panic!("it can be taken up");
        };
        world
            .run(world.api.release_job(&leased_job, at_once))
            .unwrap();
        if !at_once {
            let early = world.run(world.api.lease_next_job());
            assert!(matches!(early, Ok(NextJob::Later(Some(_)))), "leased");
            world.advance(31);
        }
    }
    world.work();
    assert_eq!(status(&world, &job.gid()), "succeeded");
}

#[test]
fn a_job_that_is_cancelled_ends_even_while_it_is_carried_out() {
    let world = world(Kind::Memory, 130);
    let job = duplicate(&world, "ada");
    let Ok(NextJob::Job(leased_job)) = world.run(world.api.lease_next_job()) else {
        panic!("a job waits");
    };
    world.run(world.api.cancel_job(leased_job.gid())).unwrap();
    let gone = world.run(world.api.run_job_step(&leased_job)).unwrap();
    assert!(matches!(gone, JobProgress::LeaseLost), "{gone:?}");
    assert_eq!(status(&world, &job.gid()), "failed");
    assert!(world.run(world.api.cancel_job(leased_job.gid())).is_err());
}

#[test]
fn a_job_that_came_no_further_with_a_dead_runner_waits_before_it_is_tried_again() {
    let world = world(Kind::Memory, 130);
    let job = duplicate(&world, "ada");
    assert!(die_after(&world, 0));
    world.run(world.api.release_dead_leases()).unwrap();
    assert_eq!(world.work(), 0);
    world.advance(2);
    world.work();
    assert_eq!(status(&world, &job.gid()), "succeeded");
}

/// The second runner reads the queue before the first claims the job, and the job after that.
#[test]
fn a_runner_with_an_old_look_at_the_queue_leaves_a_job_that_was_taken_up_meanwhile() {
    let world = world(Kind::Memory, 130);
    duplicate(&world, "ada");
    world.hesitate(true);
    world.run(async {
        let mut late = pin!(world.api.lease_next_job());
        let looked = poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx))).await;
        assert!(looked.is_pending(), "it has read the queue");
        world.hesitate(false);
        let first = world.api.lease_next_job().await.unwrap();
        assert!(matches!(first, NextJob::Job(_)));
        assert!(matches!(late.await, Ok(NextJob::Later(_))));
        let jobs = world.api.jobs().await.unwrap();
        assert_eq!(jobs[0].job.record.claims, 1);
    });
}

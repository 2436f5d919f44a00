//! Many writes at once, which all decide from the same state: those that meet come one after the other, the others don't wait.
use super::{Racer, post};
use crate::world::{KINDS, World, no_limits};
use serde_json::json;
use std::future::poll_fn;
use std::task::Poll;
use workgraph_api::TokenLimits;

/// Runs requests against each other; returns the number of those that were accepted.
fn accepted(world: &World, racers: &[Racer<'_>]) -> usize {
    let requests = racers.iter().map(|(token, method, target, data)| {
        let body = json!({ "data": data }).to_string();
        world.request(token, method, target, body)
    });
    let requests: Vec<_> = requests.collect();
    world.api.set_token_limits(TokenLimits {
        concurrent_writes: 1_000,
        ..no_limits()
    });
    world.hesitate(true);
    let calls = requests.iter().map(|request| world.api.handle(request));
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut accepted = 0;
    world.run(poll_fn(|cx| {
        calls.retain_mut(|call| match call.as_mut().poll(cx) {
            Poll::Ready(reply) => {
                accepted += usize::from(reply.status < 300);
                false
            }
            Poll::Pending => true,
        });
        match calls.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }));
    world.hesitate(false);
    accepted
}

#[test]
fn tasks_that_many_create_in_one_project_do_not_conflict() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let moe = world.gid("moe").to_string();
        let new = |number: usize| {
            let data = json!({
                "name": format!("Task {number}"), "projects": [garden], "assignee": moe,
                "due_on": "2026-02-01", "followers": [world.gid("mel").to_string()],
            });
            post("/tasks".to_owned(), data)
        };
        let racers: Vec<Racer<'_>> = (0..64).map(new).collect();
        assert_eq!(accepted(&world, &racers), 64, "{kind:?}");
        assert_eq!(world.conflicts(), 0, "{kind:?}");
    }
}

#[test]
fn edits_of_one_task_by_many_all_come_through() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/tasks/{}", world.gid("water"));
        let edit = |number: usize| {
            let data = json!({"name": format!("Name {number}")});
            ("ada", "PUT", at.clone(), data)
        };
        let racers: Vec<Racer<'_>> = (0..100).map(edit).collect();
        assert_eq!(accepted(&world, &racers), 100, "{kind:?}");
        assert!(world.conflicts() >= 99, "{kind:?}: they meet");
    }
}

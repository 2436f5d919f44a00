//! Jobs of a user: never more than five, even if requests come at once. The queue of all jobs: none is left out.
use super::*;
use workgraph_core::jobs;
use workgraph_core::storage::{Changes, EdgeWrite};

/// S37. S38. S78.
#[test]
fn the_sixth_job_is_429_until_one_ends_and_polling_goes_on() {
    for kind in KINDS {
        let world = world(kind, 3);
        let first = duplicate(&world, "ada");
        for _ in 0..4 {
            assert_eq!(duplicate(&world, "ada").status, 201);
        }
        let sixth = duplicate(&world, "ada");
        assert_eq!(sixth.status, 429, "{}", sixth.text);
        let wait = sixth
            .headers
            .iter()
            .find(|(n, _)| *n == "Retry-After")
            .unwrap();
        assert!((1..=60).contains(&wait.1.parse::<u32>().unwrap()));
        assert_eq!(duplicate(&world, "mel").status, 201, "each user has five");
        assert_eq!(
            world.get("ada", &format!("/jobs/{}", first.gid())).status,
            200
        );
        assert_eq!(world.get("ada", "/users/me").status, 200);
        // One job ends.
        let Ok(NextJob::Job(mut leased_job)) = world.run(world.api.lease_next_job()) else {
            panic!("jobs wait");
        };
        while let JobProgress::Continues(next) =
            world.run(world.api.run_job_step(&leased_job)).unwrap()
        {
            leased_job = next;
        }
        assert_eq!(duplicate(&world, "ada").status, 201);
        assert_eq!(duplicate(&world, "ada").status, 429);
    }
}

/// Every limit is a setting, and this one changes while jobs run.
#[test]
fn how_many_places_there_are_can_be_changed() {
    for kind in KINDS {
        let world = world(kind, 3);
        let starts = |most: u32| {
            world.api.set_jobs_per_user_max(most);
            duplicate(&world, "ada")
        };
        assert_eq!([starts(2), starts(2)].map(|reply| reply.status), [201, 201]);
        let third = starts(2);
        assert_eq!(third.status, 429, "{}", third.text);
        assert!(third.text.contains(": 2 jobs of yours"), "{}", third.text);
        assert_eq!(starts(3).status, 201);
        assert_eq!(starts(1).status, 429, "those that run go on");
    }
}

/// Returns the number of a user's unfinished jobs in the store.
pub(super) async fn active(store: &dyn GraphStore, user: Gid) -> usize {
    let key = ViewerKey {
        user,
        service: None,
    };
    let view = store
        .load(&ReadQuery::of(key).incoming_edges(user, rel::ACTIVE, 100))
        .await
        .unwrap();
    view.sources(user, rel::ACTIVE).len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// S78. Starts, steps, deaths and passing time in any order.
    #[test]
    fn never_more_than_five_jobs_of_a_user(acts in prop::collection::vec(0u8..6, 1..40)) {
        let world = world(Kind::Memory, 3);
        let ada = world.gid("ada");
        let mut leased_job: Vec<LeasedJob> = Vec::new();
        for act in acts {
            match act {
                0..=2 => {
                    let before = world.run(active(&*world.graph, ada));
                    let status = duplicate(&world, "ada").status;
                    prop_assert_eq!(status, if before < 5 { 201 } else { 429 });
                }
                3 => if let NextJob::Job(job) = world.run(world.api.lease_next_job()).unwrap() {
                    leased_job.push(*job);
                },
                4 => if let Some(job) = leased_job.pop()
                    && let JobProgress::Continues(job) = world.run(world.api.run_job_step(&job)).unwrap()
                {
                    leased_job.insert(0, *job);
                },
                _ => world.advance(20),
            }
            prop_assert!(world.run(active(&*world.graph, ada)) <= 5);
        }
    }
}

/// S78. Many threads start jobs at once, on the stores that have real writers; on PostgreSQL at three nodes.
#[test]
fn of_many_threads_that_start_jobs_five_succeed() {
    for world in [Some(world(Kind::Sqlite, 3)), World::of_nodes()] {
        let Some(world) = world else { continue };
        let herbs = world.gid("herbs");
        let body = json!({"data": {"name": "Copy", "team": world.gid("gardeners").to_string()}});
        let path = format!("/projects/{herbs}/duplicate");
        for _ in 0..5 {
            let answers: Vec<u16> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..12)
                    .map(|_| {
                        let request = world.request("ada", "POST", &path, body.to_string());
                        let api = world.next_node();
                        scope.spawn(move || {
                            let mut runtime = tokio::runtime::Builder::new_current_thread();
                            let runtime = runtime.build().unwrap();
                            runtime.block_on(api.handle(&request)).status
                        })
                    })
                    .collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            let count = |status| answers.iter().filter(|s| **s == status).count();
            assert_eq!((count(201), count(429)), (5, 7), "{answers:?}");
            world.work();
        }
    }
}

#[test]
fn a_dead_runners_job_is_found_behind_however_many_that_wait() {
    let world = world(Kind::Sqlite, 130);
    let job = duplicate(&world, "ada");
    die_after(&world, 2);
    let (at, queue) = (now(&world), jobs::queue());
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let view = world.run(world.graph.load(&ReadQuery::of(key).node(queue.clone())));
    let queue = view.unwrap().resolve(&queue).unwrap();
    // These are no valid jobs, so they do nothing; here it matters that they are first in the queue.
    let path = format!("/projects/{}/tasks?limit=100", world.gid("forest"));
    let page = world.get("ada", &path).json["data"].clone();
    let links = page.as_array().unwrap().iter().map(|task| EdgeWrite {
        src: Gid::parse(task["gid"].as_str().unwrap()).unwrap(),
        rel: rel::QUEUE,
        dst: queue,
        position: ListPosition::Rank(at.millis() - 1),
        aux: None,
    });
    let changes = Changes {
        time: at,
        edge_writes: links.collect(),
        ..Changes::default()
    };
    assert_eq!(changes.edge_writes.len(), 100);
    world.run(world.graph.commit(changes)).unwrap();
    let listed = world.run(world.api.jobs()).unwrap();
    assert!(
        listed
            .iter()
            .any(|one| one.job.gid().to_string() == job.gid())
    );
    world.run(world.api.release_dead_leases()).unwrap();
    let again = world.run(world.api.jobs()).unwrap();
    assert!(
        again.iter().all(|one| one.available_from <= at),
        "it may be taken up at once"
    );
}

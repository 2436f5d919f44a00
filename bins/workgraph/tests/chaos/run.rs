//! One history: clients, faults, and the state in the end.
use crate::clients::{Client, Shared};
use crate::common::{Seeded, clock};
use crate::end_state;
use crate::history::{Entry, History, LimitFacts};
use crate::nemesis::{Bounds, haunt, plan};
use crate::node::{CAPS, QUOTA};
use crate::permits;
use crate::receiver::Receiver;
use crate::scene::{NODES, Scene, redis_socket};
use crate::template::Template;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// Clients that work on tasks.
const TASK_CLIENTS: u64 = 3;
/// Text in the log of a node that decides about limits alone.
const ALONE: &str = "this node decides with its part of each";

/// Runs a history. Returns `None` if this machine has no PostgreSQL or no Redis.
///
/// # Panics
/// Panics if what must always work does not, such as starting a node when nothing is wrong.
pub(crate) fn run(template: &Template, seed: u64, bounds: &Bounds) -> Option<History> {
    let mut scene = Scene::start(template, bounds.with_failover)?;
    let began = clock();
    let receiver = Receiver::start(began, seed);
    let mut first = Client::new(&shared(&scene, began, String::new()), seed);
    let (project, sync) = end_state::prepare(&mut first, receiver.port);
    let shared = shared(&scene, began, project);
    let mut random = Seeded(seed ^ 0x5eed);
    let mut start = |work: fn(&mut Client)| {
        let mut client = Client::new(&shared, random.next());
        thread::spawn(move || work(&mut client))
    };
    let mut workers: Vec<_> = (0..TASK_CLIENTS)
        .map(|_| start(Client::work_on_tasks))
        .collect();
    workers.push(start(Client::read_lists));
    workers.push(start(Client::use_tokens));
    workers.push(start(Client::obey_quota));
    workers.push(start(Client::obey_cost));
    workers.push(start(Client::push_limit));
    workers.push(start(Client::run_jobs));
    let mut follower = Client::new(&shared, random.next());
    let streamed = thread::spawn(move || follower.read_events(&sync));
    let (socket, own) = (redis_socket(&scene.redis), Arc::clone(&shared));
    let permits = thread::spawn(move || permits::watch(&socket, || own.is_over()));

    let faults = plan(seed, bounds);
    let mut windows = haunt(&mut scene, &shared, &faults, bounds);
    let worked = shared.now();
    scene.heal();
    shared.is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().unwrap();
    }
    let mut last = Client::new(&shared, random.next());
    let delivered = |task: &str| {
        let all = receiver.deliveries();
        let answered = all.iter().filter(|delivery| delivery.is_answered);
        answered
            .flat_map(|delivery| &delivery.events)
            .any(|event| event.task == task)
    };
    let settled = end_state::settle(&mut last, delivered);
    shared.is_settled.store(true, Ordering::Relaxed);
    let streamed = streamed.join().unwrap();
    let mut end = end_state::read(&scene, &mut last);
    if let Err(reason) = settled {
        end.failed_checks.push(reason);
    }
    windows.sort_by_key(|window| window.begun);
    let logs: Vec<String> = scene.nodes.iter().map(crate::node::Node::log).collect();
    let count = |name: &str| windows.iter().filter(|w| w.name.contains(name)).count();
    let (of_redis, flushes) = (count("Redis"), count("flush"));
    let starts: usize = scene.nodes.iter().map(crate::node::Node::starts).sum();
    let mut entries: Vec<Entry> = shared.entries.lock().unwrap().clone();
    entries.sort_by_key(|entry| entry.begun);
    let history = History {
        nodes: NODES,
        worked,
        entries,
        deliveries: receiver.deliveries(),
        streamed,
        faults: windows,
        permits: permits.join().unwrap(),
        limits: LimitFacts {
            quota: QUOTA,
            read_cap: CAPS[0],
            write_cap: CAPS[1],
            is_local: of_redis > flushes || logs.iter().any(|log| log.contains(ALONE)),
            flushes,
            restarts: starts - NODES,
        },
        end,
    };
    let reasons: BTreeSet<&str> = logs
        .iter()
        .flat_map(|log| log.lines())
        .filter(|l| l.contains("panicked"))
        .collect();
    assert!(reasons.is_empty(), "{reasons:?}");
    scene.remove();
    Some(history)
}

fn shared(scene: &Scene, began: Instant, project: String) -> Arc<Shared> {
    Arc::new(Shared {
        began,
        access: scene.access.clone(),
        ports: scene.ports.clone(),
        project,
        entries: Mutex::default(),
        tasks: Mutex::default(),
        next_value: 1.into(),
        next_token: 0.into(),
        is_over: false.into(),
        is_settled: false.into(),
    })
}

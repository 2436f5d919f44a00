//! Measures loads, pages and commits: `cargo run --release --example measure -- [tasks] [folder]`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that fails may stop"
)]
use std::time::Instant;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{GraphStore, Page, ViewerKey, Want};
use workgraph_core::plan;
use workgraph_core::registry::Type;
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::{Fixture, Scratch};

/// Tasks of one project.
const PER_PROJECT: usize = 1000;

#[expect(clippy::disallowed_methods, reason = "measuring is what this is for")]
fn now() -> Instant {
    Instant::now()
}

/// Runs something many times and prints what one run takes.
fn each(what: &str, times: usize, mut run: impl FnMut(usize)) {
    for n in 0..times / 10 {
        run(n);
    }
    let start = now();
    for n in 0..times {
        run(n);
    }
    println!(
        "{what}: {:.2} us",
        start.elapsed().as_secs_f64() * 1e6 / times as f64
    );
}

fn memory_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let count: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let scratch = Scratch::new("measure");
    let folder = args
        .next()
        .map_or_else(|| scratch.path().to_owned(), Into::into);
    println!("memory before: {} KiB", memory_kib("VmRSS"));
    let store = SqliteStore::open(&folder, Options::default()).unwrap();
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    block_on(store.commit(fixture.take())).unwrap();
    let viewer = ViewerKey {
        user: ann,
        service: None,
    };
    let page = |anchor: Gid| {
        let mut want = Want::of(viewer);
        let at = want.add(anchor);
        let from = workgraph_core::tasks_of_container(at, false);
        let filters = Vec::new();
        want.page = Some(Page {
            from,
            filters,
            after: None,
            limit: 100,
            upto: None,
            open: true,
            seen: 0,
            cap: u32::MAX,
        });
        want.page_plan = Some(plan::compact(Type::Task));
        want
    };
    block_on(store.load(&Want::of(viewer).node(acme))).unwrap();
    println!("memory when idle: {} KiB", memory_kib("VmRSS"));

    let start = now();
    let (mut tasks, mut projects) = (Vec::new(), Vec::new());
    for n in 0..count {
        if n % PER_PROJECT == 0 {
            projects.push(fixture.project(acme, &format!("project {n}"), ann));
        }
        let section = projects.last().map(|p| fixture.section_in(*p)).unwrap();
        tasks.push(fixture.task_in(section, &format!("task number {n}"), ann));
        if n % 100 == 99 {
            block_on(store.commit(fixture.take())).unwrap();
        }
    }
    block_on(store.commit(fixture.take())).unwrap();
    println!(
        "{count} tasks made in {:.2} s",
        start.elapsed().as_secs_f64()
    );

    let pick = |n: usize| tasks[n.wrapping_mul(7919) % tasks.len()];
    let full = plan::full(Type::Task);
    each("a task's node", 100_000, |n| {
        drop(block_on(store.load(&Want::of(viewer).node(pick(n)))).unwrap())
    });
    each("a task as it is shown", 50_000, |n| {
        let want = Want::of(viewer).follow(pick(n), full.clone());
        drop(block_on(store.load(&want)).unwrap());
    });
    each("a page of 100 tasks", 5_000, |n| {
        let view = block_on(store.load(&page(projects[n % projects.len()]))).unwrap();
        assert_eq!(view.rows.gids.len(), 100.min(PER_PROJECT).min(count));
    });
    let mut whole = plan_page(page(projects[0]));
    each("a page of 100 whole tasks", 1_000, |n| {
        whole.refs = vec![projects[n % projects.len()].into()];
        drop(block_on(store.load(&whole)).unwrap());
    });
    println!("memory after reads: {} KiB", memory_kib("VmRSS"));

    commits(&store, &mut fixture, acme, ann);
    println!("{:?}", store.stats().unwrap());
    println!("memory at most: {} KiB", memory_kib("VmHWM"));
}

fn plan_page(mut want: Want) -> Want {
    want.page_plan = Some(plan::full(Type::Task));
    want
}

/// Creates tasks from many threads at once.
fn commits(store: &SqliteStore, fixture: &mut Fixture, acme: Gid, ann: Gid) {
    let project = fixture.project(acme, "busy", ann);
    let section = fixture.section_in(project);
    block_on(store.commit(fixture.take())).unwrap();
    for writers in [1, 8, 64] {
        let each = 4_000 / writers;
        let sets: Vec<Vec<_>> = (0..writers)
            .map(|_| {
                (0..each)
                    .map(|n| {
                        fixture.task_in(section, &format!("new {n}"), ann);
                        fixture.take()
                    })
                    .collect()
            })
            .collect();
        let start = now();
        std::thread::scope(|scope| {
            for set in sets {
                scope.spawn(move || {
                    set.into_iter()
                        .for_each(|c| assert!(block_on(store.commit(c)).is_ok()))
                });
            }
        });
        let rate = (each * writers) as f64 / start.elapsed().as_secs_f64();
        println!("{writers} writers: {rate:.0} created tasks/s");
    }
}

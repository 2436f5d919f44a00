//! Times of loads, pages and commits: `cargo bench -p workgraph-store-sqlite`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that fails may stop"
)]
use criterion::{BatchSize, Criterion, Throughput};
use std::cell::{Cell, RefCell};
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::plan;
use workgraph_core::storage::{Changes, GraphStore, PageQuery, ReadQuery, ViewerKey};
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::{Fixture, ScratchFolder};

/// Numbers of projects, and of tasks in each project.
const PROJECTS: usize = 20;
const TASKS: usize = 1_000;

/// Store with a workspace in it, for all measurements.
struct Subject {
    store: SqliteStore,
    fixture: RefCell<Fixture>,
    viewer: ViewerKey,
    projects: Vec<Gid>,
    tasks: Vec<Gid>,
    busy: Gid,
    next: Cell<usize>,
}

impl Subject {
    fn new(scratch: &ScratchFolder) -> Self {
        let store = SqliteStore::open(scratch.path(), StoreOptions::default()).unwrap();
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        let (mut tasks, mut projects) = (Vec::new(), Vec::new());
        for n in 0..PROJECTS {
            let project = fixture.project(acme, &format!("project {n}"), ann);
            let section = fixture.section_in(project);
            projects.push(project);
            tasks.extend(
                (0..TASKS).map(|n| fixture.task_in(section, &format!("task number {n}"), ann)),
            );
            block_on(store.commit(fixture.take())).unwrap();
        }
        let busy = fixture.project(acme, "busy", ann);
        let busy = fixture.section_in(busy);
        block_on(store.commit(fixture.take())).unwrap();
        Self {
            store,
            fixture: RefCell::new(fixture),
            viewer: ViewerKey {
                user: ann,
                service: None,
            },
            projects,
            tasks,
            busy,
            next: Cell::new(0),
        }
    }

    /// Picks the gids one after the other, in an order that no cache can predict.
    fn pick(&self, of: &[Gid]) -> Gid {
        let next = self.next.get();
        self.next.set(next + 7_919);
        of[next % of.len()]
    }

    fn want(&self) -> ReadQuery {
        ReadQuery::of(self.viewer)
    }

    fn page(&self, plan: fn(Type) -> std::sync::Arc<plan::Plan>) {
        let mut want = self.want();
        let at = want.add_ref(self.pick(&self.projects));
        want.page = Some(PageQuery {
            source: workgraph_core::tasks_of_container(at, false),
            filters: Vec::new(),
            after: None,
            limit: 100,
            max_seq: None,
            anchor_grants_access: true,
            rows_seen: 0,
            row_cap: u32::MAX,
        });
        want.page_plan = Some(plan(Type::Task));
        let view = block_on(self.store.load(&want)).unwrap();
        assert_eq!(view.rows.gids.len(), 100);
    }

    /// Returns the changes that create a task.
    fn creation(&self) -> Changes {
        let mut fixture = self.fixture.borrow_mut();
        fixture.task_in(self.busy, "new", self.viewer.user);
        fixture.take()
    }
}

fn reads(criterion: &mut Criterion, subject: &Subject) {
    let full = plan::full(Type::Task);
    criterion.bench_function("a task's node", |bencher| {
        bencher.iter(|| {
            let want = subject.want().node(subject.pick(&subject.tasks));
            block_on(subject.store.load(&want)).unwrap()
        });
    });
    criterion.bench_function("a task as it is shown", |bencher| {
        bencher.iter(|| {
            let want = subject.want();
            let want = want.follow(subject.pick(&subject.tasks), full.clone());
            block_on(subject.store.load(&want)).unwrap()
        });
    });
    criterion.bench_function("a page of 100 tasks", |bencher| {
        bencher.iter(|| subject.page(plan::compact));
    });
    criterion.bench_function("a page of 100 whole tasks", |bencher| {
        bencher.iter(|| subject.page(plan::full));
    });
}

/// Creates tasks from many threads at once.
fn commits(criterion: &mut Criterion, subject: &Subject) {
    const EACH: usize = 32;
    let mut group = criterion.benchmark_group("tasks created");
    for writers in [1, 8, 64] {
        group.throughput(Throughput::Elements((writers * EACH) as u64));
        let sets = || -> Vec<Vec<Changes>> {
            let set = |_| (0..EACH).map(|_| subject.creation()).collect();
            (0..writers).map(set).collect()
        };
        let store = &subject.store;
        let write = |sets: Vec<Vec<Changes>>| {
            std::thread::scope(|scope| {
                for set in sets {
                    scope.spawn(move || {
                        for changes in set {
                            block_on(store.commit(changes)).unwrap();
                        }
                    });
                }
            });
        };
        group.bench_function(format!("by {writers} at once"), |bencher| {
            bencher.iter_batched(sets, write, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn main() {
    let scratch = ScratchFolder::new("bench");
    let subject = Subject::new(&scratch);
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    reads(&mut criterion, &subject);
    commits(&mut criterion, &subject);
}

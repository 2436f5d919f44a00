//! Trips: the number of times that a load waits for the database.
use crate::support::empty_store;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder,
};
use workgraph_core::storage::{GraphStore, PageQuery, ReadQuery, ViewerKey};
use workgraph_core::{plan, tasks_of_container};
use workgraph_store_postgres::PostgresStore;
use workgraph_testkit::Fixture;

const TASKS: usize = 100;

/// Returns the trips of a load.
fn trips(store: &PostgresStore, query: &ReadQuery) -> u64 {
    let before = store.stats().read_trips;
    block_on(store.load(query)).unwrap();
    store.stats().read_trips - before
}

fn task(user: Gid, gid: Gid) -> ReadQuery {
    let mut query = ReadQuery::of(ViewerKey {
        user,
        service: None,
    });
    let at = query.add_ref(gid);
    query.plans.push((at, plan::full(Type::Task)));
    query
}

#[test]
fn loads_leave_their_connections_to_others() {
    let Some(test) = empty_store() else { return };
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    let task_gid = fixture.task(acme, "kept", ann);
    block_on(test.store.commit(fixture.take())).unwrap();
    let load = || {
        // From the database, and then from the cache.
        test.store.clear_cache();
        for _ in 0..3 {
            trips(&test.store, &task(ann, task_gid));
        }
    };
    load();
    let ours = "pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'workgraph/%'";
    test.database
        .sql(&format!("CREATE TABLE before AS SELECT pid FROM {ours}"));
    (0..10).for_each(|_| load());
    test.database.sql(&format!(
        "DO $$ BEGIN IF EXISTS (SELECT pid FROM before EXCEPT SELECT pid FROM {ours}) \
         THEN RAISE 'a connection was closed'; END IF; END $$"
    ));
}

#[test]
fn loads_take_as_few_trips_as_their_reads_depend_on_each_other() {
    let Some(test) = empty_store() else { return };
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    let project = fixture.project(acme, "Launch", ann);
    let section = fixture.section_in(project);
    let tasks: Vec<Gid> = (0..TASKS)
        .map(|n| fixture.task_in(section, &format!("task {n}"), ann))
        .collect();
    block_on(test.store.commit(fixture.take())).unwrap();
    // Statements are prepared once per connection.
    for number in [0, 1] {
        trips(&test.store, &task(ann, tasks[number]));
    }
    let found = trips(&test.store, &task(ann, tasks[2]));
    assert!(found <= 2, "a task: {found}");
    let found = trips(&test.store, &task(ann, tasks[2]));
    assert_eq!(found, 1, "a task that was read before");

    let mut page = ReadQuery::of(ViewerKey {
        user: ann,
        service: None,
    });
    let anchor = page.add_ref(project);
    page.page = Some(PageQuery::of(
        tasks_of_container(anchor, false),
        false,
        TASKS,
    ));
    page.page_plan = Some(plan::full(Type::Task));
    trips(&test.store, &page);
    let listed = trips(&test.store, &page);
    assert_eq!(listed, 1, "a page that was read before");

    let mut search = ReadQuery::of(ViewerKey {
        user: ann,
        service: None,
    });
    let (workspace, project) = (search.add_ref(acme), search.add_ref(project));
    let query = SearchQuery {
        ty: Type::Task,
        clauses: vec![Clause::Any(vec![(SearchLink::Project, project)])],
        order: SortOrder::Column(IndexColumn::Modified),
        ascending: true,
    };
    search.search = Some(Search {
        workspace,
        queries: vec![query],
        limit: TASKS,
        cap: 10_000,
        effort: SearchEffort::USUAL,
    });
    trips(&test.store, &search);
    let searched = trips(&test.store, &search);
    assert_eq!(searched, 1, "a search that was made before");

    // The first one reads what it needs, under the lock.
    let written = add(&test.store, &mut fixture, section, ann);
    assert!(written <= 2, "a new task: {written}");
    for _ in 0..3 {
        let written = add(&test.store, &mut fixture, section, ann);
        assert_eq!(written, 1, "a new task where the last one went");
    }

    // The reply to a write shows the state after it.
    let gid = fixture.task_in(section, "replied", ann);
    let receipt = block_on(test.store.commit(fixture.take())).unwrap();
    let reply = ReadQuery {
        min_seq: Some(receipt.seq),
        ..task(ann, gid)
    };
    assert_eq!(trips(&test.store, &reply), 0, "the reply");
    let view = block_on(test.store.load(&reply)).unwrap();
    assert_eq!(view.node(gid).map(|node| node.gid), Some(gid));
    assert_eq!(trips(&test.store, &task(ann, gid)), 1, "a new task");

    // Another node commits: its numbers are read under the lock, and then this node continues as before.
    let other = test.open();
    add(&other, &mut fixture, section, ann);
    let written = add(&test.store, &mut fixture, section, ann);
    assert!(written <= 4, "after another node: {written}");
}

/// Adds a task; returns the trips of the commit.
fn add(store: &PostgresStore, fixture: &mut Fixture, section: Gid, user: Gid) -> u64 {
    fixture.task_in(section, "another", user);
    let before = store.stats();
    block_on(store.commit(fixture.take())).unwrap();
    let after = store.stats();
    assert_eq!(after.batches - before.batches, 1);
    after.write_trips - before.write_trips
}

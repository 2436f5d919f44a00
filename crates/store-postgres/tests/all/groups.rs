//! Groups of commits that are prepared while the one before them is made durable, and their fate when it fails.
use crate::cutting_proxy::CuttingProxy;
use crate::support::{TestStore, another_store, empty_store, options, runtime};
use std::collections::BTreeSet;
use std::sync::Mutex;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::{
    Changes, GraphStore, GraphStoreError, PageQuery, ReadQuery, ViewerKey,
};
use workgraph_core::tasks_of_container;
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::Fixture;

const TASKS: usize = 240;
const WRITERS: usize = 12;

/// Project with a list, and change sets that each add a task at its end.
struct OneList {
    user: Gid,
    project: Gid,
    tasks: Vec<(Gid, Changes)>,
}

impl OneList {
    fn made_in(store: &PostgresStore) -> Self {
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let user = fixture.member(acme, "Ann", Role::Admin);
        let project = fixture.project(acme, "Launch", user);
        let section = fixture.section_in(project);
        block_on(store.commit(fixture.take())).unwrap();
        let mut add = |number| {
            let gid = fixture.task_in(section, &format!("task {number}"), user);
            (gid, fixture.take())
        };
        let tasks = (0..TASKS).map(&mut add).collect();
        Self {
            user,
            project,
            tasks,
        }
    }

    /// Commits the change sets: the first one alone, so that there is a connection, then many at the same time. Returns the
    /// outcome of each.
    fn commit_all(
        &self,
        stores: &[&PostgresStore],
        after_first: impl FnOnce(),
    ) -> Vec<(Gid, Result<u64, GraphStoreError>)> {
        let commit = |store: &PostgresStore, changes: &Changes| {
            let done = block_on(store.commit(changes.clone()));
            done.map(|receipt| receipt.seq)
        };
        let (first, rest) = self.tasks.split_first().unwrap();
        let outcomes = Mutex::new(vec![(first.0, commit(stores[0], &first.1))]);
        after_first();
        let queue = Mutex::new(rest.iter());
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let store = stores[writer % stores.len()];
                let (queue, outcomes) = (&queue, &outcomes);
                scope.spawn(move || {
                    loop {
                        let Some((gid, changes)) = queue.lock().unwrap().next() else {
                            return;
                        };
                        let done = commit(store, changes);
                        outcomes.lock().unwrap().push((*gid, done));
                    }
                });
            }
        });
        outcomes.into_inner().unwrap()
    }

    /// Returns the tasks of the list, in its order.
    fn listed(&self, store: &PostgresStore) -> Vec<Gid> {
        let mut page = ReadQuery::of(ViewerKey {
            user: self.user,
            service: None,
        });
        let anchor = page.add_ref(self.project);
        let source = tasks_of_container(anchor, false);
        page.page = Some(PageQuery::of(source, false, TASKS));
        let view = block_on(store.load(&page)).unwrap();
        view.rows.gids.clone()
    }

    /// Fails unless the list has exactly the tasks whose commits were acknowledged, in the order of their commits, and the
    /// database is consistent.
    fn check(&self, test: &TestStore, outcomes: &[(Gid, Result<u64, GraphStoreError>)]) {
        let mut made: Vec<(u64, Gid)> = outcomes
            .iter()
            .filter_map(|(gid, done)| Some((*done.as_ref().ok()?, *gid)))
            .collect();
        made.sort_unstable();
        let numbers: BTreeSet<u64> = made.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(
            numbers.len(),
            made.len(),
            "each commit has a number of its own"
        );
        let made: Vec<Gid> = made.into_iter().map(|(_, gid)| gid).collect();
        for store in [&test.store, &another_store(test)] {
            assert_eq!(self.listed(store), made);
        }
        let errors = block_on(test.store.database().check()).unwrap();
        assert_eq!(errors, Vec::<String>::new());
    }
}

/// S927.
#[test]
fn commits_of_two_nodes_into_one_list_have_one_order() {
    let Some(test) = empty_store() else { return };
    let list = OneList::made_in(&test.store);
    let other = another_store(&test);
    let outcomes = list.commit_all(&[&test.store, &other], || ());
    assert!(
        outcomes.iter().all(|(_, done)| done.is_ok()),
        "{outcomes:?}"
    );
    list.check(&test, &outcomes);
}

/// S941.
#[test]
fn commits_whose_answers_were_lost_keep_their_order() {
    let Some(run) = CutRun::with(|proxy| proxy.cut_each(3)) else {
        return;
    };
    assert!(run.refused().is_empty(), "{:?}", run.refused());
    run.list.check(&run.test, &run.outcomes);
}

/// S941.
#[test]
fn what_follows_a_commit_that_never_arrived_is_made_without_it() {
    let Some(run) = CutRun::with(|proxy| proxy.cut_each_before(3)) else {
        return;
    };
    let refused = run.refused();
    let is_unavailable =
        |error: &&GraphStoreError| matches!(error, GraphStoreError::Unavailable(_));
    assert!(refused.iter().all(is_unavailable), "{refused:?}");
    assert!(!refused.is_empty() && refused.len() < TASKS);
    run.list.check(&run.test, &run.outcomes);
}

/// Checks commits when the first one has a connection, and no second one is available for the next group.
#[test]
fn commits_are_answered_while_no_other_connection_can_be_made() {
    let Some(run) = CutRun::with(CuttingProxy::hold_new) else {
        return;
    };
    assert!(run.refused().is_empty(), "{:?}", run.refused());
    run.list.check(&run.test, &run.outcomes);
}

/// Commits into one list through a proxy that cuts connections.
struct CutRun {
    list: OneList,
    outcomes: Vec<(Gid, Result<u64, GraphStoreError>)>,
    test: TestStore,
}

impl CutRun {
    fn with(cut: impl FnOnce(&CuttingProxy)) -> Option<Self> {
        let test = empty_store()?;
        let list = OneList::made_in(&test.store);
        let proxy = CuttingProxy::before(&test.database)?;
        let options = DatabaseOptions {
            url: proxy.url(),
            ..options(&test.database)
        };
        let store = block_on(PostgresStore::open(options, runtime())).unwrap();
        let outcomes = list.commit_all(&[&store], || cut(&proxy));
        Some(Self {
            list,
            outcomes,
            test,
        })
    }

    fn refused(&self) -> Vec<&GraphStoreError> {
        let outcomes = self.outcomes.iter();
        outcomes
            .filter_map(|(_, done)| done.as_ref().err())
            .collect()
    }
}

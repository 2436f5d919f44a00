//! Cases about concurrent writers.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use std::collections::BTreeSet;
use workgraph_auth::conformance::block_on;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::task;
use workgraph_core::storage::{
    Changes, CommitReceipt, GraphStore, GraphStoreError, Guard, ListPosition,
};

type CommitResult = Result<CommitReceipt, GraphStoreError>;

/// Commits every change set from a separate thread, all at the same time.
pub(super) fn at_once(
    store: &dyn GraphStore,
    sets: Vec<Changes>,
) -> Result<Vec<CommitResult>, GraphStoreFailure> {
    let start = std::sync::Barrier::new(sets.len());
    std::thread::scope(|scope| {
        let start = &start;
        let threads: Vec<_> = sets
            .into_iter()
            .map(|changes| {
                scope.spawn(move || {
                    start.wait();
                    block_on(store.commit(changes))
                })
            })
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| GraphStoreFailure("a commit panicked".into()))
    })
}

pub(super) fn one_won(answers: &[CommitResult]) -> Result<(), GraphStoreFailure> {
    let won = answers.iter().filter(|a| a.is_ok()).count();
    let lost = answers
        .iter()
        .filter(|a| **a == Err(GraphStoreError::Conflict))
        .count();
    same(
        &(won, lost),
        &(1, answers.len() - 1),
        "one wins, the others have a conflict",
    )
}

pub(super) async fn one_version(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let gid = scene.fixture.task(scene.acme, "task", scene.ann);
    scene.commit().await?;
    for round in 0..20 {
        let view = scene.load(scene.want().node(gid)).await?;
        let Some(node) = view.node(gid) else {
            return Err(GraphStoreFailure("the task is there".into()));
        };
        let sets = (0..3)
            .map(|writer| {
                scene
                    .fixture
                    .edit(node, task::NAME, format!("{round} by {writer}").as_str());
                scene.fixture.take()
            })
            .collect();
        one_won(&at_once(store, sets)?)?;
        let view = scene.load(scene.want().node(gid)).await?;
        same(
            &view.node(gid).map(|n| n.version),
            &Some(round + 2),
            "each round makes one version",
        )?;
    }
    Ok(())
}

pub(super) async fn empty_place(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    for _ in 0..10 {
        let tasks = scene.tasks(5);
        let Some((parent, others)) = tasks.split_first() else {
            return Err(GraphStoreFailure("five tasks".into()));
        };
        scene.commit().await?;
        let sets = others
            .iter()
            .map(|gid| {
                scene
                    .fixture
                    .link(*gid, rel::PARENT, *parent, ListPosition::Last, None);
                let mut changes = scene.fixture.take();
                changes.guards.push(Guard::Below(*parent, rel::PARENT, 1));
                changes
            })
            .collect();
        one_won(&at_once(store, sets)?)?;
        same(
            &scene.sources(*parent, rel::PARENT).await?.len(),
            &1,
            "the place has one",
        )?;
    }
    Ok(())
}

pub(super) async fn many_writers(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let mut all = Vec::new();
    let mut numbers = BTreeSet::new();
    for _ in 0..10 {
        let mut sets = Vec::new();
        for _ in 0..4 {
            all.extend(scene.tasks(3));
            sets.push(scene.fixture.take());
        }
        for answer in at_once(store, sets)? {
            ensure(
                numbers.insert(answer?.seq),
                "no two commits have one number",
            )?;
        }
    }
    same(&numbers, &(2..=41).collect(), "the numbers have no gap")?;
    let kept: Vec<u64> = store
        .journal_entries(1, 100)
        .await?
        .iter()
        .map(|e| e.seq)
        .collect();
    same(
        &kept,
        &numbers.into_iter().collect(),
        "the journal is in the order of the numbers",
    )?;
    let want = all.iter().fold(scene.want(), |want, gid| want.node(*gid));
    let view = scene.load(want).await?;
    ensure(
        all.iter().all(|gid| view.node(*gid).is_some()),
        "nothing that was acknowledged is missing",
    )
}

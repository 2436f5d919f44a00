//! Cases about positions in lists.
use super::{GraphStoreFailure, StoreScene, same};
use crate::clock::SeededBytes;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::storage::{GraphStore, GraphStoreError, Guard, ListPosition};

pub(super) async fn four_places(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let list = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let tasks = scene.tasks(6);
    let [a, b, c, d, e, f] = tasks.as_slice() else {
        return Err(GraphStoreFailure("six tasks".into()));
    };
    for (task, position) in [
        (a, ListPosition::Last),
        (b, ListPosition::Last),
        (c, ListPosition::First),
        (d, ListPosition::Before(*b)),
        (e, ListPosition::After(*c)),
        (f, ListPosition::Before(*c)),
    ] {
        scene.fixture.link(*task, rel::PARENT, list, position, None);
    }
    scene.commit().await?;
    let promise = "each link is where it was put";
    same(
        &scene.sources(list, rel::PARENT).await?,
        &vec![*f, *c, *e, *a, *d, *b],
        promise,
    )?;
    // Again, each next to its own position.
    for (task, position) in [
        (f, ListPosition::First),
        (b, ListPosition::Last),
        (a, ListPosition::After(*e)),
        (c, ListPosition::Before(*e)),
    ] {
        scene.fixture.link(*task, rel::PARENT, list, position, None);
        scene.commit().await?;
        same(
            &scene.sources(list, rel::PARENT).await?,
            &vec![*f, *c, *e, *a, *d, *b],
            "staying in place changes nothing",
        )?;
    }
    Ok(())
}

/// Checks edges at the next rank: each gets the next number, in one commit or in several. An edge keeps its number when
/// it is placed again, the number stays used when the source is trashed, and no edge can be created to a trashed node.
pub(super) async fn numbers(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(7);
    let [counter, a, b, c, d, e, gone] = tasks.as_slice() else {
        return Err(GraphStoreFailure("seven tasks".into()));
    };
    for task in [a, b] {
        let next = ListPosition::NextRank;
        scene
            .fixture
            .link(*task, rel::DEPENDS, *counter, next, None);
    }
    scene.commit().await?;
    for task in [b, c, a, d] {
        let next = ListPosition::NextRank;
        scene
            .fixture
            .link(*task, rel::DEPENDS, *counter, next, None);
    }
    scene
        .fixture
        .link(*a, rel::DEPENDS, *gone, ListPosition::NextRank, None);
    scene.commit().await?;
    for task in [d, gone] {
        scene.fixture.with(|work| work.trash(*task, Type::Task));
    }
    scene.commit().await?;
    for dst in [counter, gone] {
        scene
            .fixture
            .link(*e, rel::DEPENDS, *dst, ListPosition::NextRank, None);
    }
    scene.commit().await?;
    let want = scene.want().incoming_edges(*counter, rel::DEPENDS, 10);
    let view = scene.load(want).await?;
    let edges = view.sources(*counter, rel::DEPENDS).iter();
    let found: Vec<_> = edges.map(|edge| (edge.src, edge.rank)).collect();
    let expected = vec![(*a, 1), (*b, 2), (*c, 3), (*e, 5)];
    same(
        &found,
        &expected,
        "each number is given once, and none is left out",
    )?;
    let targets = scene.targets(*e, rel::DEPENDS).await?;
    same(&targets, &vec![*counter], "nothing leads to what is gone")
}

/// Checks totals: each commit adds to the previous total, several additions in one commit count together, a
/// total is never below 0, and a commit that exceeds its guard changes nothing.
pub(super) async fn totals(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let gid = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    scene.commit().await?;
    for (additions, most, total) in [
        (vec![5], 0, Some(5)),
        (vec![7, 8], 5, Some(20)),
        (vec![1], 19, None),
        (vec![1], 20, Some(21)),
        (vec![-30, 2], 21, Some(2)),
    ] {
        for more in &additions {
            let more = ListPosition::Plus(*more);
            scene.fixture.link(gid, rel::STORED_BYTES, gid, more, None);
        }
        scene.fixture.with(|work| {
            let guard = Guard::TotalAtMost(gid, rel::STORED_BYTES, most);
            work.changes.guards.push(guard);
        });
        let committed = scene.commit().await;
        same(&committed.is_ok(), &total.is_some(), "a guard of a total")?;
        let want = scene.want().edge(gid, rel::STORED_BYTES, gid);
        let view = scene.load(want).await?;
        let found = view.link(gid, rel::STORED_BYTES, gid).map(|edge| edge.rank);
        let expected = total.or(Some(20));
        same(&found, &expected, "a total is the sum of what was added")?;
    }
    Ok(())
}

/// Applies a position to a plain list.
fn put(list: &mut Vec<Gid>, gid: Gid, position: ListPosition) {
    list.retain(|g| *g != gid);
    let at = |other: Gid| list.iter().position(|g| *g == other).unwrap_or(0);
    let index = match position {
        ListPosition::First => 0,
        ListPosition::Before(other) => at(other),
        ListPosition::After(other) => at(other) + 1,
        ListPosition::Last
        | ListPosition::NextRank
        | ListPosition::Rank(_)
        | ListPosition::Plus(_) => list.len(),
    };
    list.insert(index, gid);
}

pub(super) async fn moves(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let list = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let tasks = scene.tasks(12);
    let random = SeededBytes::new(12);
    let mut expected: Vec<Gid> = Vec::new();
    for _ in 0..40 {
        for _ in 0..5 {
            let [which, beside, how]: [u8; 3] = random.bytes();
            let pick = |n: u8, from: &[Gid]| from.get(usize::from(n) % from.len().max(1)).copied();
            let Some(gid) = pick(which, &tasks) else {
                continue;
            };
            let others: Vec<Gid> = expected.iter().copied().filter(|g| *g != gid).collect();
            let position = match (how % 4, pick(beside, &others)) {
                (0, _) => ListPosition::First,
                (1, Some(other)) => ListPosition::Before(other),
                (2, Some(other)) => ListPosition::After(other),
                _ => ListPosition::Last,
            };
            put(&mut expected, gid, position);
            scene.fixture.link(gid, rel::PARENT, list, position, None);
        }
        scene.commit().await?;
        same(
            &scene.sources(list, rel::PARENT).await?,
            &expected,
            "the list is in the order of its moves",
        )?;
    }
    Ok(())
}

pub(super) async fn squeezed(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let list = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let ends = scene.tasks(2);
    let [first, last] = ends.as_slice() else {
        return Err(GraphStoreFailure("two tasks".into()));
    };
    scene
        .fixture
        .link(*first, rel::PARENT, list, ListPosition::Last, None);
    scene
        .fixture
        .link(*last, rel::PARENT, list, ListPosition::Last, None);
    let mut expected = vec![*first, *last];
    // A gap of 2^32 is used up after 32 halvings; this is many times that, and longer than one spread.
    for round in 0..25 {
        for gid in scene.tasks(10) {
            let position = if round % 2 == 0 {
                ListPosition::After(*first)
            } else {
                ListPosition::Before(*last)
            };
            put(&mut expected, gid, position);
            scene.fixture.link(gid, rel::PARENT, list, position, None);
        }
        scene.commit().await?;
    }
    same(
        &scene.sources(list, rel::PARENT).await?,
        &expected,
        "squeezing never mixes up the list",
    )
}

pub(super) async fn gone_anchor(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(3);
    let [list, there, stray] = tasks.as_slice() else {
        return Err(GraphStoreFailure("three tasks".into()));
    };
    scene
        .fixture
        .link(*there, rel::PARENT, *list, ListPosition::Last, None);
    scene.commit().await?;
    for position in [ListPosition::Before(*stray), ListPosition::After(*stray)] {
        scene
            .fixture
            .link(*there, rel::PARENT, *list, position, None);
        same(
            &scene.commit().await,
            &Err(GraphStoreError::Conflict),
            "a place beside what is not in the list is a conflict",
        )?;
    }
    same(
        &scene.sources(*list, rel::PARENT).await?,
        &vec![*there],
        "a conflict changes nothing",
    )
}

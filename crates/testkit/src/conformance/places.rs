//! The cases about places in lists.
use super::{Failure, Scene, same};
use crate::clock::SeededBytes;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{GraphStore, Place, StoreError};
use workgraph_core::registry::{Type, rel};

pub(super) async fn four_places(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
    let list = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let tasks = scene.tasks(6);
    let [a, b, c, d, e, f] = tasks.as_slice() else {
        return Err(Failure("six tasks".into()));
    };
    for (task, place) in [
        (a, Place::Last),
        (b, Place::Last),
        (c, Place::First),
        (d, Place::Before(*b)),
        (e, Place::After(*c)),
        (f, Place::Before(*c)),
    ] {
        scene.fixture.link(*task, rel::PARENT, list, place, None);
    }
    scene.commit().await?;
    let promise = "each link is where it was put";
    same(
        &scene.sources(list, rel::PARENT).await?,
        &vec![*f, *c, *e, *a, *d, *b],
        promise,
    )?;
    // Again, each beside its own place.
    for (task, place) in [
        (f, Place::First),
        (b, Place::Last),
        (a, Place::After(*e)),
        (c, Place::Before(*e)),
    ] {
        scene.fixture.link(*task, rel::PARENT, list, place, None);
        scene.commit().await?;
        same(
            &scene.sources(list, rel::PARENT).await?,
            &vec![*f, *c, *e, *a, *d, *b],
            "staying in place changes nothing",
        )?;
    }
    Ok(())
}

/// Numbers: the next one each time, in one commit or in several; kept when given again and when their
/// holder is gone; none into what is gone.
pub(super) async fn numbers(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
    let tasks = scene.tasks(7);
    let [counter, a, b, c, d, e, gone] = tasks.as_slice() else {
        return Err(Failure("seven tasks".into()));
    };
    for task in [a, b] {
        let next = Place::Next;
        scene
            .fixture
            .link(*task, rel::DEPENDS, *counter, next, None);
    }
    scene.commit().await?;
    for task in [b, c, a, d] {
        let next = Place::Next;
        scene
            .fixture
            .link(*task, rel::DEPENDS, *counter, next, None);
    }
    scene
        .fixture
        .link(*a, rel::DEPENDS, *gone, Place::Next, None);
    scene.commit().await?;
    for task in [d, gone] {
        scene.fixture.with(|work| work.trash(*task, Type::Task));
    }
    scene.commit().await?;
    for dst in [counter, gone] {
        scene
            .fixture
            .link(*e, rel::DEPENDS, *dst, Place::Next, None);
    }
    scene.commit().await?;
    let want = scene.want().into(*counter, rel::DEPENDS, 10);
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

/// What a place means, on a plain list.
fn put(list: &mut Vec<Gid>, gid: Gid, place: Place) {
    list.retain(|g| *g != gid);
    let at = |other: Gid| list.iter().position(|g| *g == other).unwrap_or(0);
    let index = match place {
        Place::First => 0,
        Place::Before(other) => at(other),
        Place::After(other) => at(other) + 1,
        Place::Last | Place::Next | Place::Rank(_) => list.len(),
    };
    list.insert(index, gid);
}

pub(super) async fn moves(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
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
            let place = match (how % 4, pick(beside, &others)) {
                (0, _) => Place::First,
                (1, Some(other)) => Place::Before(other),
                (2, Some(other)) => Place::After(other),
                _ => Place::Last,
            };
            put(&mut expected, gid, place);
            scene.fixture.link(gid, rel::PARENT, list, place, None);
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

pub(super) async fn squeezed(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
    let list = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let ends = scene.tasks(2);
    let [first, last] = ends.as_slice() else {
        return Err(Failure("two tasks".into()));
    };
    scene
        .fixture
        .link(*first, rel::PARENT, list, Place::Last, None);
    scene
        .fixture
        .link(*last, rel::PARENT, list, Place::Last, None);
    let mut expected = vec![*first, *last];
    // A gap of 2^32 is used up by 32 halvings; this is many times that, and longer than one spread.
    for round in 0..25 {
        for gid in scene.tasks(10) {
            let place = if round % 2 == 0 {
                Place::After(*first)
            } else {
                Place::Before(*last)
            };
            put(&mut expected, gid, place);
            scene.fixture.link(gid, rel::PARENT, list, place, None);
        }
        scene.commit().await?;
    }
    same(
        &scene.sources(list, rel::PARENT).await?,
        &expected,
        "squeezing never mixes up the list",
    )
}

pub(super) async fn gone_anchor(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
    let tasks = scene.tasks(3);
    let [list, there, stray] = tasks.as_slice() else {
        return Err(Failure("three tasks".into()));
    };
    scene
        .fixture
        .link(*there, rel::PARENT, *list, Place::Last, None);
    scene.commit().await?;
    for place in [Place::Before(*stray), Place::After(*stray)] {
        scene.fixture.link(*there, rel::PARENT, *list, place, None);
        same(
            &scene.commit().await,
            &Err(StoreError::Conflict),
            "a place beside what is not in the list is a conflict",
        )?;
    }
    same(
        &scene.sources(*list, rel::PARENT).await?,
        &vec![*there],
        "a conflict changes nothing",
    )
}

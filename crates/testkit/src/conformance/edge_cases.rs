//! Cases about edges: both of their ends, replacement, liveness and guards.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::storage::{Changes, GraphStore, GraphStoreError, Guard, ListPosition};

pub(super) async fn both_ends(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(4);
    let [a, b, c, d] = tasks.as_slice() else {
        return Err(GraphStoreFailure("four tasks".into()));
    };
    // Made out of order, with ranks that cross the order of gids.
    for (src, dst, rank) in [
        (d, a, 5),
        (b, a, 5),
        (c, a, -7),
        (a, d, i64::MAX),
        (a, b, i64::MIN),
        (a, c, 0),
    ] {
        scene
            .fixture
            .link(*src, rel::DEPENDS, *dst, ListPosition::Rank(rank), None);
    }
    scene
        .fixture
        .link(*a, rel::TAGS, *b, ListPosition::Rank(1), Some(*c));
    let seq = scene.commit().await?;
    same(
        &scene.targets(*a, rel::DEPENDS).await?,
        &vec![*b, *c, *d],
        "edges from a node are in the order of targets",
    )?;
    same(
        &scene.sources(*a, rel::DEPENDS).await?,
        &vec![*c, *b, *d],
        "edges into a node are in the order of rank, source",
    )?;
    let view = scene
        .load(
            scene
                .want()
                .edges(*a, rel::TAGS)
                .edge(*d, rel::DEPENDS, *a)
                .edge(*b, rel::TAGS, *a),
        )
        .await?;
    let tag = view.links(*a, rel::TAGS).first().copied();
    let found = tag.map(|e| (e.src, e.rel, e.dst, e.rank, e.seq, e.aux));
    same(
        &found,
        &Some((*a, rel::TAGS, *b, 1, seq, Some(*c))),
        "an edge is read with every part",
    )?;
    ensure(
        view.link(*d, rel::DEPENDS, *a).is_some(),
        "an edge between two nodes is found",
    )?;
    ensure(
        view.link(*b, rel::TAGS, *a).is_none(),
        "an edge has a direction",
    )?;
    let two = scene
        .load(scene.want().incoming_edges(*a, rel::DEPENDS, 2))
        .await?;
    same(
        &two.sources(*a, rel::DEPENDS).len(),
        &2,
        "no more edges are read than asked for",
    )
}

pub(super) async fn replaced(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(3);
    let [a, b, c] = tasks.as_slice() else {
        return Err(GraphStoreFailure("three tasks".into()));
    };
    scene
        .fixture
        .link(*a, rel::MEMBERS, *b, ListPosition::Rank(1), None);
    scene
        .fixture
        .link(*a, rel::FOLLOWERS, *b, ListPosition::Rank(1), None);
    scene.commit().await?;
    scene
        .fixture
        .link(*a, rel::MEMBERS, *b, ListPosition::Rank(2), Some(*c));
    let seq = scene.commit().await?;
    let view = scene
        .load(
            scene
                .want()
                .edges(*a, rel::MEMBERS)
                .incoming_edges(*b, rel::MEMBERS, 9),
        )
        .await?;
    let parts = |e: &workgraph_core::storage::Edge| (e.rank, e.seq, e.aux);
    let from: Vec<_> = view.links(*a, rel::MEMBERS).iter().map(parts).collect();
    let into: Vec<_> = view.sources(*b, rel::MEMBERS).iter().map(parts).collect();
    same(
        &from,
        &vec![(2, seq, Some(*c))],
        "an edge that is made again has the new parts",
    )?;
    same(&into, &from, "both ends show the same edge")?;
    scene.fixture.with(|work| {
        work.unlink(*a, rel::MEMBERS, *b);
        work.unlink(*a, rel::MEMBERS, *c);
    });
    scene.commit().await?;
    ensure(
        scene.targets(*a, rel::MEMBERS).await?.is_empty(),
        "a removed edge is gone",
    )?;
    same(
        &scene.targets(*a, rel::FOLLOWERS).await?,
        &vec![*b],
        "edges of other relations stay",
    )
}

pub(super) async fn short_list(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let project = scene.fixture.project(scene.acme, "project", scene.ann);
    let fields: Vec<Gid> = ["first", "second"]
        .map(|name| {
            let ty = CustomFieldType::Text;
            scene.fixture.custom_field(scene.acme, name, ty, &[]).0
        })
        .to_vec();
    scene.commit().await?;
    let mut linked = Vec::new();
    // The list is read before each change, so that cached lists must change, too.
    for field in &fields {
        same(
            &scene.sources(project, rel::FIELD_ON).await?,
            &linked,
            "a short list has its edges",
        )?;
        let rank = ListPosition::Rank(linked.len() as i64);
        scene
            .fixture
            .link(*field, rel::FIELD_ON, project, rank, None);
        scene.commit().await?;
        linked.push(*field);
    }
    for field in &fields {
        same(
            &scene.sources(project, rel::FIELD_ON).await?,
            &linked,
            "a new edge is in the list",
        )?;
        scene
            .fixture
            .with(|work| work.unlink(*field, rel::FIELD_ON, project));
        scene.commit().await?;
        linked.remove(0);
    }
    same(
        &scene.sources(project, rel::FIELD_ON).await?,
        &linked,
        "a dropped edge is not in the list",
    )
}

pub(super) async fn liveness(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(3);
    let [a, b, c] = tasks.as_slice() else {
        return Err(GraphStoreFailure("three tasks".into()));
    };
    for (src, dst) in [(a, b), (a, c), (b, c), (a, a)] {
        scene
            .fixture
            .link(*src, rel::DEPENDS, *dst, ListPosition::Last, None);
    }
    scene.commit().await?;
    scene.fixture.with(|work| work.trash(*b, Type::Task));
    scene.commit().await?;
    same(
        &scene.targets(*a, rel::DEPENDS).await?,
        &vec![*a, *c],
        "edges to a trashed node are not listed",
    )?;
    same(
        &scene.sources(*c, rel::DEPENDS).await?,
        &vec![*a],
        "edges from a trashed node are not listed",
    )
}

pub(super) async fn guards(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let tasks = scene.tasks(3);
    let [a, b, c] = tasks.as_slice() else {
        return Err(GraphStoreFailure("three tasks".into()));
    };
    scene
        .fixture
        .link(*a, rel::DEPENDS, *c, ListPosition::Rank(0), None);
    scene
        .fixture
        .link(*b, rel::DEPENDS, *c, ListPosition::Rank(0), None);
    scene.commit().await?;
    let conflict = Err(GraphStoreError::Conflict);
    check(store, *a, Guard::Below(*c, rel::DEPENDS, 2), false).await?;
    check(store, *a, Guard::Below(*c, rel::DEPENDS, 3), true).await?;
    check(store, *a, Guard::Below(*c, rel::PARENT, 1), true).await?;
    check(store, *a, Guard::AtMost(*c, rel::DEPENDS, 2), true).await?;
    check(store, *a, Guard::AtMost(*c, rel::DEPENDS, 1), false).await?;
    scene.fixture.with(|work| work.trash(*b, Type::Task));
    scene.commit().await?;
    check(store, *a, Guard::AtMost(*c, rel::DEPENDS, 1), true).await?;
    check(store, *a, Guard::Below(*c, rel::DEPENDS, 1), false).await?;
    check(store, *a, Guard::Unlinked(*a, rel::DEPENDS, *c), false).await?;
    scene.fixture.with(|work| work.trash(*a, Type::Task));
    scene.commit().await?;
    check(store, *c, Guard::Below(*c, rel::DEPENDS, 1), true).await?;
    check(store, *c, Guard::Unlinked(*c, rel::DEPENDS, *a), true).await?;
    let mut both = Changes {
        guards: vec![Guard::Live(*c), Guard::Live(*b)],
        ..Changes::default()
    };
    same(
        &store.commit(both.clone()).await.map(drop),
        &conflict,
        "one guard that fails is enough",
    )?;
    both.guards.pop();
    ensure(
        store.commit(both).await.is_ok(),
        "guards that all hold are no conflict",
    )
}

/// Commits only a touch of an edge under a guard.
async fn check(
    store: &dyn GraphStore,
    gid: Gid,
    guard: Guard,
    holds: bool,
) -> Result<(), GraphStoreFailure> {
    let unlinks = vec![(gid, rel::TAGS, gid)];
    let changes = Changes {
        guards: vec![guard],
        edge_removals: unlinks,
        ..Changes::default()
    };
    let answer = store.commit(changes).await;
    let expected = if holds { "holds" } else { "is a conflict" };
    ensure(
        answer.is_ok() == holds,
        &format!("{guard:?} {expected}, not {answer:?}"),
    )
}

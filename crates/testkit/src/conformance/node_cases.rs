//! Cases about nodes, names and whole commits.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::task;
use workgraph_core::storage::{
    ChangeAction, GraphStore, GraphStoreError, Guard, NodeRef, NodeWrite, alias,
};

/// Text that is hard to store: quotes, escapes, characters of all widths.
const ODD: &str = "«ünï» 🦀 \"quoted\" 'single' \\ back \u{1f469}\u{200d}\u{1f680} %_;--";

pub(super) async fn comes_back(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let long = "x".repeat(60_000);
    let gid = scene.fixture.task(scene.acme, ODD, scene.ann);
    let big = scene
        .fixture
        .node(Type::Task, Some(scene.acme), |draft, _| {
            draft.set(task::NOTES, long.as_str())
        });
    let tag = scene.fixture.tag(scene.acme, "tag");
    let changes = scene.fixture.take();
    store.commit(changes.clone()).await?;
    let view = scene
        .load(scene.want().node(gid).node(big).node(tag).node(scene.ann))
        .await?;
    for NodeWrite { node } in &changes.node_writes {
        ensure(
            view.node(node.gid) == Some(node),
            "a node is read with every part as it was put",
        )?;
    }
    ensure(
        view.node(scene.ann).is_some_and(|n| n.workspace.is_none()),
        "a user belongs to no workspace",
    )?;
    let Some(node) = view.node(gid) else {
        return Err(GraphStoreFailure("the task is there".into()));
    };
    scene.fixture.edit(node, task::NAME, "second");
    scene.commit().await?;
    let view = scene.load(scene.want().node(gid)).await?;
    let found = view.node(gid).map(|n| (n.version, n.title()));
    same(
        &found,
        &Some((2, "second".to_owned())),
        "the next version takes the place of the one before",
    )
}

pub(super) async fn absent(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let scene = StoreScene::new(store).await?;
    let largest = Gid::new(GID_END - 1);
    let never: Vec<Gid> = [Gid::new(1), largest].into_iter().flatten().collect();
    let name = NodeRef::Alias("email:nobody@example.com".into());
    let mut want = scene.want().node(scene.acme).node(name.clone());
    for gid in &never {
        want = want
            .edges(*gid, rel::FOLLOWERS)
            .incoming_edges(*gid, rel::SECTION, 5);
    }
    let view = scene.load(want).await?;
    same(
        &view.resolve(&NodeRef::Gid(scene.acme)),
        &Some(scene.acme),
        "what is there is found beside what is not",
    )?;
    same(
        &view.resolve(&name),
        &None,
        "a name nobody has is absent, not an error",
    )?;
    for gid in never {
        same(
            &view.resolve(&NodeRef::Gid(gid)),
            &None,
            "a gid nobody has is absent, not an error",
        )?;
        ensure(
            view.node(gid).is_none() && view.links(gid, rel::FOLLOWERS).is_empty(),
            "nothing is known of it",
        )?;
    }
    let nobody = scene
        .load(
            scene
                .want_of(Gid::new(1).unwrap_or(scene.ann))
                .node(scene.acme),
        )
        .await?;
    ensure(
        nobody.viewer.memberships.is_empty(),
        "a viewer who is nobody belongs to nothing",
    )
}

pub(super) async fn version_guard(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let gid = scene.fixture.task(scene.acme, "first", scene.ann);
    scene.commit().await?;
    let view = scene.load(scene.want().node(gid)).await?;
    let Some(node) = view.node(gid) else {
        return Err(GraphStoreFailure("the task is there".into()));
    };
    scene.fixture.edit(node, task::NAME, "second");
    let second = scene.fixture.take();
    scene.fixture.edit(node, task::NAME, "third");
    let third = scene.fixture.take();
    store.commit(second).await?;
    same(
        &store.commit(third).await,
        &Err(GraphStoreError::Conflict),
        "a version that moved on is a conflict",
    )?;
    let view = scene.load(scene.want().node(gid)).await?;
    same(
        &view.node(gid).map(|n| n.title()),
        &Some("second".into()),
        "a conflict changes nothing",
    )?;
    for guard in [
        Guard::Version(gid, 1),
        Guard::Version(gid, 3),
        Guard::Version(scene.gone(), 1),
        Guard::Live(scene.gone()),
    ] {
        let changes = scene.guarded(guard);
        same(
            &store.commit(changes).await,
            &Err(GraphStoreError::Conflict),
            &format!("{guard:?} fails"),
        )?;
    }
    for guard in [Guard::Version(gid, 2), Guard::Live(gid)] {
        let changes = scene.guarded(guard);
        ensure(
            store.commit(changes).await.is_ok(),
            &format!("{guard:?} holds"),
        )?;
    }
    Ok(())
}

impl StoreScene<'_> {
    /// Returns a gid that no node has.
    fn gone(&self) -> Gid {
        Gid::new(2).unwrap_or(self.acme)
    }

    /// Returns a harmless change under a condition.
    fn guarded(&mut self, guard: Guard) -> workgraph_core::storage::Changes {
        self.fixture.tag(self.acme, "guarded");
        let mut changes = self.fixture.take();
        changes.guards.push(guard);
        changes
    }
}

pub(super) async fn names(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let name = alias::email("ann@example.com");
    let by_name = NodeRef::Alias(name.clone());
    let view = scene.load(scene.want().node(by_name.clone())).await?;
    same(
        &view.resolve(&by_name),
        &Some(scene.ann),
        "a node is found by its name",
    )?;
    ensure(
        view.node(scene.ann).is_some(),
        "a node found by its name is read",
    )?;

    let bob = scene.fixture.user("Bob", "ANN@example.com");
    let taken = scene.commit().await;
    same(
        &taken,
        &Err(GraphStoreError::AliasTaken(name.clone())),
        "a name that another node has is taken",
    )?;
    let view = scene.load(scene.want().node(bob)).await?;
    ensure(view.node(bob).is_none(), "a taken name applies nothing")?;

    let mut again = scene.guarded(Guard::Live(scene.ann));
    again.add_aliases.push((name.clone(), scene.ann));
    ensure(
        store.commit(again).await.is_ok(),
        "a node may take its own name again",
    )?;

    let mut trash = scene.fixture.take();
    trash.trashed.push(scene.ann);
    store.commit(trash).await?;
    let carl = scene.fixture.user("Carl", "ann@example.com");
    scene.commit().await?;
    let view = scene.load(scene.want().node(by_name.clone())).await?;
    same(
        &view.resolve(&by_name),
        &Some(carl),
        "the name of a trashed node is free",
    )
}

pub(super) async fn all_or_nothing(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let kept = scene.fixture.task(scene.acme, "kept", scene.ann);
    let other = scene.fixture.task(scene.acme, "other", scene.ann);
    scene.fixture.link(
        other,
        rel::DEPENDS,
        kept,
        workgraph_core::storage::ListPosition::Rank(0),
        None,
    );
    scene.commit().await?;
    let before = store.journal_entries(0, 100).await?;

    // Everything that can be changed, and finally a taken name.
    let view = scene.load(scene.want().node(kept)).await?;
    if let Some(node) = view.node(kept) {
        scene.fixture.edit(node, task::NAME, "changed");
    }
    let new = scene.fixture.subtask(kept, "new", scene.ann);
    scene.fixture.with(|work| {
        work.trash(other, Type::Task);
        work.unlink(other, rel::DEPENDS, kept);
    });
    let mut changes = scene.fixture.take();
    changes.add_aliases.push(("free".into(), new));
    changes
        .add_aliases
        .push((alias::email("ann@example.com"), new));
    let answer = store.commit(changes).await;
    ensure(
        matches!(answer, Err(GraphStoreError::AliasTaken(_))),
        "a name is taken",
    )?;

    let free = NodeRef::Alias("free".into());
    let want = scene
        .want()
        .node(kept)
        .node(new)
        .node(other)
        .node(free.clone());
    let view = scene
        .load(
            want.edges(other, rel::DEPENDS)
                .incoming_edges(kept, rel::PARENT, 5),
        )
        .await?;
    same(
        &view.node(kept).map(|n| (n.version, n.title())),
        &Some((1, "kept".into())),
        "no node is written",
    )?;
    ensure(view.node(new).is_none(), "no node is created")?;
    ensure(view.node(other).is_some(), "no node is trashed")?;
    same(&view.resolve(&free), &None, "no name is taken")?;
    same(
        &view.links(other, rel::DEPENDS).len(),
        &1,
        "no edge is removed",
    )?;
    ensure(
        view.sources(kept, rel::PARENT).is_empty(),
        "no edge is made",
    )?;
    same(
        &store.journal_entries(0, 100).await?,
        &before,
        "nothing is in the journal",
    )
}

pub(super) async fn trash(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let project = scene.fixture.project(scene.acme, "Launch", scene.ann);
    let section = scene.fixture.section_in(project);
    let task = scene.fixture.task_in(section, "task", scene.ann);
    let stays = scene.fixture.task_in(section, "stays", scene.ann);
    let child = scene.fixture.subtask(task, "child", scene.ann);
    let grandchild = scene.fixture.subtask(child, "grandchild", scene.ann);
    let seq = scene.commit().await?;
    scene.fixture.with(|work| work.trash(task, Type::Task));
    scene.commit().await?;

    let view = scene
        .load(
            scene
                .want()
                .node(task)
                .node(child)
                .node(grandchild)
                .node(stays),
        )
        .await?;
    for gid in [task, child, grandchild] {
        ensure(
            view.node(gid).is_none(),
            "a trashed node and its subtasks are gone",
        )?;
    }
    ensure(
        view.node(stays).is_some(),
        "what is beside a trashed node stays",
    )?;
    same(
        &scene.sources(section, rel::SECTION).await?,
        &vec![stays],
        "a trashed task is in no list",
    )?;
    let facts: Vec<Gid> = store
        .journal_entries(seq, 10)
        .await?
        .iter()
        .flat_map(|e| &e.change_records)
        .filter(|f| f.action == ChangeAction::Deleted)
        .map(|f| f.gid)
        .collect();
    same(
        &facts,
        &vec![task, child, grandchild],
        "the journal names everything that was trashed",
    )?;
    scene.fixture.with(|work| work.trash(task, Type::Task));
    same(
        &scene.commit().await,
        &Err(GraphStoreError::Conflict),
        "what is trashed cannot be trashed again",
    )
}

/// A change set may create a node and trash it, and another one may change the node later.
pub(super) async fn made_and_trashed(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let project = scene.fixture.project(scene.acme, "Plan", scene.ann);
    let section = scene.fixture.section_in(project);
    scene.commit().await?;
    let task = scene.fixture.task_in(section, "short-lived", scene.ann);
    let mut changes = scene.fixture.take();
    // There is no guard that the task is live, since it does not exist yet.
    changes.trashed.push(task);
    let written = changes.node_writes.clone();
    store.commit(changes).await?;
    let gone = |view: &workgraph_core::storage::ReadView| {
        view.resolve(&NodeRef::Gid(task)).is_none()
            && view.node(task).is_none()
            && view.sources(section, rel::SECTION).is_empty()
    };
    let want = scene
        .want()
        .node(task)
        .incoming_edges(section, rel::SECTION, 5);
    ensure(
        gone(&scene.load(want.clone()).await?),
        "a node that is made and trashed by one change set is gone",
    )?;
    let mut again = scene.fixture.take();
    again.node_writes = written;
    for write in &mut again.node_writes {
        write.node.version += 1;
    }
    // It is not specified whether this is a conflict.
    let _ = store.commit(again).await;
    ensure(
        gone(&scene.load(want).await?),
        "what is trashed stays so when it is changed",
    )
}

//! Cases about decisions: what they read must still be true at the commit.
use super::race_cases::{at_once, one_won};
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::task;
use workgraph_core::storage::{
    Changes, GraphStore, GraphStoreError, ListPosition, NodeRef, ReadQuery, alias,
};

/// Change of another writer, which a decision may have to notice.
type OtherWrite = fn(&mut StoreScene<'_>, &Places);

/// Nodes that the cases read and change.
struct Places {
    task: Gid,
    parent: Gid,
    /// A task that no decision reads.
    other: Gid,
    member: Gid,
}

impl Places {
    async fn new(scene: &mut StoreScene<'_>) -> Result<Self, GraphStoreFailure> {
        let tasks = scene.tasks(3);
        let [task, parent, other] = *tasks.as_slice() else {
            return Err(GraphStoreFailure("three tasks".into()));
        };
        let (acme, admin) = (scene.acme, workgraph_core::access::Role::Admin);
        let member = scene.fixture.member(acme, &format!("Mona {task}"), admin);
        scene
            .fixture
            .link(task, rel::PARENT, parent, ListPosition::Last, None);
        scene.commit().await?;
        Ok(Self {
            task,
            parent,
            other,
            member,
        })
    }
}

/// Returns an address that nobody has at first.
fn address(at: &Places) -> String {
    format!("new{}@example.com", at.task)
}

fn link(scene: &mut StoreScene<'_>, src: Gid, dst: Gid) {
    let last = ListPosition::Last;
    scene.fixture.link(src, rel::DEPENDS, dst, last, None);
}

fn trashes(scene: &mut StoreScene<'_>, at: &Places) {
    scene.fixture.with(|work| work.trash(at.task, Type::Task));
}

fn links_from(scene: &mut StoreScene<'_>, at: &Places) {
    link(scene, at.task, at.other);
}

fn links_into(scene: &mut StoreScene<'_>, at: &Places) {
    link(scene, at.other, at.task);
}

fn moves_away(scene: &mut StoreScene<'_>, at: &Places) {
    scene
        .fixture
        .with(|work| work.unlink(at.task, rel::PARENT, at.parent));
}

fn takes_address(scene: &mut StoreScene<'_>, at: &Places) {
    scene.fixture.user("Nora", &address(at));
}

fn loses_membership(scene: &mut StoreScene<'_>, at: &Places) {
    let (member, acme) = (at.member, scene.acme);
    scene
        .fixture
        .with(|work| work.unlink(member, rel::WORKSPACES, acme));
}

/// Reads of a decision, each with the changes that it has to notice.
fn reads(scene: &StoreScene<'_>, at: &Places) -> Vec<(&'static str, ReadQuery, Vec<OtherWrite>)> {
    let want = || scene.want_of(at.member);
    let parents = ReadQuery {
        ancestors: vec![0],
        ..want().node(at.task)
    };
    let new = NodeRef::Alias(alias::email(&address(at)));
    vec![
        ("a node", want().node(at.task), vec![trashes, links_from]),
        (
            "the edges from a node",
            want().edges(at.task, rel::DEPENDS),
            vec![trashes, links_from],
        ),
        (
            "the edges into a node",
            want().incoming_edges(at.task, rel::DEPENDS, 5),
            vec![trashes, links_into],
        ),
        (
            "the number of edges into a node",
            want().count(at.task, rel::DEPENDS),
            vec![trashes, links_into],
        ),
        (
            "that an edge is absent",
            want().edge(at.task, rel::DEPENDS, at.other),
            vec![trashes, links_from],
        ),
        ("the parents of a node", parents, vec![trashes, moves_away]),
        ("that a name is free", want().node(new), vec![takes_address]),
        ("an access", want().node(at.other), vec![loses_membership]),
    ]
}

/// Loads a query for a decision, and returns a harmless change with its reads.
async fn decided(
    scene: &mut StoreScene<'_>,
    query: ReadQuery,
) -> Result<Changes, GraphStoreFailure> {
    let reads = scene.load(query.tracked()).await?.take_reads();
    scene.fixture.tag(scene.acme, "decided");
    let mut changes = scene.fixture.take();
    changes.reads = Some(reads);
    Ok(changes)
}

pub(super) async fn outdated(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let at = Places::new(&mut scene).await?;
    let count = reads(&scene, &at).len();
    for case in 0..count {
        for change in 0..2 {
            let at = Places::new(&mut scene).await?;
            let Some((name, query, other_write)) = reads(&scene, &at).into_iter().nth(case) else {
                return Err(GraphStoreFailure("a case is missing".into()));
            };
            let Some(other_write) = other_write.get(change) else {
                continue;
            };
            let changes = decided(&mut scene, query).await?;
            other_write(&mut scene, &at);
            scene.commit().await?;
            same(
                &store.commit(changes).await,
                &Err(GraphStoreError::Conflict),
                &format!("a decision that read {name} notices change {change}"),
            )?;
        }
    }
    Ok(())
}

pub(super) async fn undisturbed(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let at = Places::new(&mut scene).await?;
    for (name, query, _) in reads(&scene, &at) {
        let changes = decided(&mut scene, query).await?;
        // A task beside the others, in the same workspace.
        let beside = scene.tasks(2);
        if let [one, two] = *beside.as_slice() {
            link(&mut scene, one, two);
        }
        scene.commit().await?;
        let done = store.commit(changes).await;
        ensure(
            done.is_ok(),
            &format!("a decision that read {name} commits beside others: {done:?}"),
        )?;
    }
    Ok(())
}

pub(super) async fn one_after_another(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let at = Places::new(&mut scene).await?;
    for round in 0..10_u64 {
        let mut sets = Vec::new();
        let query = scene.want().count(at.task, rel::DEPENDS).tracked();
        let mut seen = scene.load(query).await?;
        same(
            &seen.count(at.task, rel::DEPENDS),
            &round,
            "each round adds one edge",
        )?;
        let reads = seen.take_reads();
        for _ in 0..4 {
            let new = scene.tasks(1);
            if let [new] = *new.as_slice() {
                link(&mut scene, new, at.task);
            }
            let mut changes = scene.fixture.take();
            changes.reads = Some(reads.clone());
            sets.push(changes);
        }
        one_won(&at_once(store, sets)?)?;
    }
    let view = scene.load(scene.want().node(at.task)).await?;
    let Some(node) = view.node(at.task) else {
        return Err(GraphStoreFailure("the task is there".into()));
    };
    let mut seen = scene.load(scene.want().node(at.task).tracked()).await?;
    let reads = seen.take_reads();
    let mut sets = Vec::new();
    for name in ["first", "second"] {
        scene.fixture.edit(node, task::NAME, name);
        let mut changes = scene.fixture.take();
        changes.guards.clear();
        changes.reads = Some(reads.clone());
        sets.push(changes);
    }
    one_won(&at_once(store, sets)?)
}

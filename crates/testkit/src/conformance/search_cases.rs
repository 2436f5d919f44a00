//! Cases about search. Random ones are in [`crate::search_histories`].
use super::{GraphStoreFailure, StoreScene, same};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{project, task};
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder, WordQuery,
};
use workgraph_core::storage::{
    Changes, EdgeEnd, GraphStore, GraphStoreError, Guard, ListSource, NodeRef, PageQuery,
};

/// A page of users, who belong to no workspace, contains only matching users.
pub(super) async fn sifted(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let acme = scene.acme;
    let bea = scene.fixture.member(acme, "Bea", Role::Member);
    scene.commit().await?;
    let mut want = scene.want();
    let users = ListSource::Edges {
        anchor: want.add_ref(acme),
        rel: rel::WORKSPACES,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    want.page = Some(PageQuery::of(users, false, 100));
    want.row_query = Some(SearchQuery {
        ty: Type::User,
        clauses: vec![Clause::Words(WordQuery::new("bea", false, false))],
        order: SortOrder::Column(IndexColumn::Gid),
        ascending: true,
    });
    same(
        &scene.load(want).await?.rows.gids,
        &vec![bea],
        "a page that is sifted has the rows that match, of a workspace or not",
    )
}

/// Texts with a meaning in a query language.
const HOSTILE: [&str; 12] = [
    "\"quoted\"",
    "star*",
    "a AND b",
    "NOT c",
    "name : d",
    "NEAR(e f, 3)",
    "-g ^h + i",
    "j' OR '1'='1",
    "{name notes} : k",
    "l) OR (m",
    "%n_o",
    "\\p\u{202e}q;--",
];

impl StoreScene<'_> {
    /// Returns the nodes found in the workspace.
    async fn find(
        &self,
        user: Gid,
        query: SearchQuery<usize>,
        more: &[Gid],
    ) -> Result<Vec<Gid>, GraphStoreFailure> {
        let mut want = self.want_of(user).node(self.acme);
        // Indices continue: the workspace is the first.
        want.node_refs
            .extend(more.iter().map(|gid| NodeRef::Gid(*gid)));
        want.search = Some(Search {
            workspace: 0,
            queries: vec![query],
            limit: 100,
            cap: 100_000,
            effort: SearchEffort::USUAL,
        });
        Ok(self.load(want).await?.rows.gids)
    }

    async fn texts(&self, user: Gid, text: &str) -> Result<Vec<Gid>, GraphStoreFailure> {
        let words = Clause::Words(WordQuery::new(text, false, false));
        self.find(user, tasks(vec![words]), &[]).await
    }
}

fn tasks(clauses: Vec<Clause<usize>>) -> SearchQuery<usize> {
    SearchQuery {
        ty: Type::Task,
        clauses,
        order: SortOrder::Column(IndexColumn::Gid),
        ascending: true,
    }
}

pub(super) async fn at_once(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let first = scene.fixture.task(acme, "Plant a fig", ann);
    let sub = scene.fixture.subtask(first, "fig leaves", ann);
    let other = scene.fixture.workspace("Other");
    scene.fixture.add_workspace_member(ann, other, Role::Admin);
    scene.fixture.task(other, "fig of another", ann);
    scene.commit().await?;
    let found = scene.texts(ann, "FIG").await?;
    same(
        &found,
        &vec![first, sub],
        "what was committed is found, in its workspace alone",
    )?;

    let view = scene.load(scene.want().node(first)).await?;
    if let Some(node) = view.node(first) {
        scene.fixture.edit(node, task::NAME, "Plant a pear");
    }
    scene.commit().await?;
    same(
        &scene.texts(ann, "fig").await?,
        &vec![sub],
        "not by words it no longer has",
    )?;
    same(
        &scene.texts(ann, "pear plant").await?,
        &vec![first],
        "by those it has now",
    )?;

    // A change set that fails leaves no entry in the index.
    scene.fixture.task(acme, "a fig that never was", ann);
    let refused = Changes {
        guards: vec![Guard::Version(first, 99)],
        ..scene.fixture.take()
    };
    same(
        &store.commit(refused).await,
        &Err(GraphStoreError::Conflict),
        "a guard holds",
    )?;
    same(
        &scene.texts(ann, "fig").await?,
        &vec![sub],
        "what was undone is not found",
    )?;

    scene.fixture.with(|work| work.trash(first, Type::Task));
    scene.commit().await?;
    for text in ["fig", "pear"] {
        same(
            &scene.texts(ann, text).await?,
            &vec![],
            "what was trashed is not found",
        )?;
    }
    same(
        &scene.find(ann, tasks(vec![]), &[]).await?,
        &vec![],
        "in no way",
    )
}

/// The index entry of a task changes with its own writes and with those of other nodes, and searches see each change.
pub(super) async fn follows_writes(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let fig = scene.fixture.task(acme, "fig", ann);
    let figs = scene.fixture.task(acme, "fig jam", ann);
    scene.commit().await?;
    // Sorted by a column, so that the entry of each match is read.
    let by_time = |clause| SearchQuery {
        order: SortOrder::Column(IndexColumn::Created),
        ..tasks(vec![
            Clause::Words(WordQuery::new("fig", false, false)),
            clause,
        ])
    };
    let blocking = |is| by_time(Clause::Blocking(is));
    for _ in 0..3 {
        same(
            &scene.find(ann, blocking(false), &[]).await?,
            &vec![fig, figs],
            "no task depends on another",
        )?;
    }
    let end = workgraph_core::storage::ListPosition::Rank(0);
    scene.fixture.link(figs, rel::DEPENDS, fig, end, None);
    scene.commit().await?;
    for _ in 0..3 {
        same(
            &scene.find(ann, blocking(true), &[]).await?,
            &vec![fig],
            "a task blocks once another depends on it",
        )?;
    }
    let view = scene.load(scene.want().node(fig)).await?;
    if let Some(node) = view.node(fig) {
        scene.fixture.edit(node, task::COMPLETED, true);
    }
    scene.commit().await?;
    let completed = |is| by_time(Clause::Completed(is));
    same(
        &scene.find(ann, completed(true), &[]).await?,
        &vec![fig],
        "what was completed is found as such",
    )?;
    scene.fixture.with(|work| work.trash(fig, Type::Task));
    scene.commit().await?;
    same(
        &scene.find(ann, completed(true), &[]).await?,
        &vec![],
        "until it is trashed",
    )
}

pub(super) async fn hostile(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let made: Vec<Gid> = HOSTILE
        .iter()
        .map(|text| scene.fixture.task(acme, text, ann))
        .collect();
    scene.commit().await?;
    for (text, gid) in HOSTILE.iter().zip(made) {
        let found = scene.texts(ann, text).await?;
        same(
            &found.contains(&gid),
            &true,
            &format!("what is called {text} is found by that"),
        )?;
        for starts in [false, true] {
            let words = WordQuery::new(text, starts, true);
            let all = scene
                .find(ann, tasks(vec![Clause::Words(words)]), &[])
                .await?;
            same(
                &all.contains(&gid),
                &true,
                &format!("and by its name: {text}"),
            )?;
        }
    }
    same(
        &scene.texts(ann, " ").await?,
        &vec![],
        "what is no word is found nowhere",
    )
}

pub(super) async fn visible(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let bob = scene.fixture.member(acme, "Bob", Role::Member);
    let open = scene.fixture.project(acme, "Open", ann);
    let closed = scene.fixture.private_project(acme, "Closed", ann);
    let (here, there) = (
        scene.fixture.section_in(open),
        scene.fixture.section_in(closed),
    );
    let seen = scene.fixture.task_in(here, "word", ann);
    let hidden = scene.fixture.task_in(there, "word", ann);
    scene.commit().await?;
    same(
        &scene.texts(ann, "word").await?,
        &vec![seen, hidden],
        "the owner finds both",
    )?;
    same(
        &scene.texts(bob, "word").await?,
        &vec![seen],
        "others what they may see",
    )?;
    let of = |by| tasks(vec![Clause::Any(vec![(by, 1)])]);
    same(
        &scene.find(bob, of(SearchLink::Project), &[closed]).await?,
        &vec![],
        "in whatever way",
    )?;
    scene.fixture.link(
        hidden,
        rel::FOLLOWERS,
        bob,
        workgraph_core::storage::ListPosition::Rank(0),
        None,
    );
    scene.commit().await?;
    same(
        &scene.find(bob, of(SearchLink::Follower), &[bob]).await?,
        &vec![hidden],
        "shared with them is theirs",
    )?;

    let projects = |clauses| SearchQuery {
        ty: Type::Project,
        ..tasks(clauses)
    };
    same(
        &scene.find(bob, projects(vec![]), &[]).await?,
        &vec![open],
        "projects too",
    )?;
    let view = scene.load(scene.want().node(closed)).await?;
    if let Some(node) = view.node(closed) {
        scene
            .fixture
            .edit(node, project::PRIVACY, "public_to_workspace");
    }
    scene.commit().await?;
    let words = Clause::Words(WordQuery::new("clo", true, true));
    same(
        &scene.find(bob, projects(vec![words]), &[]).await?,
        &vec![closed],
        "from the next commit on",
    )
}

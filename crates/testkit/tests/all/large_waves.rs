//! The number of waves does not grow with the lists that are read.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::sync::Arc;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::task;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder, WordQuery,
};
use workgraph_core::storage::{
    EdgeEnd, GraphStore, ListSource, NodeRef, PageQuery, ReadQuery, RowFilter, ViewerKey,
};
use workgraph_core::{plan, tasks_of_container};
use workgraph_testkit::memory_store::WaveOptions;
use workgraph_testkit::{Fixture, MemoryStore, WaveStore};

/// A workspace with 1,500 tasks.
struct Office {
    direct: Arc<MemoryStore>,
    waves: WaveStore,
    fixture: Fixture,
    workspace: Gid,
    ann: Gid,
    gus: Gid,
    /// Project with 250 sections of three tasks each.
    scattered: Gid,
    /// Private project with one section.
    private: Gid,
    /// Section with 750 tasks, of which the last ten are completed.
    section: Gid,
    /// Task with four levels of subtasks below it, three to each.
    parent: Gid,
}

impl Office {
    fn new() -> Self {
        let mut fixture = Fixture::default();
        let workspace = fixture.workspace("Acme");
        let ann = fixture.member(workspace, "Ann", Role::Admin);
        let gus = fixture.member(workspace, "Gus", Role::Guest);
        let scattered = fixture.project(workspace, "Scattered", ann);
        for n in 0..250 {
            let section = fixture.section(scattered, workspace, &format!("section {n}"));
            for m in 0..3 {
                fixture.task_in(section, &format!("plan {n} {m}"), ann);
            }
        }
        let private = fixture.private_project(workspace, "Private", ann);
        let section = fixture.section_in(private);
        let mut completed = Vec::new();
        for n in 0..750 {
            let gid = fixture.task_in(section, &format!("secret plan {n}"), ann);
            completed.extend((n >= 740).then_some(gid));
        }
        let parent = fixture.task_in(section, "parent", ann);
        let mut level = vec![parent];
        for depth in 0..4 {
            let below = level.iter().flat_map(|gid| [*gid; 3]);
            let below: Vec<Gid> = below.collect();
            level = below
                .into_iter()
                .map(|gid| fixture.subtask(gid, &format!("level {depth}"), ann))
                .collect();
        }
        let mut changes = fixture.take();
        for put in &mut changes.node_writes {
            if completed.contains(&put.node.gid) {
                let mut draft = Draft::edit(&put.node);
                draft.set(task::COMPLETED, true);
                put.node = Node {
                    version: 1,
                    ..draft.finish()
                };
            }
        }
        let direct = Arc::new(MemoryStore::new());
        block_on(direct.commit(changes)).unwrap();
        let copy = Arc::new(MemoryStore::clone(&direct));
        let waves = WaveStore::over(copy, WaveOptions::default());
        Self {
            direct,
            waves,
            fixture,
            workspace,
            ann,
            gus,
            scattered,
            private,
            section,
            parent,
        }
    }

    /// Loads on both stores, and returns the number of waves.
    fn load(&self, user: Gid, anchor: Gid, build: impl Fn(&mut ReadQuery)) -> usize {
        let service = None;
        let mut want = ReadQuery::of(ViewerKey { user, service });
        want.add_ref(anchor);
        build(&mut want);
        let direct = block_on(self.direct.load(&want)).unwrap();
        let view = block_on(self.waves.load(&want)).unwrap();
        assert_eq!(direct.rows, view.rows);
        self.waves.take_counts().iter().map(|c| c.waves).sum()
    }

    fn page(&self, user: Gid, anchor: Gid, source: ListSource, filters: Vec<RowFilter>) -> usize {
        self.load(user, anchor, |want| {
            want.page = Some(PageQuery {
                filters: filters.clone(),
                ..PageQuery::of(source.clone(), false, 100)
            });
            want.page_plan = Some(plan::full(Type::Task));
        })
    }

    fn search(&self, user: Gid, clauses: Vec<Clause<usize>>, order: SortOrder) -> usize {
        self.load(user, self.workspace, |want| {
            want.node_refs.push(NodeRef::Gid(self.private));
            want.search = Some(Search {
                workspace: 0,
                queries: vec![SearchQuery {
                    ty: Type::Task,
                    clauses: clauses.clone(),
                    order,
                    ascending: false,
                }],
                limit: 20,
                cap: 10_000,
                effort: SearchEffort::USUAL,
            });
            want.page_plan = Some(plan::compact(Type::Task));
        })
    }
}

#[test]
fn long_lists_take_few_waves() {
    let office = Office::new();
    let (ann, gus) = (office.ann, office.gus);
    let rows = ListSource::Edges {
        anchor: 0,
        rel: rel::SECTION,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    let titles = ListSource::Alphabetical {
        anchor: 0,
        rel: rel::SECTION,
        dir: Direction::In,
    };
    let sections = tasks_of_container(0, false);
    let done = || vec![RowFilter::Flag("completed", true)];
    let everywhere = ListSource::InWorkspace {
        anchor: 0,
        ty: Type::Task,
    };
    let modified = SortOrder::Column(IndexColumn::Modified);
    let created = SortOrder::Column(IndexColumn::Created);
    let words = |text| vec![Clause::Words(WordQuery::new(text, false, false))];
    let of_private = || vec![Clause::Any(vec![(SearchLink::Project, 1)])];
    let waves = [
        (
            "sections",
            office.page(ann, office.scattered, sections, Vec::new()),
        ),
        (
            "section",
            office.page(ann, office.section, rows.clone(), Vec::new()),
        ),
        ("filtered", office.page(ann, office.section, rows, done())),
        (
            "titles",
            office.page(ann, office.section, titles, Vec::new()),
        ),
        (
            "workspace",
            office.page(ann, office.workspace, everywhere.clone(), Vec::new()),
        ),
        (
            "workspace, of a guest",
            office.page(gus, office.workspace, everywhere, Vec::new()),
        ),
        ("words", office.search(ann, words("plan"), modified)),
        (
            "words, of a guest",
            office.search(gus, words("plan"), modified),
        ),
        (
            "relevance",
            office.search(ann, words("plan"), SortOrder::Relevance),
        ),
        ("all", office.search(ann, Vec::new(), created)),
        ("all, of a guest", office.search(gus, Vec::new(), created)),
        (
            "completed",
            office.search(ann, vec![Clause::Completed(true)], modified),
        ),
        ("project", office.search(ann, of_private(), modified)),
        (
            "project, of a guest",
            office.search(gus, of_private(), created),
        ),
    ];
    let slow: Vec<_> = waves.iter().filter(|(_, waves)| *waves > 8).collect();
    assert!(slow.is_empty(), "{slow:?} of {waves:?}");
}

#[test]
fn a_deep_deletion_takes_as_many_waves_as_it_has_levels() {
    let mut office = Office::new();
    office
        .fixture
        .with(|work| work.changes.trashed.push(office.parent));
    let changes = office.fixture.take();
    block_on(office.direct.commit(changes.clone())).unwrap();
    block_on(office.waves.commit(changes)).unwrap();
    assert!(office.direct.has_same_graph(office.waves.store()));
    let waves: Vec<usize> = office
        .waves
        .take_counts()
        .iter()
        .map(|count| count.waves)
        .collect();
    assert!(waves.iter().all(|waves| *waves <= 7), "{waves:?}");
}

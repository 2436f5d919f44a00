//! Random graphs and random searches: a store must find the same nodes as a check of every node.
#![expect(
    clippy::indexing_slicing,
    reason = "random bytes are taken modulo the length"
)]
mod random_queries;

use crate::fixture::Fixture;
use crate::memory_store::MemoryStore;
use proptest::prelude::*;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{project, story, task};
use workgraph_core::model::time::Time;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder, ValuePredicate,
    WordQuery,
};
use workgraph_core::storage::custom_field_index::{IndexKey, ValueIndexEntry};
use workgraph_core::storage::{
    Changes, EdgeWrite, GraphStore, ListPosition, NodeRef, NodeWrite, ReadQuery, ViewerKey,
};

/// History of changes and searches, as the random bytes from which they are generated.
pub type SearchHistory = Vec<u8>;

/// Returns a strategy for any history.
pub fn any_history() -> impl Strategy<Value = SearchHistory> {
    proptest::collection::vec(any::<u8>(), 200..900)
}

const DAY: i64 = 86_400_000;
/// Efforts that lead to every strategy of a search in these small graphs.
const EFFORTS: [SearchEffort; 8] = [
    SearchEffort::USUAL,
    // All candidates are collected, and lists are intersected.
    effort(200, 200, 0, [0, 0]),
    // Everything is scanned in order, in the first or the second attempt.
    effort(0, 0, 0, [usize::MAX, 0]),
    effort(0, 0, 0, [2, usize::MAX]),
    // A few candidates are collected, a few entries are scanned, and then all candidates are collected.
    effort(1, 1, 3, [2, 4]),
    // Many candidates are collected, but a few entries are still scanned.
    effort(200, 2, 3, [0, 4]),
    // More entries are sorted than were read before the scan in order was tried.
    SearchEffort {
        probe: 1,
        ..effort(200, 200, 3, [2, 4])
    },
    // Lists with the values of the order are read further than others before the scan in order is tried.
    SearchEffort {
        probe: 1,
        probe_ranked: 6,
        ..effort(200, 2, 3, [2, 4])
    },
];

const fn effort(
    gather: usize,
    sort: usize,
    narrow: usize,
    [trial_scan, walk]: [usize; 2],
) -> SearchEffort {
    SearchEffort {
        probe: sort,
        probe_ranked: sort,
        sort,
        trial_scan,
        gather,
        narrow,
        walk,
    }
}

const NAMES: [&str; 14] = [
    "plan",
    "Plänt",
    "the plan of work",
    "WORK",
    "会议室 plan",
    "\"plan\" OR x*",
    "",
    "name:plan",
    "C# → 5 €",
    "🚀",
    "👩‍💻👍🏽 plan!",
    "Straße 12",
    "strasse 1 w",
    "ประชุมทีมงาน",
];
/// Texts to search for.
const TEXTS: [&str; 20] = [
    "plan",
    "PLANT",
    "work pl",
    "会",
    "x",
    "w",
    "\"",
    "plan work",
    "C#",
    "#",
    "€",
    "🚀",
    "👩‍💻",
    "👍",
    "STRASSE",
    "w 1",
    "straße w 1",
    "ทีม",
    "议室",
    "plan p pla work",
];

struct SearchWorld<'d> {
    bytes: std::slice::Iter<'d, u8>,
    fixture: Fixture,
    /// Tasks and projects in their last version.
    nodes: Vec<Node>,
    /// Nodes used in queries, the workspace first.
    refs: Vec<(Type, Gid)>,
    clock: i64,
}

impl SearchWorld<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(*self.bytes.next().unwrap_or(&0)) % sides.max(1)
    }

    fn over(&self) -> bool {
        self.bytes.len() == 0
    }

    /// Returns the index of a node used in queries.
    fn named(&mut self, ty: Type) -> usize {
        let all: Vec<usize> = (0..self.refs.len())
            .filter(|at| self.refs.get(*at).is_some_and(|(of, _)| *of == ty))
            .collect();
        let at = self.roll(all.len());
        all.get(at).copied().unwrap_or(0)
    }

    fn gid(&mut self, ty: Type) -> Gid {
        let at = self.named(ty);
        self.refs.get(at).map_or(self.refs[0].1, |(_, gid)| *gid)
    }

    fn time(&mut self) -> Time {
        Time::from_millis(self.fixture.now().millis() + self.roll(12) as i64 * DAY / 2)
    }

    fn day(&mut self) -> Option<workgraph_core::model::time::Date> {
        (self.roll(3) > 0).then(|| workgraph_core::model::time::Date::of(self.time()))
    }

    /// Gives the fields of a draft other values, which often repeat.
    fn fill(&mut self, draft: &mut Draft) {
        self.clock += 1;
        let now = Time::from_millis(self.fixture.now().millis() + self.clock / 2 * DAY / 4);
        let name = NAMES[self.roll(NAMES.len())];
        if draft.ty == Type::Project {
            draft.set(project::NAME, name);
            draft.set(project::MODIFIED_AT, now);
            draft.set(project::DUE_ON, self.day());
            let owner = self.gid(Type::User);
            draft.set(project::OWNER, (self.roll(2) == 0).then_some(owner));
            return;
        }
        if draft.is_new() {
            draft.set(task::CREATED_AT, now);
            let creator = self.gid(Type::User);
            draft.set(task::CREATED_BY, creator);
        }
        draft.set(task::MODIFIED_AT, now);
        draft.set(task::NAME, name);
        draft.set(task::NOTES, NAMES[self.roll(NAMES.len())]);
        let done = self.roll(2) == 0;
        draft.set(task::COMPLETED, done);
        draft.set(task::COMPLETED_AT, done.then_some(now));
        let (assignee, by) = (self.gid(Type::User), self.gid(Type::User));
        let assigned = self.roll(3) > 0;
        draft.set(task::ASSIGNEE, assigned.then_some(assignee));
        draft.set(task::ASSIGNED_BY, assigned.then_some(by));
        let at = (self.roll(4) == 0).then(|| self.time());
        draft.set(task::DUE_AT, at);
        let day = self.day();
        draft.set(
            task::DUE_ON,
            at.map(workgraph_core::model::time::Date::of).or(day),
        );
        draft.set(task::START_ON, self.day());
        let subtype = self.roll(6).min(task::SUBTYPES.len() - 1);
        draft.set(task::SUBTYPE, task::SUBTYPES[subtype]);
    }

    fn put(&mut self, node: Node, changes: &mut Changes) {
        self.nodes.retain(|n| n.gid != node.gid);
        self.nodes.push(node.clone());
        changes.node_writes.push(NodeWrite { node });
    }

    fn task(&mut self) -> Option<Gid> {
        let tasks: Vec<Gid> = self
            .nodes
            .iter()
            .filter(|n| n.ty == Type::Task)
            .map(|n| n.gid)
            .collect();
        let at = self.roll(tasks.len());
        tasks.get(at).copied()
    }

    /// Returns one change set.
    fn changes(&mut self) -> Changes {
        let mut changes = Changes {
            time: self.fixture.now(),
            ..Changes::default()
        };
        let workspace = self.refs[0].1;
        let link = |src, rel, dst, position, aux| EdgeWrite {
            src,
            rel,
            dst,
            position,
            aux,
        };
        match self.roll(10) {
            0..4 => {
                let gid = self.fixture.gid();
                let mut draft = Draft::new(Type::Task, gid, Some(workspace));
                self.fill(&mut draft);
                self.put(draft.finish(), &mut changes);
                if self.roll(2) == 0 {
                    let at = self.named(Type::Section);
                    let (section, project) = (self.refs[at].1, self.refs[at - 1].1);
                    changes.edge_writes.push(link(
                        gid,
                        rel::SECTION,
                        section,
                        ListPosition::Last,
                        Some(project),
                    ));
                }
                if self.roll(4) == 0
                    && let Some(parent) = self.task().filter(|p| *p != gid)
                {
                    changes.edge_writes.push(link(
                        gid,
                        rel::PARENT,
                        parent,
                        ListPosition::Last,
                        None,
                    ));
                }
            }
            4 => {
                let at = self.roll(self.nodes.len());
                if let Some(node) = self.nodes.get(at).cloned() {
                    let mut draft = Draft::edit(&node);
                    self.fill(&mut draft);
                    self.put(draft.finish(), &mut changes);
                }
            }
            5 => {
                if let Some(gid) = self.task().filter(|_| self.roll(2) == 0) {
                    changes.trashed.push(gid);
                }
            }
            6 => {
                let (field, value) = (self.gid(Type::Workspace), self.roll(6));
                if let Some(node) = self.task() {
                    let keys = match value {
                        0 => vec![],
                        1 => vec![IndexKey::text("The End"), IndexKey::text("start")],
                        n => IndexKey::number(n as f64).into_iter().collect(),
                    };
                    changes
                        .index_updates
                        .push(ValueIndexEntry { node, field, keys });
                }
            }
            7 => {
                // A comment, or another story that is not a comment.
                let (author, comment) = (self.gid(Type::User), self.roll(2) == 0);
                if let Some(on) = self.task() {
                    let mut draft = Draft::new(Type::Story, self.fixture.gid(), Some(workspace));
                    draft.set(story::CREATED_BY, author);
                    draft.set(
                        story::SUBTYPE,
                        if comment {
                            story::COMMENT
                        } else {
                            "name_changed"
                        },
                    );
                    let node = draft.finish();
                    changes.edge_writes.push(link(
                        node.gid,
                        rel::STORY_OF,
                        on,
                        ListPosition::Rank(0),
                        None,
                    ));
                    changes.node_writes.push(NodeWrite { node });
                }
            }
            _ => {
                let (of, to) = match self.roll(4) {
                    0 => (rel::TAGS, Some(self.gid(Type::Tag))),
                    1 => (rel::FOLLOWERS, Some(self.gid(Type::User))),
                    2 => (rel::LIKES, Some(self.gid(Type::User))),
                    _ => (rel::DEPENDS, self.task()),
                };
                let on = self.task();
                if let (Some(src), Some(dst)) = (on, to.filter(|to| Some(*to) != on)) {
                    if self.roll(4) == 0 {
                        changes.edge_removals.push((src, of, dst));
                    } else {
                        changes
                            .edge_writes
                            .push(link(src, of, dst, ListPosition::Rank(0), None));
                    }
                }
            }
        }
        changes
    }
}

fn world(bytes: &[u8]) -> (SearchWorld<'_>, Changes, Vec<Gid>) {
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let other = fixture.workspace("Other plan");
    let ann = fixture.member(acme, "Ann Plan", Role::Admin);
    let bob = fixture.member(acme, "Bob", Role::Member);
    let gus = fixture.member(acme, "Gus", Role::Guest);
    let eve = fixture.member(other, "Eve Plan", Role::Admin);
    let team = fixture.team(acme, "Team", bob);
    let open = fixture.project(acme, "plan", ann);
    let closed = fixture.private_project(acme, "Private plan", bob);
    fixture.link(open, rel::TEAM, team, ListPosition::Rank(0), None);
    let tags = [fixture.tag(acme, "plan tag"), fixture.tag(acme, "other")];
    let foreign = fixture.project(other, "plan of another", eve);
    let section = fixture.section_in(foreign);
    fixture.task_in(section, "plan of another", eve);
    let (first, second) = (fixture.section_in(open), fixture.section_in(closed));
    let start = fixture.take();
    let mut refs = vec![(Type::Workspace, acme)];
    refs.extend([ann, bob, gus].map(|user| (Type::User, user)));
    refs.extend([(Type::Team, team)]);
    // A section follows its project.
    refs.extend([
        (Type::Project, open),
        (Type::Section, first),
        (Type::Project, closed),
        (Type::Section, second),
    ]);
    refs.extend(tags.map(|tag| (Type::Tag, tag)));
    let nodes = start.node_writes.iter().map(|p| p.node.clone());
    let nodes = nodes
        .filter(|n| n.ty == Type::Project && n.workspace == Some(acme))
        .collect();
    let world = SearchWorld {
        bytes: bytes.iter(),
        fixture,
        nodes,
        refs,
        clock: 0,
    };
    (world, start, vec![ann, bob, gus])
}

/// Runs a history against an empty store and the model.
///
/// # Errors
/// Fails with the first search that found a wrong set of nodes, or a wrong order.
pub fn compare(store: &dyn GraphStore, history: &SearchHistory) -> Result<(), String> {
    let model = MemoryStore::new();
    let (mut world, start, viewers) = world(history);
    let both = |changes: Changes| {
        let answers = (
            block_on(store.commit(changes.clone())),
            block_on(model.commit(changes)),
        );
        if answers.0 == answers.1 {
            Ok(())
        } else {
            Err(format!("commits differ: {answers:?}"))
        }
    };
    both(start)?;
    while !world.over() {
        for _ in 0..1 + world.roll(6) {
            let changes = world.changes();
            if !changes.is_empty() {
                both(changes)?;
            }
        }
        let search = Search {
            workspace: 0,
            queries: match world.roll(3) {
                0 => world.typeahead(),
                _ => (0..1 + world.roll(8) / 7).map(|_| world.query()).collect(),
            },
            limit: [3, 10, 100][world.roll(3)],
            cap: [100_000, 100_000, 5][world.roll(3)],
            effort: EFFORTS[world.roll(EFFORTS.len())],
        };
        let user = viewers[world.roll(viewers.len())];
        let viewer = ViewerKey {
            user,
            service: None,
        };
        let mut want = ReadQuery::of(viewer);
        want.node_refs = world
            .refs
            .iter()
            .map(|(_, gid)| NodeRef::Gid(*gid))
            .collect();
        want.search = Some(search.clone());
        let found = block_on(store.load(&want))
            .map_err(|e| e.to_string())?
            .rows
            .gids;
        let refs: Vec<Gid> = world.refs.iter().map(|(_, gid)| *gid).collect();
        let whole = Search {
            limit: usize::MAX,
            ..search.clone()
        };
        let all = model
            .search_naively(viewer, &refs, &whole)
            .map_err(|e| e.to_string())?;
        let expected: Vec<Gid> = all.iter().copied().take(search.limit).collect();
        // A search that reached its cap has found some of the nodes.
        let capped = search.cap < 100_000 && found.iter().all(|gid| all.contains(gid));
        if found != expected && !capped {
            return Err(format!(
                "{search:?} of {user}: found {found:?}, expected {expected:?}"
            ));
        }
    }
    Ok(())
}

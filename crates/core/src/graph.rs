//! The storage port: what is wanted, what was found, what changes.
use crate::access::{Level, Viewer};
pub use crate::change::{
    About, Action, Changes, Committed, Event, Fact, Guard, Link, Place, Put, fingerprint,
};
use crate::gid::Gid;
use crate::node::Node;
use crate::plan::Plan;
use crate::registry::{Dir, Rel, Type};
use crate::search::Search;
use crate::time::Time;
use async_trait::async_trait;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// A commit sequence number: 1 for the first commit, without gaps, in commit order.
pub type Seq = u64;

/// An association between two nodes, and perhaps a third.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// Where it starts.
    pub src: Gid,
    /// What it means.
    pub rel: Rel,
    /// Where it leads.
    pub dst: Gid,
    /// Its place in the target's list, or a small number the relation defines.
    pub rank: i64,
    /// The commit that made it.
    pub seq: Seq,
    /// The third party.
    pub aux: Option<Gid>,
}

/// A node by gid or by a unique name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ref {
    /// By gid.
    Gid(Gid),
    /// By alias, such as `email:ann@example.com`.
    Alias(String),
    /// The task list of a user in the workspace that a node belongs to.
    TaskList {
        /// The user.
        user: Box<Ref>,
        /// The workspace, or any node of it.
        near: Box<Ref>,
    },
    /// The node that another one points to.
    Of {
        /// The other one.
        node: Box<Ref>,
        /// By what it points.
        by: By,
    },
}

/// How one node points to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum By {
    /// By its first edge of a relation.
    Edge(Rel),
    /// By a gid stored under a key.
    Key(&'static str),
    /// As the third party of its edge to that node.
    Aux(Rel, Gid),
}

impl Ref {
    /// The node this one points to.
    #[must_use]
    pub fn of(self, by: By) -> Self {
        Self::Of {
            node: Box::new(self),
            by,
        }
    }
}

impl From<Gid> for Ref {
    fn from(gid: Gid) -> Self {
        Self::Gid(gid)
    }
}

/// The unique names of nodes.
pub mod alias {
    use crate::gid::Gid;
    /// A user by e-mail address.
    #[must_use]
    pub fn email(address: &str) -> String {
        format!("email:{}", address.to_lowercase())
    }
    /// The task list of a user in a workspace.
    #[must_use]
    pub fn task_list(user: Gid, workspace: Gid) -> String {
        format!("list:{user}:{workspace}")
    }
}

/// Which node of an edge a list gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Give {
    /// The node at the other end.
    Far,
    /// The third party.
    Aux,
}

/// What a page is a page of. The anchor is an index into [`Want::refs`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Edges of one relation at the anchor.
    Edges {
        /// The anchor.
        anchor: usize,
        /// The relation.
        rel: Rel,
        /// Away from the anchor or towards it.
        dir: Dir,
        /// What to give of each edge.
        give: Give,
    },
    /// Sources of `inner` edges into the sources of `outer` edges into the anchor: the tasks of a
    /// project, section by section.
    Through {
        /// The anchor.
        anchor: usize,
        /// Section → anchor.
        outer: Rel,
        /// Task → section.
        inner: Rel,
    },
    /// All nodes of a type that belong to the workspace, in the order of their gids.
    Home {
        /// The workspace.
        anchor: usize,
        /// The type.
        ty: Type,
    },
    /// The anchor alone.
    Only {
        /// The anchor.
        anchor: usize,
    },
    /// As `Edges`, but by title (case folded), then gid. Reads the whole list, at most
    /// [`ALPHABETICAL_CAP`] rows of it.
    Alphabetical {
        /// The anchor.
        anchor: usize,
        /// The relation.
        rel: Rel,
        /// Away from the anchor or towards it.
        dir: Dir,
    },
}

/// The most rows an alphabetical list considers.
pub const ALPHABETICAL_CAP: usize = 2_000;

/// A condition on the rows of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Of this type.
    Is(Type),
    /// Of this workspace.
    Home(Gid),
    /// Open, or completed at or after the instant.
    CompletedSince(Time),
    /// Modified at or after the instant.
    ModifiedSince(Time),
    /// A stored flag has this value (absent means false).
    Flag(&'static str, bool),
    /// The other end of the edge is this node.
    Far(Gid),
    /// The node has an edge of this relation to that node.
    Linked(Rel, Gid),
}

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// What is listed.
    pub from: Listing,
    /// Conditions on the rows.
    pub filters: Vec<Filter>,
    /// The keyset of the last row of the page before.
    pub after: Option<Vec<i64>>,
    /// How many rows to give at most.
    pub limit: usize,
    /// Rows committed later are not part of the walk; none means "now".
    pub upto: Option<Seq>,
    /// Whether seeing the anchor means seeing every row.
    pub open: bool,
    /// Rows that earlier pages of this walk went through.
    pub seen: u32,
    /// Rows after which a walk is cut: the very-large-set limit.
    pub cap: u32,
}

/// The rows of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// The nodes, in order.
    pub gids: Vec<Gid>,
    /// Where the next page starts, if there is one.
    pub next: Option<Vec<i64>>,
    /// The bound of the walk.
    pub upto: Seq,
    /// Rows the walk has gone through so far, unreadable ones included.
    pub seen: u32,
    /// The walk reached the cap and there is more.
    pub cut: bool,
}

/// Who asks, for the store to work out a [`Viewer`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ViewerKey {
    /// The user.
    pub user: Gid,
    /// The workspace a service account is for.
    pub service: Option<Gid>,
}

/// All that a request needs from the store, read from one snapshot in one trip.
#[derive(Clone, Debug)]
pub struct Want {
    /// Who asks.
    pub viewer: ViewerKey,
    /// The only workspaces that the request reaches, if not all of the viewer's.
    pub reach: Option<Arc<[u64]>>,
    /// Nodes, with the viewer's level on each.
    pub refs: Vec<Ref>,
    /// For rules: edges from the refs (by index).
    pub out: Vec<(usize, Rel)>,
    /// For rules: edges into the refs (by index), at most this many.
    pub into: Vec<(usize, Rel, usize)>,
    /// For rules: one edge between two refs, if it exists.
    pub linked: Vec<(usize, Rel, usize)>,
    /// For rules: the chain of parents of these refs, and their levels.
    pub ancestors: Vec<usize>,
    /// For rules: how many levels of subtasks these refs have below them.
    pub heights: Vec<usize>,
    /// For rules: the custom fields that the projects of these tasks give them.
    pub fields: Vec<usize>,
    /// A page of a list.
    pub page: Option<Page>,
    /// Matches of a search, as the rows of the page; instead of one.
    pub search: Option<Search>,
    /// What to follow from the rows of the page.
    pub page_plan: Option<Arc<Plan>>,
    /// What to follow from single nodes.
    pub plans: Vec<(usize, Arc<Plan>)>,
    /// Nodes that the store does not have, such as events, and what to follow from them. The viewer
    /// may see them.
    pub given: Vec<(Arc<Node>, Arc<Plan>)>,
}

impl Want {
    /// Nothing yet.
    #[must_use]
    pub fn of(viewer: ViewerKey) -> Self {
        Self {
            viewer,
            reach: None,
            refs: Vec::new(),
            out: Vec::new(),
            into: Vec::new(),
            linked: Vec::new(),
            ancestors: Vec::new(),
            heights: Vec::new(),
            fields: Vec::new(),
            page: None,
            search: None,
            page_plan: None,
            plans: Vec::new(),
            given: Vec::new(),
        }
    }
    /// Adds a node and gives its index.
    pub fn add(&mut self, node: impl Into<Ref>) -> usize {
        let node = node.into();
        if let Some(at) = self.refs.iter().position(|r| *r == node) {
            return at;
        }
        self.refs.push(node);
        self.refs.len() - 1
    }
    /// Adds a node.
    #[must_use]
    pub fn node(mut self, node: impl Into<Ref>) -> Self {
        self.add(node);
        self
    }
    /// Adds the edges of a relation that start at a node.
    #[must_use]
    pub fn edges(mut self, node: impl Into<Ref>, rel: Rel) -> Self {
        let at = self.add(node);
        self.out.push((at, rel));
        self
    }
    /// Adds the first edges of a relation that end at a node.
    #[must_use]
    pub fn into(mut self, node: impl Into<Ref>, rel: Rel, limit: usize) -> Self {
        let at = self.add(node);
        self.into.push((at, rel, limit));
        self
    }
    /// Adds the edge between two nodes, if it exists.
    #[must_use]
    pub fn edge(mut self, source: impl Into<Ref>, rel: Rel, target: impl Into<Ref>) -> Self {
        let (a, b) = (self.add(source), self.add(target));
        self.linked.push((a, rel, b));
        self
    }
    /// Adds what a plan follows from a node.
    #[must_use]
    pub fn follow(mut self, node: impl Into<Ref>, plan: Arc<Plan>) -> Self {
        let at = self.add(node);
        self.plans.push((at, plan));
        self
    }
}

/// What was found: nodes, edges and levels from one snapshot.
#[derive(Clone, Debug)]
pub struct View {
    /// Who asks.
    pub viewer: Arc<Viewer>,
    /// The last commit the snapshot shows.
    pub seq: Seq,
    /// Each of [`Want::refs`] with the live node it names.
    pub found: Vec<(Ref, Option<Gid>)>,
    /// The rows of the page.
    pub rows: Rows,
    pub(crate) nodes: FxHashMap<Gid, Arc<Node>>,
    pub(crate) levels: FxHashMap<Gid, Level>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) out: FxHashMap<Gid, Band>,
    pub(crate) ins: FxHashMap<(Gid, Rel), (u32, u32)>,
    pub(crate) counts: FxHashMap<(Gid, Rel), u64>,
    pub(crate) singles: Vec<Edge>,
    pub(crate) heights: FxHashMap<Gid, usize>,
}

/// A run of edges from one node, all with relations in `lo..=hi`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub(crate) lo: Rel,
    pub(crate) hi: Rel,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The heads of the targets were read along.
    pub(crate) heads: bool,
}

impl View {
    /// An empty view.
    #[must_use]
    pub fn new(viewer: Arc<Viewer>, seq: Seq) -> Self {
        Self {
            viewer,
            seq,
            found: Vec::new(),
            rows: Rows::default(),
            nodes: FxHashMap::default(),
            levels: FxHashMap::default(),
            edges: Vec::new(),
            out: FxHashMap::default(),
            ins: FxHashMap::default(),
            counts: FxHashMap::default(),
            singles: Vec::new(),
            heights: FxHashMap::default(),
        }
    }
    /// The live node that a wanted ref names.
    #[must_use]
    pub fn resolve(&self, name: &Ref) -> Option<Gid> {
        self.found
            .iter()
            .find(|(r, _)| r == name)
            .and_then(|(_, gid)| *gid)
    }
    /// A live node.
    #[must_use]
    pub fn node(&self, gid: Gid) -> Option<&Node> {
        self.nodes.get(&gid).map(Arc::as_ref)
    }
    /// What the viewer may do with a node; `None` for what was not loaded.
    #[must_use]
    pub fn level(&self, gid: Gid) -> Level {
        self.levels.get(&gid).copied().unwrap_or_default()
    }
    /// The edges of a relation from a node, in the order of their targets' gids.
    #[must_use]
    pub fn links(&self, gid: Gid, rel: Rel) -> &[Edge] {
        self.edges.get(self.span(gid, rel)).unwrap_or_default()
    }
    /// Where those edges are; edges that are loaded later come after them.
    pub(crate) fn span(&self, gid: Gid, rel: Rel) -> std::ops::Range<usize> {
        let Some(band) = self.out.get(&gid) else {
            return 0..0;
        };
        let start = band.start as usize;
        let run = self.edges.get(start..band.end as usize).unwrap_or_default();
        // Runs are short and sorted by relation.
        let from = run.iter().take_while(|e| e.rel < rel).count();
        let len = run.iter().skip(from).take_while(|e| e.rel == rel).count();
        start + from..start + from + len
    }
    /// The edges of a relation into a node, in list order.
    #[must_use]
    pub fn sources(&self, gid: Gid, rel: Rel) -> &[Edge] {
        let Some((start, end)) = self.ins.get(&(gid, rel)) else {
            return &[];
        };
        self.edges
            .get(*start as usize..*end as usize)
            .unwrap_or_default()
    }
    /// The edge between two nodes, if it exists and was loaded.
    #[must_use]
    pub fn link(&self, source: Gid, rel: Rel, target: Gid) -> Option<&Edge> {
        let held = self.links(source, rel).iter().chain(&self.singles);
        held.into_iter()
            .find(|e| e.src == source && e.rel == rel && e.dst == target)
    }
    /// How many live sources of a relation a node has, if that was loaded.
    #[must_use]
    pub fn count(&self, gid: Gid, rel: Rel) -> u64 {
        self.counts.get(&(gid, rel)).copied().unwrap_or_default()
    }
    /// How many levels of subtasks a node has below it, if that was loaded.
    #[must_use]
    pub fn height(&self, gid: Gid) -> usize {
        self.heights.get(&gid).copied().unwrap_or_default()
    }
    /// Adds a node with its level, as tests of rules do by hand.
    #[must_use]
    pub fn with(mut self, node: Node, level: Level) -> Self {
        self.found.push((Ref::Gid(node.gid), Some(node.gid)));
        self.levels.insert(node.gid, level);
        self.nodes.insert(node.gid, Arc::new(node));
        self
    }
    /// Adds edges from a node, as tests of rules do by hand.
    #[must_use]
    pub fn with_links(mut self, gid: Gid, mut edges: Vec<Edge>) -> Self {
        edges.extend(self.out.get(&gid).into_iter().flat_map(|b| {
            self.edges
                .get(b.start as usize..b.end as usize)
                .unwrap_or_default()
                .iter()
                .copied()
        }));
        edges.sort_unstable_by_key(|e| (e.rel, e.dst));
        let start = self.edges.len() as u32;
        self.edges.append(&mut edges);
        self.out.insert(
            gid,
            Band {
                lo: Rel(0),
                hi: Rel(u8::MAX),
                start,
                end: self.edges.len() as u32,
                heads: true,
            },
        );
        self
    }
    /// Adds edges into a node in list order, as tests of rules do by hand.
    #[must_use]
    pub fn with_sources(mut self, gid: Gid, rel: Rel, edges: &[Edge]) -> Self {
        let start = self.edges.len() as u32;
        self.edges.extend_from_slice(edges);
        self.ins
            .insert((gid, rel), (start, self.edges.len() as u32));
        self
    }
}

/// Why a store could not do it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// A guard failed: load and decide again.
    Conflict,
    /// Another node has this name.
    Taken(String),
    /// The storage failed; nothing of the call was applied.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("a node changed meanwhile"),
            Self::Taken(name) => write!(f, "the name {name} is taken"),
            Self::Failed(why) => write!(f, "storage failed: {why}"),
        }
    }
}
impl std::error::Error for StoreError {}

/// The domain graph's storage port. Every method is one trip.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// Reads everything `want` names, from one consistent snapshot. A ref with no live node is
    /// absent from the view, not an error.
    async fn load(&self, want: &Want) -> Result<View, StoreError>;

    /// Applies all of `changes`, or none. When it returns, the commit is durable.
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError>;

    /// A number that changes with every commit, before the commit is answered, if the store knows
    /// it without a trip: equal numbers before two loads mean that the same was there to load.
    fn version(&self) -> Option<u64> {
        None
    }

    /// At most `limit` commits after `seq`, in commit order.
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// The commits of the journal that say something about a node or what is in it.
    async fn feed(&self, ask: Feed) -> Result<Fed, StoreError>;

    /// Drops the oldest commits from the journal: those before the instant and not after `upto`, at
    /// most `limit` of them and never the last one. Numbers go on as before. Says how many.
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError>;
}

/// Asks for commits about a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feed {
    /// The node.
    pub about: Gid,
    /// Commits after this one.
    pub after: Seq,
    /// How many to give at most.
    pub limit: usize,
    /// How many to look at at most.
    pub scan: usize,
}

/// Commits about a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fed {
    /// The commits, in commit order. Some may turn out to say nothing about the node.
    pub events: Vec<Event>,
    /// All commits up to this one were looked at.
    pub upto: Seq,
    /// The last commit there is.
    pub last: Seq,
    /// The commit before the first one that the journal still has.
    pub pruned: Seq,
}

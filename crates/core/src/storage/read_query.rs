//! Read queries: everything that a request needs from the store.
use super::{NodeRef, PageQuery};
use crate::byte_budgets;
use crate::interrupt::MaybeInterrupt;
use crate::model::edge::Seq;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::plan::Plan;
use crate::search::{Search, SearchQuery};
use std::sync::Arc;

/// Aliases: unique names of nodes.
pub mod alias {
    use crate::model::email_address;
    use crate::model::gid::Gid;

    /// Returns the alias of a user with an e-mail address.
    #[must_use]
    pub fn email(address: &str) -> String {
        format!("email:{}", email_address::normalize_address(address))
    }
    /// Returns the alias of a custom field with this prefix of automatic ids, in any case. If it is taken, the error is
    /// `id_prefix: Already taken: ...`.
    #[must_use]
    pub fn id_prefix(workspace: Gid, prefix: &str) -> String {
        let prefix = prefix.to_ascii_uppercase();
        format!("id_prefix:{prefix} (in workspace {workspace})")
    }
    /// Returns the alias of a task with this external id of an app. If it is taken, the error is `external: Already taken:
    /// ...`. Different ids have different aliases, since the part before the id has a fixed form.
    #[must_use]
    pub fn external(app: u64, workspace: Gid, id: &str) -> String {
        format!("external:{id} (of app {app} in workspace {workspace})")
    }
    /// Returns the alias of the rate of a user on a project. If it is taken, the error is `resource: Already taken: ...`.
    #[must_use]
    pub fn rate(project: Gid, user: Gid) -> String {
        format!("resource:{user} (on project {project})")
    }
    /// Returns the alias of the invited user of a person in a workspace.
    #[must_use]
    pub fn invitation(person: Gid, workspace: Gid) -> String {
        format!("invitation:{person}:{workspace}")
    }
    /// Returns the alias of the person who replaced a removed user.
    #[must_use]
    pub fn heir(user: Gid) -> String {
        format!("heir:{user}")
    }
    /// Returns the user in an alias from [`heir`].
    #[must_use]
    pub fn user_of_heir(key: &str) -> Option<Gid> {
        Gid::parse(key.strip_prefix("heir:")?)
    }
    /// Returns the alias of a file's node: an attachment without a parent, which nobody sees. Copies of the attachment share it.
    #[must_use]
    pub fn shared_file(file: Gid) -> String {
        format!("file:{file}")
    }
    /// Returns the alias of the task list of a user in a workspace.
    #[must_use]
    pub fn task_list(user: Gid, workspace: Gid) -> String {
        format!("list:{user}:{workspace}")
    }
}

/// User or service account of a request, from which the store computes a [`Viewer`](crate::access::Viewer).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ViewerKey {
    /// Gid of the user or service account.
    pub user: Gid,
    /// Workspace of the service account; `None` for users.
    pub service: Option<Gid>,
}

/// Edges whose ranks are days.
#[derive(Clone, Copy, Debug)]
pub struct EdgesOnDays {
    /// Index of the node at which the edges end.
    pub node: usize,
    /// Relation of the edges.
    pub rel: Relation,
    /// Index of the node that has the first and the last day.
    pub days_of: usize,
    /// Keys of the two days in that node.
    pub keys: [&'static str; 2],
    /// Maximum number of edges to read.
    pub limit: usize,
}

/// Everything that a request needs from the store, in one query. The answer is true of one commit.
#[derive(Clone, Debug)]
pub struct ReadQuery {
    /// User or service account of the request.
    pub viewer: ViewerKey,
    /// App of the request's token, if the token belongs to one.
    pub app: Option<u64>,
    /// The only workspaces that the request reaches; `None` for all of the viewer's.
    pub allowed_workspaces: Option<Arc<[u64]>>,
    /// Nodes to load, with the viewer's level on each.
    pub node_refs: Vec<NodeRef>,
    /// For rules: edges from the node references (by index).
    pub out: Vec<(usize, Relation)>,
    /// For rules: edges into the node references (by index), at most this many.
    pub incoming_edges: Vec<(usize, Relation, usize)>,
    /// For rules: edges with days as ranks into the node references, and their sources in full.
    pub on_days: Vec<EdgesOnDays>,
    /// For rules: edges with ranks in a range, ends included, into the node references (by index), at most this many, and their
    /// sources in full.
    pub between: Vec<(usize, Relation, (i64, i64), usize)>,
    /// For rules: one edge between two node references (by index), if it exists.
    pub linked: Vec<(usize, Relation, usize)>,
    /// For rules: the chain of parents of these node references, with the viewer's levels.
    pub ancestors: Vec<usize>,
    /// For rules: the number of levels of subtasks below these node references.
    pub heights: Vec<usize>,
    /// For rules: all nodes that can be reached from these node references (by index) along edges of a relation.
    pub reachable: Vec<(usize, Relation)>,
    /// For rules: the number of live nodes with an edge of a relation into these node references (by index).
    pub counts: Vec<(usize, Relation)>,
    /// For rules: the custom fields that the projects of these tasks give them.
    pub custom_fields_of: Vec<usize>,
    /// A page of a list.
    pub page: Option<PageQuery>,
    /// Conditions that rows of the page must match; other rows are read, but left out.
    pub row_query: Option<SearchQuery>,
    /// Search whose matches are the rows of the page; used instead of `page`.
    pub search: Option<Search>,
    /// Plan to follow from the rows of the page.
    pub page_plan: Option<Arc<Plan>>,
    /// Plans to follow from single nodes.
    pub plans: Vec<(usize, Arc<Plan>)>,
    /// Nodes that are not in the store, such as events, with the plans to follow from them. The viewer may see them.
    pub external_nodes: Vec<(Arc<Node>, Arc<Plan>)>,
    /// Earliest commit that the view must show; `None` if it must show the last state. A store may answer from any state that it
    /// remembers from this commit on, without looking for later commits.
    pub min_seq: Option<Seq>,
    /// True if the view lists the keys of its reads ([`ReadView::reads`](super::ReadView::reads)), for a decision.
    pub tracks_reads: bool,
    /// Interrupt of the load, and of the work on its result: see [`ReadView`](super::ReadView).
    pub interrupt: MaybeInterrupt,
    /// Maximum number of bytes that the loaded nodes and edges may take.
    pub budget: usize,
}

impl ReadQuery {
    /// Returns a query that reads nothing yet.
    #[must_use]
    pub fn of(viewer: ViewerKey) -> Self {
        Self {
            viewer,
            app: None,
            allowed_workspaces: None,
            node_refs: Vec::new(),
            out: Vec::new(),
            incoming_edges: Vec::new(),
            on_days: Vec::new(),
            between: Vec::new(),
            linked: Vec::new(),
            ancestors: Vec::new(),
            heights: Vec::new(),
            reachable: Vec::new(),
            counts: Vec::new(),
            custom_fields_of: Vec::new(),
            page: None,
            row_query: None,
            search: None,
            page_plan: None,
            plans: Vec::new(),
            external_nodes: Vec::new(),
            min_seq: None,
            tracks_reads: false,
            interrupt: None,
            budget: byte_budgets::LOAD_BYTES,
        }
    }
    /// Makes the view list the keys of its reads, for a decision.
    #[must_use]
    pub fn tracked(self) -> Self {
        Self {
            tracks_reads: true,
            ..self
        }
    }
    /// Adds a node reference and returns its index.
    pub fn add_ref(&mut self, node: impl Into<NodeRef>) -> usize {
        let node = node.into();
        if let Some(at) = self.node_refs.iter().position(|r| *r == node) {
            return at;
        }
        self.node_refs.push(node);
        self.node_refs.len() - 1
    }
    /// Adds a node to the reads.
    #[must_use]
    pub fn node(mut self, node: impl Into<NodeRef>) -> Self {
        self.add_ref(node);
        self
    }
    /// Adds the edges of a relation that start at a node.
    #[must_use]
    pub fn edges(mut self, node: impl Into<NodeRef>, rel: Relation) -> Self {
        let at = self.add_ref(node);
        self.out.push((at, rel));
        self
    }
    /// Adds the first incoming edges of a relation at a node, in list order.
    #[must_use]
    pub fn incoming_edges(mut self, node: impl Into<NodeRef>, rel: Relation, limit: usize) -> Self {
        let at = self.add_ref(node);
        self.incoming_edges.push((at, rel, limit));
        self
    }
    /// Adds the first edges of a relation into a node, with their sources: the edges whose ranks are days between the two
    /// days that another node stores under these keys.
    #[must_use]
    pub fn on_days(
        mut self,
        node: impl Into<NodeRef>,
        rel: Relation,
        (days_of, keys): (NodeRef, [&'static str; 2]),
        limit: usize,
    ) -> Self {
        let (node, days_of) = (self.add_ref(node), self.add_ref(days_of));
        self.on_days.push(EdgesOnDays {
            node,
            rel,
            days_of,
            keys,
            limit,
        });
        self
    }
    /// Adds the edge between two nodes, if it exists.
    #[must_use]
    pub fn edge(
        mut self,
        source: impl Into<NodeRef>,
        rel: Relation,
        target: impl Into<NodeRef>,
    ) -> Self {
        let (a, b) = (self.add_ref(source), self.add_ref(target));
        self.linked.push((a, rel, b));
        self
    }
    /// Adds the edges of a relation that start at a node, and at all nodes that can be reached along such edges.
    #[must_use]
    pub fn reachable(mut self, node: impl Into<NodeRef>, rel: Relation) -> Self {
        let at = self.add_ref(node);
        self.reachable.push((at, rel));
        self
    }
    /// Adds the number of live nodes with an edge of a relation into a node.
    #[must_use]
    pub fn count(mut self, node: impl Into<NodeRef>, rel: Relation) -> Self {
        let at = self.add_ref(node);
        self.counts.push((at, rel));
        self
    }
    /// Adds a plan to follow from a node.
    #[must_use]
    pub fn follow(mut self, node: impl Into<NodeRef>, plan: Arc<Plan>) -> Self {
        let at = self.add_ref(node);
        self.plans.push((at, plan));
        self
    }
}

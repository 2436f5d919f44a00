//! What a request needs from the store.
use super::Page;
use crate::budget;
use crate::gid::Gid;
use crate::interrupt::MaybeInterrupt;
use crate::node::Node;
use crate::plan::Plan;
use crate::registry::Rel;
use crate::search::{Query, Search};
use std::sync::Arc;

/// A node by gid or by a unique name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ref {
    /// By gid.
    Gid(Gid),
    /// By alias, whether or not the viewer may know of the node.
    Alias(String),
    /// A user by e-mail address, as far as the viewer knows them: whom the viewer shares no workspace
    /// with is not found, and who is invited to one of the viewer's workspaces is the invited user.
    Address(String),
    /// The task list of a user in the workspace that a node belongs to.
    TaskList {
        /// The user.
        user: Box<Ref>,
        /// The workspace, or any node of it.
        near: Box<Ref>,
    },
    /// The task that an app gave this id, if it gave it to one alone among those of the viewer's
    /// workspaces.
    External {
        /// The app.
        app: u64,
        /// The id.
        id: String,
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
    /// By the edge with this rank into it.
    Rank(Rel, i64),
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
    use crate::address;
    use crate::gid::Gid;

    /// A user by e-mail address.
    #[must_use]
    pub fn email(address: &str) -> String {
        format!("email:{}", address::fold(address))
    }
    /// A custom field by the prefix of its automatic ids, in any case; taken, it reads as the error
    /// `id_prefix: Already taken: ...`.
    #[must_use]
    pub fn id_prefix(workspace: Gid, prefix: &str) -> String {
        let prefix = prefix.to_ascii_uppercase();
        format!("id_prefix:{prefix} (in workspace {workspace})")
    }
    /// A task by the id that an app gave it; taken, it reads as the error `external: Already taken: ...`.
    /// No two are alike, since what stands behind the id has one form.
    #[must_use]
    pub fn external(app: u64, workspace: Gid, id: &str) -> String {
        format!("external:{id} (of app {app} in workspace {workspace})")
    }
    /// The invitation of a user to a workspace: the user who stands there for them.
    #[must_use]
    pub fn invitation(person: Gid, workspace: Gid) -> String {
        format!("invitation:{person}:{workspace}")
    }
    /// The person who took the place of a user that is gone.
    #[must_use]
    pub fn heir(user: Gid) -> String {
        format!("heir:{user}")
    }
    /// The task list of a user in a workspace.
    #[must_use]
    pub fn task_list(user: Gid, workspace: Gid) -> String {
        format!("list:{user}:{workspace}")
    }
}

/// Who asks, for the store to work out a [`Viewer`](crate::access::Viewer).
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
    /// The app they ask by, if there is one.
    pub app: Option<u64>,
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
    /// Which rows of the page are kept; the others are read and left out.
    pub sieve: Option<Query>,
    /// Matches of a search, as the rows of the page; instead of one.
    pub search: Option<Search>,
    /// What to follow from the rows of the page.
    pub page_plan: Option<Arc<Plan>>,
    /// What to follow from single nodes.
    pub plans: Vec<(usize, Arc<Plan>)>,
    /// Nodes that the store does not have, such as events, and what to follow from them. The viewer
    /// may see them.
    pub given: Vec<(Arc<Node>, Arc<Plan>)>,
    /// Stops the work on it, also that on what is found: see [`View`](super::View).
    pub interrupt: MaybeInterrupt,
    /// How much all that is gathered may take, in bytes.
    pub budget: usize,
}

impl Want {
    /// Nothing yet.
    #[must_use]
    pub fn of(viewer: ViewerKey) -> Self {
        Self {
            viewer,
            app: None,
            reach: None,
            refs: Vec::new(),
            out: Vec::new(),
            into: Vec::new(),
            linked: Vec::new(),
            ancestors: Vec::new(),
            heights: Vec::new(),
            fields: Vec::new(),
            page: None,
            sieve: None,
            search: None,
            page_plan: None,
            plans: Vec::new(),
            given: Vec::new(),
            interrupt: None,
            budget: budget::GATHERED,
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

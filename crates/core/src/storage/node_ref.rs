//! References to nodes: by gid, by alias, or by a link from another node.
use crate::model::gid::Gid;
use crate::model::registry::Relation;

/// Reference to a node: by gid, by alias, or by a link from another node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum NodeRef {
    /// By gid.
    Gid(Gid),
    /// By alias, even if the viewer may not see the node.
    Alias(String),
    /// A user by e-mail address, as far as the viewer knows them: users who share no workspace with the viewer are not found; a
    /// person who is invited to one of the viewer's workspaces is found as the invited user.
    Address(String),
    /// The task list of a user in the workspace that a node belongs to.
    TaskList {
        /// The owner of the task list.
        user: Box<NodeRef>,
        /// The workspace, or any node in it.
        within_workspace_of: Box<NodeRef>,
    },
    /// The task with this external id of an app, if the app gave the id to only one task in the viewer's workspaces.
    External {
        /// Number of the app.
        app: u64,
        /// Id that the app gave the task.
        id: String,
    },
    /// The node that another node links to.
    Linked {
        /// Reference to the other node.
        node: Box<NodeRef>,
        /// Link that leads from the other node to this one.
        by: LinkSelector,
    },
}

/// Link from one node to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkSelector {
    /// The first edge of a relation.
    FirstEdge(Relation),
    /// The gid stored under a key.
    Key(&'static str),
    /// The workspace of the node.
    Workspace,
    /// The auxiliary node of the node's edge to that other node.
    Aux(Relation, Gid),
    /// The source of the edge into the node that has this rank.
    Rank(Relation, i64),
    /// The source of the edge at this index of the list into the node.
    Nth(Relation, usize),
}

impl NodeRef {
    /// Returns a reference to the node that this one links to.
    #[must_use]
    pub fn of(self, by: LinkSelector) -> Self {
        Self::Linked {
            node: Box::new(self),
            by,
        }
    }
}

impl From<Gid> for NodeRef {
    fn from(gid: Gid) -> Self {
        Self::Gid(gid)
    }
}

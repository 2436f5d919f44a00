//! Rows of nodes that a change has written, and their edge lists, until they are written to the table together: a new node and its
//! edges are one row.
use crate::cache::node_cache::OutEdges;
use crate::edge_list::EdgeList;
use std::collections::BTreeMap;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::snapshot::Depth;
use workgraph_core::storage::{Edge, Seq};

/// Row of a node that a change has written in part or as a whole.
#[derive(Debug, Default)]
pub(super) struct PendingRow {
    /// New content of the node, with the commit that writes it; `None` if only its edges change.
    pub(super) node: Option<(Arc<Node>, Seq)>,
    /// All its edges; `None` if they don't change.
    pub(super) edges: Option<EdgeList>,
}

/// Rows that the current change has written, but not yet to the table.
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    rows: BTreeMap<Gid, PendingRow>,
    /// Nodes that this transaction has created, as their rows in the table are.
    created: BTreeMap<Gid, (Arc<Node>, OutEdges)>,
}

impl PendingRows {
    /// Forgets the rows of a change that failed.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.created.clear();
    }

    /// Returns the nodes that the transaction has created and not changed since, except stories, which are seldom read alone.
    pub(crate) fn take_created(&mut self) -> Vec<(Arc<Node>, OutEdges)> {
        std::mem::take(&mut self.created).into_values().collect()
    }

    /// Records that the row of a node in the table is no longer that of its creation.
    pub(super) fn record_change(&mut self, gid: Gid) {
        self.created.remove(&gid);
    }

    /// Takes all pending rows, to write them to the table.
    pub(super) fn take(&mut self) -> BTreeMap<Gid, PendingRow> {
        std::mem::take(&mut self.rows)
    }

    /// Returns the edge list of a node that the current change has written, to change it further.
    pub(super) fn list_mut(&mut self, src: Gid) -> Option<&mut EdgeList> {
        self.rows.get_mut(&src)?.edges.as_mut()
    }

    /// Records all edges of a node.
    pub(super) fn set_list(&mut self, src: Gid, list: EdgeList) {
        self.rows.entry(src).or_default().edges = Some(list);
    }

    /// Records that a row was written to the table.
    pub(super) fn record_written(&mut self, gid: Gid, row: PendingRow) {
        match row.node {
            Some((node, _)) if is_new(&node) => {
                if node.ty != Type::Story {
                    let edges = row.edges.map(OutEdges::from);
                    let edges = edges.unwrap_or_else(|| OutEdges::Few([].into()));
                    self.created.insert(gid, (node, edges));
                }
            }
            _ => self.record_change(gid),
        }
    }

    /// Returns the node whose first version is pending.
    pub(crate) fn new_node(&self, gid: Gid) -> Option<Arc<Node>> {
        let (node, _) = self.rows.get(&gid)?.node.as_ref()?;
        is_new(node).then(|| Arc::clone(node))
    }

    /// Returns true if the rows in the table are not enough to read the live sources of a list, or their content.
    pub(super) fn are_in_list(&self, (dst, rel): (Gid, Relation), depth: Depth) -> bool {
        self.rows.values().any(|row| match (&row.node, &row.edges) {
            (Some(_), _) if depth > Depth::Edge => true,
            (Some((node, _)), Some(EdgeList::Row(edges))) => {
                is_new(node) && position(edges, rel, dst).is_ok()
            }
            (Some((node, _)), Some(EdgeList::Table)) => is_new(node),
            _ => false,
        })
    }

    /// Returns true if a later version of the node is pending: only its row says whether the node is trashed.
    pub(super) fn has_next_version(&self, gid: Gid) -> bool {
        let row = self.rows.get(&gid).and_then(|row| row.node.as_ref());
        row.is_some_and(|(node, _)| !is_new(node))
    }

    /// Records the new content of a node.
    pub(super) fn put_node(&mut self, node: &Node, seq: Seq) {
        self.rows.entry(node.gid).or_default().node = Some((Arc::new(node.clone()), seq));
    }

    /// Returns the outgoing edges of a node whose edges the current change has written.
    pub(super) fn edges(&self, src: Gid) -> Option<OutEdges> {
        let row = self.rows.get(&src)?;
        match (&row.edges, &row.node) {
            (Some(list), _) => Some(list.clone().into()),
            (None, Some((node, _))) if is_new(node) => Some(OutEdges::Few([].into())),
            _ => None,
        }
    }
}

/// Returns true if no row of the node exists yet.
pub(super) fn is_new(node: &Node) -> bool {
    node.version == 1
}

/// Position of an edge in a list, or the position where it belongs.
pub(super) fn position(edges: &[Edge], rel: Relation, dst: Gid) -> Result<usize, usize> {
    edges.binary_search_by_key(&(rel, dst), |edge| (edge.rel, edge.dst))
}

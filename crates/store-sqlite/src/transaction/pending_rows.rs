//! Rows of nodes that a change has written, and their edge lists, until they are written to the table together: a new node and its
//! edges are one row.
use super::SqliteTransaction;
use super::columns::{column_list, edge, limit};
use super::graph_writes::whole;
use crate::cache::node_cache::OutEdges;
use crate::edge_list::{EDGES_MAX, EdgeList};
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::Row;
use std::collections::BTreeMap;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::snapshot::Depth;
use workgraph_core::storage::{Edge, GraphStoreError, Seq};

/// Row of a node that a change has written in part or as a whole.
#[derive(Debug, Default)]
struct PendingRow {
    /// New content of the node, with the commit that writes it; `None` if only its edges change.
    node: Option<(Arc<Node>, Seq)>,
    /// All its edges; `None` if they don't change.
    edges: Option<EdgeList>,
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

    /// Records that a row was written to the table.
    fn record_written(&mut self, gid: Gid, row: PendingRow) {
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
fn is_new(node: &Node) -> bool {
    node.version == 1
}

/// Position of an edge in a list, or the position where it belongs.
fn position(edges: &[Edge], rel: Relation, dst: Gid) -> Result<usize, usize> {
    edges.binary_search_by_key(&(rel, dst), |edge| (edge.rel, edge.dst))
}

impl SqliteTransaction<'_> {
    /// Writes the pending rows to the table. It must happen before the table is read in any other way than node by node.
    pub(crate) fn write_rows(&mut self) -> Result<(), GraphStoreError> {
        for (gid, row) in std::mem::take(&mut self.rows.rows) {
            self.write_row(gid, &row)?;
            self.rows.record_written(gid, row);
        }
        Ok(())
    }

    fn write_row(&mut self, gid: Gid, row: &PendingRow) -> Result<(), GraphStoreError> {
        let edges = row.edges.as_ref().map(EdgeList::to_bytes);
        let Some((node, seq)) = &row.node else {
            let set = self.run(Sql::SetEdges, (gid.as_i64(), edges));
            return match set.map_err(failed)? {
                1 => Ok(()),
                _ => Err(no_source(gid)),
            };
        };
        let sql = if is_new(node) {
            Sql::NewNode
        } else {
            Sql::PutNode
        };
        let params = (
            gid.as_i64(),
            node.ty as u8,
            node.workspace.map(Gid::as_i64),
            whole(node.version)?,
            whole(*seq)?,
            &*node.head,
            &*node.body,
            edges,
        );
        self.run(sql, params).map(drop).map_err(failed)
    }

    /// Returns the edge list of a node, to change it.
    fn list_to_change(&mut self, src: Gid) -> Result<&mut EdgeList, GraphStoreError> {
        if self
            .rows
            .rows
            .get(&src)
            .is_none_or(|row| row.edges.is_none())
        {
            let is_row_new = self.rows.new_node(src).is_some();
            let list = if is_row_new {
                EdgeList::Row(Vec::new())
            } else {
                self.stored_list(src)?.ok_or_else(|| no_source(src))?
            };
            self.rows.rows.entry(src).or_default().edges = Some(list);
        }
        let row = self.rows.rows.get_mut(&src);
        row.and_then(|row| row.edges.as_mut())
            .ok_or_else(|| no_source(src))
    }

    /// Reads the edge list of a node's row; `None` if no row exists.
    pub(super) fn stored_list(&mut self, src: Gid) -> Result<Option<EdgeList>, GraphStoreError> {
        self.one(Sql::NodeEdges, [src.as_i64()], |row| {
            column_list(row, 0, src)
        })
        .map_err(failed)
    }

    /// Puts an edge into the list of its source; returns the edge that it replaces.
    pub(super) fn put_outgoing(&mut self, edge: &Edge) -> Result<Option<Edge>, GraphStoreError> {
        let EdgeList::Row(edges) = self.list_to_change(edge.src)? else {
            let old = self.row_between(edge.src, edge.rel, edge.dst)?;
            self.put_row(edge)?;
            return Ok(old);
        };
        match position(edges, edge.rel, edge.dst) {
            Ok(at) => Ok(edges.get_mut(at).map(|old| std::mem::replace(old, *edge))),
            Err(at) => {
                edges.insert(at, *edge);
                if edges.len() > EDGES_MAX {
                    let edges = std::mem::take(edges);
                    self.set_list(edge.src, EdgeList::Table);
                    edges.iter().try_for_each(|edge| self.put_row(edge))?;
                }
                Ok(None)
            }
        }
    }

    /// Takes an edge out of the list of its source; returns the edge.
    pub(super) fn drop_outgoing(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        // A source without a row has no edge to drop.
        match self.out_edges(src)? {
            OutEdges::Few(edges) if position(&edges, rel, dst).is_err() => return Ok(None),
            _ => {}
        }
        let EdgeList::Row(edges) = self.list_to_change(src)? else {
            let old = self.row_between(src, rel, dst)?;
            self.run(Sql::DropOutgoing, (src.as_i64(), rel.0, dst.as_i64()))
                .map_err(failed)?;
            self.shorten(src)?;
            return Ok(old);
        };
        Ok(position(edges, rel, dst).ok().map(|at| edges.remove(at)))
    }

    /// Moves the edges of a node from the table into its row, if there are so few that this pays.
    fn shorten(&mut self, src: Gid) -> Result<(), GraphStoreError> {
        let few = EDGES_MAX / 2;
        let mut count = 0;
        let one_more = |_: &Row<'_>| {
            count += 1;
            Ok(())
        };
        let params = (src.as_i64(), limit(few + 1));
        self.each(Sql::ListOut, params, one_more).map_err(failed)?;
        if count > few {
            return Ok(());
        }
        let mut edges = Vec::with_capacity(few);
        let read = |row: &Row<'_>| {
            edges.push(edge(row)?);
            Ok(())
        };
        self.each(Sql::OutAll, [src.as_i64()], read)
            .map_err(failed)?;
        self.run(Sql::DropAllOutgoing, [src.as_i64()])
            .map_err(failed)?;
        self.set_list(src, EdgeList::Row(edges));
        Ok(())
    }

    fn set_list(&mut self, src: Gid, list: EdgeList) {
        self.rows.rows.entry(src).or_default().edges = Some(list);
    }

    fn put_row(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let params = (
            edge.src.as_i64(),
            edge.rel.0,
            edge.dst.as_i64(),
            edge.rank,
            whole(edge.seq)?,
            edge.aux.map(Gid::as_i64),
        );
        self.run(Sql::PutOutgoing, params).map(drop).map_err(failed)
    }

    /// Returns an edge of a node with many edges.
    pub(super) fn row_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        self.one(Sql::Linked, (src.as_i64(), rel.0, dst.as_i64()), edge)
            .map_err(failed)
    }
}

fn no_source(src: Gid) -> GraphStoreError {
    GraphStoreError::Failed(format!("an edge begins at {src}, which is no node"))
}

#[cfg(test)]
mod tests;

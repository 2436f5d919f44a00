//! Reads of nodes and of runs of edges, which are then cached.
use super::SqliteTransaction;
use super::columns::{column_list, edge, gid, limit, listed_edge, node};
use super::graph_reads::by_depth;
use crate::cache::node_cache::OutEdges;
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::{Params, Row};
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::snapshot::{Depth, InOutItem, Snapshot};
use workgraph_core::storage::{Edge, GraphStoreError};

/// Node, unless it is trashed, and its outgoing edges.
pub(super) type RowParts = (Option<Arc<Node>>, OutEdges);

impl SqliteTransaction<'_> {
    pub(super) fn read_node(
        &mut self,
        gid: Gid,
        depth: Depth,
    ) -> Result<Option<Arc<Node>>, GraphStoreError> {
        let sql = by_depth(depth, Sql::NodeHead, Sql::NodeHead, Sql::NodeFull);
        let found = self
            .one(sql, [gid.as_i64()], |row| node(row, 1, gid, depth))
            .map_err(failed)?;
        Ok(found.flatten())
    }

    /// Reads edges of one list: `far end, rank, seq, aux`, and the node at the far end.
    pub(super) fn scan(
        &mut self,
        sql: Sql,
        params: impl Params,
        depth: Depth,
        ends: impl Fn(Gid) -> (Gid, Relation, Gid),
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let read = |row: &Row<'_>| {
            let edge = listed_edge(row, &ends)?;
            let node = node(row, 4, gid(row, 0)?, depth)?;
            each(edge, node);
            Ok(())
        };
        self.each(sql, params, read).map_err(failed)
    }

    pub(super) fn edges(
        &mut self,
        sql: Sql,
        params: impl Params,
        depth: Depth,
        far: impl Fn(&Edge) -> Gid,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let read = |row: &Row<'_>| {
            let edge = edge(row)?;
            let node = node(row, 6, far(&edge), depth)?;
            each(edge, node);
            Ok(())
        };
        self.each(sql, params, read).map_err(failed)
    }

    /// Reads a node with its outgoing edges. The edges of a trashed node are returned without it.
    pub(super) fn read_row(&mut self, gid: Gid) -> Result<Option<RowParts>, GraphStoreError> {
        let read = |row: &Row<'_>| {
            let node = match row.get(0)? {
                true => node(row, 1, gid, Depth::Full)?,
                false => None,
            };
            Ok((node, column_list(row, 6, gid)?.into()))
        };
        self.one(Sql::NodeRow, [gid.as_i64()], read).map_err(failed)
    }

    /// Reads the rows of a list, each followed by the edges of its source in `band`.
    pub(super) fn read_in_out(
        &mut self,
        (dst, rel): (Gid, Relation),
        after: (i64, i64),
        most: usize,
        band: (Relation, Relation),
        each: &mut dyn FnMut(InOutItem),
    ) -> Result<(), GraphStoreError> {
        let cache = self.read_cache();
        let mut rows = Vec::with_capacity(most.min(512));
        let read = |row: &Row<'_>| {
            let edge = listed_edge(row, |src| (src, rel, dst))?;
            let src = edge.src;
            let out = OutEdges::from(column_list(row, 9, src)?);
            if let Some(node) = node(row, 4, src, Depth::Full)? {
                if let Some(cache) = cache {
                    cache.keep(src, &node);
                    cache.keep(src, &out);
                }
                rows.push((edge, node, out));
            }
            Ok(())
        };
        let params = (dst.as_i64(), rel.0, after.0, after.1, limit(most));
        self.each(Sql::ScanInOut, params, read).map_err(failed)?;
        for (edge, node, out) in rows {
            each(InOutItem::Row(edge, node));
            match out {
                OutEdges::Few(edges) => edges
                    .iter()
                    .filter(|edge| edge.rel >= band.0 && edge.rel <= band.1)
                    .for_each(|edge| each(InOutItem::Out(*edge))),
                OutEdges::Many => {
                    let each = &mut |edge, _| each(InOutItem::Out(edge));
                    self.edges_out(edge.src, band.0, band.1, Depth::Edge, each)?;
                }
            }
        }
        Ok(())
    }
}

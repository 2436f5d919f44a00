//! Reads of nodes and of runs of edges, which are then cached.
use super::SqliteTransaction;
use super::columns::{edge, gid, maybe_gid, node, seq};
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
            let far = gid(row, 0)?;
            let (src, rel, dst) = ends(far);
            let edge = Edge {
                src,
                rel,
                dst,
                rank: row.get(1)?,
                seq: seq(row, 2)?,
                aux: maybe_gid(row, 3)?,
            };
            let node = node(row, 4, far, depth)?;
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

    /// Reads the rows of a list, each followed by the edges of its source in `band`, with two statements.
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
        self.scan_in(dst, rel, after, most, Depth::Full, &mut |edge, node| {
            rows.extend(node.map(|node| (edge, node)));
        })?;
        // The cache keeps all edges of a node.
        let (lo, hi) = if cache.is_some() {
            (0, u8::MAX)
        } else {
            (band.0.0, band.1.0)
        };
        let params = (dst.as_i64(), rel.0, after.0, after.1, lo, hi);
        let read = || -> rusqlite::Result<()> {
            let mut rows = rows.into_iter().peekable();
            let mut current = None;
            let mut run = Vec::new();
            let keep = |src: Option<Gid>, run: &mut Vec<Edge>| {
                if let (Some(cache), Some(src)) = (cache, src) {
                    cache.keep(src, &OutEdges::of(run));
                }
                run.clear();
            };
            // The same list again, including sources that are not live, so that each row appears.
            let mut edges = self.stmt(Sql::OutOfIn)?.query(params)?;
            while rows.peek().is_some() || current.is_some() {
                let Some(row) = edges.next()? else { break };
                let src = gid(row, 0)?;
                if current != Some(src) {
                    keep(current, &mut run);
                    let found = rows.next_if(|(edge, _)| edge.src == src);
                    current = found.as_ref().map(|_| src);
                    let Some((edge, node)) = found else { continue };
                    each(InOutItem::Row(edge, node));
                }
                if let Some(dst) = maybe_gid(row, 1)? {
                    let [rel, has_aux, has_rank, _] = row.get::<_, u32>(2)?.to_le_bytes();
                    let aux = if has_aux == 0 {
                        None
                    } else {
                        maybe_gid(row, 4)?
                    };
                    let edge = Edge {
                        src,
                        rel: Relation(rel),
                        dst,
                        rank: if has_rank == 0 { 0 } else { row.get(3)? },
                        seq: if cache.is_some() { seq(row, 5)? } else { 0 },
                        aux,
                    };
                    if cache.is_some() {
                        run.push(edge);
                    }
                    if edge.rel >= band.0 && edge.rel <= band.1 {
                        each(InOutItem::Out(edge));
                    }
                }
            }
            keep(current, &mut run);
            Ok(())
        };
        read().map_err(failed)
    }
}

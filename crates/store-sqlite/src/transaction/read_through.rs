//! Reads through the node cache.
use super::{SqliteTransaction, gid, limit, maybe_gid, seq};
use crate::cache::node_cache::{CachedPart, EDGES_MAX, NodeCache, OutEdges, StateNumber};
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::Row;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::snapshot::{Depth, Snapshot};
use workgraph_core::storage::{Edge, GraphStoreError};

/// Node cache with the state that a snapshot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheView<'c> {
    pub(crate) records: &'c NodeCache,
    pub(crate) state: StateNumber,
}

impl CacheView<'_> {
    fn get<P: CachedPart>(&self, gid: Gid) -> Option<P> {
        self.records.get(gid, self.state)
    }

    pub(super) fn keep(&self, node: &Arc<Node>) {
        self.records.keep(node.gid, node, self.state);
    }

    pub(super) fn keep_out(&self, src: Gid, edges: &[Edge]) {
        self.records.keep(src, &out(edges), self.state);
    }
}

/// Returns all outgoing edges of a node in their cached form.
fn out(edges: &[Edge]) -> OutEdges {
    if edges.len() > EDGES_MAX {
        OutEdges::Many
    } else {
        OutEdges::Few(edges.into())
    }
}

/// Function that gets each row of a list, with the transaction that reads it.
type RowVisitor<'a, S> = dyn FnMut(&mut S, Edge, Arc<Node>) -> Result<(), GraphStoreError> + 'a;

impl SqliteTransaction<'_> {
    /// Returns a part of a gid from the cache.
    fn met<P: CachedPart + Clone>(&mut self, known: CacheView<'_>, gid: Gid) -> Option<P> {
        let Some(near) = &mut self.hot_cache else {
            return known.get(gid);
        };
        near.get(gid).or_else(|| {
            let part = known.get(gid)?;
            near.record_access(gid, &part);
            Some(part)
        })
    }

    /// Returns a node in full, from the cache, or read and cached.
    pub(super) fn cached_node(
        &mut self,
        known: CacheView<'_>,
        gid: Gid,
    ) -> Result<Option<Arc<Node>>, GraphStoreError> {
        if let Some(node) = self.met(known, gid) {
            return Ok(Some(node));
        }
        let node = self.read_node(gid, Depth::Full)?;
        if let Some(node) = &node {
            known.keep(node);
        }
        Ok(node)
    }

    /// Returns all outgoing edges of a node, from the cache, or read and cached; `None` if they are too many.
    pub(super) fn cached_out_edges(
        &mut self,
        known: CacheView<'_>,
        src: Gid,
    ) -> Result<Option<Arc<[Edge]>>, GraphStoreError> {
        let out = match self.met(known, src) {
            Some(out) => out,
            None => {
                // A task has about this many.
                let mut edges = Vec::with_capacity(16);
                let read = |row: &Row<'_>| {
                    edges.push(Edge {
                        src,
                        rel: Relation(row.get(0)?),
                        dst: gid(row, 1)?,
                        rank: row.get(2)?,
                        seq: seq(row, 4)?,
                        aux: maybe_gid(row, 3)?,
                    });
                    Ok(())
                };
                let params = (src.as_i64(), limit(EDGES_MAX + 1));
                self.each(Sql::OutAll, params, read).map_err(failed)?;
                let out = out(&edges);
                known.records.keep(src, &out, known.state);
                out
            }
        };
        Ok(match out {
            OutEdges::Few(edges) => Some(edges),
            OutEdges::Many => None,
        })
    }

    /// Goes through a list whose rows are mostly cached: reads only the edges, and takes each row from the cache. If
    /// the first row is not in the cache, it reads no more and returns that row's gid: then one statement for all rows
    /// is better.
    pub(super) fn scan_cached(
        &mut self,
        known: CacheView<'_>,
        (dst, rel): (Gid, Relation),
        mut after: (i64, i64),
        most: usize,
        each: &mut RowVisitor<'_, Self>,
    ) -> Result<Option<Gid>, GraphStoreError> {
        let mut given = 0;
        let mut first = true;
        if let Some(list) = self.short_list(known, (dst, rel), after, most)? {
            for edge in list.iter() {
                if let Some(node) = self.cached_node(known, edge.src)? {
                    each(self, *edge, node)?;
                }
            }
            return Ok(None);
        }
        while given < most {
            let edges = self.all_in((dst, rel), after, most - given)?;
            let ended = edges.len() < most - given;
            if std::mem::take(&mut first)
                && let Some(edge) = edges.first()
                && self.met::<Arc<Node>>(known, edge.src).is_none()
            {
                return Ok(Some(edge.src));
            }
            for edge in edges {
                after = (edge.rank, edge.src.as_i64());
                // Rows that are not live are passed over.
                if let Some(node) = self.cached_node(known, edge.src)? {
                    given += 1;
                    each(self, edge, node)?;
                }
            }
            if ended {
                break;
            }
        }
        Ok(None)
    }

    /// Returns a complete short list, from the cache, or read and cached; `None` if the list is not a short one, or
    /// longer than the limit.
    fn short_list(
        &mut self,
        known: CacheView<'_>,
        (dst, rel): (Gid, Relation),
        after: (i64, i64),
        most: usize,
    ) -> Result<Option<Arc<[Edge]>>, GraphStoreError> {
        if !rel.is_short() || after != (i64::MIN, i64::MIN) {
            return Ok(None);
        }
        let list = match self.met(known, dst) {
            Some(list) => list,
            None => {
                let list: Arc<[Edge]> = self.all_in((dst, rel), after, EDGES_MAX + 1)?.into();
                if list.len() > EDGES_MAX {
                    return Ok(None);
                }
                known.records.keep(dst, &list, known.state);
                list
            }
        };
        Ok((list.len() <= most).then_some(list))
    }

    /// Returns the edges of a list, with sources that are live or not.
    fn all_in(
        &mut self,
        (dst, rel): (Gid, Relation),
        after: (i64, i64),
        most: usize,
    ) -> Result<Vec<Edge>, GraphStoreError> {
        let mut edges = Vec::with_capacity(most.min(512));
        let read = |row: &Row<'_>| {
            edges.push(Edge {
                src: gid(row, 0)?,
                rel,
                dst,
                rank: row.get(1)?,
                seq: seq(row, 2)?,
                aux: maybe_gid(row, 3)?,
            });
            Ok(())
        };
        let params = (dst.as_i64(), rel.0, after.0, after.1, limit(most));
        self.each(Sql::ScanInAll, params, read).map_err(failed)?;
        Ok(edges)
    }

    /// Returns the outgoing edges of a node by some relations.
    pub(super) fn band(
        &mut self,
        known: CacheView<'_>,
        src: Gid,
        (lo, hi): (Relation, Relation),
        each: &mut dyn FnMut(Edge),
    ) -> Result<(), GraphStoreError> {
        match self.cached_out_edges(known, src)? {
            Some(edges) => {
                let wanted = edges.iter().filter(|e| e.rel >= lo && e.rel <= hi);
                wanted.for_each(|edge| each(*edge));
                Ok(())
            }
            None => self.edges_out(src, lo, hi, Depth::Edge, &mut |edge, _| each(edge)),
        }
    }
}

//! Reading what is remembered, and remembering what is read.
use super::{Session, gid, limit, maybe_gid, seq};
use crate::error::failed;
use crate::records::{EDGES_MAX, Out, Part, Records, State};
use crate::sql::Sql;
use rusqlite::Row;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, StoreError};
use workgraph_core::node::Node;
use workgraph_core::registry::Rel;
use workgraph_core::snapshot::{Depth, Snapshot};

/// The cache, and the state that a snapshot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'c> {
    pub(crate) records: &'c Records,
    pub(crate) state: State,
}

impl Known<'_> {
    fn get<P: Part>(&self, gid: Gid) -> Option<P> {
        self.records.get(gid, self.state)
    }

    pub(super) fn keep(&self, node: &Arc<Node>) {
        self.records.keep(node.gid, node, self.state);
    }

    pub(super) fn keep_out(&self, src: Gid, edges: &[Edge]) {
        self.records.keep(src, &out(edges), self.state);
    }
}

/// All edges away from a node.
fn out(edges: &[Edge]) -> Out {
    if edges.len() > EDGES_MAX {
        Out::Many
    } else {
        Out::Few(edges.into())
    }
}

/// What is done with each row of a list, with the session that reads it.
type Each<'a, S> = dyn FnMut(&mut S, Edge, Arc<Node>) -> Result<(), StoreError> + 'a;

impl Session<'_> {
    /// A part of what is known of a gid, from memory.
    fn met<P: Part + Clone>(&mut self, known: Known<'_>, gid: Gid) -> Option<P> {
        let Some(near) = &mut self.near else {
            return known.get(gid);
        };
        near.get(gid).or_else(|| {
            let part = known.get(gid)?;
            near.meet(gid, &part);
            Some(part)
        })
    }

    /// A node in full, from memory or read and remembered.
    pub(super) fn known_node(
        &mut self,
        known: Known<'_>,
        gid: Gid,
    ) -> Result<Option<Arc<Node>>, StoreError> {
        if let Some(node) = self.met(known, gid) {
            return Ok(Some(node));
        }
        let node = self.read_node(gid, Depth::Full)?;
        if let Some(node) = &node {
            known.keep(node);
        }
        Ok(node)
    }

    /// All edges away from a node, from memory or read and remembered; none if they are too many.
    pub(super) fn known_out(
        &mut self,
        known: Known<'_>,
        src: Gid,
    ) -> Result<Option<Arc<[Edge]>>, StoreError> {
        let out = match self.met(known, src) {
            Some(out) => out,
            None => {
                // A task has about so many.
                let mut edges = Vec::with_capacity(16);
                let read = |row: &Row<'_>| {
                    edges.push(Edge {
                        src,
                        rel: Rel(row.get(0)?),
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
            Out::Few(edges) => Some(edges),
            Out::Many => None,
        })
    }

    /// Goes through a list whose rows are mostly remembered: reads the edges alone, and each row
    /// from memory. If the first row is not there nothing is done, and it is told: then one statement
    /// for all is better.
    pub(super) fn scan_known(
        &mut self,
        known: Known<'_>,
        (dst, rel): (Gid, Rel),
        mut after: (i64, i64),
        most: usize,
        each: &mut Each<'_, Self>,
    ) -> Result<Option<Gid>, StoreError> {
        let mut given = 0;
        let mut first = true;
        if let Some(list) = self.short_list(known, (dst, rel), after, most)? {
            for edge in list.iter() {
                if let Some(node) = self.known_node(known, edge.src)? {
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
                // What is not live is passed over.
                if let Some(node) = self.known_node(known, edge.src)? {
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

    /// The whole of a short list, from memory or read and remembered; none if it is not one, or longer than is asked for.
    fn short_list(
        &mut self,
        known: Known<'_>,
        (dst, rel): (Gid, Rel),
        after: (i64, i64),
        most: usize,
    ) -> Result<Option<Arc<[Edge]>>, StoreError> {
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

    /// The edges of a list, whatever is live of their sources.
    fn all_in(
        &mut self,
        (dst, rel): (Gid, Rel),
        after: (i64, i64),
        most: usize,
    ) -> Result<Vec<Edge>, StoreError> {
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

    /// The edges of some relations away from a node.
    pub(super) fn band(
        &mut self,
        known: Known<'_>,
        src: Gid,
        (lo, hi): (Rel, Rel),
        each: &mut dyn FnMut(Edge),
    ) -> Result<(), StoreError> {
        match self.known_out(known, src)? {
            Some(edges) => {
                let wanted = edges.iter().filter(|e| e.rel >= lo && e.rel <= hi);
                wanted.for_each(|edge| each(*edge));
                Ok(())
            }
            None => self.out(src, lo, hi, Depth::Edge, &mut |edge, _| each(edge)),
        }
    }
}

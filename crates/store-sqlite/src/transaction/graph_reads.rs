//! Reads of the graph: the snapshot of the port, on SQLite.
use super::SqliteTransaction;
use super::columns::{column, edge, gid, key, limit, maybe_seq, node, seq};
use super::pending_rows::position;
use crate::cache::node_cache::OutEdges;
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::Row;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, InOutItem, PrefixList, Snapshot, WordScan};
use workgraph_core::storage::{Edge, GraphStoreError, Seq};

impl Snapshot for SqliteTransaction<'_> {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        if let Some(known) = self.last {
            return Ok(known);
        }
        let last = self
            .one(Sql::LastSeq, [], |row| maybe_seq(row, 0))
            .map_err(failed)?;
        let last = last.flatten().unwrap_or(0);
        if self.reading {
            self.last = Some(last);
        }
        Ok(last)
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        self.write_rows()?;
        self.one(Sql::Alias, [key], |row| gid(row, 0))
            .map_err(failed)
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        if let Some(node) = self.rows.new_node(gid) {
            return Ok(Some(node));
        }
        if self.rows.has_next_version(gid) {
            self.write_rows()?;
        }
        let unchanged = self.reading || !self.invalidations.contains(gid);
        if self.cache.shared.is_some() && unchanged {
            return self.cached_node(gid);
        }
        self.read_node(gid, depth.max(Depth::Head))
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        if let OutEdges::Few(edges) = self.out_edges(src)? {
            for edge in edges.iter().filter(|e| e.rel >= lo && e.rel <= hi) {
                if depth == Depth::Edge {
                    each(*edge, None);
                } else if let Some(node) = self.node(edge.dst, depth)? {
                    each(*edge, Some(node));
                }
            }
            return Ok(());
        }
        self.write_rows()?;
        if depth == Depth::Edge {
            let read = |row: &Row<'_>| {
                each(edge(row)?, None);
                Ok(())
            };
            let params = (src.as_i64(), lo.0, hi.0);
            return self.each(Sql::OutEdge, params, read).map_err(failed);
        }
        let sql = by_depth(depth, Sql::OutHead, Sql::OutHead, Sql::OutFull);
        self.edges(sql, (src.as_i64(), lo.0, hi.0), depth, |e| e.dst, each)
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        match self.out_edges(src)? {
            OutEdges::Few(edges) => {
                let at = position(&edges, rel, dst).ok();
                Ok(at.and_then(|at| edges.get(at)).copied())
            }
            OutEdges::Many => self.row_between(src, rel, dst),
        }
    }

    fn scan_out(
        &mut self,
        src: Gid,
        rel: Relation,
        after: i64,
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        if let OutEdges::Few(edges) = self.out_edges(src)? {
            let mut left = most;
            let wanted = |edge: &&Edge| edge.rel == rel && edge.dst.as_i64() > after;
            for edge in edges.iter().filter(wanted) {
                if left == 0 {
                    break;
                }
                if let Some(node) = self.node(edge.dst, depth)? {
                    each(*edge, Some(node).filter(|_| depth > Depth::Edge));
                    left -= 1;
                }
            }
            return Ok(());
        }
        self.write_rows()?;
        let sql = by_depth(depth, Sql::ScanOutEdge, Sql::ScanOutHead, Sql::ScanOutFull);
        let params = (src.as_i64(), rel.0, after, limit(most));
        self.scan(sql, params, depth, |far| (src, rel, far), each)
    }

    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.write_rows_of_list((dst, rel), depth)?;
        let cache = self.read_cache().filter(|_| depth > Depth::Edge);
        let mut depth = depth;
        if let Some(cache) = cache {
            let list = (dst, rel);
            let uncached = self.scan_cached(list, after, most, &mut |_, edge, node| {
                each(edge, Some(node));
                Ok(())
            })?;
            match uncached {
                None => return Ok(()),
                // A page that is read again is worth caching as a whole.
                Some(first) if cache.is_read_again(first) => depth = Depth::Full,
                Some(_) => {}
            }
        }
        let sql = by_depth(depth, Sql::ScanInEdge, Sql::ScanInHead, Sql::ScanInFull);
        let params = (dst.as_i64(), rel.0, after.0, after.1, limit(most));
        let cache = cache.filter(|_| depth == Depth::Full);
        self.scan(
            sql,
            params,
            depth,
            |far| (far, rel, dst),
            &mut |edge, node| {
                if let (Some(cache), Some(node)) = (cache, &node) {
                    cache.keep(node.gid, node);
                }
                each(edge, node);
            },
        )
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        most: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let read = |row: &Row<'_>| {
            each(gid(row, 0)?);
            Ok(())
        };
        let params = (dst.as_i64(), rel.0, limit(most));
        self.each(Sql::ListIn, params, read).map_err(failed)
    }

    fn scan_in_out(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        most: usize,
        band: (Relation, Relation),
        each: &mut dyn FnMut(InOutItem),
    ) -> Result<(), GraphStoreError> {
        self.write_rows()?;
        if self.read_cache().is_some() {
            let uncached = self.scan_cached((dst, rel), after, most, &mut |tx, edge, node| {
                each(InOutItem::Row(edge, node));
                tx.band(edge.src, band, &mut |edge| each(InOutItem::Out(edge)))
            })?;
            if uncached.is_none() {
                return Ok(());
            }
        }
        self.read_in_out((dst, rel), after, most, band, each)
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        self.one(
            Sql::BeforeIn,
            (dst.as_i64(), rel.0, before.0, before.1),
            edge,
        )
        .map_err(failed)
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        self.write_rows_of_list((dst, rel), Depth::Edge)?;
        let count = self
            .one(Sql::CountIn, (dst.as_i64(), rel.0), |row| seq(row, 0))
            .map_err(failed)?;
        Ok(count.unwrap_or(0))
    }

    fn scan_workspace(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.write_rows()?;
        let [edge, head, full] = if ty == Type::Task {
            [
                Sql::ScanHomeTasksEdge,
                Sql::ScanHomeTasksHead,
                Sql::ScanHomeTasksFull,
            ]
        } else {
            [Sql::ScanHomeEdge, Sql::ScanHomeHead, Sql::ScanHomeFull]
        };
        let sql = by_depth(depth, edge, head, full);
        let read = |row: &Row<'_>| {
            let at = gid(row, 0)?;
            each(at, seq(row, 1)?, node(row, 2, at, depth)?);
            Ok(())
        };
        self.each(
            sql,
            (workspace.as_i64(), ty as u8, after, limit(most)),
            read,
        )
        .map_err(failed)
    }

    fn scan_values(
        &mut self,
        field: Gid,
        (from, to): (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        most: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        self.write_rows()?;
        // Before every node with the first key, or after the last row that was returned.
        let (from, node) = match after {
            Some((key, node)) if key >= from => (key, node.as_i64()),
            _ => (from, -1),
        };
        let read = |row: &Row<'_>| {
            each(key(row, 0)?, gid(row, 1)?);
            Ok(())
        };
        let params = (field.as_i64(), column(from), node, column(to), limit(most));
        self.each(Sql::ScanValues, params, read).map_err(failed)
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        let mut keys = Vec::new();
        let read = |row: &Row<'_>| {
            keys.push(key(row, 0)?);
            Ok(())
        };
        self.each(Sql::KeysOf, (node.as_i64(), field.as_i64()), read)
            .map_err(failed)?;
        Ok(keys)
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        self.cached_index_entry(workspace, ty, gid)
    }

    fn list_index_entries(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        list: EntryList,
        column: IndexColumn,
        most: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        self.list((workspace, ty), list, column, most, each)
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        self.shapes_of(workspace, ty).map_err(failed)
    }
    fn list_modified(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gids: &[Gid],
        each: &mut dyn FnMut(Gid, i64),
    ) -> Result<(), GraphStoreError> {
        self.modified_of(workspace, ty, gids, each).map_err(failed)
    }
    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        self.starts(list, each)
    }
    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        self.entries(scan, each)
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        self.words(scan, each)
    }
}

/// Returns the statement for a depth.
pub(super) fn by_depth(depth: Depth, edge: Sql, head: Sql, full: Sql) -> Sql {
    match depth {
        Depth::Edge => edge,
        Depth::Head => head,
        Depth::Full => full,
    }
}

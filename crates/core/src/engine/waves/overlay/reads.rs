//! Reads of an overlay: facts, overlaid with its own writes.
use super::Overlay;
use crate::engine::waves::graph_read::{GraphAnswer, GraphRead};
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use crate::storage::snapshot::{Depth, PrefixList, Snapshot, WordScan};
use std::sync::Arc;

/// Returns the position of an edge in the list into its target.
fn position(edge: &Edge) -> (i64, i64) {
    (edge.rank, edge.src.as_i64())
}

/// An edge, with the node at its other end if the node was read along.
type Row = (Edge, Option<Arc<Node>>);

impl Overlay<'_> {
    /// Visits the rows whose node at the other end is live, and reads these nodes to this depth or deeper.
    fn give(
        &mut self,
        rows: Vec<Row>,
        far: fn(&Edge) -> Gid,
        depth: Depth,
        limit: usize,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) {
        let mut left = limit;
        for (edge, node) in rows {
            if left == 0 {
                return;
            }
            let gid = far(&edge);
            let is_written = self.writes.nodes.contains_key(&gid);
            let node = match node {
                Some(node) if !is_written && !self.writes.trashed.contains_key(&gid) => Some(node),
                // Sources and targets of edges that are not written were live before.
                None if depth == Depth::Edge => match self.is_changed_row(&edge) {
                    true if !self.is_live(gid) => continue,
                    _ => None,
                },
                _ => match self.live_node(gid, depth) {
                    Some(node) => Some(node),
                    None => continue,
                },
            };
            left -= 1;
            each(edge, node);
        }
    }

    fn is_changed_row(&self, edge: &Edge) -> bool {
        self.is_changed(&(edge.src, edge.rel, edge.dst))
    }

    /// Returns an error if the overlay has written anything that an index shows.
    fn unindexed(&self) -> Result<(), GraphStoreError> {
        let writes = &self.writes;
        if writes.nodes.is_empty()
            && writes.trashed.is_empty()
            && writes.values.is_empty()
            && writes.index_entries.is_empty()
        {
            return Ok(());
        }
        let message = "a transaction does not find its own writes by an index";
        Err(GraphStoreError::Failed(message.into()))
    }
}

impl Snapshot for Overlay<'_> {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        Ok(self.writes.last_seq())
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        if let Some(gid) = self.writes.aliases.get(key).copied() {
            return Ok(Some(gid).filter(|gid| self.is_live(*gid)));
        }
        // The facts give live nodes only, so the node can only be trashed by these writes.
        let (old, writes) = (self.base.alias(key)?, &self.writes);
        Ok(old.filter(|gid| {
            !writes.trashed.contains_key(gid)
                && !writes.dropped_aliases.contains(&(key.to_owned(), *gid))
        }))
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        Ok(self.live_node(gid, depth))
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let mut rows = Vec::new();
        if !self.is_new(src) {
            rows = self
                .base
                .ask_edges(GraphRead::EdgesOut { src, lo, hi, depth });
            rows.retain(|(edge, _)| !self.is_changed_row(edge));
        }
        let new = self.new_edges_from(src, lo, hi).into_iter();
        rows.extend(new.map(|edge| (edge, None)));
        rows.sort_unstable_by_key(|(edge, _)| (edge.rel, edge.dst));
        if depth == Depth::Edge {
            rows.into_iter().for_each(|(edge, _)| each(edge, None));
        } else {
            self.give(rows, |edge| edge.dst, depth, usize::MAX, each);
        }
        Ok(())
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        let key = (src, rel, dst);
        Ok(match self.writes.edges.get(&key) {
            Some(edge) => Some(*edge),
            None if self.writes.dropped_edges.contains(&key) => None,
            None => self.old_edge(key),
        })
    }

    fn scan_out(
        &mut self,
        src: Gid,
        rel: Relation,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let new = self.new_edges_from(src, rel, rel);
        let mut rows: Vec<Row> = Vec::new();
        let mut at = after;
        while !self.is_new(src) && rows.len() < limit {
            let changes = new.len() + self.writes.dropped_edges.len() + self.writes.trashed.len();
            let wanted = (limit - rows.len()).saturating_add(changes);
            let found = self.base.ask_edges(GraphRead::ScanOut {
                src,
                rel,
                after: at,
                limit: wanted,
                depth,
            });
            let is_end = found.len() < wanted;
            at = found.last().map_or(at, |(edge, _)| edge.dst.as_i64());
            let kept = found.into_iter();
            rows.extend(kept.filter(|(edge, _)| {
                !self.is_changed_row(edge) && !self.writes.trashed.contains_key(&edge.dst)
            }));
            if is_end {
                break;
            }
        }
        let new = new.into_iter().filter(|edge| edge.dst.as_i64() > after);
        rows.extend(new.map(|edge| (edge, None)));
        rows.sort_unstable_by_key(|(edge, _)| edge.dst);
        self.give(rows, |edge| edge.dst, depth, limit, each);
        Ok(())
    }

    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut at = after;
        while !self.is_new(dst) && rows.len() < limit {
            // Read as many more rows as may have changed in the list, so that one read is mostly enough.
            let wanted = (limit - rows.len()).saturating_add(self.changed_rows_into(dst, rel));
            let found = self.base.ask_edges(GraphRead::ScanIn {
                dst,
                rel,
                after: at,
                limit: wanted,
                depth,
            });
            let is_end = found.len() < wanted;
            at = found.last().map_or(at, |(edge, _)| position(edge));
            let kept = found.into_iter();
            rows.extend(kept.filter(|(edge, _)| {
                !self.is_changed_row(edge) && !self.writes.trashed.contains_key(&edge.src)
            }));
            if is_end {
                break;
            }
        }
        let new = self.new_edges_into(dst, rel).into_iter();
        let new = new.filter(|edge| position(edge) > after);
        rows.extend(new.map(|edge| (edge, None)));
        rows.sort_unstable_by_key(|(edge, _)| position(edge));
        self.give(rows, |edge| edge.src, depth, limit, each);
        Ok(())
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let mut sources = Vec::new();
        if !self.is_new(dst) {
            let limit = limit.saturating_add(self.changed_rows_into(dst, rel));
            sources = self.base.ask_gids(GraphRead::ListIn { dst, rel, limit });
            sources.retain(|src| !self.is_changed(&(*src, rel, dst)));
        }
        let new = self.new_edges_into(dst, rel).into_iter();
        sources.extend(new.map(|edge| edge.src));
        sources.into_iter().take(limit).for_each(each);
        Ok(())
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        let mut at = before;
        let old = loop {
            if self.is_new(dst) {
                break None;
            }
            let read = GraphRead::LastEdgeBefore {
                dst,
                rel,
                before: at,
            };
            match self.base.ask_edge(read) {
                Some(edge) if self.is_changed_row(&edge) => at = position(&edge),
                edge => break edge,
            }
        };
        let new = self.new_edges_into(dst, rel).into_iter();
        let new = new.filter(|edge| position(edge) < before);
        Ok(new.chain(old).max_by_key(position))
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        let mut count = 0_u64;
        let changed = self.changed_lists.get(dst, rel).cloned();
        let changed = changed.unwrap_or_default();
        if !self.is_new(dst) {
            if let Some(GraphAnswer::Count(old)) = self.base.ask(GraphRead::CountIn { dst, rel }) {
                count = old;
            }
            // Leave out old edges that are changed, and edges from trashed nodes.
            let trashed: Vec<Gid> = self.writes.trashed.keys().copied().collect();
            let trashed = trashed.into_iter().filter(|src| !changed.contains(src));
            for src in changed.iter().copied().chain(trashed) {
                if self.old_edge((src, rel, dst)).is_some() && self.was_live(src) {
                    count = count.saturating_sub(1);
                }
            }
        }
        for edge in self.new_edges_into(dst, rel) {
            count += u64::from(self.is_live(edge.src));
        }
        Ok(count)
    }

    fn scan_workspace(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base
            .scan_workspace(workspace, ty, after, limit, depth, each)
    }

    fn scan_values(
        &mut self,
        field: Gid,
        range: (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        limit: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base.scan_values(field, range, after, limit, each)
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        match self.writes.values.get(&(node, field)) {
            Some(keys) => Ok(keys.clone()),
            None if self.is_new(node) => Ok(Vec::new()),
            None => self.base.keys_of(node, field),
        }
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        if self.writes.trashed.contains_key(&gid) {
            return Ok(None);
        }
        match self.writes.index_entries.get(&gid) {
            Some((entry, _)) => {
                Ok(Some(*entry).filter(|entry| entry.workspace == workspace && entry.ty == ty))
            }
            None if self.is_new(gid) => Ok(None),
            None => self.base.index_entry(workspace, ty, gid),
        }
    }

    fn list_index_entries(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        list: EntryList,
        column: IndexColumn,
        limit: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base
            .list_index_entries(workspace, ty, list, column, limit, each)
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        self.unindexed()?;
        self.base.column_sets(workspace, ty)
    }

    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base.scan_index_entries(scan, each)
    }

    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base.list_prefix_matches(list, each)
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        self.unindexed()?;
        self.base.scan_words(scan, each)
    }
}

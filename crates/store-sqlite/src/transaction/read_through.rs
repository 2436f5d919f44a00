//! Reads through the caches: a part that is missing in them is read whole, and cached.
use super::SqliteTransaction;
use super::columns::{limit, listed_edge};
use crate::cache::SharedCacheView;
use crate::cache::node_cache::{CachedPart, OutEdges};
use crate::edge_list::EDGES_MAX;
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::{Params, Row};
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::search::IndexEntry;
use workgraph_core::storage::snapshot::{Depth, Snapshot};
use workgraph_core::storage::{Edge, GraphStoreError};

/// Function that gets each row of a list, with the transaction that reads it.
type RowVisitor<'a, S> = dyn FnMut(&mut S, Edge, Arc<Node>) -> Result<(), GraphStoreError> + 'a;

impl<'c> SqliteTransaction<'c> {
    /// Returns the node cache, if this transaction reads through it.
    pub(super) fn read_cache(&self) -> Option<SharedCacheView<'c>> {
        self.cache.shared.filter(|_| self.reading)
    }

    /// Returns a part of a gid from the caches, or else from `read`, and caches it. `read` returns `None` if the part does not
    /// exist or should not be cached.
    fn through<P: CachedPart + Clone>(
        &mut self,
        gid: Gid,
        read: impl FnOnce(&mut Self) -> Result<Option<P>, GraphStoreError>,
    ) -> Result<Option<P>, GraphStoreError> {
        if let Some(part) = self.cache.get(gid) {
            return Ok(Some(part));
        }
        let part = read(self)?;
        if let (Some(shared), Some(part)) = (self.cache.shared, &part) {
            shared.keep(gid, part);
        }
        Ok(part)
    }

    /// Returns a node in full.
    pub(super) fn cached_node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError> {
        self.through(gid, |tx| {
            let Some((node, edges)) = tx.read_row(gid)? else {
                return Ok(None);
            };
            if let Some(shared) = tx.cache.shared {
                shared.keep(gid, &edges);
            }
            Ok(node)
        })
    }

    /// Returns the index entry of a node, if it is of this type and in this workspace.
    pub(super) fn cached_index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        if self.read_cache().is_none() {
            return self.card_of(workspace, ty, gid);
        }
        let entry: Option<IndexEntry> = self.through(gid, |tx| tx.card_of(workspace, ty, gid))?;
        Ok(entry.filter(|entry| entry.ty == ty && entry.workspace == workspace))
    }

    /// Returns all outgoing edges of a node; none for a gid that is no node.
    pub(super) fn out_edges(&mut self, src: Gid) -> Result<OutEdges, GraphStoreError> {
        if let Some(edges) = self.rows.edges(src) {
            return Ok(edges);
        }
        let none = || OutEdges::Few([].into());
        let unchanged = self.reading || !self.invalidations.contains(src);
        if self.cache.shared.is_none() || !unchanged {
            let stored = self.stored_list(src)?;
            return Ok(stored.map_or_else(none, OutEdges::from));
        }
        let edges = self.through(src, |tx| {
            let Some((node, edges)) = tx.read_row(src)? else {
                return Ok(None);
            };
            if let (Some(shared), Some(node)) = (tx.cache.shared, &node) {
                shared.keep(src, node);
            }
            Ok(Some(edges))
        })?;
        Ok(edges.unwrap_or_else(none))
    }

    /// Visits a list whose rows are mostly cached: reads only the edges, and takes each row from the cache. If the first row is
    /// not in the cache, it stops and returns that row's gid: then one statement for all rows is better.
    pub(super) fn scan_cached(
        &mut self,
        (dst, rel): (Gid, Relation),
        mut after: (i64, i64),
        most: usize,
        each: &mut RowVisitor<'_, Self>,
    ) -> Result<Option<Gid>, GraphStoreError> {
        let mut given = 0;
        let mut first = true;
        if let Some(list) = self.short_list((dst, rel), after, most)? {
            for edge in list.iter() {
                if let Some(node) = self.cached_node(edge.src)? {
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
                && self.cache.get::<Arc<Node>>(edge.src).is_none()
            {
                return Ok(Some(edge.src));
            }
            for edge in edges {
                after = (edge.rank, edge.src.as_i64());
                // Rows that are not live are skipped.
                if let Some(node) = self.cached_node(edge.src)? {
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

    /// Returns a complete short list; `None` if the list is not a short one, or is longer than the limit.
    fn short_list(
        &mut self,
        (dst, rel): (Gid, Relation),
        after: (i64, i64),
        most: usize,
    ) -> Result<Option<Arc<[Edge]>>, GraphStoreError> {
        if !rel.is_short() || after != (i64::MIN, i64::MIN) {
            return Ok(None);
        }
        let list: Option<Arc<[Edge]>> = self.through(dst, |tx| {
            let list = tx.all_in((dst, rel), after, EDGES_MAX + 1)?;
            Ok((list.len() <= EDGES_MAX).then(|| list.into()))
        })?;
        Ok(list.filter(|list| list.len() <= most))
    }

    /// Returns the edges of a list after a rank and a source, whether their sources are live or not.
    pub(super) fn all_in(
        &mut self,
        (dst, rel): (Gid, Relation),
        (rank, src): (i64, i64),
        most: usize,
    ) -> Result<Vec<Edge>, GraphStoreError> {
        let mut edges = Vec::with_capacity(most.min(512));
        let mut first_rank = Some(rank);
        if (rank, src) != (i64::MIN, i64::MIN) {
            let params = (dst.as_i64(), rel.0, rank, src, limit(most));
            self.add_edges_in(Sql::ScanInRank, params, (dst, rel), &mut edges)?;
            first_rank = rank.checked_add(1);
        }
        let room = most - edges.len();
        if let (Some(rank), 1..) = (first_rank, room) {
            let params = (dst.as_i64(), rel.0, rank, limit(room));
            self.add_edges_in(Sql::ScanInAll, params, (dst, rel), &mut edges)?;
        }
        Ok(edges)
    }

    fn add_edges_in(
        &mut self,
        sql: Sql,
        params: impl Params,
        (dst, rel): (Gid, Relation),
        edges: &mut Vec<Edge>,
    ) -> Result<(), GraphStoreError> {
        let read = |row: &Row<'_>| {
            edges.push(listed_edge(row, |src| (src, rel, dst))?);
            Ok(())
        };
        self.each(sql, params, read).map_err(failed)
    }

    /// Visits the outgoing edges of a node with relations from `lo` to `hi`.
    pub(super) fn band(
        &mut self,
        src: Gid,
        (lo, hi): (Relation, Relation),
        each: &mut dyn FnMut(Edge),
    ) -> Result<(), GraphStoreError> {
        match self.out_edges(src)? {
            OutEdges::Few(edges) => {
                let wanted = edges.iter().filter(|e| e.rel >= lo && e.rel <= hi);
                wanted.for_each(|edge| each(*edge));
                Ok(())
            }
            OutEdges::Many => self.edges_out(src, lo, hi, Depth::Edge, &mut |edge, _| each(edge)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::connection_setup::StoreOptions;
    use crate::sqlite_store::SqliteStore;
    use workgraph_core::model::gid::Gid;
    use workgraph_core::model::registry::rel;
    use workgraph_testkit::ScratchFolder;

    #[test]
    fn a_list_goes_on_after_each_of_its_edges_whatever_their_ranks() {
        let folder = ScratchFolder::new("list-after");
        let options = StoreOptions {
            single_connection: true,
            ..StoreOptions::default()
        };
        let store = SqliteStore::open(folder.path(), options).unwrap();
        let gid = |number| Gid::new(number).unwrap();
        let ranks = [i64::MIN, -1, 0, 0, 0, 7, i64::MAX, i64::MAX];
        let insert = "INSERT INTO edge (src, rel, dst, rank, seq) VALUES (?1, ?2, 9, ?3, 1)";
        let inserted = store.readers.alone(|conn| {
            for (at, rank) in ranks.into_iter().enumerate() {
                conn.execute(insert, (at as i64 + 1, rel::SECTION.0, rank))
                    .unwrap();
            }
        });
        inserted.unwrap();
        let list: Vec<_> = ranks.into_iter().zip(1..).collect();
        let start = (i64::MIN, i64::MIN);
        for after in list.iter().copied().chain([start, (3, 1), (0, 99)]) {
            for most in 1..10 {
                let read = store
                    .readers
                    .read(|tx| tx.all_in((gid(9), rel::SECTION), after, most));
                let read: Vec<_> = read
                    .unwrap()
                    .iter()
                    .map(|e| (e.rank, e.src.as_i64()))
                    .collect();
                let rest = list.iter().copied().filter(|edge| *edge > after);
                assert_eq!(
                    read,
                    rest.take(most).collect::<Vec<_>>(),
                    "{most} after {after:?}"
                );
            }
        }
    }
}

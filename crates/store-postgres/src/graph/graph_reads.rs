//! Reads of the graph: the snapshot port, implemented on PostgreSQL.
use super::aliases::alias_key;
use super::index_keys;
use super::node_columns::{by_depth, edge, node, relation};
use crate::columns::{gid, limit, number};
use crate::database_error::DatabaseError;
use crate::graph_statements as sql;
use crate::params::{Param, params};
use crate::transaction::PgTransaction;
use crate::wave_statements::Read;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, InOutItem, PrefixList, Snapshot, WordScan};
use workgraph_core::storage::{Edge, GraphStoreError, Seq};

/// Function that gets each edge, with the node at its other end.
type EdgeVisitor<'a> = dyn FnMut(Edge, Option<Arc<Node>>) + 'a;

impl PgTransaction<'_> {
    /// Reads edges, each with the node at its other end.
    fn edges(
        &mut self,
        sql: &'static str,
        params: Vec<Param>,
        depth: Depth,
        far: impl Fn(&Edge) -> Gid,
        each: &mut EdgeVisitor<'_>,
    ) -> Result<(), DatabaseError> {
        for row in self.read(sql, params)?.iter() {
            let edge = edge(row)?;
            let node = node(row, 6, far(&edge), depth)?;
            each(edge, node);
        }
        Ok(())
    }
}

impl Snapshot for PgTransaction<'_> {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        if let Some(state) = &self.state {
            return Ok(state.seq);
        }
        if let Some(shown) = self.shown {
            return Ok(shown);
        }
        let rows = self.read(sql::LAST_SEQ, params![])?;
        let row = rows
            .first()
            .ok_or_else(|| DatabaseError::unreadable("store_state"))?;
        let shown = number(row, 0)?;
        self.shown = Some(shown);
        Ok(shown)
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        let rows = self.read(sql::ALIAS, params![alias_key(key).key.into_owned()])?;
        Ok(rows.first().map(|row| gid(row, 0)).transpose()?)
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        let depth = depth.max(Depth::Head);
        let rows = self.read(by_depth(sql::NODE, depth), params![gid.as_i64()])?;
        match rows.first() {
            Some(row) => Ok(node(row, 1, gid, depth)?),
            None => Ok(None),
        }
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut EdgeVisitor<'_>,
    ) -> Result<(), GraphStoreError> {
        let statement = match depth {
            Depth::Edge => sql::EDGES_OUT_ALL,
            _ => by_depth(sql::EDGES_OUT, depth),
        };
        let params = params![src.as_i64(), relation(lo), relation(hi)];
        Ok(self.edges(statement, params, depth, |e| e.dst, each)?)
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        let params = params![src.as_i64(), relation(rel), dst.as_i64()];
        let rows = self.read(sql::EDGE_BETWEEN, params)?;
        Ok(rows.first().map(edge).transpose()?)
    }

    fn scan_out(
        &mut self,
        src: Gid,
        rel: Relation,
        after: i64,
        most: usize,
        depth: Depth,
        each: &mut EdgeVisitor<'_>,
    ) -> Result<(), GraphStoreError> {
        let params = params![src.as_i64(), relation(rel), after, limit(most)];
        Ok(self.edges(
            by_depth(sql::SCAN_OUT, depth),
            params,
            depth,
            |e| e.dst,
            each,
        )?)
    }

    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        most: usize,
        depth: Depth,
        each: &mut EdgeVisitor<'_>,
    ) -> Result<(), GraphStoreError> {
        let params = params![dst.as_i64(), relation(rel), after.0, after.1, limit(most),];
        Ok(self.edges(
            by_depth(sql::SCAN_IN, depth),
            params,
            depth,
            |e| e.src,
            each,
        )?)
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        most: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let params = params![dst.as_i64(), relation(rel), limit(most)];
        for row in self.read(sql::LIST_IN, params)?.iter() {
            each(gid(row, 0)?);
        }
        Ok(())
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
        let (dst, rel, most) = (dst.as_i64(), relation(rel), limit(most));
        let list = params![dst, rel, after.0, after.1, most];
        let mut out = list.clone();
        out.extend([relation(band.0), relation(band.1)].map(Param::Small));
        let (rows, out) = self.read_two(
            Read {
                sql: by_depth(sql::SCAN_IN, Depth::Full),
                params: list,
            },
            Read {
                sql: sql::OUT_OF_IN,
                params: out,
            },
        )?;
        let mut out = out.iter().map(edge).peekable();
        for row in rows.iter() {
            let found = edge(row)?;
            let src = found.src;
            if let Some(node) = node(row, 6, src, Depth::Full)? {
                each(InOutItem::Row(found, node));
            }
            while let Some(next) = out.next_if(|next| next.as_ref().map_or(true, |e| e.src == src))
            {
                each(InOutItem::Out(next?));
            }
        }
        Ok(())
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        let params = params![dst.as_i64(), relation(rel), before.0, before.1];
        let rows = self.read(sql::LAST_EDGE_BEFORE, params)?;
        Ok(rows.first().map(edge).transpose()?)
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        let rows = self.read(sql::COUNT_IN, params![dst.as_i64(), relation(rel)])?;
        Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
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
        let statements = match ty {
            Type::Task => sql::SCAN_WORKSPACE_TASKS,
            _ => sql::SCAN_WORKSPACE,
        };
        let params = params![workspace.as_i64(), i16::from(ty as u8), after, limit(most),];
        for row in self.read(by_depth(statements, depth), params)?.iter() {
            let found = gid(row, 0)?;
            each(found, number(row, 1)?, node(row, 2, found, depth)?);
        }
        Ok(())
    }

    fn scan_values(
        &mut self,
        field: Gid,
        (from, to): (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        most: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        // Before every node with the first key, or after the last row that was returned.
        let (from, node) = match after {
            Some((key, node)) if key >= from => (key, node.as_i64()),
            _ => (from, -1),
        };
        let (first, last) = (index_keys::bytes(from), index_keys::bytes(to));
        let (first_head, _) = index_keys::split(first.clone());
        let (last_head, _) = index_keys::split(last.clone());
        let params = params![
            field.as_i64(),
            first,
            node,
            last,
            limit(most),
            first_head,
            last_head,
        ];
        for row in self.read(sql::SCAN_VALUES, params)?.iter() {
            each(index_keys::key(row)?, gid(row, 2)?);
        }
        Ok(())
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        let rows = self.read(sql::KEYS_OF, params![node.as_i64(), field.as_i64()])?;
        let keys: Result<_, DatabaseError> = rows.iter().map(index_keys::key).collect();
        Ok(keys?)
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        Ok(self.entry_of(workspace, ty, gid)?)
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
        self.list_entries((workspace, ty), list, column, most, each)
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        Ok(self.column_sets_of(workspace, ty)?)
    }

    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        self.scan_entries(scan, each)
    }

    fn list_modified(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gids: &[Gid],
        each: &mut dyn FnMut(Gid, i64),
    ) -> Result<(), GraphStoreError> {
        Ok(self.modified_of(workspace, ty, gids, each)?)
    }

    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        Ok(self.prefix_matches(list, each)?)
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        Ok(self.word_matches(scan, each)?)
    }
}

//! What loading reads, as the port says it.
use super::Session;
use super::columns::{column, edge, gid, key, limit, maybe_gid, maybe_seq, node, seq};
use crate::error::failed;
use crate::sql::Sql;
use rusqlite::Row;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, Seq, StoreError};
use workgraph_core::index::Key;
use workgraph_core::node::Node;
use workgraph_core::registry::{Rel, Type};
use workgraph_core::search::{Card, CardList, CardScan, Column, Shape};
use workgraph_core::snapshot::{Depth, Found, Snapshot, StartList, WordScan};

impl Snapshot for Session<'_> {
    fn seq(&mut self) -> Result<Seq, StoreError> {
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

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, StoreError> {
        self.one(Sql::Alias, [key], |row| gid(row, 0))
            .map_err(failed)
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, StoreError> {
        let before = self.before.filter(|_| !self.touched.contains(&gid));
        match self.known.or(before) {
            Some(known) => self.known_node(known, gid),
            None => self.read_node(gid, depth.max(Depth::Head)),
        }
    }

    fn out(
        &mut self,
        src: Gid,
        lo: Rel,
        hi: Rel,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        if let Some(known) = self.known
            && let Some(edges) = self.known_out(known, src)?
        {
            for edge in edges.iter().filter(|e| e.rel >= lo && e.rel <= hi) {
                if depth == Depth::Edge {
                    each(*edge, None);
                } else if let Some(node) = self.known_node(known, edge.dst)? {
                    each(*edge, Some(node));
                }
            }
            return Ok(());
        }
        if depth == Depth::Edge {
            let read = |row: &Row<'_>| {
                let edge = Edge {
                    src,
                    rel: Rel(row.get(0)?),
                    dst: gid(row, 1)?,
                    rank: row.get(2)?,
                    seq: 0,
                    aux: maybe_gid(row, 3)?,
                };
                each(edge, None);
                Ok(())
            };
            let params = (src.as_i64(), lo.0, hi.0);
            return self.each(Sql::OutEdge, params, read).map_err(failed);
        }
        let sql = by_depth(depth, Sql::OutHead, Sql::OutHead, Sql::OutFull);
        self.edges(sql, (src.as_i64(), lo.0, hi.0), depth, |e| e.dst, each)
    }

    fn linked(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<Option<Edge>, StoreError> {
        self.one(Sql::Linked, (src.as_i64(), rel.0, dst.as_i64()), edge)
            .map_err(failed)
    }

    fn scan_out(
        &mut self,
        src: Gid,
        rel: Rel,
        after: i64,
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        let sql = by_depth(depth, Sql::ScanOutEdge, Sql::ScanOutHead, Sql::ScanOutFull);
        let params = (src.as_i64(), rel.0, after, limit(most));
        self.scan(sql, params, depth, |far| (src, rel, far), each)
    }

    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        after: (i64, i64),
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        let known = self.known.filter(|_| depth > Depth::Edge);
        let mut depth = depth;
        if let Some(known) = known {
            let list = (dst, rel);
            let unknown = self.scan_known(known, list, after, most, &mut |_, edge, node| {
                each(edge, Some(node));
                Ok(())
            })?;
            match unknown {
                None => return Ok(()),
                // A page that is read again is worth keeping whole.
                Some(first) if known.records.again(first) => depth = Depth::Full,
                Some(_) => {}
            }
        }
        let sql = by_depth(depth, Sql::ScanInEdge, Sql::ScanInHead, Sql::ScanInFull);
        let params = (dst.as_i64(), rel.0, after.0, after.1, limit(most));
        let known = known.filter(|_| depth == Depth::Full);
        self.scan(
            sql,
            params,
            depth,
            |far| (far, rel, dst),
            &mut |edge, node| {
                if let (Some(known), Some(node)) = (known, &node) {
                    known.keep(node);
                }
                each(edge, node);
            },
        )
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        most: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
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
        rel: Rel,
        after: (i64, i64),
        most: usize,
        band: (Rel, Rel),
        each: &mut dyn FnMut(Found),
    ) -> Result<(), StoreError> {
        let known = self.known;
        if let Some(known) = known
            && self
                .scan_known(
                    known,
                    (dst, rel),
                    after,
                    most,
                    &mut |session, edge, node| {
                        each(Found::Row(edge, node));
                        session.band(known, edge.src, band, &mut |edge| each(Found::Out(edge)))
                    },
                )?
                .is_none()
        {
            return Ok(());
        }
        self.read_in_out((dst, rel), after, most, band, each)
    }

    fn before_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        before: (i64, i64),
    ) -> Result<Option<Edge>, StoreError> {
        self.one(
            Sql::BeforeIn,
            (dst.as_i64(), rel.0, before.0, before.1),
            edge,
        )
        .map_err(failed)
    }

    fn count_in(&mut self, dst: Gid, rel: Rel) -> Result<u64, StoreError> {
        let count = self
            .one(Sql::CountIn, (dst.as_i64(), rel.0), |row| seq(row, 0))
            .map_err(failed)?;
        Ok(count.unwrap_or(0))
    }

    fn scan_home(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        most: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
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
        (from, to): (&Key, &Key),
        after: Option<(&Key, Gid)>,
        most: usize,
        each: &mut dyn FnMut(Key, Gid),
    ) -> Result<(), StoreError> {
        // Before every node with the first key, or after the last row given.
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

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<Key>, StoreError> {
        let mut keys = Vec::new();
        let read = |row: &Row<'_>| {
            keys.push(key(row, 0)?);
            Ok(())
        };
        self.each(Sql::KeysOf, (node.as_i64(), field.as_i64()), read)
            .map_err(failed)?;
        Ok(keys)
    }

    fn card(&mut self, home: Option<Gid>, ty: Type, gid: Gid) -> Result<Option<Card>, StoreError> {
        self.card_of(home, ty, gid)
    }

    fn list_cards(
        &mut self,
        home: Option<Gid>,
        ty: Type,
        list: CardList,
        column: Column,
        most: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), StoreError> {
        self.list((home, ty), list, column, most, each)
    }

    fn shapes(&mut self, home: Option<Gid>, ty: Type) -> Result<Vec<Shape>, StoreError> {
        self.shapes_of(home, ty).map_err(failed)
    }
    fn list_starts(
        &mut self,
        list: &StartList<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
        self.starts(list, each)
    }
    fn scan_cards(
        &mut self,
        scan: &CardScan,
        each: &mut dyn FnMut(Card),
    ) -> Result<(), StoreError> {
        self.cards(scan, each)
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
        self.words(scan, each)
    }
}

/// The statement for a depth.
pub(super) fn by_depth(depth: Depth, edge: Sql, head: Sql, full: Sql) -> Sql {
    match depth {
        Depth::Edge => edge,
        Depth::Head => head,
        Depth::Full => full,
    }
}

//! A transaction on one connection: the snapshot that loading reads.
mod known;

use self::known::Known;
use crate::error::failed;
use crate::records::{Records, State};
use crate::search::Pending;
use crate::sql::Sql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, Seq, StoreError};
use workgraph_core::index::Key;
use workgraph_core::node::Node;
use workgraph_core::registry::{Rel, Type};
use workgraph_core::search::{Card, CardScan};
use workgraph_core::snapshot::{Depth, Found, Snapshot, WordScan};

const STATEMENTS: usize = Sql::ALL.len();

/// A connection inside a transaction, with the statements the transaction has used so far. They go
/// back to the connection, prepared, when the session ends.
pub(crate) struct Session<'c> {
    pub(crate) conn: &'c Connection,
    held: [Option<CachedStatement<'c>>; STATEMENTS],
    /// Memberships were changed.
    pub(crate) viewers: bool,
    /// Tokens or accounts were changed.
    pub(crate) tokens: bool,
    /// What is read does not change while the session lasts.
    pub(crate) reading: bool,
    /// The last commit that a reading session shows, once it was read.
    pub(crate) last: Option<Seq>,
    /// What is remembered of the state that a reading session shows.
    known: Option<Known<'c>>,
    /// The same of the state before a writing session: true of the nodes that it has not touched.
    before: Option<Known<'c>>,
    /// Nodes that were changed, and nodes whose edges were.
    pub(crate) touched: FxHashSet<Gid>,
    /// The highest gid of a third party that is on record, once it was read.
    pub(crate) floor: Option<i64>,
    /// Words to be written at the end.
    pub(crate) pending: Vec<Pending>,
}

impl<'c> Session<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            held: [const { None }; STATEMENTS],
            viewers: false,
            tokens: false,
            reading: false,
            last: None,
            known: None,
            before: None,
            touched: FxHashSet::default(),
            floor: None,
            pending: Vec::new(),
        }
    }

    /// A session that reads a state, and remembers what it reads.
    pub(crate) fn reading(conn: &'c Connection, records: &'c Records, state: State) -> Self {
        Self {
            reading: true,
            known: Some(Known { records, state }),
            ..Self::new(conn)
        }
    }

    /// A session that writes, and takes from memory what it does not change.
    pub(crate) fn writing(conn: &'c Connection, records: &'c Records) -> Self {
        let state = records.state();
        Self {
            before: Some(Known { records, state }),
            ..Self::new(conn)
        }
    }

    fn read_node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, StoreError> {
        let sql = by_depth(depth, Sql::NodeHead, Sql::NodeHead, Sql::NodeFull);
        let found = self
            .one(sql, [gid.as_i64()], |row| node(row, 1, gid, depth))
            .map_err(failed)?;
        Ok(found.flatten())
    }

    fn stmt(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let slot = self
            .held
            .get_mut(sql as usize)
            .ok_or(rusqlite::Error::InvalidQuery)?;
        match slot {
            Some(stmt) => Ok(stmt),
            None => Ok(slot.insert(self.conn.prepare_cached(sql.text())?)),
        }
    }

    /// Runs a statement that gives no rows; says how many it changed.
    pub(crate) fn run(&mut self, sql: Sql, params: impl Params) -> rusqlite::Result<usize> {
        self.stmt(sql)?.execute(params)
    }

    /// Reads at most one row.
    pub(crate) fn one<T>(
        &mut self,
        sql: Sql,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.stmt(sql)?.query_row(params, read).optional()
    }

    /// Reads every row.
    pub(crate) fn each(
        &mut self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut rows = self.stmt(sql)?.query(params)?;
        while let Some(row) = rows.next()? {
            read(row)?;
        }
        Ok(())
    }

    /// Reads edges of one list: `far end, rank, seq, aux`, and the node at the far end.
    fn scan(
        &mut self,
        sql: Sql,
        params: impl Params,
        depth: Depth,
        ends: impl Fn(Gid) -> (Gid, Rel, Gid),
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
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

    fn edges(
        &mut self,
        sql: Sql,
        params: impl Params,
        depth: Depth,
        far: impl Fn(&Edge) -> Gid,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        let read = |row: &Row<'_>| {
            let edge = edge(row)?;
            let node = node(row, 6, far(&edge), depth)?;
            each(edge, node);
            Ok(())
        };
        self.each(sql, params, read).map_err(failed)
    }
}

/// The statement for a depth.
fn by_depth(depth: Depth, edge: Sql, head: Sql, full: Sql) -> Sql {
    match depth {
        Depth::Edge => edge,
        Depth::Head => head,
        Depth::Full => full,
    }
}

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn unreadable(at: usize, value: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(at, value)
}

/// The gid in a column.
pub(crate) fn gid(row: &Row<'_>, at: usize) -> rusqlite::Result<Gid> {
    let number = row.get(at)?;
    Gid::from_i64(number).ok_or_else(|| unreadable(at, number))
}

/// The gid in a column that may be null.
pub(crate) fn maybe_gid(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Gid>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => match Gid::from_i64(number) {
            Some(gid) => Ok(Some(gid)),
            None => Err(unreadable(at, number)),
        },
        _ => gid(row, at).map(Some),
    }
}

/// A sequence number in a column.
pub(crate) fn seq(row: &Row<'_>, at: usize) -> rusqlite::Result<Seq> {
    let number: i64 = row.get(at)?;
    Seq::try_from(number).map_err(|_| unreadable(at, number))
}

/// A key of the index of values as a parameter.
pub(crate) fn column(key: &Key) -> ToSqlOutput<'_> {
    match key {
        Key::Number(number) => ToSqlOutput::from(*number),
        Key::Text(text) => ToSqlOutput::from(text.as_str()),
    }
}

/// The key in a column.
pub(crate) fn key(row: &Row<'_>, at: usize) -> rusqlite::Result<Key> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(_) => Key::Text(row.get(at)?),
        _ => Key::Number(row.get(at)?),
    })
}

fn edge(row: &Row<'_>) -> rusqlite::Result<Edge> {
    Ok(Edge {
        src: gid(row, 0)?,
        rel: Rel(row.get(1)?),
        dst: gid(row, 2)?,
        rank: row.get(3)?,
        seq: seq(row, 4)?,
        aux: maybe_gid(row, 5)?,
    })
}

/// The node whose columns start at `at`.
fn node(row: &Row<'_>, at: usize, gid: Gid, depth: Depth) -> rusqlite::Result<Option<Arc<Node>>> {
    if depth == Depth::Edge {
        return Ok(None);
    }
    let kind: u8 = row.get(at)?;
    let ty = Type::from_code(kind).ok_or_else(|| unreadable(at, i64::from(kind)))?;
    let home = maybe_gid(row, at + 1)?;
    let head = text(row, at + 2)?;
    let (version, body) = match depth {
        Depth::Full => (seq(row, at + 3)?, text(row, at + 4)?),
        _ => (0, Box::default()),
    };
    Ok(Some(Arc::new(Node {
        gid,
        ty,
        home,
        version,
        head,
        body,
    })))
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Box<str>> {
    let value = row.get_ref(at)?;
    value
        .as_str()
        .map(Into::into)
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, value.data_type(), Box::new(e)))
}

impl Snapshot for Session<'_> {
    fn seq(&mut self) -> Result<Seq, StoreError> {
        if let Some(known) = self.last {
            return Ok(known);
        }
        let last = self
            .one(Sql::LastSeq, [], |row| row.get::<_, Option<i64>>(0))
            .map_err(failed)?;
        let last = last
            .flatten()
            .and_then(|n| Seq::try_from(n).ok())
            .unwrap_or(0);
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
        if let Some(known) = known
            && self.scan_known(known, (dst, rel), after, most, &mut |_, edge, node| {
                each(edge, Some(node));
                Ok(())
            })?
        {
            return Ok(());
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
            && self.scan_known(
                known,
                (dst, rel),
                after,
                most,
                &mut |session, edge, node| {
                    each(Found::Row(edge, node));
                    session.band(known, edge.src, band, &mut |edge| each(Found::Out(edge)))
                },
            )?
        {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(most.min(512));
        self.scan_in(dst, rel, after, most, Depth::Full, &mut |edge, node| {
            rows.extend(node.map(|node| (edge, node)));
        })?;
        // What is remembered is all edges of a node.
        let (lo, hi) = if known.is_some() {
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
                if let (Some(known), Some(src)) = (known, src) {
                    known.keep_out(src, run);
                }
                run.clear();
            };
            // The same list again, with sources that are not live, so each row comes by.
            let mut edges = self.stmt(Sql::OutOfIn)?.query(params)?;
            while rows.peek().is_some() || current.is_some() {
                let Some(row) = edges.next()? else { break };
                let src = gid(row, 0)?;
                if current != Some(src) {
                    keep(current, &mut run);
                    let found = rows.next_if(|(edge, _)| edge.src == src);
                    current = found.as_ref().map(|_| src);
                    let Some((edge, node)) = found else { continue };
                    each(Found::Row(edge, node));
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
                        rel: Rel(rel),
                        dst,
                        rank: if has_rank == 0 { 0 } else { row.get(3)? },
                        seq: if known.is_some() { seq(row, 5)? } else { 0 },
                        aux,
                    };
                    if known.is_some() {
                        run.push(edge);
                    }
                    if edge.rel >= band.0 && edge.rel <= band.1 {
                        each(Found::Out(edge));
                    }
                }
            }
            keep(current, &mut run);
            Ok(())
        };
        read().map_err(failed)
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
        let sql = by_depth(
            depth,
            Sql::ScanHomeEdge,
            Sql::ScanHomeHead,
            Sql::ScanHomeFull,
        );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_as_the_port_says() {
        let conn = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&conn).unwrap();
        workgraph_testkit::conformance::index(&mut Session::new(&conn)).unwrap();
    }
}

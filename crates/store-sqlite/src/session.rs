//! A transaction on one connection: the snapshot that loading reads.
mod columns;
mod known;
mod rows;
mod snapshot;

pub(crate) use self::columns::{column, gid, key, limit, maybe_gid, maybe_seq, seq, unreadable};

use self::known::Known;
use crate::audit;
use crate::near::Near;
use crate::records::{Records, State};
use crate::search::Pending;
use crate::sql::Sql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use rustc_hash::FxHashSet;
use workgraph_core::gid::Gid;
use workgraph_core::graph::Seq;

/// A connection inside a transaction, with the statements the transaction has used so far. They go
/// back to the connection, prepared, when the session ends.
pub(crate) struct Session<'c> {
    pub(crate) conn: &'c Connection,
    /// The statements used so far, in the order of their first use, and which they are. Most sessions
    /// that read use none to a few.
    held: Vec<CachedStatement<'c>>,
    names: Vec<Sql>,
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
    /// What its connection has of that.
    near: Option<&'c mut Near>,
    /// The same of the state before a writing session: true of the nodes that it has not touched.
    before: Option<Known<'c>>,
    /// Nodes that were changed, and nodes whose edges were.
    pub(crate) touched: FxHashSet<Gid>,
    /// The highest gid of a third party that is on record, once it was read.
    pub(crate) floor: Option<i64>,
    /// The last row of the audit log, once it was read or written.
    pub(crate) audited: Option<audit::Last>,
    /// Words to be written at the end.
    pub(crate) pending: Vec<Pending>,
}

impl<'c> Session<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            held: Vec::new(),
            names: Vec::new(),
            viewers: false,
            tokens: false,
            reading: false,
            last: None,
            known: None,
            near: None,
            before: None,
            touched: FxHashSet::default(),
            floor: None,
            audited: None,
            pending: Vec::new(),
        }
    }

    /// A session that reads a state, and remembers what it reads.
    pub(crate) fn reading(
        conn: &'c Connection,
        near: &'c mut Near,
        records: &'c Records,
        state: State,
    ) -> Self {
        Self {
            reading: true,
            near: Some(near),
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

    fn stmt(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let at = match self.names.iter().position(|name| *name == sql) {
            Some(at) => at,
            None => {
                self.held.push(self.conn.prepare_cached(sql.text())?);
                self.names.push(sql);
                self.held.len() - 1
            }
        };
        self.held.get_mut(at).ok_or(rusqlite::Error::InvalidQuery)
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
        self.each_while(sql, params, |row| read(row).map(|()| true))
    }

    /// Reads rows until one is not wanted any more.
    pub(crate) fn each_while(
        &mut self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let mut rows = self.stmt(sql)?.query(params)?;
        while let Some(row) = rows.next()? {
            if !read(row)? {
                break;
            }
        }
        Ok(())
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

    #[test]
    fn lists_of_cards_have_and_give_what_the_port_says() {
        let conn = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&conn).unwrap();
        workgraph_testkit::conformance::lists(&mut Session::new(&conn)).unwrap();
    }
}

//! Transaction on one connection: the snapshot that loading reads.
mod columns;
mod graph_reads;
pub(crate) mod graph_writes;
mod pending_rows;
mod pending_writes;
mod read_through;
mod row_scans;
mod row_writes;

pub(crate) use self::columns::{
    column, column_list, edge, gid, key, limit, maybe_gid, maybe_seq, seq, unreadable,
};
use self::pending_rows::PendingRows;
pub(crate) use self::pending_writes::{AuditLogEnd, PendingWords};

use crate::cache::{CacheView, HotCache, Invalidations, OpenSnapshot, StoreCaches};
use crate::statements::Sql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use workgraph_core::storage::{FactKey, Seq, TouchLog};

/// Connection inside a transaction, with the statements that the transaction has used so far. They are returned to the
/// connection, prepared, when the transaction ends.
pub(crate) struct SqliteTransaction<'c> {
    pub(crate) conn: &'c Connection,
    /// Prepared statements used so far, in the order of their first use; `names` identifies them. Most transactions that read use
    /// only a few, or none.
    statements: Vec<CachedStatement<'c>>,
    names: Vec<Sql>,
    /// True if the transaction only reads, so that the rows it reads do not change while it lasts.
    pub(crate) reading: bool,
    /// Last commit that the transaction shows; `None` until a reading transaction has read it, or a writing transaction has
    /// made a commit.
    pub(crate) last: Option<Seq>,
    /// Caches at the state that a reading transaction shows, or at the state before a writing transaction, which may use
    /// them only for nodes that it has not written.
    cache: CacheView<'c>,
    /// Cached values that its writes outdate.
    pub(crate) invalidations: Invalidations,
    /// Recorded highest gid of an auxiliary node, after it was read.
    pub(crate) floor: Option<i64>,
    /// Last row of the audit log, after it was read or written.
    pub(crate) audited: Option<AuditLogEnd>,
    /// Words to be written at the end.
    pub(crate) pending: Vec<PendingWords>,
    /// Rows of nodes to be written at the end of the current change.
    pub(crate) rows: PendingRows,
    /// Keys that the current commit has touched so far.
    pub(crate) touched: Vec<FactKey>,
    /// Keys that the last commits touched, in a transaction that writes.
    pub(crate) touch_log: Option<&'c mut TouchLog>,
}

impl<'c> SqliteTransaction<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            statements: Vec::new(),
            names: Vec::new(),
            reading: false,
            last: None,
            cache: CacheView::default(),
            invalidations: Invalidations::default(),
            floor: None,
            audited: None,
            pending: Vec::new(),
            rows: PendingRows::default(),
            touched: Vec::new(),
            touch_log: None,
        }
    }

    /// Creates a transaction that reads the open snapshot of a connection, and caches its reads.
    pub(crate) fn reading(
        conn: &'c Connection,
        snapshot: &OpenSnapshot,
        caches: &'c StoreCaches,
        hot_cache: &'c mut HotCache,
    ) -> Self {
        Self {
            reading: true,
            last: Some(snapshot.seq),
            cache: caches.reading(hot_cache, snapshot.state),
            ..Self::new(conn)
        }
    }

    /// Creates a transaction that writes, and takes nodes that it does not change from the cache.
    pub(crate) fn writing(conn: &'c Connection, caches: &'c StoreCaches) -> Self {
        Self {
            cache: caches.writing(),
            invalidations: caches.invalidations(),
            ..Self::new(conn)
        }
    }

    fn stmt(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let at = match self.names.iter().position(|name| *name == sql) {
            Some(at) => at,
            None => {
                self.statements.push(self.conn.prepare_cached(sql.text())?);
                self.names.push(sql);
                self.statements.len() - 1
            }
        };
        self.statements
            .get_mut(at)
            .ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Runs a statement that returns no rows; returns the number of rows that it changed.
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

    /// Reads rows until the visitor stops.
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
        crate::migrations::migrate(&conn).unwrap();
        workgraph_testkit::conformance::index(&mut SqliteTransaction::new(&conn)).unwrap();
    }

    #[test]
    fn lists_of_entries_have_and_give_what_the_port_says() {
        let conn = Connection::open_in_memory().unwrap();
        crate::migrations::migrate(&conn).unwrap();
        workgraph_testkit::conformance::lists(&mut SqliteTransaction::new(&conn)).unwrap();
    }
}

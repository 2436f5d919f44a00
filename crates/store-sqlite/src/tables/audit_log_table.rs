//! The audit log: rows chained by their digests, with checkpoints stored beside them.
//!
//! The whole file has one chain, so each row is bound to all earlier rows of all workspaces, and one checkpoint covers
//! everything.
mod auth_events;

pub(crate) use self::auth_events::HandleActor;

use crate::backup::ReadOnlyStore;
use crate::open_error::failed;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_rows::refused;
use crate::transaction::{SqliteTransaction, gid, limit, maybe_gid, unreadable};
use async_trait::async_trait;
use rusqlite::Row;
use std::time::SystemTime;
use workgraph_audit::{
    AuditLogProgress, AuditLogStore, AuditLogStoreError, ChainPosition, CheckpointPublicKey,
    InspectionReport, LogInspector, RowDigest, StoredCheckpoint,
};
use workgraph_core::audit::{ActorType, AuditEventKind, AuditQuery, AuditRow, digest_input};
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStoreError;

/// Most rows that are dropped at once, so that other writes do not wait long for the writer.
const ROUND: u64 = 10_000;

/// Last row of the log.
#[derive(Clone, Copy)]
pub(crate) struct AuditLogEnd {
    gid: Gid,
    at: Time,
    mark: ChainPosition,
}

/// Returns the chain position in the columns `seq, digest`.
fn mark(row: &Row<'_>, from: usize) -> rusqlite::Result<ChainPosition> {
    let seq: i64 = row.get(from)?;
    Ok(ChainPosition {
        seq: u64::try_from(seq).map_err(|_| unreadable(from, seq))?,
        digest: row.get::<_, RowDigest>(from + 1)?,
    })
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let (kind, actor_type): (u8, u8) = (row.get(3)?, row.get(4)?);
    Ok(AuditRow {
        gid: gid(row, 0)?,
        time: Time::from_millis(row.get(1)?),
        workspace: gid(row, 2)?,
        kind: AuditEventKind::from_code(kind).ok_or_else(|| unreadable(3, i64::from(kind)))?,
        actor_type: ActorType::from_code(actor_type)
            .ok_or_else(|| unreadable(4, i64::from(actor_type)))?,
        actor: maybe_gid(row, 5)?,
        resource: gid(row, 6)?,
        body: row.get::<_, String>(7)?.into(),
    })
}

impl SqliteTransaction<'_> {
    /// Appends a row, chained to the last one.
    pub(crate) fn append_audit(&mut self, row: AuditRow) -> rusqlite::Result<()> {
        let last = match self.audited {
            Some(last) => Some(last),
            None => self.one(Sql::AuditLast, [], |row| {
                Ok(AuditLogEnd {
                    gid: gid(row, 0)?,
                    at: Time::from_millis(row.get(1)?),
                    mark: mark(row, 2)?,
                })
            })?,
        };
        let row = row.appended_after(last.map(|last| (last.gid, last.at)));
        let mark = last
            .map_or(ChainPosition::START, |last| last.mark)
            .next(&row.digest_input());
        let params = rusqlite::params![
            row.gid.as_i64(),
            row.time.millis(),
            row.workspace.as_i64(),
            row.kind.code,
            row.actor_type as u8,
            row.actor.map(Gid::as_i64),
            row.resource.as_i64(),
            &*row.body,
            number(mark.seq),
            mark.digest,
        ];
        self.run(Sql::InsertAudit, params)?;
        self.audited = Some(AuditLogEnd {
            gid: row.gid,
            at: row.time,
            mark,
        });
        Ok(())
    }

    /// Returns the matching rows, read by the index of the condition that is expected to leave the fewest.
    pub(crate) fn audited(&mut self, ask: &AuditQuery) -> Result<Vec<AuditRow>, GraphStoreError> {
        let mut after = ask.after.map_or(0, Gid::as_i64);
        let mut end = GID_END.cast_signed();
        let since = |session: &mut Self, at: Time| {
            let params = (ask.workspace.as_i64(), at.millis());
            session
                .one(Sql::AuditSince, params, |row| row.get::<_, i64>(0))
                .map_err(failed)
        };
        if let Some(start) = ask.start {
            match since(self, start)? {
                Some(first) => after = after.max(first - 1),
                None => return Ok(Vec::new()),
            }
        }
        if let Some(at) = ask.end {
            end = since(self, at)?.unwrap_or(end);
        }
        let sql = if ask.resource.is_some() {
            Sql::AuditResource
        } else if ask.actor.is_some() {
            Sql::AuditActor
        } else if ask.kind.is_some() {
            Sql::AuditKind
        } else if ask.actor_type.is_some() {
            Sql::AuditActorType
        } else {
            Sql::AuditHome
        };
        let params = rusqlite::params![
            ask.workspace.as_i64(),
            after,
            end,
            ask.kind.map(|kind| kind.code),
            ask.actor_type.map(|ty| ty as u8),
            ask.actor.map(Gid::as_i64),
            ask.resource.map(Gid::as_i64),
            limit(ask.limit),
        ];
        let mut rows = Vec::new();
        let each = |row: &Row<'_>| audit_row(row).map(|row| rows.push(row));
        self.each(sql, params, each).map_err(failed)?;
        Ok(rows)
    }
}

fn unavailable(error: impl std::fmt::Display) -> AuditLogStoreError {
    AuditLogStoreError(error.to_string())
}

fn last_checkpoint(session: &mut SqliteTransaction<'_>) -> rusqlite::Result<Option<String>> {
    session.one(Sql::Checkpoint, [], |row| row.get(0))
}

#[async_trait]
impl AuditLogStore for SqliteStore {
    async fn progress(&self) -> Result<AuditLogProgress, AuditLogStoreError> {
        let read = |session: &mut SqliteTransaction<'_>| {
            let head = session.one(Sql::AuditLast, [], |row| mark(row, 2));
            Ok(AuditLogProgress {
                head: head.map_err(failed)?.unwrap_or(ChainPosition::START),
                checkpoint: last_checkpoint(session).map_err(failed)?,
            })
        };
        self.readers.read(read).map_err(unavailable)
    }

    async fn prunable_rows(
        &self,
        before: SystemTime,
    ) -> Result<Option<ChainPosition>, AuditLogStoreError> {
        let before = Time::from_system(before);
        let end = Gid::first_of(u64::try_from(before.millis()).unwrap_or(0)).as_i64();
        let found = self.readers.read(|session| {
            let read = |session: &mut SqliteTransaction<'_>| {
                let old = session.one(Sql::AuditBefore, [end], |row| mark(row, 0))?;
                let last = session.one(Sql::AuditLast, [], |row| mark(row, 2))?;
                let first = session.one(Sql::AuditFirst, [], |row| row.get::<_, Option<i64>>(0))?;
                let (Some(old), Some(last), Some(Some(first))) = (old, last, first) else {
                    return Ok(None);
                };
                let first = u64::try_from(first).unwrap_or(0);
                // A file that was tampered with may contain any numbers.
                let upto = old
                    .seq
                    .min(last.seq.saturating_sub(1))
                    .min(first.saturating_add(ROUND - 1));
                session.one(Sql::AuditAt, [number(upto)], |row| mark(row, 0))
            };
            read(session).map_err(failed)
        });
        found.map_err(unavailable)
    }

    async fn store_checkpoint(
        &self,
        checkpoint: StoredCheckpoint,
    ) -> Result<bool, AuditLogStoreError> {
        let stored = self.writer.work(move |session| {
            let store = |session: &mut SqliteTransaction<'_>| {
                if last_checkpoint(session)? != checkpoint.previous {
                    return Ok(false);
                }
                let base = number(checkpoint.base);
                let row = (number(checkpoint.head), &checkpoint.line);
                session.run(Sql::InsertCheckpoint, row)?;
                session.run(Sql::PruneAudit, [base])?;
                session.run(Sql::PruneCheckpoints, [base])?;
                Ok(true)
            };
            store(session).map_err(refused)
        });
        stored.await.map_err(unavailable)
    }
}

impl ReadOnlyStore {
    /// Compares the audit log with the checkpoints beside it and with those that were anchored elsewhere. Reads all of
    /// it, from one snapshot.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn inspect_audit(
        &self,
        key: &CheckpointPublicKey,
        anchored: &[String],
    ) -> Result<InspectionReport, GraphStoreError> {
        let inspect = || {
            let snapshot = self.conn.unchecked_transaction()?;
            let mut lines = snapshot.prepare(Sql::Checkpoints.text())?;
            let lines = lines.query_map([-1], |row| row.get::<_, String>(0))?;
            let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
            let mut seen = LogInspector::new(key, &lines, anchored);
            let mut rows = snapshot.prepare(Sql::AuditRows.text())?;
            let mut rows = rows.query([i64::MIN])?;
            while let Some(row) = rows.next()? {
                // The file may contain any value: nothing here is trusted.
                let numbers = [
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(6)?,
                ];
                let body: String = row.get(7)?;
                let seq: i64 = row.get(8)?;
                let digest: Vec<u8> = row.get(9)?;
                let content = digest_input(numbers, row.get(5)?, &body);
                seen.row(u64::try_from(seq).unwrap_or(0), &content, &digest);
            }
            Ok(seen.finish())
        };
        inspect().map_err(|e: rusqlite::Error| failed(e))
    }
}

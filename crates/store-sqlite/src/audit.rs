//! The audit log: rows chained by their digests, checkpoints beside them.
//!
//! One chain for the whole file, so that a row is bound to those of all workspaces before it and one
//! checkpoint covers everything.
mod acts;

pub(crate) use self::acts::By;

use crate::backup::ReadOnly;
use crate::error::failed;
use crate::rows::refused;
use crate::session::{Session, gid, limit, maybe_gid, unreadable};
use crate::sql::Sql;
use crate::store::SqliteStore;
use rusqlite::Row;
use workgraph_audit::{Digest, Inspector, Mark, PublicKey, Report};
use workgraph_core::audit::{ActorType, Ask, Kind, Row as AuditRow, content};
use workgraph_core::gid::{GID_END, Gid};
use workgraph_core::graph::StoreError;
use workgraph_core::time::Time;

/// The most rows that are dropped at once, so that nobody waits long for the writer.
const ROUND: u64 = 10_000;

/// The end of the log.
#[derive(Clone, Copy)]
pub(crate) struct Last {
    gid: Gid,
    at: Time,
    mark: Mark,
}

/// How far the log has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditTail {
    /// Its last row; [`Mark::START`] if it has none.
    pub head: Mark,
    /// The last checkpoint beside it.
    pub checkpoint: Option<String>,
}

/// The mark of `seq, digest` in columns.
fn mark(row: &Row<'_>, from: usize) -> rusqlite::Result<Mark> {
    let seq: i64 = row.get(from)?;
    Ok(Mark {
        seq: u64::try_from(seq).map_err(|_| unreadable(from, seq))?,
        digest: row.get::<_, Digest>(from + 1)?,
    })
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let (kind, actor_type): (u8, u8) = (row.get(3)?, row.get(4)?);
    Ok(AuditRow {
        gid: gid(row, 0)?,
        at: Time::from_millis(row.get(1)?),
        home: gid(row, 2)?,
        kind: Kind::from_code(kind).ok_or_else(|| unreadable(3, i64::from(kind)))?,
        actor_type: ActorType::from_code(actor_type)
            .ok_or_else(|| unreadable(4, i64::from(actor_type)))?,
        actor: maybe_gid(row, 5)?,
        resource: gid(row, 6)?,
        body: row.get::<_, String>(7)?.into(),
    })
}

impl Session<'_> {
    /// Appends a row, chained to the last one.
    pub(crate) fn append_audit(&mut self, row: AuditRow) -> rusqlite::Result<()> {
        let last = match self.audited {
            Some(last) => Some(last),
            None => self.one(Sql::AuditLast, [], |row| {
                Ok(Last {
                    gid: gid(row, 0)?,
                    at: Time::from_millis(row.get(1)?),
                    mark: mark(row, 2)?,
                })
            })?,
        };
        let row = row.after(last.map(|last| (last.gid, last.at)));
        let mark = last
            .map_or(Mark::START, |last| last.mark)
            .then(&row.content());
        let params = rusqlite::params![
            row.gid.as_i64(),
            row.at.millis(),
            row.home.as_i64(),
            row.kind.code,
            row.actor_type as u8,
            row.actor.map(Gid::as_i64),
            row.resource.as_i64(),
            &*row.body,
            number(mark.seq),
            mark.digest,
        ];
        self.run(Sql::InsertAudit, params)?;
        self.audited = Some(Last {
            gid: row.gid,
            at: row.at,
            mark,
        });
        Ok(())
    }

    /// The rows that fit, by the index of the condition that is expected to leave the fewest.
    pub(crate) fn audited(&mut self, ask: &Ask) -> Result<Vec<AuditRow>, StoreError> {
        let mut after = ask.after.map_or(0, Gid::as_i64);
        let mut end = GID_END.cast_signed();
        let since = |session: &mut Self, at: Time| {
            let params = (ask.home.as_i64(), at.millis());
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
            ask.home.as_i64(),
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

impl SqliteStore {
    /// How far the audit log has come.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn audit_tail(&self) -> Result<AuditTail, StoreError> {
        self.readers.read(|session| {
            let head = session
                .one(Sql::AuditLast, [], |row| mark(row, 2))
                .map_err(failed)?;
            let checkpoint = session
                .one(Sql::Checkpoint, [], |row| row.get(0))
                .map_err(failed)?;
            Ok(AuditTail {
                head: head.unwrap_or(Mark::START),
                checkpoint,
            })
        })
    }

    /// Up to which row the log may be dropped in one round: older than the instant, and not the last
    /// row.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn audit_old(&self, before: Time) -> Result<Option<Mark>, StoreError> {
        let end = Gid::first_of(u64::try_from(before.millis()).unwrap_or(0)).as_i64();
        let found = self.readers.read(|session| {
            let read = |session: &mut Session<'_>| {
                let old = session.one(Sql::AuditBefore, [end], |row| mark(row, 0))?;
                let last = session.one(Sql::AuditLast, [], |row| mark(row, 2))?;
                let first = session.one(Sql::AuditFirst, [], |row| row.get::<_, Option<i64>>(0))?;
                let (Some(old), Some(last), Some(Some(first))) = (old, last, first) else {
                    return Ok(None);
                };
                let first = u64::try_from(first).unwrap_or(0);
                // Numbers of a file that was tampered with can be any.
                let upto = old
                    .seq
                    .min(last.seq.saturating_sub(1))
                    .min(first.saturating_add(ROUND - 1));
                session.one(Sql::AuditAt, [number(upto)], |row| mark(row, 0))
            };
            read(session).map_err(failed)
        })?;
        Ok(found)
    }

    /// Keeps a signed checkpoint of the row `head`, and drops the rows up to `base`, in one commit.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn keep_checkpoint(
        &self,
        line: String,
        head: u64,
        base: u64,
    ) -> Result<(), StoreError> {
        let kept = self.writer.work(move |session| {
            session
                .run(Sql::InsertCheckpoint, (number(head), &line))
                .and_then(|_| session.run(Sql::PruneAudit, [number(base)]))
                .and_then(|_| session.run(Sql::PruneCheckpoints, [number(base)]))
                .map(drop)
                .map_err(refused)
        });
        kept.await.map_err(|e| StoreError::Failed(e.to_string()))
    }
}

impl ReadOnly {
    /// Compares the audit log with the checkpoints beside it and with those that were anchored
    /// elsewhere. Reads all of it, from one snapshot.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn inspect_audit(
        &self,
        key: &PublicKey,
        anchored: &[String],
    ) -> Result<Report, StoreError> {
        let inspect = || {
            let snapshot = self.conn.unchecked_transaction()?;
            let mut lines = snapshot.prepare(Sql::Checkpoints.text())?;
            let lines = lines.query_map([-1], |row| row.get::<_, String>(0))?;
            let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
            let mut seen = Inspector::new(key, &lines, anchored);
            let mut rows = snapshot.prepare(Sql::AuditRows.text())?;
            let mut rows = rows.query([i64::MIN])?;
            while let Some(row) = rows.next()? {
                // Whatever stands there: nothing here is believed.
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
                let content = content(numbers, row.get(5)?, &body);
                seen.row(u64::try_from(seq).unwrap_or(0), &content, &digest);
            }
            Ok(seen.finish())
        };
        inspect().map_err(|e: rusqlite::Error| failed(e))
    }
}

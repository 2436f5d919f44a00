//! The audit log: rows chained by their digests, with checkpoints stored beside them.
//!
//! The whole file has one chain, so each row is bound to all earlier rows of all workspaces, and one checkpoint covers
//! everything.
mod auth_events;

pub(crate) use self::auth_events::HandleActor;

use crate::open_error::failed;
use crate::statements::Sql;
use crate::transaction::{AuditLogEnd, SqliteTransaction, gid, limit, maybe_gid, unreadable};
use rusqlite::Row;
use workgraph_audit::{ChainPosition, RowDigest};
use workgraph_core::audit::{ActorType, AuditEventKind, AuditQuery, AuditRow};
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStoreError;

/// Returns the chain position in the columns `seq, digest`.
pub(crate) fn chain_position(row: &Row<'_>, from: usize) -> rusqlite::Result<ChainPosition> {
    let seq: i64 = row.get(from)?;
    Ok(ChainPosition {
        seq: u64::try_from(seq).map_err(|_| unreadable(from, seq))?,
        digest: row.get::<_, RowDigest>(from + 1)?,
    })
}

pub(crate) fn number(seq: u64) -> i64 {
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
                    mark: chain_position(row, 2)?,
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

    /// Returns the matching rows, read with the index of the condition that is expected to match the fewest rows.
    pub(crate) fn audited(&mut self, ask: &AuditQuery) -> Result<Vec<AuditRow>, GraphStoreError> {
        let mut after = ask.after.map_or(0, Gid::as_i64);
        let mut end = GID_END.cast_signed();
        let since = |tx: &mut Self, at: Time| {
            let params = (ask.workspace.as_i64(), at.millis());
            tx.one(Sql::AuditSince, params, |row| row.get::<_, i64>(0))
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

//! The single row of the table `store_state`.
use crate::columns::{gid_or_none, number};
use crate::database_error::DatabaseError;
use tokio_postgres::Row;
use workgraph_audit::{ChainPosition, RowDigest};
use workgraph_core::audit::AuditRow;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::Seq;

/// Numbers of the store as seen by a transaction that writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoreState {
    /// Sequence number of the last commit.
    pub(crate) seq: Seq,
    /// Highest gid of an auxiliary node, or 0.
    pub(crate) floor: i64,
    /// Last row of the audit log, if it has one.
    pub(crate) audit: Option<AuditLogEnd>,
}

/// Last row of the audit log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AuditLogEnd {
    pub(crate) gid: Gid,
    pub(crate) at: Time,
    pub(crate) head: ChainPosition,
}

impl AuditLogEnd {
    /// Reads the end of the log from four columns: number, gid, time and digest of its last row.
    pub(crate) fn read(row: &Row, from: usize) -> Result<Option<Self>, DatabaseError> {
        let Some(gid) = gid_or_none(row.try_get(from + 1)?)? else {
            return Ok(None);
        };
        let digest = RowDigest::try_from(row.try_get::<_, &[u8]>(from + 3)?)
            .map_err(|_| DatabaseError::unreadable("audit_digest"))?;
        Ok(Some(Self {
            gid,
            at: Time::from_millis(row.try_get(from + 2)?),
            head: ChainPosition {
                seq: number(row, from)?,
                digest,
            },
        }))
    }

    /// Returns a row with its place in the log after the last row, and the new end of the log.
    pub(crate) fn append(last: Option<Self>, row: AuditRow) -> (AuditRow, Self) {
        let row = row.appended_after(last.map(|last| (last.gid, last.at)));
        let before = last.map_or(ChainPosition::START, |last| last.head);
        let end = Self {
            gid: row.gid,
            at: row.time,
            head: before.next(&row.digest_input()),
        };
        (row, end)
    }
}

//! Row of the table `store_state`: a transaction that writes locks it, and writes it back before it commits.
use crate::columns::{gid_or_none, number, whole};
use crate::database_error::DatabaseError;
use crate::transaction::{OwnedParams, PgTransaction};
use tokio_postgres::Row;
use workgraph_audit::{ChainPosition, RowDigest};
use workgraph_core::audit::AuditRow;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::Seq;

const LOCK: &str = "WITH attempt AS (INSERT INTO write_attempt (id) VALUES (gen_random_uuid()) RETURNING id::text) \
    SELECT seq, floor, audit_seq, audit_gid, audit_at, audit_digest, attempt.id FROM store_state, attempt \
    FOR UPDATE OF store_state";
const STORE: &str = "UPDATE store_state SET seq = $1, floor = $2, audit_seq = $3, audit_gid = $4, audit_at = $5, \
    audit_digest = $6";

/// Numbers of the store as a transaction that writes sees them.
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
    /// Its position in the chain.
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

    /// Returns a row as it stands in the log after its last row, and the new end of the log.
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

impl PgTransaction<'_> {
    /// Locks the row of the store's state, which makes this a transaction that writes. Returns the random id under which
    /// the transaction is on record once it is committed.
    pub(crate) fn lock_state(&mut self) -> Result<String, DatabaseError> {
        let row = self.one(LOCK, &[])?;
        let row = row.ok_or_else(|| DatabaseError::unreadable("store_state"))?;
        let audit = AuditLogEnd::read(&row, 2)?;
        self.state = Some(StoreState {
            seq: number(&row, 0)?,
            floor: row.try_get(1)?,
            audit,
        });
        Ok(row.try_get(6)?)
    }

    /// Returns the state that this transaction has locked.
    pub(crate) fn locked_state(&mut self) -> Result<&mut StoreState, DatabaseError> {
        let reading = || DatabaseError::Failed("a transaction that only reads was to write".into());
        self.state.as_mut().ok_or_else(reading)
    }

    /// Writes the state back, without waiting for it.
    pub(crate) fn store_state(&mut self) -> Result<(), DatabaseError> {
        let state = *self.locked_state()?;
        let (mut audit_seq, mut gid, mut at, mut digest) = (0, 0, 0, Vec::new());
        if let Some(last) = state.audit {
            (audit_seq, gid, at) = (whole(last.head.seq)?, last.gid.as_i64(), last.at.millis());
            digest = last.head.digest.to_vec();
        }
        let params: OwnedParams = vec![
            Box::new(whole(state.seq)?),
            Box::new(state.floor),
            Box::new(audit_seq),
            Box::new(gid),
            Box::new(at),
            Box::new(digest),
        ];
        self.send(STORE, params)
    }
}

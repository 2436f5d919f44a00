//! Lock of the row of `store_state`: a transaction that writes takes it first, except for rows of new nodes, and writes the row
//! back before it commits.
use crate::columns::{number, whole};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, params};
use crate::statement_list::OwnedStatement;
use crate::store_state::{AuditLogEnd, StoreState};
use crate::transaction::PgTransaction;
use crate::write_attempt::WriteAttempt;
use workgraph_core::storage::Seq;

const LOCK: &str = "WITH attempt AS (INSERT INTO write_attempt (id) VALUES (gen_random_uuid()) RETURNING id::text) \
    SELECT seq, floor, audit_seq, audit_gid, audit_at, audit_digest, attempt.id FROM store_state, attempt \
    FOR UPDATE OF store_state";
const STORE: &str = "UPDATE store_state SET seq = $1, floor = $2, audit_seq = $3, audit_gid = $4, audit_at = $5, \
    audit_digest = $6";

/// Locks the row and writes the state after commits into it, if the row still has the state to which they were applied;
/// fails otherwise: see [`DatabaseError::Outdated`]. If the commits have no audit rows, the log may have any end.
const MOVE: &str = "WITH moved AS (UPDATE store_state SET seq = $2, floor = greatest(floor, $3), \
    audit_seq = coalesce($5, audit_seq), audit_gid = coalesce($6, audit_gid), audit_at = coalesce($7, audit_at), \
    audit_digest = coalesce($8, audit_digest) \
    WHERE seq = $1 AND ($4::bigint IS NULL OR audit_seq = $4) RETURNING 1), \
    attempt AS (INSERT INTO write_attempt (id) SELECT $9::text::uuid FROM moved) SELECT 1 / count(*) FROM moved";

/// Columns of the end of the audit log: number, gid, time and digest of its last row.
type EndColumns = (i64, i64, i64, Vec<u8>);

fn end_columns(end: Option<AuditLogEnd>) -> Result<EndColumns, DatabaseError> {
    let Some(last) = end else {
        return Ok((0, 0, 0, Vec::new()));
    };
    let digest = last.head.digest.to_vec();
    Ok((
        whole(last.head.seq)?,
        last.gid.as_i64(),
        last.at.millis(),
        digest,
    ))
}

/// Move of the store's state row from the state before some commits to the state after them.
#[derive(Debug)]
pub(crate) struct StateMove {
    /// Last commit before the move, and last commit after it.
    pub(crate) base: Seq,
    pub(crate) last: Seq,
    /// Highest gid of an auxiliary node, or 0.
    pub(crate) floor: i64,
    /// Ends of the audit log before and after the rows of the commits; `None` if they have no audit rows.
    pub(crate) audit: Option<(Option<AuditLogEnd>, AuditLogEnd)>,
}

impl StateMove {
    /// Returns the statement that locks the row and moves it. It fails if the state is not the one before the commits, or if they
    /// have audit rows and the log has another end.
    pub(crate) fn statement(
        &self,
        attempt: &WriteAttempt,
    ) -> Result<OwnedStatement, DatabaseError> {
        let (mut expected, mut end) = (None, None);
        if let Some((before, after)) = self.audit {
            expected = Some(end_columns(before)?.0);
            end = Some(end_columns(Some(after))?);
        }
        let params: OwnedParams = vec![
            Box::new(whole(self.base)?),
            Box::new(whole(self.last)?),
            Box::new(self.floor),
            Box::new(expected),
            Box::new(end.as_ref().map(|end| end.0)),
            Box::new(end.as_ref().map(|end| end.1)),
            Box::new(end.as_ref().map(|end| end.2)),
            Box::new(end.map(|end| end.3)),
            Box::new(attempt.id().to_owned()),
        ];
        Ok((MOVE, params))
    }
}

impl PgTransaction<'_> {
    /// Locks the row of the store's state, and marks the transaction as having locked it.
    pub(crate) fn lock_state(&mut self) -> Result<(), DatabaseError> {
        let rows = self.read(LOCK, params![])?;
        let row = rows
            .first()
            .ok_or_else(|| DatabaseError::unreadable("store_state"))?;
        let audit = AuditLogEnd::read(row, 2)?;
        self.state = Some(StoreState {
            seq: number(row, 0)?,
            floor: row.try_get(1)?,
            audit,
        });
        self.attempt = Some(WriteAttempt::on_record(row.try_get(6)?));
        Ok(())
    }

    /// Returns the state that this transaction has locked.
    pub(crate) fn locked_state(&mut self) -> Result<&mut StoreState, DatabaseError> {
        let reading = || DatabaseError::Failed("a transaction that only reads was to write".into());
        self.state.as_mut().ok_or_else(reading)
    }

    /// Writes the state back, without waiting for it.
    pub(crate) fn store_state(&mut self) -> Result<(), DatabaseError> {
        let state = *self.locked_state()?;
        let (audit_seq, gid, at, digest) = end_columns(state.audit)?;
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

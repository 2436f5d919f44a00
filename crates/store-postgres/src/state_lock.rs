//! Lock of the row of `store_state`: a transaction that writes takes it first, and writes the row back before it commits.
use crate::columns::{number, whole};
use crate::database_error::DatabaseError;
use crate::params::OwnedParams;
use crate::store_state::{AuditLogEnd, StoreState};
use crate::transaction::PgTransaction;

const LOCK: &str = "WITH attempt AS (INSERT INTO write_attempt (id) VALUES (gen_random_uuid()) RETURNING id::text) \
    SELECT seq, floor, audit_seq, audit_gid, audit_at, audit_digest, attempt.id FROM store_state, attempt \
    FOR UPDATE OF store_state";
const STORE: &str = "UPDATE store_state SET seq = $1, floor = $2, audit_seq = $3, audit_gid = $4, audit_at = $5, \
    audit_digest = $6";

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

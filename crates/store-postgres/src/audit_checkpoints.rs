//! Checkpoints of the audit log, its pruning, and its inspection.
use crate::auth::AuthTransaction;
use crate::columns::{bound, number};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::params::owned_params;
use crate::postgres_store::PostgresStore;
use crate::stored_values::{Stored, bytes32, get};
use crate::transaction::PgTransaction;
use async_trait::async_trait;
use std::time::SystemTime;
use tokio_postgres::Row;
use workgraph_audit::{
    AuditLogProgress, AuditLogStore, AuditLogStoreError, ChainPosition, CheckpointPublicKey,
    InspectionReport, LogInspector, StoredCheckpoint,
};
use workgraph_auth::AuthStoreError;
use workgraph_core::audit::digest_input;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStoreError;

/// Maximum number of rows that are dropped at once, so that one transaction does not take long.
const ROUND: i64 = 10_000;
/// Number of rows that an inspection reads at once.
const CHUNK: i64 = 5_000;
/// Key of the advisory lock under which checkpoints are stored: "WkCp".
const LOCK: i64 = 0x576b_4370;

const PROGRESS: &str = "SELECT audit_seq, audit_digest, (SELECT line FROM checkpoint ORDER BY id DESC LIMIT 1) \
    FROM store_state";
/// The last row to drop: old, not the last row of the log, and not too many rows at once. A log that was tampered with may
/// contain any numbers.
const PRUNABLE: &str = "SELECT a.seq, a.digest FROM audit a WHERE a.seq = (SELECT least(old.seq, \
        CASE WHEN s.audit_seq > 0 THEN s.audit_seq - 1 ELSE 0 END, \
        CASE WHEN f.seq BETWEEN 0 AND 9000000000000000000 THEN f.seq + $2 - 1 ELSE f.seq END) \
    FROM (SELECT seq FROM audit WHERE gid < $1 ORDER BY gid DESC LIMIT 1) old, \
        (SELECT min(seq) AS seq FROM audit) f, store_state s)";
const TAKE_LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const LAST_CHECKPOINT: &str = "SELECT line FROM checkpoint ORDER BY id DESC LIMIT 1";
const CHECKPOINTS: &str = "SELECT line FROM checkpoint ORDER BY id";
const INSERT_CHECKPOINT: &str = "INSERT INTO checkpoint (seq, line) VALUES ($1, $2)";
const PRUNE_ROWS: &str = "DELETE FROM audit WHERE seq <= $1";
const PRUNE_CHECKPOINTS: &str = "DELETE FROM checkpoint WHERE seq <= $1";
const ROWS: &str = "SELECT gid, at, home, kind, actor_type, actor, resource, body, seq, digest FROM audit \
    WHERE seq > $1 ORDER BY seq LIMIT $2";

impl From<DatabaseError> for AuditLogStoreError {
    fn from(error: DatabaseError) -> Self {
        Self(error.to_string())
    }
}

/// Returns the chain position in two columns; an empty digest means the beginning.
fn chain_position(row: &Row, at: usize) -> Stored<ChainPosition> {
    if get::<&[u8]>(row, at + 1)?.is_empty() {
        return Ok(ChainPosition::START);
    }
    Ok(ChainPosition {
        seq: number(row, at)?,
        digest: bytes32(row, at + 1)?,
    })
}

fn failed(error: impl std::fmt::Display) -> AuditLogStoreError {
    AuditLogStoreError(error.to_string())
}

fn progress(row: &Row) -> Stored<AuditLogProgress> {
    Ok(AuditLogProgress {
        head: chain_position(row, 0)?,
        checkpoint: get(row, 2)?,
    })
}

async fn store_checkpoint(
    tx: &mut AuthTransaction,
    checkpoint: &StoredCheckpoint,
) -> Result<bool, AuthStoreError> {
    let [_, last] = tx
        .send([(TAKE_LOCK, &[&LOCK]), (LAST_CHECKPOINT, &[])])
        .await?;
    let last: Option<String> = last.first().map(|row| get(row, 0)).transpose()?;
    if last != checkpoint.previous {
        return Ok(false);
    }
    let (head, base) = (bound(checkpoint.head), bound(checkpoint.base));
    tx.send_last([
        (INSERT_CHECKPOINT, &[&head, &checkpoint.line]),
        (PRUNE_ROWS, &[&base]),
        (PRUNE_CHECKPOINTS, &[&base]),
    ])
    .await?;
    Ok(true)
}

#[async_trait]
impl AuditLogStore for PostgresStore {
    async fn progress(&self) -> Result<AuditLogProgress, AuditLogStoreError> {
        let rows = self.query(PROGRESS, owned_params![]).await?;
        let row = rows
            .first()
            .ok_or_else(|| failed("the row of store_state is missing"))?;
        progress(row).map_err(failed)
    }

    async fn prunable_rows(
        &self,
        before: SystemTime,
    ) -> Result<Option<ChainPosition>, AuditLogStoreError> {
        let before = Time::from_system(before);
        let end = Gid::first_of(u64::try_from(before.millis()).unwrap_or(0)).as_i64();
        let rows = self.query(PRUNABLE, owned_params![end, ROUND]).await?;
        let found = rows.first().map(|row| chain_position(row, 0));
        found.transpose().map_err(failed)
    }

    async fn store_checkpoint(
        &self,
        checkpoint: StoredCheckpoint,
    ) -> Result<bool, AuditLogStoreError> {
        self.decide(move |tx| Box::pin(async move { store_checkpoint(tx, &checkpoint).await }))
            .await
            .map_err(failed)
    }
}

impl Database {
    /// Compares the audit log with the checkpoints beside it and with checkpoints anchored elsewhere. Reads the whole log,
    /// from one snapshot.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub async fn inspect_audit(
        &self,
        key: &CheckpointPublicKey,
        anchored: &[String],
    ) -> Result<InspectionReport, GraphStoreError> {
        let (key, anchored) = (*key, anchored.to_vec());
        let inspect = move |transaction: &mut PgTransaction<'_>| {
            let lines = transaction.rows(CHECKPOINTS, &[])?;
            let lines: Stored<Vec<String>> = lines.iter().map(|row| get(row, 0)).collect();
            let mut inspector = LogInspector::new(&key, &lines?, &anchored);
            let mut after = i64::MIN;
            loop {
                let rows = transaction.rows(ROWS, &[&after, &CHUNK])?;
                for row in &rows {
                    after = inspect_row(&mut inspector, row)?;
                }
                if rows.is_empty() {
                    return Ok(inspector.finish());
                }
            }
        };
        self.read_everything(inspect).await
    }
}

/// Passes a row to an inspector; returns its number. The database may contain any value: nothing here is trusted.
fn inspect_row(inspector: &mut LogInspector, row: &Row) -> Stored<i64> {
    let code = |at| get::<i16>(row, at).map(i64::from);
    let numbers = [
        get(row, 0)?,
        get(row, 1)?,
        get(row, 2)?,
        code(3)?,
        code(4)?,
        get(row, 6)?,
    ];
    let seq: i64 = get(row, 8)?;
    let content = digest_input(numbers, get(row, 5)?, get(row, 7)?);
    inspector.row(u64::try_from(seq).unwrap_or(0), &content, get(row, 9)?);
    Ok(seq)
}

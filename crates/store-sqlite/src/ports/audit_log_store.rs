//! The audit log and the checkpoints stored beside it.
use crate::backup::ReadOnlyStore;
use crate::open_error::failed;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::audit_log_table::{chain_position, number};
use crate::tables::auth_rows::refused;
use crate::transaction::SqliteTransaction;
use async_trait::async_trait;
use std::time::SystemTime;
use workgraph_audit::{
    AuditLogProgress, AuditLogStore, AuditLogStoreError, ChainPosition, CheckpointPublicKey,
    InspectionReport, LogInspector, StoredCheckpoint,
};
use workgraph_core::audit::digest_input;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStoreError;

/// Maximum number of rows that are dropped at once, so that other writes do not wait long for the writer.
const ROUND: u64 = 10_000;

fn unavailable(error: impl std::fmt::Display) -> AuditLogStoreError {
    AuditLogStoreError(error.to_string())
}

fn last_checkpoint(tx: &mut SqliteTransaction<'_>) -> rusqlite::Result<Option<String>> {
    tx.one(Sql::Checkpoint, [], |row| row.get(0))
}

#[async_trait]
impl AuditLogStore for SqliteStore {
    async fn progress(&self) -> Result<AuditLogProgress, AuditLogStoreError> {
        let read = |tx: &mut SqliteTransaction<'_>| {
            let head = tx.one(Sql::AuditLast, [], |row| chain_position(row, 2));
            Ok(AuditLogProgress {
                head: head.map_err(failed)?.unwrap_or(ChainPosition::START),
                checkpoint: last_checkpoint(tx).map_err(failed)?,
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
        let found = self.readers.read(|tx| {
            let read = |tx: &mut SqliteTransaction<'_>| {
                let old = tx.one(Sql::AuditBefore, [end], |row| chain_position(row, 0))?;
                let last = tx.one(Sql::AuditLast, [], |row| chain_position(row, 2))?;
                let first = tx.one(Sql::AuditFirst, [], |row| row.get::<_, Option<i64>>(0))?;
                let (Some(old), Some(last), Some(Some(first))) = (old, last, first) else {
                    return Ok(None);
                };
                let first = u64::try_from(first).unwrap_or(0);
                // A file that was tampered with may contain any numbers.
                let upto = old
                    .seq
                    .min(last.seq.saturating_sub(1))
                    .min(first.saturating_add(ROUND - 1));
                tx.one(Sql::AuditAt, [number(upto)], |row| chain_position(row, 0))
            };
            read(tx).map_err(failed)
        });
        found.map_err(unavailable)
    }

    async fn store_checkpoint(
        &self,
        checkpoint: StoredCheckpoint,
    ) -> Result<bool, AuditLogStoreError> {
        let stored = self.writer.work(move |tx| {
            let store = |tx: &mut SqliteTransaction<'_>| {
                if last_checkpoint(tx)? != checkpoint.previous {
                    return Ok(false);
                }
                let base = number(checkpoint.base);
                let row = (number(checkpoint.head), &checkpoint.line);
                tx.run(Sql::InsertCheckpoint, row)?;
                tx.run(Sql::PruneAudit, [base])?;
                tx.run(Sql::PruneCheckpoints, [base])?;
                Ok(true)
            };
            store(tx).map_err(refused)
        });
        stored.await.map_err(unavailable)
    }
}

impl ReadOnlyStore {
    /// Compares the audit log with the checkpoints beside it and with checkpoints anchored elsewhere. Reads the whole log,
    /// from one snapshot.
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

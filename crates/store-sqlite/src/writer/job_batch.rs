//! Batch of jobs: writes them in one transaction, then updates readers and caches, and answers the callers.
use super::write_job::WriteJob;
use crate::cache::{Invalidations, StoreCaches};
use crate::reader_pool::ReaderPool;
use crate::statements::Sql;
use crate::transaction::SqliteTransaction;
use rusqlite::Connection;
use workgraph_core::storage::TouchLog;
use workgraph_core::storage::snapshot::Snapshot;

/// Tells readers and caches about a commit, or a failed one.
pub(super) fn publish(
    readers: &ReaderPool,
    done: Result<Invalidations, String>,
) -> Result<(), String> {
    // Snapshots first: everything that a cache holds from now on must come from a snapshot that shows the commit.
    readers.notify_committed();
    // The effect of a failed commit is unknown, so it outdates everything.
    readers.caches.invalidate(done.as_ref().ok());
    done.map(drop)
}

/// Answers the callers of jobs that share a commit.
pub(super) fn answer(jobs: impl ExactSizeIterator<Item = WriteJob>, done: Result<(), String>) {
    let failure = done.err();
    if let Some(reason) = &failure {
        tracing::error!(%reason, jobs = jobs.len(), "a commit failed");
    }
    for job in jobs {
        job.answer(failure.as_deref());
    }
}

/// Writes the jobs in one transaction, and adds the keys that they touch to the log; `None` for the log if the last commit is not
/// known.
///
/// The first try has no savepoints: with a savepoint, SQLite copies every page before a job changes it. A failed job has
/// usually written nothing, since guards are checked first. If it has written something, the whole batch is written again,
/// with a savepoint for each job.
pub(super) fn write(
    conn: &Connection,
    caches: &StoreCaches,
    touch_log: &mut Option<TouchLog>,
    jobs: &mut [WriteJob],
) -> Result<Invalidations, String> {
    let unfit = || "a job that failed was not undone".to_owned();
    // A failure leaves the last commit in doubt, so the next batch begins another log.
    let mut log = touch_log.take();
    let before = log.as_ref().map(TouchLog::seq);
    let changed = match transact(conn, caches, &mut log, jobs, false)? {
        Some(changed) => changed,
        None => {
            // A log that was begun by this batch has no earlier keys.
            log = log.zip(before).map(|(mut log, before)| {
                log.undo_after(before);
                log
            });
            transact(conn, caches, &mut log, jobs, true)?.ok_or_else(unfit)?
        }
    };
    *touch_log = log;
    Ok(changed)
}

/// Runs one transaction; returns `None` if a job failed after a write, and there are no savepoints.
fn transact(
    conn: &Connection,
    caches: &StoreCaches,
    touch_log: &mut Option<TouchLog>,
    jobs: &mut [WriteJob],
    savepoints: bool,
) -> Result<Option<Invalidations>, String> {
    let run = |tx: &mut SqliteTransaction<'_>, sql| tx.run(sql, []).map_err(|e| e.to_string());
    let mut tx = SqliteTransaction::writing(conn, caches);
    run(&mut tx, Sql::BeginImmediate)?;
    let log = match touch_log {
        Some(log) => log,
        None => touch_log.insert(TouchLog::starting_at(tx.seq().map_err(|e| e.to_string())?)),
    };
    tx.touch_log = Some(log);
    for job in jobs {
        let outdated = &tx.invalidations;
        let before = (outdated.viewers, outdated.tokens, tx.pending.len());
        let written = conn.total_changes();
        if savepoints {
            run(&mut tx, Sql::Savepoint)?;
        }
        if !job.run(&mut tx) {
            if conn.is_autocommit() {
                // After some failures, such as a full disk, SQLite has rolled back everything.
                return Err(job.failure());
            }
            if savepoints {
                run(&mut tx, Sql::RollbackTo)?;
            } else if conn.total_changes() != written {
                run(&mut tx, Sql::Rollback)?;
                return Ok(None);
            }
            let outdated = &mut tx.invalidations;
            (outdated.viewers, outdated.tokens) = (before.0, before.1);
            tx.pending.truncate(before.2);
            (tx.floor, tx.audited, tx.last) = (None, None, None);
            tx.rows.clear();
            tx.touched.clear();
        }
        if savepoints {
            run(&mut tx, Sql::Release)?;
        }
    }
    tx.write_rows().map_err(|e| e.to_string())?;
    tx.write_words().map_err(|e| e.to_string())?;
    caches.begin_commit(&tx.invalidations);
    let committed = run(&mut tx, Sql::Commit);
    let created = tx.rows.take_created();
    caches.end_commit(committed.is_ok().then_some(&created));
    committed?;
    Ok(Some(std::mem::take(&mut tx.invalidations)))
}

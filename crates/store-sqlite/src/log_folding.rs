//! Folding of long logs into separate databases, for stores whose database is never written.
use crate::connection_setup::StorePaths;
use crate::page_copy::copy;
use crate::reader_pool::ReaderPool;
use std::fs;
use std::io::{self, ErrorKind};
use workgraph_core::storage::GraphStoreError;

/// Size in bytes above which a log is folded into a database.
pub(crate) const LOG_MAX: u64 = 32 << 20;

/// Size in bytes above which a log is folded before its store is copied: each copy gets its own copy of the log.
pub(crate) const COPIED_LOG_MAX: u64 = 1 << 20;

/// Folds a log of more than `most` bytes into a separate database. If a crash leaves the old log in place, its pages are the
/// same as those of the new database.
pub(crate) fn fold_log(
    readers: &ReaderPool,
    files: &StorePaths,
    most: u64,
) -> Result<(), GraphStoreError> {
    if files.wal_bytes() <= most {
        return Ok(());
    }
    let folded = files.database.with_extension("db-folded");
    let io = |error: io::Error| {
        GraphStoreError::Failed(format!("{}: {error}", files.database.display()))
    };
    match fs::remove_file(&folded) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    readers.closed(|conn| {
        copy(&conn, &folded)?;
        drop(conn);
        fs::set_permissions(
            &folded,
            fs::metadata(&files.database).map_err(io)?.permissions(),
        )
        .map_err(io)?;
        fs::rename(&folded, &files.database).map_err(io)?;
        match fs::remove_file(files.log()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io(error)),
            _ => Ok(()),
        }
    })?
}

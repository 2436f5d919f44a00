//! Long logs of stores whose database is never written: they become part of a database of their own.
use crate::connection_setup::StorePaths;
use crate::page_copy::copy;
use crate::reader_pool::ReaderPool;
use std::fs;
use std::io::{self, ErrorKind};
use workgraph_core::storage::GraphStoreError;

/// Bytes of log above which it becomes part of a database.
pub(crate) const LOG_MAX: u64 = 32 << 20;

/// The same for a store that is copied: each copy has the log of its own.
pub(crate) const COPIED_LOG_MAX: u64 = 1 << 20;

/// Makes a log of more than `most` bytes part of a database of its own. A log that stays after a crash has the pages that the new
/// database has, too.
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

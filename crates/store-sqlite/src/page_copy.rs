//! Copy of all pages of a database.
use crate::open_error::failed;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::path::Path;
use workgraph_core::storage::GraphStoreError;

/// Copies all pages into a new file.
pub(crate) fn copy(from: &Connection, to: &Path) -> Result<(), GraphStoreError> {
    let mut target = Connection::open(to).map_err(failed)?;
    let done = Backup::new(from, &mut target)
        // In one step: otherwise each commit in between would make it start over.
        .and_then(|backup| backup.step(-1))
        .map_err(failed)?;
    if done != StepResult::Done {
        return Err(GraphStoreError::Failed(format!(
            "the copy did not finish: {done:?}"
        )));
    }
    target.close().map_err(|(_, error)| failed(error))
}

//! Writer of a store with a single connection. It commits each job alone, on the thread of the caller: without a sync to disk, a
//! commit is cheaper than handing it to another thread.
use super::job_batch::{answer, publish, write};
use super::write_job::WriteJob;
use crate::connection_setup::StorePaths;
use crate::log_folding::{LOG_MAX, fold_log};
use crate::reader_pool::ReaderPool;
use parking_lot::Mutex;
use std::slice;
use std::sync::Arc;
use workgraph_core::storage::{CommitClock, TouchLog};

/// Writer of a store with a single connection, which it shares with the readers.
#[derive(Debug)]
pub(crate) struct SingleWriter {
    files: StorePaths,
    readers: Arc<ReaderPool>,
    /// Clock of the commits, and the keys that they touched; locked during each commit.
    commits: Mutex<(CommitClock, Option<TouchLog>)>,
}

impl SingleWriter {
    pub(super) fn new(files: &StorePaths, readers: Arc<ReaderPool>, clock: CommitClock) -> Self {
        Self {
            files: files.clone(),
            readers,
            commits: Mutex::new((clock, None)),
        }
    }

    /// Writes a job and answers its caller.
    pub(super) fn write(&self, mut job: WriteJob) {
        let mut commits = self.commits.lock();
        let (clock, touch_log) = &mut *commits;
        job.stamp(clock);
        let ready = self.readers.leave_source();
        let written = ready.and_then(|()| {
            self.readers.alone(|conn| {
                let jobs = slice::from_mut(&mut job);
                let done = write(conn, &self.readers.caches, touch_log, jobs);
                publish(&self.readers, done)
            })
        });
        let done = written.map_err(|e| e.to_string()).flatten();
        answer([job].into_iter(), done);
        if let Err(error) = fold_log(&self.readers, &self.files, LOG_MAX) {
            tracing::error!(%error, "the log of a store could not be made part of its database");
        }
    }
}

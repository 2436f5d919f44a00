//! Thread that archives new commits every few seconds.
use super::archiver::{ArchiveStats, Archiver};
use crate::open_error::StoreOpenError;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Answer to a request to archive all commits.
type Answer = SyncSender<Result<(), String>>;

/// Thread of the archiver. It archives the last commits and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ArchiverThread {
    archiver: Arc<Archiver>,
    requests: Option<SyncSender<Answer>>,
    thread: Option<JoinHandle<()>>,
}

impl ArchiverThread {
    pub(crate) fn start(database: &Path, archiver: Arc<Archiver>) -> Result<Self, StoreOpenError> {
        let (requests, received) = sync_channel(1);
        let own = Arc::clone(&archiver);
        let thread = std::thread::Builder::new()
            .name("archiver".into())
            .spawn(move || run(&own, &received))
            .map_err(|error| StoreOpenError::Io(database.to_owned(), error))?;
        Ok(Self {
            archiver,
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Returns the figures of the archive.
    pub(crate) fn stats(&self) -> ArchiveStats {
        self.archiver.stats()
    }

    /// Archives all commits from before this call.
    pub(crate) fn archive_now(&self) -> Result<(), String> {
        let gone = || "the archiver has ended".to_owned();
        let (answer, answered) = sync_channel(1);
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        requests.send(answer).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

impl Drop for ArchiverThread {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the archiver panicked");
        }
    }
}

fn run(archiver: &Archiver, requests: &Receiver<Answer>) {
    let tick = || {
        let done = archiver.tick();
        if let Err(error) = &done {
            tracing::error!(%error, "the archive could not be written; another attempt follows");
        }
        done.map_err(|error| error.to_string())
    };
    // The first tick copies the database for the new generation.
    let _ = tick();
    loop {
        match requests.recv_timeout(archiver.interval()) {
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => drop(tick()),
            Ok(answer) => {
                // The requester may have stopped waiting.
                let _ = answer.send(tick());
            }
        }
    }
    archiver.close();
}

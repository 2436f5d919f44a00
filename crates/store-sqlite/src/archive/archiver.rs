//! The archiver: state of the archive of an open store, and its answers to checkpoints.
use super::ArchiveError;
use super::archive_folder::ArchiveFolder;
use super::generation::{CommitTimes, Generation};
use super::names::ArchiveFile;
use super::segment_queue::SegmentQueue;
use super::snapshot_copy::{ScratchCopy, SnapshotPosition};
use super::wal_file::WalFile;
use crate::connection_setup::{self, PAGE, StoreOptions, StorePaths};
use crate::migrations::roll_back;
use crate::open_error::StoreOpenError;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Bytes of pages after which the database is copied again, if it is smaller than that.
const COPY_BYTES: u64 = 64 << 20;
/// Length of the log at which archiving yields, as a multiple of the length at which the log starts over. Until then, the
/// log grows while the archive cannot be written.
const PATIENCE: u64 = 4;

/// Function that returns the time in milliseconds since 1970.
pub type ArchiveClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Options of a continuous archive.
#[derive(Clone)]
pub struct ArchiveOptions {
    /// Folder of the archive. No two stores may share a folder.
    pub folder: Arc<dyn ArchiveFolder>,
    /// Time between two copies of new commits: the maximum loss if the disk fails.
    pub interval: Duration,
    /// Time after which the database is copied again. It is also copied when the commits since are larger than the database.
    pub copy_interval: Duration,
    /// Time for which past states can be restored.
    pub retention: Duration,
    /// Maximum number of bytes of commits that wait in memory for a slow archive. If more wait, the write-ahead log grows,
    /// within bounds; after that the archive has a gap.
    pub queue_bytes: u64,
    /// Clock for the times of commits and copies.
    pub now: ArchiveClock,
}

impl fmt::Debug for ArchiveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveOptions")
            .field("folder", &self.folder)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

/// State of the archive of an open store.
#[derive(Debug)]
pub(crate) struct Archiver {
    wal: WalFile,
    scratch: PathBuf,
    options: ArchiveOptions,
    /// Pages of log at which archiving yields.
    patience: u64,
    times: CommitTimes,
    /// Segments that wait for the archiver's thread, which alone writes them.
    queue: SegmentQueue,
    /// Time up to which every commit can be restored; initially the time of the start.
    complete_until: AtomicU64,
    /// Number of failed attempts to write the archive.
    failures: AtomicU64,
    /// State of the archive. Its lock is never held while the archive is written or read.
    state: Mutex<ArchiveState>,
}

/// Figures of an archive for its operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchiveStats {
    /// Time since the archive last had every commit: the loss if the disk failed now.
    pub lag: Duration,
    /// Bytes of commits that wait in memory for the archive.
    pub waiting_bytes: u64,
    /// Number of failed attempts to write the archive.
    pub failures: u64,
}

#[derive(Debug)]
struct ArchiveState {
    /// Connection whose snapshot keeps the log from starting over during a checkpoint.
    pin: Connection,
    /// Connection that reads the snapshot for a copy of the database; `None` during the copy.
    reader: Option<Connection>,
    /// Current generation; `None` if the next attempt should begin one.
    generation: Option<Generation>,
    /// Round of the log, and the number of its frames that are in the database.
    checkpointed: Option<((u32, u32), u64)>,
    /// Copy whose snapshot is open in `reader`, until it is in the archive.
    copy: Option<SnapshotPosition>,
    /// Time of the last copy, and size of the database at that time.
    copied: Option<(u64, u64)>,
    /// Id of the last generation, which is its time; ids always increase.
    last_id: u64,
}

impl Archiver {
    /// Opens the archive of a store before anything writes to it, and begins a generation. An archive that cannot be reached now
    /// gets its generation later.
    pub(crate) fn open(
        files: &StorePaths,
        options: &StoreOptions,
        archive: ArchiveOptions,
    ) -> Result<Self, StoreOpenError> {
        let failed = |error: ArchiveError| StoreOpenError::Archive(Box::new(error));
        let archiver = Self {
            wal: WalFile::of(&files.database),
            scratch: files.database.with_file_name("archive-copy.db"),
            queue: SegmentQueue::new(archive.queue_bytes),
            complete_until: AtomicU64::new((archive.now)()),
            failures: AtomicU64::new(0),
            options: archive,
            patience: PATIENCE * options.wal_limit_bytes / PAGE,
            times: CommitTimes::default(),
            state: Mutex::new(ArchiveState {
                pin: connection_setup::open_reader(files, options)?,
                reader: Some(connection_setup::open_reader(files, options)?),
                generation: None,
                checkpointed: None,
                copy: None,
                copied: None,
                last_id: 0,
            }),
        };
        match archiver.last_generation() {
            Ok(last_id) => {
                let mut state = archiver.state.lock();
                archiver.begin(&mut state, last_id).map_err(failed)?;
            }
            Err(ArchiveError::Io(_, error)) if error.kind() == ErrorKind::NotConnected => {
                tracing::error!(%error, "the archive cannot be reached; it begins when it can");
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(archiver)
    }

    /// Returns the id of the last generation in the archive; 0 if there is none.
    fn last_generation(&self) -> Result<u64, ArchiveError> {
        let listed = self.options.folder.list();
        let names = listed.map_err(|e| ArchiveError::Io("the archive".into(), e))?;
        let last = names.iter().filter_map(|name| ArchiveFile::parse(name));
        Ok(last.map(ArchiveFile::generation).max().unwrap_or_default())
    }

    pub(super) fn interval(&self) -> Duration {
        self.options.interval
    }

    fn now(&self) -> u64 {
        (self.options.now)()
    }

    /// Returns the figures of the archive.
    pub(super) fn stats(&self) -> ArchiveStats {
        let lag = self.now().saturating_sub(self.complete_until.load(Relaxed));
        ArchiveStats {
            lag: Duration::from_millis(lag),
            waiting_bytes: self.queue.bytes(),
            failures: self.failures.load(Relaxed),
        }
    }

    /// Records a commit that left the log with this many pages.
    pub(crate) fn committed(&self, pages: u64) {
        self.times.note(pages, self.now());
    }

    /// Begins a generation after the last one in the archive, with the snapshot of its first copy.
    fn begin(&self, state: &mut ArchiveState, last_id: u64) -> Result<(), ArchiveError> {
        // A waiting copy of an earlier generation is no longer needed.
        if let Some(reader) = &state.reader {
            roll_back(reader)?;
        }
        state.copy = None;
        self.times.clear();
        let id = self.now().max(state.last_id.max(last_id) + 1);
        let mut generation = Generation::new(id);
        generation.skip(&self.wal)?;
        // Any part of the log may already be in the database, possibly all of it.
        state.checkpointed = generation.position.map(|p| (p.salts, p.frames));
        state.generation = Some(generation);
        state.last_id = id;
        tracing::info!(generation = id, "a generation of the archive begins");
        self.open_snapshot(state)
    }

    /// Opens the snapshot of the next copy of the database, unless the last one is still being copied.
    fn open_snapshot(&self, state: &mut ArchiveState) -> Result<(), ArchiveError> {
        self.queue_commits(state)?;
        let (Some(generation), Some(reader)) = (&state.generation, &state.reader) else {
            return Ok(());
        };
        let mut position = SnapshotPosition {
            generation: generation.id,
            next_segment: generation.next_segment,
            previous: generation.previous,
            commits: generation.commits,
            complete_from: generation.commits,
            at: 0,
        };
        begin_snapshot(reader)?;
        // Commits from before the snapshot was opened may or may not be in it.
        if let Err(error) = self.queue_commits(state) {
            if let Some(reader) = &state.reader {
                roll_back(reader)?;
            }
            return Err(error);
        }
        let Some(generation) = &mut state.generation else {
            return Ok(());
        };
        generation.bytes_since_copy = 0;
        generation.last_at = generation.last_at.max(self.now());
        (position.complete_from, position.at) = (generation.commits, generation.last_at);
        state.copy = Some(position);
        Ok(())
    }

    /// Puts the commits since the last call into the queue. Ends a generation that cannot continue.
    fn queue_commits(&self, state: &mut ArchiveState) -> Result<(), ArchiveError> {
        let Some(generation) = &mut state.generation else {
            return Ok(());
        };
        let now = &*self.options.now;
        let copied = generation.copy(&self.wal, &self.queue, &self.times, now);
        if matches!(copied, Err(ArchiveError::Lost)) {
            tracing::error!(
                generation = generation.id,
                "commits are missing in the archive: the write-ahead log started over; another generation begins"
            );
            state.generation = None;
        }
        copied
    }

    /// Archives new commits, begins a generation if there is none, and copies the database if it is due. Only this function
    /// writes to the archive, and it does not hold the lock of the state while it writes.
    pub(super) fn tick(&self) -> Result<(), ArchiveError> {
        let done = self.archive_all();
        if done.is_err() {
            self.failures.fetch_add(1, Relaxed);
        }
        done
    }

    fn archive_all(&self) -> Result<(), ArchiveError> {
        let begun = self.now();
        self.archive_commits()?;
        if self.has_copy() {
            // A copy of the database may take long; the commits before it are safe.
            self.complete_until.fetch_max(begun, Relaxed);
        }
        self.copy_database()?;
        if self.has_copy() {
            self.complete_until.fetch_max(begun, Relaxed);
        }
        Ok(())
    }

    /// Returns true if the current generation has the copy of the database that it needs.
    fn has_copy(&self) -> bool {
        let state = self.state.lock();
        let begun = state.generation.as_ref().map(|generation| generation.id);
        let copied = state.copied.map(|(at, _)| at);
        begun.is_some_and(|begun| copied.is_some_and(|at| at >= begun))
    }

    /// Begins a generation if there is none, and copies the database if it is due.
    fn copy_database(&self) -> Result<(), ArchiveError> {
        let has_ended = self.state.lock().generation.is_none();
        if has_ended {
            // This also shows whether the archive can be reached; otherwise no copy needs to be made.
            let last_id = self.last_generation()?;
            self.begin(&mut self.state.lock(), last_id)?;
        }
        let taken = self.take_snapshot()?;
        match taken {
            Some((position, reader)) => self.put_copy(position, reader),
            None => Ok(()),
        }
    }

    /// Archives new commits.
    fn archive_commits(&self) -> Result<(), ArchiveError> {
        loop {
            let copied = self.queue_commits(&mut self.state.lock());
            self.queue.drain(&*self.options.folder)?;
            match copied {
                // The queue has room again.
                Err(ArchiveError::Behind(_)) => {}
                Err(ArchiveError::Lost) => return Ok(()),
                copied => return copied,
            }
        }
    }

    /// Takes the connection with the snapshot of the next copy of the database, if one is due.
    fn take_snapshot(&self) -> Result<Option<(SnapshotPosition, Connection)>, ArchiveError> {
        let mut state = self.state.lock();
        let interval = u64::try_from(self.options.copy_interval.as_millis()).unwrap_or(u64::MAX);
        let due = state.generation.as_ref().is_some_and(|generation| {
            // A generation without its own copy is useless.
            let own = state.copied.filter(|(at, _)| *at >= generation.id);
            own.is_none_or(|(at, length)| {
                self.now() >= at.saturating_add(interval)
                    || generation.bytes_since_copy > length.max(COPY_BYTES)
            })
        });
        if due && state.copy.is_none() && state.reader.is_some() {
            self.open_snapshot(&mut state)?;
        }
        let Some(position) = state.copy else {
            return Ok(None);
        };
        Ok(state.reader.take().map(|reader| (position, reader)))
    }

    /// Copies a snapshot into the archive; commits are archived and checkpointed at the same time.
    fn put_copy(&self, position: SnapshotPosition, reader: Connection) -> Result<(), ArchiveError> {
        let scratch = ScratchCopy::of(&reader, &self.scratch);
        // An open snapshot would keep the log from starting over until the archive is written.
        let ended = roll_back(&reader);
        self.state.lock().reader = Some(reader);
        let put = scratch.and_then(|scratch| {
            self.queue.drain(&*self.options.folder)?;
            scratch.put(&position, &*self.options.folder)?;
            Ok(scratch.length)
        });
        let mut state = self.state.lock();
        // Another generation may have begun in between.
        if state.copy == Some(position) {
            state.copy = None;
            match &put {
                Ok(length) => state.copied = Some((position.at, *length)),
                // A generation without its first copy is useless.
                Err(_) if state.copied.is_none_or(|(at, _)| at < position.generation) => {
                    state.generation = None
                }
                Err(_) => {}
            }
        }
        drop(state);
        ended?;
        put?;
        self.remove_old()
    }

    /// Removes files that are not needed to restore states within the retention time.
    fn remove_old(&self) -> Result<(), ArchiveError> {
        let io = |name: &str| {
            let name = name.to_owned();
            move |error| ArchiveError::Io(name, error)
        };
        let names = self.options.folder.list().map_err(io("the archive"))?;
        let retention = u64::try_from(self.options.retention.as_millis()).unwrap_or(u64::MAX);
        let end = self.now().saturating_sub(retention);
        let files: Vec<ArchiveFile> = names.iter().filter_map(|n| ArchiveFile::parse(n)).collect();
        let oldest = files.iter().filter_map(|file| match file {
            ArchiveFile::Snapshot {
                generation,
                number,
                at,
            } if *at <= end => Some((*generation, *number)),
            _ => None,
        });
        let Some(oldest) = oldest.max() else {
            return Ok(());
        };
        // The description of a copy is removed before the copy, so it never exists without one.
        let mut old: Vec<ArchiveFile> = files;
        old.retain(|file| (file.generation(), file.number()) < oldest);
        old.sort_by_key(|file| (!matches!(file, ArchiveFile::Snapshot { .. }), *file));
        for file in old {
            let name = file.name();
            self.options.folder.remove(&name).map_err(io(&name))?;
        }
        Ok(())
    }

    /// Decides, before a checkpoint, whether it may run: everything that it may remove from the log must be archived or in the
    /// queue.
    fn may_checkpoint(&self, state: &mut ArchiveState) -> bool {
        let pages = self.times.last().unwrap_or_default();
        let Err(error) = self.queue_commits(state) else {
            return true;
        };
        if state.generation.is_none() {
            return true;
        }
        if pages >= self.patience {
            tracing::error!(%error, "the archive does not keep up and the write-ahead log is too long: commits will be missing in it, and another generation begins once it can be written");
            state.generation = None;
            return true;
        }
        tracing::warn!(%error, "the archive does not keep up; the write-ahead log grows until it does");
        false
    }

    /// Runs a checkpoint that nobody waits for. A snapshot keeps it from later commits, and the log from starting over.
    pub(crate) fn checkpoint(&self, run: impl FnOnce() -> Option<u64>) {
        let mut state = self.state.lock();
        if !self.may_checkpoint(&mut state) {
            return;
        }
        let Some(position) = state
            .generation
            .as_ref()
            .map(|generation| generation.position)
        else {
            drop(state);
            run();
            return;
        };
        let is_done = |position: super::wal_file::WalPosition| {
            let done = state
                .checkpointed
                .filter(|(salts, _)| *salts == position.salts);
            done.is_some_and(|(_, frames)| frames >= position.frames)
        };
        // A snapshot keeps the log only if the log has frames that are not in the database yet.
        let Some(position) = position.filter(|position| position.frames > 0 && !is_done(*position))
        else {
            return;
        };
        if let Err(error) = begin_snapshot(&state.pin) {
            tracing::warn!(%error, "a checkpoint failed; a later one tries again");
            return;
        }
        if self.may_checkpoint(&mut state)
            && let Some(frames) = run()
        {
            state.checkpointed = Some((position.salts, frames));
        }
        if let Err(error) = roll_back(&state.pin) {
            tracing::error!(%error, "the snapshot of a checkpoint could not be ended");
        }
    }

    /// Runs a checkpoint after which the log starts over. The writer calls this, so nothing is committed during the checkpoint.
    /// Returns false if it could not run now.
    pub(crate) fn restart(
        &self,
        run: impl FnOnce() -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<bool> {
        let Some(mut state) = self.state.try_lock() else {
            return Ok(false);
        };
        if !self.may_checkpoint(&mut state) {
            return Ok(false);
        }
        let position = state
            .generation
            .as_ref()
            .and_then(|generation| generation.position);
        let done = run();
        // The whole log may be in the database now.
        state.checkpointed = position.map(|p| (p.salts, p.frames)).or(state.checkpointed);
        done
    }

    /// Archives the last commits, before the store closes.
    pub(super) fn close(&self) {
        if let Err(error) = self.archive_commits() {
            tracing::error!(%error, "the last commits are missing in the archive");
        }
    }
}

/// Begins a reading transaction, and takes its snapshot.
fn begin_snapshot(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("BEGIN")?;
    let first = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    });
    if first.is_err() {
        roll_back(conn)?;
    }
    first.map(drop)
}

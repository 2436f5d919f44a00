//! Continuous archive: full copies of the database, and every commit between them in the form of the write-ahead log.
//!
//! A thread copies committed frames of the log into segments, every few seconds. Each start of the store begins a new
//! generation with a copy of the database. The segments of a generation are numbered, and each contains the digest of the
//! previous one, so a missing segment is detected. Frames are pages in their state after the commit: a copy and the frames
//! since then give the database as of any commit.
//!
//! Segments go through a queue in memory, so that commits and checkpoints never wait for the archive itself.
//!
//! The log starts over only after its frames were copied: checkpoints ask the archiver first, which keeps a snapshot open during
//! the checkpoint, so that later commits are not checkpointed.
pub(crate) mod archive_folder;
mod archiver;
mod archiver_thread;
mod generation;
pub(crate) mod names;
pub(crate) mod segment;
mod segment_queue;
pub(crate) mod snapshot_copy;
mod wal_file;

pub use self::archive_folder::{ArchiveDirectory, ArchiveFolder};
pub use self::archiver::{ArchiveClock, ArchiveOptions, ArchiveStats};
pub use crate::archive_error::ArchiveError;

pub(crate) use self::archiver::Archiver;
pub(crate) use self::archiver_thread::ArchiverThread;

#[cfg(test)]
mod tests;

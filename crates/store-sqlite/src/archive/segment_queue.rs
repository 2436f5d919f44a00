//! Segments on their way to the archive. Commits and checkpoints only add segments; the archiver's thread takes them out, so
//! nobody else waits for an archive that is slow or does not answer.
use super::ArchiveError;
use super::archive_folder::ArchiveFolder;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Queue of segments, in their order.
#[derive(Debug)]
pub(super) struct SegmentQueue {
    /// Maximum number of waiting bytes, unless a single segment is larger.
    most: u64,
    waiting: Mutex<VecDeque<WaitingSegment>>,
}

/// Segment with its name.
#[derive(Clone, Debug)]
struct WaitingSegment {
    name: String,
    bytes: Arc<[u8]>,
}

impl SegmentQueue {
    pub(super) fn new(most: u64) -> Self {
        let waiting = Mutex::default();
        Self { most, waiting }
    }

    /// Returns the number of waiting bytes.
    pub(super) fn bytes(&self) -> u64 {
        let waiting = self.waiting.lock();
        waiting.iter().map(|one| one.bytes.len() as u64).sum()
    }

    /// Adds a segment at the end.
    ///
    /// # Errors
    /// Fails if too many bytes are already waiting.
    pub(super) fn push(&self, name: String, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        let mut waiting = self.waiting.lock();
        let behind: u64 = waiting.iter().map(|one| one.bytes.len() as u64).sum();
        if behind > 0 && behind + bytes.len() as u64 > self.most {
            return Err(ArchiveError::Behind(behind));
        }
        let bytes = bytes.into();
        waiting.push_back(WaitingSegment { name, bytes });
        Ok(())
    }

    /// Writes all waiting segments. A segment that could not be written stays first.
    ///
    /// # Errors
    /// Fails if the archive cannot be written.
    pub(super) fn drain(&self, folder: &dyn ArchiveFolder) -> Result<(), ArchiveError> {
        loop {
            let first = self.waiting.lock().front().cloned();
            let Some(WaitingSegment { name, bytes }) = first else {
                return Ok(());
            };
            match folder.put(&name, &mut &*bytes) {
                Ok(()) => drop(self.waiting.lock().pop_front()),
                Err(error) => return Err(ArchiveError::Io(name, error)),
            }
        }
    }
}

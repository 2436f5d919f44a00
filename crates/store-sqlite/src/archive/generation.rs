//! Generation: the commits since one start of the archiver, without gaps.
use super::ArchiveError;
use super::names::ArchiveFile;
use super::segment::{SegmentDigest, SegmentWriter};
use super::segment_queue::SegmentQueue;
use super::wal_file::{CommitPages, WalFile, WalPosition};
use crate::connection_setup::PAGE;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;

/// Bytes of pages after which a segment ends.
const SEGMENT_BYTES: usize = 16 << 20;
/// Maximum number of commits whose times are kept until they are archived; if there are more, the oldest commits get the
/// time of copying.
const TIMES: usize = 1 << 20;

/// Times of commits that are not archived yet.
#[derive(Debug, Default)]
pub(super) struct CommitTimes(Mutex<CommitNotes>);

#[derive(Debug, Default)]
struct CommitNotes {
    /// Records of the writer: frames of the log after the commit, and the time.
    noted: VecDeque<(u64, u64)>,
    /// Frames after a commit that was found in the log before the writer recorded it. There is at most one: the writer records a
    /// commit before it makes the next one.
    found_first: Option<u64>,
}

impl CommitTimes {
    pub(super) fn note(&self, frames: u64, at: u64) {
        let mut notes = self.0.lock();
        if notes.found_first.take() == Some(frames) {
            return;
        }
        if notes.noted.len() >= TIMES {
            notes.noted.pop_front();
        }
        notes.noted.push_back((frames, at));
    }

    /// Returns the frames after the last commit.
    pub(super) fn last(&self) -> Option<u64> {
        self.0.lock().noted.back().map(|(frames, _)| *frames)
    }

    /// Returns the time of a commit that was found in the log, and the number of records up to it; the first `passed` records
    /// belong to earlier commits. A commit after the last record is not acknowledged yet: its time is now.
    fn find(&self, frames: u64, passed: usize, now: &dyn Fn() -> u64) -> (u64, usize) {
        let mut notes = self.0.lock();
        let mut rest = notes.noted.iter().enumerate().skip(passed);
        match rest.find(|(_, (noted, _))| *noted == frames) {
            Some((at, (_, time))) => (*time, at + 1),
            None if passed == notes.noted.len() => {
                let at = now();
                notes.noted.push_back((frames, at));
                notes.found_first = Some(frames);
                (at, passed + 1)
            }
            // Its record was dropped because there were too many.
            None => (now(), passed),
        }
    }

    /// Drops the first records, whose commits are archived.
    fn forget(&self, count: usize) {
        let mut notes = self.0.lock();
        let count = count.min(notes.noted.len());
        notes.noted.drain(..count);
    }

    pub(super) fn clear(&self) {
        *self.0.lock() = CommitNotes::default();
    }
}

/// Progress of a generation.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    /// Time of its start, which is its name.
    pub(super) id: u64,
    /// Number of the next segment.
    pub(super) next_segment: u64,
    /// Digest of the last segment.
    pub(super) previous: SegmentDigest,
    /// Position in the log up to which it is archived; `None` before the first round.
    pub(super) position: Option<WalPosition>,
    /// Commits in its segments.
    pub(super) commits: u64,
    /// Time of the last commit.
    pub(super) last_at: u64,
    /// Bytes of pages in its segments since the last copy of the database.
    pub(super) bytes_since_copy: u64,
}

/// Segment that is being filled, and the state of the generation after it.
struct Draft<'a> {
    queue: &'a SegmentQueue,
    times: &'a CommitTimes,
    now: &'a dyn Fn() -> u64,
    written: &'a mut Generation,
    next: Generation,
    segment: Option<SegmentWriter>,
    /// Records of times that belong to commits of the segment.
    passed: usize,
}

impl Draft<'_> {
    fn add(&mut self, position: WalPosition, commit: &CommitPages) -> Result<(), ArchiveError> {
        let io = |e| ArchiveError::Io("a segment".into(), e);
        let (at, passed) = self.times.find(commit.frames, self.passed, self.now);
        self.passed = passed;
        let next = &mut self.next;
        next.commits += 1;
        next.last_at = next.last_at.max(at);
        next.position = Some(position);
        next.bytes_since_copy += commit.pages.len() as u64 * PAGE;
        let segment = match &mut self.segment {
            Some(segment) => segment,
            empty => {
                let page = u32::try_from(PAGE).unwrap_or_default();
                let made = SegmentWriter::new(next.id, next.next_segment, &next.previous, page);
                empty.insert(made.map_err(io)?)
            }
        };
        segment
            .add(next.commits, next.last_at, commit)
            .map_err(io)?;
        if segment.length >= SEGMENT_BYTES {
            self.put()?;
        }
        Ok(())
    }

    /// Puts the segment into the queue. Only after that, the generation advances.
    fn put(&mut self) -> Result<(), ArchiveError> {
        if let Some(segment) = self.segment.take() {
            let (generation, number) = (self.next.id, self.next.next_segment);
            let name = ArchiveFile::Segment { generation, number }.name();
            let io = |e| ArchiveError::Io(name.clone(), e);
            let (bytes, digest) = segment.finish().map_err(io)?;
            self.queue.push(name.clone(), bytes)?;
            self.next.next_segment += 1;
            self.next.previous = digest;
        }
        // A failed attempt will find the times again.
        self.times.forget(std::mem::take(&mut self.passed));
        *self.written = self.next.clone();
        Ok(())
    }
}

/// Error of visiting the log: from the log itself, or from the archive.
impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        Self::Io("the write-ahead log".into(), error)
    }
}

impl Generation {
    pub(super) const fn new(id: u64) -> Self {
        Self {
            id,
            next_segment: 1,
            previous: [0; 32],
            position: None,
            commits: 0,
            last_at: id,
            bytes_since_copy: 0,
        }
    }

    /// Moves to the end of the log without archiving the frames before it.
    pub(super) fn skip(&mut self, wal: &WalFile) -> Result<(), ArchiveError> {
        self.position = wal.beginning()?;
        if let Some(beginning) = self.position {
            let each = &mut |position, _| {
                self.position = Some(position);
                Ok(())
            };
            wal.commits::<ArchiveError>(beginning, each)?;
        }
        Ok(())
    }

    /// Puts the commits since the last call into the queue. Commits that were queued before an error stay there.
    ///
    /// # Errors
    /// Fails with [`ArchiveError::Lost`] if frames that were not archived no longer exist, with [`ArchiveError::Behind`] if the
    /// queue is full, and if the log cannot be read.
    pub(super) fn copy(
        &mut self,
        wal: &WalFile,
        queue: &SegmentQueue,
        times: &CommitTimes,
        now: &dyn Fn() -> u64,
    ) -> Result<(), ArchiveError> {
        let noted = times.last();
        let Some(beginning) = wal.beginning()? else {
            return Ok(());
        };
        let (from, is_same_round) = match self.position {
            Some(position) if position.salts == beginning.salts => (position, true),
            Some(position) if beginning.round != position.round.wrapping_add(1) => {
                return Err(ArchiveError::Lost);
            }
            _ => (beginning, false),
        };
        let next = Self {
            position: Some(from),
            ..self.clone()
        };
        let mut draft = Draft {
            queue,
            times,
            now,
            written: self,
            next,
            segment: None,
            passed: 0,
        };
        wal.commits(from, &mut |position, commit| draft.add(position, &commit))?;
        draft.put()?;
        let reached = self.position.map_or(0, |position| position.frames);
        // A commit that the writer has recorded is in the log, so it must have been found.
        if is_same_round && noted.is_some_and(|noted| noted > reached) {
            return Err(ArchiveError::Lost);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::CommitTimes;

    #[test]
    fn a_commit_that_is_found_before_its_note_has_the_time_of_finding_it_and_its_note_is_of_no_other()
     {
        let times = CommitTimes::default();
        times.note(10, 1_000);
        assert_eq!(times.find(10, 0, &|| 9_999), (1_000, 1));
        // Not recorded yet, so not acknowledged: every time read before it was found is too early.
        assert_eq!(times.find(20, 1, &|| 2_000), (2_000, 2));
        times.note(20, 2_001);
        // An attempt after a failure finds the same.
        assert_eq!(times.find(20, 1, &|| 9_999), (2_000, 2));
        times.forget(2);
        // Another round of the log, with a commit that ends at the same frame.
        times.note(20, 5_000);
        assert_eq!(times.find(20, 0, &|| 9_999), (5_000, 1));
        assert_eq!(times.last(), Some(20));
    }
}

//! The write-ahead log as a file: its header, its frames and their checksums.
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// First four bytes of a log whose checksums read numbers in little-endian order; the last bit is set for big-endian order.
const MAGIC: u32 = 0x377f_0682;
const BUFFER: usize = 1 << 20;

/// Position in the log, after a commit of one of its rounds. Each time the log starts over, another round begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WalPosition {
    /// Random numbers of the round, which are in all its frames.
    pub(super) salts: (u32, u32),
    /// Number of the round.
    pub(super) round: u32,
    /// Frames before the position.
    pub(super) frames: u64,
    page: usize,
    big_endian: bool,
    sums: (u32, u32),
}

/// Pages that a commit wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CommitPages {
    /// Frames of the round up to the commit's last one.
    pub(super) frames: u64,
    /// Pages of the database after it.
    pub(super) size: u32,
    /// Pages by their numbers, in the order in which they were written.
    pub(super) pages: Vec<(u32, Vec<u8>)>,
}

/// Path of the write-ahead log.
#[derive(Clone, Debug)]
pub(super) struct WalFile(pub(super) PathBuf);

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_be_bytes)
}

/// Continues a checksum over bytes, eight at a time.
fn sum(mut sums: (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let (words, _) = bytes.as_chunks::<4>();
    let value = |word: [u8; 4]| match big_endian {
        true => u32::from_be_bytes(word),
        false => u32::from_le_bytes(word),
    };
    let (pairs, _) = words.as_chunks::<2>();
    for [first, second] in pairs {
        sums.0 = sums.0.wrapping_add(value(*first)).wrapping_add(sums.1);
        sums.1 = sums.1.wrapping_add(value(*second)).wrapping_add(sums.0);
    }
    sums
}

/// Fills the buffer; returns false if the file ends first.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

impl WalFile {
    /// Returns the log of a database.
    pub(super) fn of(database: &Path) -> Self {
        let mut name = database.to_owned().into_os_string();
        name.push("-wal");
        Self(PathBuf::from(name))
    }

    fn open(&self) -> io::Result<Option<File>> {
        match File::open(&self.0) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the beginning of the current round; `None` if the log is empty, or its header is just being written.
    pub(super) fn beginning(&self) -> io::Result<Option<WalPosition>> {
        let Some(mut file) = self.open()? else {
            return Ok(None);
        };
        let mut header = [0; HEADER];
        if !fill(&mut file, &mut header)? || number(&header, 0) & !1 != MAGIC {
            return Ok(None);
        }
        let big_endian = number(&header, 0) & 1 == 1;
        let (summed, _) = header.split_at(FRAME_HEADER);
        let sums = sum((0, 0), summed, big_endian);
        if sums != (number(&header, 24), number(&header, 28)) {
            return Ok(None);
        }
        Ok(Some(WalPosition {
            salts: (number(&header, 16), number(&header, 20)),
            round: number(&header, 12),
            frames: 0,
            page: usize::try_from(number(&header, 8)).unwrap_or_default(),
            big_endian,
            sums,
        }))
    }

    /// Visits the commits after a position, each with the position after it. Frames of another round, and of a commit that is
    /// just being written, are skipped.
    pub(super) fn commits<E: From<io::Error>>(
        &self,
        mut position: WalPosition,
        each: &mut dyn FnMut(WalPosition, CommitPages) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(mut file) = self.open()? else {
            return Ok(());
        };
        let frame = (FRAME_HEADER + position.page) as u64;
        file.seek(SeekFrom::Start(HEADER as u64 + position.frames * frame))?;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut pages = Vec::new();
        loop {
            let (mut header, mut page) = ([0; FRAME_HEADER], vec![0; position.page]);
            if !fill(&mut file, &mut header)? || !fill(&mut file, &mut page)? {
                return Ok(());
            }
            let (summed, _) = header.split_at(8);
            let sums = sum(position.sums, summed, position.big_endian);
            let sums = sum(sums, &page, position.big_endian);
            if (number(&header, 8), number(&header, 12)) != position.salts
                || (number(&header, 16), number(&header, 20)) != sums
            {
                return Ok(());
            }
            position.frames += 1;
            position.sums = sums;
            pages.push((number(&header, 0), page));
            let size = number(&header, 4);
            if size > 0 {
                let (pages, frames) = (std::mem::take(&mut pages), position.frames);
                each(
                    position,
                    CommitPages {
                        frames,
                        size,
                        pages,
                    },
                )?;
            }
        }
    }
}

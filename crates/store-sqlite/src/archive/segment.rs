//! Segments: some commits as one compressed file, with a digest at its end.
//!
//! All numbers have the highest byte first. A magic text; generation and number of the segment (8 bytes each); the digest of
//! the previous segment (32 bytes, zeros for the first); the bytes of a page (4). Then each commit: a byte 1, its number in
//! the generation (8), its time in milliseconds since 1970 (8), the pages of the database after it (4), the number of its
//! pages (4), and each page with its number (4) before it. Then a byte 0, and the SHA-256 digest of everything before.
use super::ArchiveError;
use super::wal_file::CommitPages;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};
use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"workgraph archive 1\n";
/// Maximum size of a page in bytes.
const PAGE_MAX: u32 = 65_536;

/// Digest of a segment.
pub(crate) type SegmentDigest = [u8; 32];

/// Commit with its pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ArchivedCommit {
    /// Number in the generation: 1 for the first.
    pub(crate) number: u64,
    /// Time in milliseconds since 1970; never less than that of the previous commit.
    pub(crate) at: u64,
    /// Pages of the database after it.
    pub(crate) size: u32,
    /// Pages by their numbers.
    pub(crate) pages: Vec<(u32, Vec<u8>)>,
}

/// Segment that is being written, in memory.
pub(super) struct SegmentWriter {
    out: GzEncoder<Vec<u8>>,
    sum: Context,
    /// Bytes before compression.
    pub(super) length: usize,
}

impl SegmentWriter {
    pub(super) fn new(
        generation: u64,
        number: u64,
        previous: &SegmentDigest,
        page: u32,
    ) -> io::Result<Self> {
        let out = GzEncoder::new(Vec::new(), Compression::fast());
        let mut segment = Self {
            out,
            sum: Context::new(&SHA256),
            length: 0,
        };
        segment.write(MAGIC)?;
        segment.write(&generation.to_be_bytes())?;
        segment.write(&number.to_be_bytes())?;
        segment.write(previous)?;
        segment.write(&page.to_be_bytes())?;
        Ok(segment)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.length += bytes.len();
        self.out.write_all(bytes)
    }

    pub(super) fn add(&mut self, number: u64, at: u64, commit: &CommitPages) -> io::Result<()> {
        let count = u32::try_from(commit.pages.len()).map_err(io::Error::other)?;
        self.write(&[1])?;
        self.write(&number.to_be_bytes())?;
        self.write(&at.to_be_bytes())?;
        self.write(&commit.size.to_be_bytes())?;
        self.write(&count.to_be_bytes())?;
        for (number, page) in &commit.pages {
            self.write(&number.to_be_bytes())?;
            self.write(page)?;
        }
        Ok(())
    }

    /// Returns the file and its digest.
    pub(super) fn finish(mut self) -> io::Result<(Vec<u8>, SegmentDigest)> {
        self.write(&[0])?;
        let digest = bytes(self.sum.finish());
        self.out.write_all(&digest)?;
        Ok((self.out.finish()?, digest))
    }
}

pub(crate) fn bytes(digest: ring::digest::Digest) -> SegmentDigest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}

/// Bytes of a segment that are still unread.
struct Remaining<'b>(&'b [u8]);

impl<'b> Remaining<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// Segment after reading.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) digest: SegmentDigest,
    pub(crate) commits: Vec<ArchivedCommit>,
}

/// Reads a segment and checks it: its digest, its place in the archive, and the digest of the segment before it.
pub(crate) fn read(
    name: &str,
    file: &mut dyn Read,
    (generation, number): (u64, u64),
    previous: &SegmentDigest,
) -> Result<Segment, ArchiveError> {
    let mut content = Vec::new();
    GzDecoder::new(file)
        .read_to_end(&mut content)
        .map_err(|error| ArchiveError::damaged(name, error.to_string()))?;
    let (body, digest) = content
        .split_last_chunk::<32>()
        .ok_or_else(|| ArchiveError::damaged(name, "it is too short"))?;
    let mut sum = Context::new(&SHA256);
    sum.update(body);
    if bytes(sum.finish()) != *digest {
        return Err(ArchiveError::damaged(
            name,
            "its digest is not that of its content",
        ));
    }
    let mut rest = Remaining(body);
    let garbled = || ArchiveError::damaged(name, "it is not a segment of an archive");
    if rest.take(MAGIC.len()) != Some(MAGIC) {
        return Err(garbled());
    }
    let (g, n) = rest.u64().zip(rest.u64()).ok_or_else(garbled)?;
    if (g, n) != (generation, number) {
        let reason = format!("it is segment {n} of generation {g}");
        return Err(ArchiveError::damaged(name, reason));
    }
    if rest.take(32) != Some(previous) {
        return Err(ArchiveError::damaged(
            name,
            "it does not follow the segment before",
        ));
    }
    let page = rest
        .u32()
        .filter(|page| (512..=PAGE_MAX).contains(page))
        .ok_or_else(garbled)?;
    let mut commits = Vec::new();
    loop {
        match rest.take(1) {
            Some([0]) if rest.0.is_empty() => {
                return Ok(Segment {
                    digest: *digest,
                    commits,
                });
            }
            Some([1]) => commits.push(commit(&mut rest, page as usize).ok_or_else(garbled)?),
            _ => return Err(garbled()),
        }
    }
}

fn commit(rest: &mut Remaining<'_>, page: usize) -> Option<ArchivedCommit> {
    let (number, at, size, count) = (rest.u64()?, rest.u64()?, rest.u32()?, rest.u32()?);
    let mut pages = Vec::new();
    for _ in 0..count {
        pages.push((rest.u32()?, rest.take(page)?.to_vec()));
    }
    Some(ArchivedCommit {
        number,
        at,
        size,
        pages,
    })
}

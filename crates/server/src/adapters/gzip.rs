//! Gzip (RFC 1952) that can continue at a mark: a single member, assembled from pieces.
//!
//! Each piece is a separate raw deflate (RFC 1951) block sequence, flushed to a byte boundary, that refers to nothing
//! before it. So consecutive pieces form one stream, and the state between two of them is just the
//! length and checksum of the preceding data.
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};
use workgraph_core::jobs::FileEnd;

/// Deflate, no flags, no time, no name, unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Returns the piece that follows a mark, and the mark after it. If `ends` is true, the piece is the last one.
///
/// # Errors
/// Never fails in memory; the encoder's interface requires the result.
pub(crate) fn piece(after: FileEnd, bytes: &[u8], ends: bool) -> io::Result<(Vec<u8>, FileEnd)> {
    let mut out = Vec::with_capacity(bytes.len() / 4 + 64);
    if after.length == 0 {
        out.extend_from_slice(&HEAD);
    }
    let mut encoder = DeflateEncoder::new(out, Compression::default());
    encoder.write_all(bytes)?;
    let mut sum = crc32fast::Hasher::new_with_initial(after.crc32);
    sum.update(bytes);
    let sum = sum.finalize();
    let size = after.size + bytes.len() as u64;
    let out = if ends {
        let mut out = encoder.finish()?;
        out.extend_from_slice(&sum.to_le_bytes());
        // The trailer contains the size modulo 2^32.
        out.extend_from_slice(&(size as u32).to_le_bytes());
        out
    } else {
        encoder.flush()?;
        std::mem::take(encoder.get_mut())
    };
    let length = after.length + out.len() as u64;
    Ok((
        out,
        FileEnd {
            length,
            size,
            crc32: sum,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    /// Decodes a file with a decoder that knows nothing about pieces and reads only one member.
    fn plain(file: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        GzDecoder::new(file).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn pieces_are_one_stream_wherever_they_are_cut() {
        let text: Vec<u8> = (0u32..20_000).flat_map(|n| (n * n).to_le_bytes()).collect();
        for cuts in [1, 2, 3, 7, 100] {
            let (mut file, mut mark) = (Vec::new(), FileEnd::default());
            let mut chunks = text.chunks(text.len().div_ceil(cuts)).peekable();
            while let Some(chunk) = chunks.next() {
                let (out, next) = piece(mark, chunk, chunks.peek().is_none()).unwrap();
                file.extend(out);
                mark = next;
                assert_eq!(mark.length, file.len() as u64);
            }
            assert_eq!(plain(&file), text, "{cuts} pieces");
            assert_eq!(mark.size, text.len() as u64);
        }
    }

    #[test]
    fn an_empty_piece_and_an_empty_file_are_fine() {
        let (mut file, mark) = piece(FileEnd::default(), b"a", false).unwrap();
        let (more, mark) = piece(mark, b"", false).unwrap();
        let (last, _) = piece(mark, b"b", true).unwrap();
        file.extend(more.into_iter().chain(last));
        assert_eq!(plain(&file), b"ab");
        assert_eq!(plain(&piece(FileEnd::default(), b"", true).unwrap().0), b"");
    }

    /// Broken variant: a checksum that restarts at a mark is noticed.
    #[test]
    fn a_lost_checksum_is_noticed() {
        let (mut file, mut mark) = piece(FileEnd::default(), b"abc", false).unwrap();
        mark.crc32 = 0;
        file.extend(piece(mark, b"def", true).unwrap().0);
        assert!(
            GzDecoder::new(file.as_slice())
                .read_to_end(&mut Vec::new())
                .is_err()
        );
    }
}

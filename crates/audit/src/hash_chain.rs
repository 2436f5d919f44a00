//! The hash chain: each row's digest covers its content, its number and the digest of the row before.
use ring::digest::{Context, SHA256};

/// A SHA-256 digest.
pub type RowDigest = [u8; 32];

/// Prefix of the hashed bytes, which separates these digests from all others.
const DOMAIN_SEPARATION: &[u8] = b"workgraph audit row 1\0";

/// Position in a log: the number of a row and the chain's digest at that row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainPosition {
    /// The row's number.
    pub seq: u64,
    /// The row's digest.
    pub digest: RowDigest,
}

impl ChainPosition {
    /// The position before the first row: number 0 and a digest of zeros.
    pub const START: Self = Self {
        seq: 0,
        digest: [0; 32],
    };

    /// Returns the position after one more row with this content.
    #[must_use]
    pub fn next(&self, content: &[u8]) -> Self {
        let seq = self.seq.saturating_add(1);
        Self {
            seq,
            digest: row_digest(&self.digest, seq, content),
        }
    }
}

/// Returns the digest of a row that follows the row with the digest `before`.
pub(crate) fn row_digest(before: &[u8], seq: u64, content: &[u8]) -> RowDigest {
    let mut sum = Context::new(&SHA256);
    sum.update(DOMAIN_SEPARATION);
    sum.update(before);
    sum.update(&seq.to_be_bytes());
    sum.update(content);
    let mut digest = [0; 32];
    digest.copy_from_slice(sum.finish().as_ref());
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_content_number_and_what_was_before() {
        let first = ChainPosition::START.next(b"a");
        let other = ChainPosition {
            seq: 1,
            ..ChainPosition::START
        };
        let all = [
            first,
            ChainPosition::START.next(b"b"),
            other.next(b"a"),
            first.next(b"a"),
        ];
        for (i, one) in all.iter().enumerate() {
            for two in all.iter().skip(i + 1) {
                assert_ne!(one.digest, two.digest);
            }
        }
        assert_eq!(first, ChainPosition::START.next(b"a"));
    }
}

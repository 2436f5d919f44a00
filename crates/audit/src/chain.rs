//! The chain: each row's digest covers its content, its number and the digest of the row before.
use ring::digest::{Context, SHA256};

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// What a digest begins with, so that it is one of nothing else.
const DOMAIN: &[u8] = b"workgraph audit row 1\0";

/// A place in a log: a row and what the chain had come to with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The row's number.
    pub seq: u64,
    /// Its digest.
    pub digest: Digest,
}

impl Mark {
    /// Before the first row.
    pub const START: Self = Self {
        seq: 0,
        digest: [0; 32],
    };

    /// The place after one more row with this content.
    #[must_use]
    pub fn then(&self, content: &[u8]) -> Self {
        let seq = self.seq.saturating_add(1);
        Self {
            seq,
            digest: link(&self.digest, seq, content),
        }
    }
}

/// The digest of a row after a row with this digest.
pub(crate) fn link(before: &[u8], seq: u64, content: &[u8]) -> Digest {
    let mut sum = Context::new(&SHA256);
    sum.update(DOMAIN);
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
        let first = Mark::START.then(b"a");
        let other = Mark {
            seq: 1,
            ..Mark::START
        };
        let all = [
            first,
            Mark::START.then(b"b"),
            other.then(b"a"),
            first.then(b"a"),
        ];
        for (i, one) in all.iter().enumerate() {
            for two in all.iter().skip(i + 1) {
                assert_ne!(one.digest, two.digest);
            }
        }
        assert_eq!(first, Mark::START.then(b"a"));
    }
}

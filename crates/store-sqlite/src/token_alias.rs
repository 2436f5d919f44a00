//! Tokens of copies.
use workgraph_auth::SecretDigest;

/// Token that only a copy knows, and the token of the source that it stands for. So each copy has a token of its own
/// without a write.
#[derive(Clone, Copy, Debug)]
pub struct TokenAlias {
    /// Digest of the token of the copy.
    pub given: SecretDigest,
    /// Digest of the token in the source. The text of that token should be known to nobody.
    pub stored: SecretDigest,
}

//! Proof Key for Code Exchange (RFC 7636), with S256 as its only method.
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::tokens::token_text::SecretDigest;

/// Only supported method. `plain` protects nothing once a request is intercepted.
pub const METHOD: &str = "S256";
/// Characters of a SHA-256 in base64url without padding.
const CHALLENGE_CHARS: usize = 43;

/// Code challenge: the SHA-256 of a verifier that only the client knows so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeChallenge(SecretDigest);

/// Reason why a challenge was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeError {
    /// A challenge without a method: the default would be `plain` (RFC 7636 section 4.3).
    NoMethod,
    /// A method without a challenge.
    NoChallenge,
    /// A method other than S256.
    Method,
    /// Not the base64url form of 256 bits.
    Form,
}

impl fmt::Display for ChallengeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMethod => f.write_str("The `code_challenge_method` parameter is missing."),
            Self::NoChallenge => f.write_str("The `code_challenge` parameter is missing."),
            Self::Method => f.write_str("The `code_challenge_method` parameter must be S256."),
            Self::Form => {
                f.write_str("The `code_challenge` parameter must be 43 base64url characters.")
            }
        }
    }
}

impl std::error::Error for ChallengeError {}

impl CodeChallenge {
    /// Parses the two parameters of an authorization request; `None` if both are missing.
    ///
    /// # Errors
    /// Fails for one without the other, a method other than S256, or a malformed challenge.
    pub fn read(
        method: Option<&str>,
        challenge: Option<&str>,
    ) -> Result<Option<Self>, ChallengeError> {
        match (method, challenge) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(ChallengeError::NoMethod),
            (Some(_), None) => Err(ChallengeError::NoChallenge),
            (Some(METHOD), Some(text)) => Self::parse(text).map(Some).ok_or(ChallengeError::Form),
            (Some(_), Some(_)) => Err(ChallengeError::Method),
        }
    }

    /// Parses a stored challenge.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != CHALLENGE_CHARS {
            return None;
        }
        let mut bytes = [0; 32];
        // Strict: another text of the same bits, with stray bits at the end, is refused.
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        (length == bytes.len()).then_some(Self(SecretDigest(bytes)))
    }

    /// Returns the challenge for a verifier, which a client sends in the authorization request.
    #[must_use]
    pub fn of(verifier: &str) -> Self {
        Self(SecretDigest::of(verifier))
    }

    /// Returns true if the verifier is well-formed and this is its challenge (RFC 7636 section
    /// 4.6).
    #[must_use]
    pub fn is_met_by(&self, verifier: &str) -> bool {
        is_verifier(verifier) && self.0.matches(&SecretDigest::of(verifier))
    }
}

impl fmt::Display for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0.0))
    }
}

/// Returns true if a text is a valid verifier: 43 to 128 unreserved characters (RFC 7636 section
/// 4.1).
#[must_use]
pub fn is_verifier(text: &str) -> bool {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
}

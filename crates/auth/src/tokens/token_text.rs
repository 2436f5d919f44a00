//! Token texts: creating and recognizing secrets, and the digests that are stored.
//!
//! A token is `prefix + base64url(256 random bits) + checksum`, 53 characters. The prefix shows
//! people and secret scanners what they found; the checksum allows refusing a garbled text without
//! a look-up. Neither is trusted: a token only counts if the digest of its *whole* text is stored,
//! and its kind is read from the stored record.
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::SHA256;
use subtle::ConstantTimeEq as _;

/// Number of characters before the random part.
const PREFIX_CHARS: usize = 4;
/// 256 bits in base64url without padding.
const RANDOM_CHARS: usize = 43;
/// 32 bits in base64url without padding.
const CHECKSUM_CHARS: usize = 6;
/// Length of every token text.
pub const TOKEN_CHARS: usize = PREFIX_CHARS + RANDOM_CHARS + CHECKSUM_CHARS;

/// Kind of a token. It is stored with the token's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A personal access token: acts as its user, with full permissions.
    Personal,
    /// A service account's token: reaches everything in one workspace.
    Service,
    /// An OAuth access token: acts as its user within the scopes the user granted to an app.
    Access,
    /// An OAuth refresh token: access tokens are issued for it, but it is not a bearer token
    /// itself.
    Refresh,
}

impl TokenKind {
    /// All kinds of tokens.
    pub const ALL: [Self; 4] = [Self::Personal, Self::Service, Self::Access, Self::Refresh];

    /// Returns the kind's name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Service => "service",
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Prefixes of the tokens of each kind: four characters (letters, digits, `-` and `_`) that show people and secret scanners
/// what they found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenPrefixes {
    personal: &'static str,
    service: &'static str,
    access: &'static str,
    refresh: &'static str,
}

impl TokenPrefixes {
    /// Prefixes `wgp_`, `wgs_`, `wga_` and `wgr_`.
    pub const DEFAULT: Self = Self::new("wgp_", "wgs_", "wga_", "wgr_");

    /// Makes the prefixes of personal, service, access and refresh tokens.
    ///
    /// # Panics
    /// Panics if one of them is not four letters, digits, `-` or `_`. In a `static` or `const` that is a compile error.
    #[must_use]
    pub const fn new(
        personal: &'static str,
        service: &'static str,
        access: &'static str,
        refresh: &'static str,
    ) -> Self {
        assert!(
            is_prefix(personal) && is_prefix(service) && is_prefix(access) && is_prefix(refresh),
            "a prefix is four letters, digits, - or _"
        );
        Self {
            personal,
            service,
            access,
            refresh,
        }
    }

    /// Returns the prefix of a token of a kind.
    #[must_use]
    pub const fn of(&self, kind: TokenKind) -> &'static str {
        match kind {
            TokenKind::Personal => self.personal,
            TokenKind::Service => self.service,
            TokenKind::Access => self.access,
            TokenKind::Refresh => self.refresh,
        }
    }

    /// Makes a token of 256 random bits: the secret for its owner and the digest for the store.
    ///
    /// `random` must come from the operating system's generator, fresh for each token.
    #[must_use]
    pub fn mint(&self, kind: TokenKind, random: &[u8; 32]) -> (Secret, SecretDigest) {
        mint_secret_text(self.of(kind), random)
    }

    /// Returns the digest of a presented token, or `None` for a text that [`mint`](Self::mint) cannot have
    /// made.
    ///
    /// `None` only reveals facts that a client can compute from the text itself, so it is no oracle.
    #[must_use]
    pub fn digest(&self, text: &str) -> Option<SecretDigest> {
        let plain = |b: u8| b.is_ascii_alphanumeric() | (b == b'-') | (b == b'_');
        let known = |kind: &TokenKind| text.starts_with(self.of(*kind));
        // Checks all bytes without a branch, so that the machine can compare many at a time.
        let is_plain = || text.bytes().fold(true, |all, b| all & plain(b));
        let looks_whole = text.len() == TOKEN_CHARS && is_plain();
        (looks_whole && TokenKind::ALL.iter().any(known) && is_whole(text))
            .then(|| SecretDigest::of(text))
    }
}

impl Default for TokenPrefixes {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const fn is_prefix(text: &str) -> bool {
    let [a, b, c, d] = text.as_bytes() else {
        return false;
    };
    is_token_byte(*a) && is_token_byte(*b) && is_token_byte(*c) && is_token_byte(*d)
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Prefixes and lifetime of the tokens that a service issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Prefixes that tokens of this server have.
    pub prefixes: TokenPrefixes,
    /// The lifetime of an OAuth access token, at least one second.
    pub access_lifetime: Duration,
}

impl TokenSettings {
    /// The default prefixes, and access tokens that live for an hour.
    pub const DEFAULT: Self = Self {
        prefixes: TokenPrefixes::DEFAULT,
        access_lifetime: Duration::from_secs(3600),
    };
}

impl Default for TokenSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Text that must not be shown: it has no `Display`, and `Debug` hides it.
///
/// ```compile_fail
/// let secret = workgraph_auth::Secret::new("x".to_owned());
/// println!("{secret}");
/// ```
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text itself. Show it to its owner once; never log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SHA-256 of a whole token text; stores keep this digest and search by it.
///
/// A plain hash is enough because a token contains 256 random bits; nothing can be guessed from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// Returns the digest of any text, without checking its form.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(ring::digest::digest(&SHA256, text.as_bytes()).as_ref());
        Self(bytes)
    }

    /// Returns true if two digests are equal, in a time that does not depend on the position of
    /// a difference.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Returns the key under which this token's limits are counted: the digest's first half.
    #[must_use]
    pub fn key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        for (to, from) in key.iter_mut().zip(self.0) {
            *to = from;
        }
        key
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(")?;
        for byte in self.0.iter().take(4) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("..)")
    }
}

/// Makes a token with the default prefix of its kind, as [`TokenPrefixes::mint`] does.
#[must_use]
pub fn mint_token(kind: TokenKind, random: &[u8; 32]) -> (Secret, SecretDigest) {
    TokenPrefixes::DEFAULT.mint(kind, random)
}

/// Makes a secret of 256 random bits that is not a token: an authorization code, a client secret, a
/// session.
pub(crate) fn mint_secret_text(prefix: &str, random: &[u8; 32]) -> (Secret, SecretDigest) {
    let mut text = String::with_capacity(TOKEN_CHARS);
    text.push_str(prefix);
    URL_SAFE_NO_PAD.encode_string(random, &mut text);
    let sum = checksum(&text);
    URL_SAFE_NO_PAD.encode_string(sum, &mut text);
    let digest = SecretDigest::of(&text);
    (Secret(text), digest)
}

/// Returns the digest of a presented token with one of the default prefixes, as [`TokenPrefixes::digest`] does.
#[must_use]
pub fn token_digest(text: &str) -> Option<SecretDigest> {
    TokenPrefixes::DEFAULT.digest(text)
}

/// Returns true if the checksum at the end of a token's text matches the rest.
fn is_whole(text: &str) -> bool {
    let Some((body, sum)) = text.split_at_checked(PREFIX_CHARS + RANDOM_CHARS) else {
        return false;
    };
    let mut expected = [0; CHECKSUM_CHARS];
    let encoded = URL_SAFE_NO_PAD.encode_slice(checksum(body), &mut expected);
    encoded.is_ok() && expected == *sum.as_bytes()
}

/// Returns 32 bits that depend on every character before the checksum: the start of their SHA-256.
fn checksum(body: &str) -> [u8; 4] {
    let SecretDigest([a, b, c, d, ..]) = SecretDigest::of(body);
    [a, b, c, d]
}

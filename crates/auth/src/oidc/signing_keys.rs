//! Signing keys: RS256 with `ring`, the published key set, and the times at which each key is
//! published and signs.
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rsa::PublicKeyComponents;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Serialize;

use crate::json::to_json;
use crate::oidc::ID_TOKEN_LIFETIME;
use crate::tokens::token_text::SecretDigest;

/// Only supported algorithm; `none` is refused.
pub const ALGORITHM: &str = "RS256";
/// Time for which clients may cache the key set: a key is published for that long before it signs.
pub const KEY_SET_LIFETIME: Duration = Duration::from_secs(3600);
/// Time for which a key stays published after it last signed: the lifetime of an id_token, plus some
/// clock difference.
pub const KEY_RETENTION: Duration = ID_TOKEN_LIFETIME.saturating_add(Duration::from_secs(600));
/// Minimum size of a key, in bytes.
const MIN_MODULUS_BYTES: usize = 256;

/// Error of a key that could not be read, or could not sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignError(&'static str);

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for SignError {}

/// Signer with RS256.
pub trait Signer: Send + Sync {
    /// Returns the key's name in the key set.
    fn kid(&self) -> &str;

    /// Returns the public half.
    fn jwk(&self) -> JsonWebKey;

    /// Signs a message: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3).
    ///
    /// # Errors
    /// The key cannot be used.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// Public RSA key for signatures (RFC 7517 section 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JsonWebKey {
    /// The key type: `RSA`.
    pub kty: &'static str,
    /// The use of the key: `sig`.
    #[serde(rename = "use")]
    pub usage: &'static str,
    /// The algorithm of its signatures.
    pub alg: &'static str,
    /// The name of the key in the key set.
    pub kid: String,
    /// The modulus in base64url.
    pub n: String,
    /// The exponent in base64url.
    pub e: String,
}

/// Members that are hashed for a key's thumbprint, in the order of RFC 7638 section 3.
#[derive(Serialize)]
struct ThumbprintInput<'a> {
    e: &'a str,
    kty: &'static str,
    n: &'a str,
}

/// RSA key in this process.
#[derive(Debug)]
pub struct Rs256 {
    pair: RsaKeyPair,
    kid: String,
    n: String,
    e: String,
}

impl Rs256 {
    /// Reads an unencrypted PKCS#8 key. The caller generates the key, since that needs randomness.
    ///
    /// # Errors
    /// Fails if it is not an RSA key, or has less than 2048 bits.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, SignError> {
        let pair = RsaKeyPair::from_pkcs8(der).map_err(|_| SignError("not a usable RSA key"))?;
        if pair.public().modulus_len() < MIN_MODULUS_BYTES {
            return Err(SignError("an RSA key of less than 2048 bits"));
        }
        let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
        let (n, e) = (URL_SAFE_NO_PAD.encode(n), URL_SAFE_NO_PAD.encode(e));
        // The thumbprint of RFC 7638: the same key has the same name on every node.
        let essence = to_json(&ThumbprintInput {
            e: &e,
            kty: "RSA",
            n: &n,
        });
        let kid = URL_SAFE_NO_PAD.encode(SecretDigest::of(&essence).0);
        Ok(Self { pair, kid, n, e })
    }
}

impl Signer for Rs256 {
    fn kid(&self) -> &str {
        &self.kid
    }

    fn jwk(&self) -> JsonWebKey {
        JsonWebKey {
            kty: "RSA",
            usage: "sig",
            alg: ALGORITHM,
            kid: self.kid.clone(),
            n: self.n.clone(),
            e: self.e.clone(),
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let mut signature = vec![0; self.pair.public().modulus_len()];
        #[expect(
            clippy::disallowed_methods,
            reason = "ring asks for a generator that this padding never draws from"
        )]
        let unused = ring::rand::SystemRandom::new();
        self.pair
            .sign(&RSA_PKCS1_SHA256, &unused, message, &mut signature)
            .map_err(|_| SignError("the RSA key cannot sign"))?;
        Ok(signature)
    }
}

/// Key of a ring, with the times at which it is published and signs.
#[derive(Clone)]
struct RingKey {
    signer: Arc<dyn Signer>,
    /// The time from which it is published.
    shown: SystemTime,
    signs: SystemTime,
    /// The time from which it is no longer published; unknown until it has a successor.
    gone: Option<SystemTime>,
}

/// Signing keys in order of age, with the times at which each is published, signs and is removed.
///
/// To rotate the keys, push another key, and store it with its time. Everything else follows from the
/// clock. The new key is published immediately, and signs once every copy of the key set has it. The
/// old one stays published until the last id_token that it signed has expired.
#[derive(Clone, Default)]
pub struct SigningKeyRing(Vec<RingKey>);

impl fmt::Debug for SigningKeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kids = self.0.iter().map(|entry| entry.signer.kid());
        f.debug_list().entries(kids).finish()
    }
}

fn after(at: SystemTime, wait: Duration) -> SystemTime {
    at.checked_add(wait).unwrap_or(at)
}

impl SigningKeyRing {
    /// Makes a ring of the keys created at these times. The first key signs immediately, since no client
    /// has a key set yet.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = (Arc<dyn Signer>, SystemTime)>) -> Self {
        let mut ring = Self::default();
        for (signer, made_at) in keys {
            ring.push(signer, made_at);
        }
        ring
    }

    /// Adds a key made at `made_at`, no earlier than the ones before.
    pub fn push(&mut self, signer: Arc<dyn Signer>, made_at: SystemTime) {
        let signs = match self.0.last_mut() {
            None => made_at,
            Some(last) => {
                let signs = after(made_at, KEY_SET_LIFETIME).max(last.signs);
                last.gone = Some(after(signs, KEY_RETENTION));
                signs
            }
        };
        self.0.push(RingKey {
            signer,
            shown: made_at,
            signs,
            gone: None,
        });
    }

    /// Returns the key that signs at `now`: the newest one that may.
    #[must_use]
    pub fn signer(&self, now: SystemTime) -> Option<&dyn Signer> {
        let entry = self.0.iter().rev().find(|entry| entry.signs <= now)?;
        Some(entry.signer.as_ref())
    }

    /// Returns the keys that are published at `now`.
    pub fn published(&self, now: SystemTime) -> impl Iterator<Item = &dyn Signer> {
        self.0
            .iter()
            .filter(move |entry| entry.shown <= now && entry.gone.is_none_or(|gone| now < gone))
            .map(|entry| entry.signer.as_ref())
    }

    /// Returns the key set to publish at `now` (RFC 7517 section 5). Clients may cache it for at most
    /// [`KEY_SET_LIFETIME`].
    #[must_use]
    pub fn key_set(&self, now: SystemTime) -> String {
        #[derive(Serialize)]
        struct KeySet {
            keys: Vec<JsonWebKey>,
        }
        let keys = self.published(now).map(Signer::jwk).collect();
        to_json(&KeySet { keys })
    }
}

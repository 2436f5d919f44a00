//! Passwords: their slow, salted hashes, and the pool that checks them.
use argon2::password_hash::{Ident, Output, ParamsString, PasswordHash, SaltString};
use argon2::{ARGON2ID_IDENT, Argon2, Block, Params, Version};
use async_trait::async_trait;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::Semaphore;
use workgraph_auth::Secret;
use workgraph_portal::{Busy, Passwords};

/// Room set aside for a hash, in blocks of a kibibyte: more than the allocator ever keeps for
/// itself, so what was used goes back to the system each time. Untouched room costs nothing.
const ROOM: usize = 33 << 10;

/// The Argon2id hash of a password in its self-describing text form. Takes some 20 ms and 19 MiB.
///
/// # Errors
/// When the password is too short or too long.
pub(crate) fn hash(password: &str, salt: &[u8; 16]) -> Result<Secret, String> {
    if !(8..=1024).contains(&password.len()) {
        return Err("a password has 8 to 1024 bytes".to_owned());
    }
    let mut out = [0; Params::DEFAULT_OUTPUT_LEN];
    derive(password, salt, &Params::default(), &mut out)?;
    encode(&out, salt)
}

/// Returns the text form of a hash made with the usual parameters.
fn encode(out: &[u8], salt: &[u8; 16]) -> Result<Secret, String> {
    let say = |e: argon2::password_hash::Error| e.to_string();
    let params = Params::default();
    let salt = SaltString::encode_b64(salt).map_err(say)?;
    let text = PasswordHash {
        algorithm: Ident::new(ARGON2ID_IDENT.as_str()).map_err(say)?,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&params).map_err(say)?,
        salt: Some(salt.as_salt()),
        hash: Some(Output::new(out).map_err(say)?),
    };
    Ok(Secret::new(text.to_string()))
}

fn derive(password: &str, salt: &[u8], params: &Params, out: &mut [u8]) -> Result<(), String> {
    let mut blocks = Vec::with_capacity(ROOM);
    blocks.resize(params.block_count(), Block::default());
    Argon2::new(argon2::Algorithm::Argon2id, Version::V0x13, params.clone())
        .hash_password_into_with_memory(password.as_bytes(), salt, out, &mut blocks)
        .map_err(|e| e.to_string())
}

/// Whether this is the password of this hash. A hash of another kind is nobody's.
fn verify(password: &str, hash: &Secret) -> bool {
    let read = || {
        let parsed = PasswordHash::new(hash.expose()).ok()?;
        let params = Params::try_from(&parsed).ok()?;
        if parsed.algorithm != ARGON2ID_IDENT || params.block_count() > ROOM {
            return None;
        }
        let mut room = [0; 64];
        let mut salt = [0; 64];
        let salt = parsed.salt?.decode_b64(&mut salt).ok()?;
        let stored = parsed.hash?;
        let out = room.get_mut(..stored.len())?;
        derive(password, salt, &params, out).ok()?;
        // Compared in constant time.
        Some(Output::new(out).ok()? == stored)
    };
    read().unwrap_or(false)
}

/// How many passwords are checked at the same time, and how many wait.
const AT_ONCE: usize = 2;
const WAITING: usize = 32;

/// Checks passwords on threads of their own, a few at a time.
pub(crate) struct Pool {
    turn: Semaphore,
    inside: AtomicUsize,
    /// A made-up hash: accounts that do not exist take as long.
    nobody: Secret,
}

impl Pool {
    /// Returns a pool. `output` and `salt` are random: no password is known to have such a hash, and checking one against it
    /// takes as long as against any other, without a derivation at start.
    ///
    /// # Errors
    /// When the hash has no text form.
    pub(crate) fn new(
        output: &[u8; Params::DEFAULT_OUTPUT_LEN],
        salt: &[u8; 16],
    ) -> Result<Self, String> {
        Ok(Self {
            turn: Semaphore::new(AT_ONCE),
            inside: AtomicUsize::new(0),
            nobody: encode(output, salt)?,
        })
    }
}

/// A place in the queue, given up when dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[async_trait]
impl Passwords for Pool {
    async fn check(&self, password: Secret, hash: Option<Secret>) -> Result<bool, Busy> {
        let before = self.inside.fetch_add(1, Relaxed);
        let place = Place(&self.inside);
        if before >= AT_ONCE + WAITING {
            return Err(Busy);
        }
        let turn = self.turn.acquire().await.map_err(|_| Busy)?;
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.clone());
        let work = move || verify(password.expose(), &hash);
        let right = tokio::task::spawn_blocking(work).await.unwrap_or(false);
        drop((turn, place));
        Ok(right && known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argon2::PasswordVerifier;

    #[test]
    fn a_hash_verifies_with_its_own_password_only() {
        let secret = hash("correct horse", &[7; 16]).unwrap();
        assert!(
            secret
                .expose()
                .starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{}",
            secret.expose()
        );
        let parsed = PasswordHash::new(secret.expose()).unwrap();
        assert!(
            Argon2::default()
                .verify_password(b"correct horse", &parsed)
                .is_ok()
        );
        assert!(
            Argon2::default()
                .verify_password(b"correct horsf", &parsed)
                .is_err()
        );
        assert!(verify("correct horse", &secret) && !verify("correct horsf", &secret));
        assert!(!verify("x", &Secret::new("$2b$12$abc".to_owned())));
        assert!(hash("short", &[7; 16]).is_err());
    }

    /// B61.
    #[tokio::test]
    async fn unknown_accounts_have_no_password_and_a_full_queue_says_so() {
        let pool = Pool::new(&[2; 32], &[1; 16]).unwrap();
        let check = |text: &str, hash| pool.check(Secret::new(text.to_owned()), hash);
        assert_eq!(check("nobody's own", None).await, Ok(false));
        let hash = hash("correct horse", &[7; 16]).unwrap();
        assert_eq!(check("correct horse", Some(hash.clone())).await, Ok(true));
        pool.inside.store(AT_ONCE + WAITING, Relaxed);
        assert_eq!(check("correct horse", Some(hash)).await, Err(Busy));
        assert_eq!(
            pool.inside.load(Relaxed),
            AT_ONCE + WAITING,
            "the place is given up"
        );
    }
}

//! Passwords: their slow, salted hashes, and the pool that checks them.
use crate::log::request_scope::{RequestScope, current_request};
use anyhow::{Context, Result};
use argon2::password_hash::{Ident, Output, ParamsString, PasswordHash, SaltString};
use argon2::{ARGON2ID_IDENT, Argon2, Block, Params, Version};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;
use workgraph_auth::{Secret, check_password};
use workgraph_portal::{PasswordHashError, PasswordHasher, PasswordQueueFull, PasswordSlot};

/// Space allocated for a hash, in blocks of a kibibyte: more than the allocator ever keeps for itself, so that used
/// memory goes back to the system each time. Untouched space costs nothing.
const ROOM: usize = 33 << 10;

/// Returns the Argon2id hash of a password in its self-describing text form. Takes about 20 ms and 19 MiB.
///
/// # Errors
/// Fails if the password is too short or too long.
pub(crate) fn hash(password: &str, salt: &[u8; 16]) -> Result<Secret> {
    check_password(password)?;
    let mut out = [0; Params::DEFAULT_OUTPUT_LEN];
    let params = params()?;
    derive(password, salt, &params, &mut out)?;
    encode(&out, salt, &params)
}

/// Returns the parameters of new hashes.
fn params() -> Result<Params> {
    #[cfg(debug_assertions)]
    if crate::adapters::fault_injection::has_quick_secrets() {
        return Ok(Params::new(Params::MIN_M_COST, 1, 1, None)?);
    }
    Ok(Params::default())
}

/// Returns the text form of a hash made with these parameters.
fn encode(out: &[u8], salt: &[u8; 16], params: &Params) -> Result<Secret> {
    let salt = SaltString::encode_b64(salt)?;
    let text = PasswordHash {
        algorithm: Ident::new(ARGON2ID_IDENT.as_str())?,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params)?,
        salt: Some(salt.as_salt()),
        hash: Some(Output::new(out)?),
    };
    Ok(Secret::new(text.to_string()))
}

fn derive(password: &str, salt: &[u8], params: &Params, out: &mut [u8]) -> Result<()> {
    let mut blocks = Vec::with_capacity(ROOM);
    blocks.resize(params.block_count(), Block::default());
    Argon2::new(argon2::Algorithm::Argon2id, Version::V0x13, params.clone())
        .hash_password_into_with_memory(password.as_bytes(), salt, out, &mut blocks)?;
    Ok(())
}

/// Returns true if a hash belongs to a password. A hash of another kind belongs to none.
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

/// Maximum number of passwords processed at the same time, and of passwords that wait.
const AT_ONCE: usize = 2;
const WAITING: usize = 32;
/// Number of waiting slots reserved for known browsers.
const RESERVED: usize = 8;

type PasswordJob = Box<dyn FnOnce() + Send>;

/// Pool that processes passwords, a few at a time, on its own threads, independent of all other work. The threads start with
/// the first password.
pub(crate) struct PasswordPool {
    queue: OnceLock<SyncSender<PasswordJob>>,
    inside: Arc<AtomicUsize>,
    /// Made-up hash, so that checking a nonexistent account takes as long.
    dummy_hash: Secret,
}

impl PasswordPool {
    /// Returns a pool. `output` and `salt` are random: no password is known to have such a hash, and checking one
    /// against it takes as long as against any other, without deriving a hash at startup.
    ///
    /// # Errors
    /// Fails if the hash has no text form.
    pub(crate) fn new(output: &[u8; Params::DEFAULT_OUTPUT_LEN], salt: &[u8; 16]) -> Result<Self> {
        Ok(Self {
            queue: OnceLock::new(),
            inside: Arc::default(),
            dummy_hash: encode(output, salt, &params()?)?,
        })
    }

    /// Runs a job on one of the threads. Returns `None` if it panicked. The job holds its slot until its end.
    async fn run<T: Send + 'static>(
        &self,
        slot: PasswordSlot,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, outcome) = oneshot::channel();
        let request = current_request();
        let job = move || {
            let _scope = RequestScope::enter(request);
            let outcome = job();
            // Dropped before the answer is sent, so that the caller can take a slot again immediately.
            drop(slot);
            // The caller may be gone.
            let _ = done.send(outcome);
        };
        // There are as many slots as places in the queue.
        let queue = self.queue.get_or_init(start_threads);
        queue.try_send(Box::new(job)).ok()?;
        outcome.await.ok()
    }
}

/// Starts the threads, and returns their queue. Without any thread, each job fails.
fn start_threads() -> SyncSender<PasswordJob> {
    let (queue, jobs) = sync_channel::<PasswordJob>(AT_ONCE + WAITING);
    let jobs = Arc::new(Mutex::new(jobs));
    for number in 0..AT_ONCE {
        let jobs = Arc::clone(&jobs);
        let started = std::thread::Builder::new()
            .name(format!("password-{number}"))
            .spawn(move || work(&jobs));
        if let Err(error) = started {
            tracing::error!(%error, "a thread for passwords can't be started");
        }
    }
    queue
}

/// Runs one job after another until the pool is dropped.
fn work(jobs: &Mutex<Receiver<PasswordJob>>) {
    loop {
        let next = jobs.lock().recv();
        let Ok(job) = next else { return };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a thread for passwords panicked");
        }
    }
}

/// Slot in the queue; dropping it frees the slot.
struct QueueSlotGuard(Arc<AtomicUsize>);

impl Drop for QueueSlotGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[async_trait]
impl PasswordHasher for PasswordPool {
    fn reserve(&self, known: bool) -> Result<PasswordSlot, PasswordQueueFull> {
        let most = AT_ONCE + WAITING - if known { 0 } else { RESERVED };
        let before = self.inside.fetch_add(1, Relaxed);
        let inside = QueueSlotGuard(Arc::clone(&self.inside));
        if before >= most {
            return Err(PasswordQueueFull);
        }
        Ok(PasswordSlot::new(inside))
    }

    async fn check(&self, slot: PasswordSlot, password: Secret, hash: Option<Secret>) -> bool {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.dummy_hash.clone());
        let right = self.run(slot, move || verify(password.expose(), &hash));
        right.await.unwrap_or(false) && known
    }

    async fn hash(
        &self,
        slot: PasswordSlot,
        password: Secret,
        salt: [u8; 16],
    ) -> Result<Secret, PasswordHashError> {
        let made = self.run(slot, move || hash(password.expose(), &salt));
        let made = made.await.context("a thread for passwords did not answer");
        made.and_then(|made| made)
            .map_err(|error| PasswordHashError(format!("{error:#}")))
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

    /// B61. B70.
    #[tokio::test]
    async fn unknown_accounts_have_no_password_and_a_full_queue_says_so() {
        let pool = PasswordPool::new(&[2; 32], &[1; 16]).unwrap();
        let check = async |text: &str, hash| {
            let slot = pool.reserve(false).unwrap();
            pool.check(slot, Secret::new(text.to_owned()), hash).await
        };
        assert!(!check("nobody's own", None).await);
        let right = Secret::new("correct horse".to_owned());
        let slot = pool.reserve(false).unwrap();
        let hash = pool.hash(slot, right, [7; 16]).await.unwrap();
        assert!(check("correct horse", Some(hash.clone())).await);
        assert!(!check("correct horsf", Some(hash)).await);
        let slot = pool.reserve(true).unwrap();
        let short = pool.hash(slot, Secret::new("short".to_owned()), [7; 16]);
        assert!(short.await.is_err());

        let others: Vec<PasswordSlot> = (0..AT_ONCE + WAITING - RESERVED)
            .map(|_| pool.reserve(false).unwrap())
            .collect();
        assert!(pool.reserve(false).is_err(), "the rest is for the known");
        let known: Vec<PasswordSlot> = (0..RESERVED).map(|_| pool.reserve(true).unwrap()).collect();
        assert!(pool.reserve(true).is_err());
        drop((others, known));
        assert_eq!(pool.inside.load(Relaxed), 0, "slots are given up");
    }

    /// B70. A thread that panics continues with the next password.
    #[tokio::test]
    async fn a_panic_is_no_password_and_ends_no_thread() {
        let pool = PasswordPool::new(&[2; 32], &[1; 16]).unwrap();
        for _ in 0..=AT_ONCE {
            let slot = pool.reserve(false).unwrap();
            let broken = pool.run(slot, || {
                if std::hint::black_box(true) {
                    panic!("on purpose");
                }
            });
            assert_eq!(broken.await, None);
        }
        let slot = pool.reserve(false).unwrap();
        assert_eq!(pool.run(slot, || 7).await, Some(7));
    }
}

//! What the portal asks of the service around it.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use workgraph_auth::{KeyRing, OAuthStore, Secret, StoreError};
use workgraph_core::audit::Acting;

/// So many passwords are being checked that another one would wait too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many passwords are being checked")
    }
}

impl std::error::Error for Busy {}

/// A slot in the queue of passwords, free again when it is dropped.
pub struct Slot(#[expect(dead_code, reason = "kept to be dropped")] Box<dyn Send + Sync>);

impl Slot {
    /// A slot that is given back when `guard` is dropped.
    #[must_use]
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Checks and hashes passwords, which is slow on purpose, away from the threads that answer requests.
#[async_trait]
pub trait Passwords: Send + Sync {
    /// Takes a slot in the queue. Some are kept for browsers that are known.
    ///
    /// # Errors
    /// [`Busy`]: there is none.
    fn reserve(&self, known: bool) -> Result<Slot, Busy>;

    /// Whether this is the password of this hash. Without a hash, which is an account that does not
    /// exist, it takes as long and is `false`.
    async fn check(&self, slot: Slot, password: Secret, hash: Option<Secret>) -> bool;

    /// The hash of a new password.
    ///
    /// # Errors
    /// When it cannot be hashed; the text is for the log.
    async fn hash(&self, slot: Slot, password: Secret, salt: [u8; 16]) -> Result<Secret, String>;
}

/// Says who does what the portal writes, for the audit log.
pub trait Acts: Send + Sync {
    /// The store in somebody's hand: what is written through it is told as done by them.
    fn by(&self, acting: Acting, now: SystemTime) -> Arc<dyn OAuthStore>;

    /// Tells that somebody could not sign in as a user. It does not wait for the store, so that the
    /// answer takes no longer than that for a user who does not exist.
    fn sign_in_failed(&self, user: u64, acting: Acting, now: SystemTime);
}

/// Has the keys that sign id_tokens.
#[async_trait]
pub trait Keys: Send + Sync {
    /// The keys, at least one of which signs. Waits for the first one if it is still being made.
    ///
    /// # Errors
    /// There is none and there will be none; the text is for the log.
    async fn ring(&self) -> Result<Arc<KeyRing>, StoreError>;
}

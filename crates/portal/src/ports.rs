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

/// Checks passwords, which is slow on purpose, away from the threads that answer requests.
#[async_trait]
pub trait Passwords: Send + Sync {
    /// Whether this is the password of this hash. Without a hash, which is an account that does not
    /// exist, it takes as long and is `false`.
    ///
    /// # Errors
    /// [`Busy`]: it was not looked at.
    async fn check(&self, password: Secret, hash: Option<Secret>) -> Result<bool, Busy>;
}

/// Says who does what the portal writes, for the audit log.
#[async_trait]
pub trait Acts: Send + Sync {
    /// The store in somebody's hand: what is written through it is told as done by them.
    fn by(&self, acting: Acting, now: SystemTime) -> Arc<dyn OAuthStore>;

    /// Tells that somebody could not sign in as a user.
    ///
    /// # Errors
    /// When the store fails.
    async fn sign_in_failed(
        &self,
        user: u64,
        acting: Acting,
        now: SystemTime,
    ) -> Result<(), StoreError>;
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

//! Ports through which the portal uses the rest of the service.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use thiserror::Error;
use workgraph_auth::{AuthStoreError, OAuthStore, Secret, SigningKeyRing};
use workgraph_core::audit::ActorContext;

/// Error of a password check for which the queue has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("too many passwords are being checked")]
pub struct PasswordQueueFull;

/// Slot in the password queue; dropping it frees the slot.
pub struct PasswordSlot(#[expect(dead_code, reason = "kept to be dropped")] Box<dyn Send + Sync>);

impl PasswordSlot {
    /// Returns a slot that is freed when `guard` is dropped.
    #[must_use]
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for PasswordSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Port that checks and hashes passwords, which is slow on purpose, outside of the threads that answer requests.
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// Takes a slot in the queue. Some slots are reserved for known browsers.
    ///
    /// # Errors
    /// [`PasswordQueueFull`]: there is no free slot.
    fn reserve(&self, known: bool) -> Result<PasswordSlot, PasswordQueueFull>;

    /// Checks a password against a hash. Without a hash, because the account does not exist, it takes as long and returns
    /// `false`.
    async fn check(&self, slot: PasswordSlot, password: Secret, hash: Option<Secret>) -> bool;

    /// Returns the hash of a new password.
    ///
    /// # Errors
    /// [`PasswordHashError`]: the password cannot be hashed.
    async fn hash(
        &self,
        slot: PasswordSlot,
        password: Secret,
        salt: [u8; 16],
    ) -> Result<Secret, PasswordHashError>;
}

/// Error of a password that could not be hashed; the text, with the causes, is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a password was not hashed: {0}")]
pub struct PasswordHashError(pub String);

/// Port that records the actor of the portal's writes in the audit log.
pub trait AuditedStore: Send + Sync {
    /// Returns the store bound to an actor: the audit log attributes its writes to them.
    fn as_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore>;

    /// Records a failed sign-in of a user. Does not wait for the store, so that the answer takes no longer than that for a
    /// user who does not exist.
    fn sign_in_failed(&self, user: u64, acting: ActorContext, now: SystemTime);
}

/// Port to the keys that sign id_tokens.
#[async_trait]
pub trait SigningKeys: Send + Sync {
    /// Returns the keys, at least one of which signs. Waits for the first one if it is still being generated.
    ///
    /// # Errors
    /// There is no key and there will be none; the text is for the log.
    async fn ring(&self) -> Result<Arc<SigningKeyRing>, AuthStoreError>;
}

/// Workspace that a user belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWorkspace {
    /// Gid of the workspace.
    pub workspace: u64,
    /// Name of the workspace.
    pub name: String,
    /// True if the user administers it.
    pub admin: bool,
}

/// Unanswered invitation to a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitationSummary {
    /// Number of the invitation.
    pub id: u64,
    /// Name of the workspace.
    pub workspace: String,
}

/// Port to workspaces, invitations and service accounts.
#[async_trait]
pub trait WorkspaceDirectory: Send + Sync {
    /// Returns the workspaces of a user, in order of gid.
    async fn workspaces_of(&self, user: u64) -> Result<Vec<UserWorkspace>, AuthStoreError>;

    /// Returns the invitations that a user has not answered yet.
    async fn invitations(&self, user: u64) -> Result<Vec<InvitationSummary>, AuthStoreError>;

    /// Accepts or declines an invitation of a user. Returns false if the user has no such invitation.
    async fn answer_invitation(
        &self,
        user: u64,
        id: u64,
        accepted: bool,
        acting: &ActorContext,
    ) -> Result<bool, AuthStoreError>;

    /// Returns the service accounts of a workspace, with their names.
    async fn services(&self, workspace: u64) -> Result<Vec<(u64, String)>, AuthStoreError>;

    /// Creates a service account in a workspace, with its [`Account`](workgraph_auth::Account) but without tokens. The
    /// audit log records the actor.
    async fn create_service(
        &self,
        workspace: u64,
        name: &str,
        acting: &ActorContext,
    ) -> Result<u64, AuthStoreError>;

    /// Records that a user signed in with their password.
    fn password_used(&self, user: u64);

    /// Records that the password of a user was replaced.
    fn password_changed(&self, user: u64);
}

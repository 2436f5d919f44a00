//! Stored records of tokens, of the accounts that they act as, and of the accounts' logins.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::tokens::scope::ScopeSet;
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

/// Stored token. It does not contain the token's text, which cannot be computed from it.
///
/// For the OAuth kinds `grant` is the user's authorization of the app. A store returns the record
/// with the effect of that authorization: scopes limited to those still granted, `revoked_at` set if the
/// authorization was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The record's own id, unique among tokens.
    pub id: u64,
    /// The digest of the whole token text, unique among tokens.
    pub digest: SecretDigest,
    /// The kind, which determines where the token is accepted.
    pub kind: TokenKind,
    /// The user, or service account, that it acts as.
    pub user: u64,
    /// The app that it was issued to: OAuth kinds only.
    pub app: Option<u64>,
    /// The authorization that it was issued from: OAuth kinds only.
    pub grant: Option<u64>,
    /// The only workspace that it may access: service accounts only.
    pub workspace: Option<u64>,
    /// The permissions of the token.
    pub scopes: ScopeSet,
    /// The description that the owner gave the token.
    pub description: String,
    /// The time at which the token was issued.
    pub created_at: SystemTime,
    /// The time at which the token expires; `None` if it never does.
    pub expires_at: Option<SystemTime>,
    /// The time at which it was revoked. A token with any value here is dead.
    pub revoked_at: Option<SystemTime>,
    /// The approximate time of its last use; not updated for every request.
    pub last_used_at: Option<SystemTime>,
    /// The workspaces in which the token's app works, for the OAuth kinds. A store computes this with
    /// the rest of the token context, and does not store it.
    pub allowed_workspaces: Option<Arc<[u64]>>,
}

impl TokenRecord {
    /// Makes a personal access token's record: full permissions, no expiry, no description.
    #[must_use]
    pub const fn personal(id: u64, digest: SecretDigest, user: u64, now: SystemTime) -> Self {
        Self {
            id,
            digest,
            kind: TokenKind::Personal,
            user,
            app: None,
            grant: None,
            workspace: None,
            scopes: ScopeSet::full(),
            description: String::new(),
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            allowed_workspaces: None,
        }
    }

    /// Makes a service account's token record: full permissions in one workspace.
    #[must_use]
    pub const fn service(
        id: u64,
        digest: SecretDigest,
        user: u64,
        workspace: u64,
        now: SystemTime,
    ) -> Self {
        let mut record = Self::personal(id, digest, user, now);
        record.kind = TokenKind::Service;
        record.workspace = Some(workspace);
        record
    }

    /// Returns true if the record has all data required by its kind and none that belongs to another kind.
    ///
    /// A record that fails this check is refused as a credential: a service token without a workspace would
    /// have access to all of them, an access token without an expiry would live forever.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        let oauth = self.app.is_some() && self.grant.is_some() && self.workspace.is_none();
        let own = self.app.is_none() && self.grant.is_none();
        match self.kind {
            TokenKind::Personal => own && self.workspace.is_none(),
            TokenKind::Service => own && self.workspace.is_some(),
            TokenKind::Access => oauth && self.expires_at.is_some(),
            TokenKind::Refresh => oauth,
        }
    }
}

/// Plan of an account, which determines the limits of its tokens: a number whose meaning the service defines, such as 0
/// for free and 1 for paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tier(u8);

impl Tier {
    /// Plan 0, the default of an account.
    pub const DEFAULT: Self = Self(0);

    /// Makes the tier with this number.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the number of the tier, as it is stored.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Account of a user or service account, reduced to the needs of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's gid.
    pub user: u64,
    /// The plan that determines the limits of the user's tokens.
    pub tier: Tier,
    /// True if the account is disabled; then none of its tokens works.
    pub disabled: bool,
}

impl Account {
    /// Makes an account that is not disabled.
    #[must_use]
    pub const fn new(user: u64, tier: Tier) -> Self {
        Self {
            user,
            tier,
            disabled: false,
        }
    }
}

/// Login of a person: an e-mail address, unique without regard to case, and a password's hash.
#[derive(Clone, Debug)]
pub struct Login {
    email: String,
    hash: Secret,
}

impl Login {
    /// Makes a login. `hash` is a slow, salted hash in its self-describing text form; this crate does
    /// not interpret it.
    #[must_use]
    pub fn new(email: &str, hash: Secret) -> Self {
        Self {
            email: normalize_email(email),
            hash,
        }
    }

    /// Returns the address in the form in which it is compared.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Returns the password's hash.
    #[must_use]
    pub const fn hash(&self) -> &Secret {
        &self.hash
    }

    /// Returns true if this is the password's hash.
    #[must_use]
    pub fn has_hash(&self, hash: &Secret) -> bool {
        self.hash.expose() == hash.expose()
    }
}

/// Returns an e-mail address in the form in which addresses are compared: trimmed, in lower case.
#[must_use]
pub fn normalize_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Allowed length of a password in bytes.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=1024;

/// Error of a password that is too short or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLength;

impl fmt::Display for PasswordLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (PASSWORD_BYTES.start(), PASSWORD_BYTES.end());
        write!(f, "a password has {least} to {most} bytes")
    }
}

impl std::error::Error for PasswordLength {}

/// Checks that a password has an allowed length.
///
/// # Errors
/// Fails with [`PasswordLength`].
pub const fn check_password(password: &str) -> Result<(), PasswordLength> {
    let length = password.len();
    if length < *PASSWORD_BYTES.start() || length > *PASSWORD_BYTES.end() {
        return Err(PasswordLength);
    }
    Ok(())
}

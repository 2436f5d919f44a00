//! What is stored: token records, the accounts they act for, and how those log in.
use std::sync::Arc;
use std::time::SystemTime;

use crate::scope::ScopeSet;
use crate::token::{Digest, Secret, TokenKind};

/// A stored token. The token's text is not here and cannot be computed from what is.
///
/// For the OAuth kinds `grant` names the user's authorization of the app. A store returns the
/// record as that authorization leaves it: scopes cut to the ones still granted, `revoked_at` set
/// if the authorization was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The record's own number, unique among tokens.
    pub id: u64,
    /// The digest of the whole token text, unique among tokens.
    pub digest: Digest,
    /// What the token is for.
    pub kind: TokenKind,
    /// The user, or service account, it acts as.
    pub user: u64,
    /// The app it was issued to: OAuth kinds only.
    pub app: Option<u64>,
    /// The authorization it came from: OAuth kinds only.
    pub grant: Option<u64>,
    /// The workspace it is confined to: service accounts only.
    pub workspace: Option<u64>,
    /// What it may do.
    pub scopes: ScopeSet,
    /// Its owner's name for it.
    pub description: String,
    /// When it was made.
    pub created_at: SystemTime,
    /// The first instant at which it is dead; none for one that does not expire.
    pub expires_at: Option<SystemTime>,
    /// When it was revoked. A token with any value here is dead.
    pub revoked_at: Option<SystemTime>,
    /// When it was last seen on a request, roughly.
    pub last_used_at: Option<SystemTime>,
    /// The workspaces that the token's app works in, for the OAuth kinds. A store works this out with
    /// the rest of the lineage, and does not keep it.
    pub reach: Option<Arc<[u64]>>,
}

impl TokenRecord {
    /// A personal access token's record: full permissions, no expiry, no description.
    #[must_use]
    pub const fn personal(id: u64, digest: Digest, user: u64, now: SystemTime) -> Self {
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
            reach: None,
        }
    }

    /// A service account's token record: full permissions in one workspace.
    #[must_use]
    pub const fn service(
        id: u64,
        digest: Digest,
        user: u64,
        workspace: u64,
        now: SystemTime,
    ) -> Self {
        let mut record = Self::personal(id, digest, user, now);
        record.kind = TokenKind::Service;
        record.workspace = Some(workspace);
        record
    }

    /// Whether the record has what its kind needs and nothing that another kind has.
    ///
    /// A record that fails this is refused as a credential: a service token without a workspace
    /// would reach all of them, an access token without an expiry would live for ever.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
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

/// Which quota a token has: that of the best plan among its user's workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tier {
    /// The smaller quota.
    #[default]
    Free,
    /// The larger quota.
    Paid,
}

/// What authentication knows of a user or service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's number.
    pub user: u64,
    /// The quota of the user's tokens.
    pub tier: Tier,
    /// Whether the account is switched off; none of its tokens works then.
    pub disabled: bool,
}

impl Account {
    /// An account that is not disabled.
    #[must_use]
    pub const fn new(user: u64, tier: Tier) -> Self {
        Self {
            user,
            tier,
            disabled: false,
        }
    }
}

/// How a person logs in: an e-mail address, unique without regard to case, and a password's hash.
#[derive(Clone, Debug)]
pub struct Login {
    email: String,
    hash: Secret,
}

impl Login {
    /// A login. `hash` is a slow, salted hash in its self-describing text form; nothing here looks
    /// into it.
    #[must_use]
    pub fn new(email: &str, hash: Secret) -> Self {
        Self {
            email: fold_email(email),
            hash,
        }
    }

    /// The address in the form it is compared in.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The password's hash.
    #[must_use]
    pub const fn hash(&self) -> &Secret {
        &self.hash
    }
}

/// The form in which e-mail addresses are compared: trimmed, in lower case.
#[must_use]
pub fn fold_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// The fewest and the most bytes of a password.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=1024;

/// A password that nobody may have: too short, or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLength;

impl std::fmt::Display for PasswordLength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = PASSWORD_BYTES.into_inner();
        write!(f, "a password has {least} to {most} bytes")
    }
}

impl std::error::Error for PasswordLength {}

/// Checks whether somebody may have this password.
///
/// # Errors
/// [`PasswordLength`].
pub const fn check_password(password: &str) -> Result<(), PasswordLength> {
    let length = password.len();
    if length < *PASSWORD_BYTES.start() || length > *PASSWORD_BYTES.end() {
        return Err(PasswordLength);
    }
    Ok(())
}

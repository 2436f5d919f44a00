//! Stored records of tokens, of the accounts for which they act, and of the accounts' logins.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::tokens::scope::ScopeSet;
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

/// Stored token. The token's text is not in it and cannot be computed from it.
///
/// For the OAuth kinds `grant` names the user's authorization of the app. A store returns the record
/// as that authorization leaves it: scopes cut to the ones still granted, `revoked_at` set if the
/// authorization was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The record's own id, unique among tokens.
    pub id: u64,
    /// The digest of the whole token text, unique among tokens.
    pub digest: SecretDigest,
    /// The kind of the token.
    pub kind: TokenKind,
    /// The user, or service account, as whom it acts.
    pub user: u64,
    /// The app to which it was issued: OAuth kinds only.
    pub app: Option<u64>,
    /// The authorization from which it came: OAuth kinds only.
    pub grant: Option<u64>,
    /// The only workspace that it reaches: service accounts only.
    pub workspace: Option<u64>,
    /// The permissions of the token.
    pub scopes: ScopeSet,
    /// The description that its owner gave it.
    pub description: String,
    /// The time at which it was made.
    pub created_at: SystemTime,
    /// The first instant at which it is expired; `None` for one that does not expire.
    pub expires_at: Option<SystemTime>,
    /// The time at which it was revoked. A token with any value here is dead.
    pub revoked_at: Option<SystemTime>,
    /// The time of its last use on a request; stored roughly, not for every request.
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

    /// Returns true if the record has all that its kind needs and nothing that only another kind has.
    ///
    /// A record that fails this is refused as a credential: a service token without a workspace would
    /// reach all of them, an access token without an expiry would live for ever.
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

/// Plan of an account, by which a service chooses the limits of its tokens: a number whose meaning is the service's, such as 0
/// for free and 1 for paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tier(u8);

impl Tier {
    /// Plan 0, that of an account for which nothing was said.
    pub const DEFAULT: Self = Self(0);

    /// Makes the plan with this number.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the number, as stores keep it.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Account of a user or service account, as far as authentication needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's gid.
    pub user: u64,
    /// The plan.
    pub tier: Tier,
    /// True if the account is switched off; none of its tokens works then.
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
    /// not read it.
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
}

/// Returns an e-mail address in the form in which addresses are compared: trimmed, in lower case.
#[must_use]
pub fn normalize_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Fewest and most bytes of a password.
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
/// [`PasswordLength`].
pub const fn check_password(password: &str) -> Result<(), PasswordLength> {
    let length = password.len();
    if length < *PASSWORD_BYTES.start() || length > *PASSWORD_BYTES.end() {
        return Err(PasswordLength);
    }
    Ok(())
}

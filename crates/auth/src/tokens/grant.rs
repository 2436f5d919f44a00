//! Grants: the rights of one request, derived from a stored token at one instant.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Tier, TokenRecord};
use crate::tokens::token_text::TokenKind;

/// Rights of one request, and the user that it acts as. It is valid for this request only: the next
/// one checks the token again, so that a revocation takes effect immediately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The token's id, for `last_used_at`.
    pub token: u64,
    /// The user that the request acts as.
    pub user: u64,
    /// The app of the request, if the token belongs to one.
    pub app: Option<u64>,
    /// The only workspace that the request may access, for a service account.
    pub workspace: Option<u64>,
    /// The scopes of the request.
    pub scopes: ScopeSet,
    /// The token's kind, from its record.
    pub kind: TokenKind,
    /// The key under which the token's limits are counted: one per token.
    pub limit_key: [u8; 16],
    /// The plan of the user.
    pub tier: Tier,
    /// The only workspaces that the request may access, if the token belongs to an app: those where the app
    /// works.
    pub allowed_workspaces: Option<Arc<[u64]>>,
}

impl Grant {
    /// Checks that the request has a scope.
    ///
    /// # Errors
    /// Fails with [`MissingScope`] if the token lacks it: a 403.
    pub fn require(&self, scope: &str) -> Result<(), MissingScope> {
        if self.scopes.allows(scope) {
            return Ok(());
        }
        Err(MissingScope(scope.to_owned()))
    }
}

/// Scope that a token lacks. The answer is a 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingScope(String);

impl MissingScope {
    /// Returns the missing scope.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.0
    }

    /// Returns the value of `WWW-Authenticate` (RFC 6750 section 3.1).
    #[must_use]
    pub fn challenge(&self) -> String {
        let plain = |c: &char| !matches!(c, '"' | '\\') && c.is_ascii_graphic();
        let scope: String = self.0.chars().filter(plain).collect();
        format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"")
    }
}

impl fmt::Display for MissingScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the token lacks the scope {}", self.0)
    }
}

impl std::error::Error for MissingScope {}

/// Reason why a token is refused. Each is a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRefusal {
    /// No such token, or its record is not consistent.
    Unknown,
    /// The token has expired; the client may get another with a refresh token.
    Expired,
    /// The token is revoked.
    Revoked,
    /// The token's account is disabled.
    Disabled,
    /// The token is a refresh token, which is not a bearer token.
    NotBearer,
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the bearer token is unknown"),
            Self::Expired => f.write_str(
                "the bearer token has expired; a refresh token may be used to get another",
            ),
            Self::Revoked => f.write_str("the bearer token was revoked"),
            Self::Disabled => f.write_str("the account of the bearer token is disabled"),
            Self::NotBearer => f.write_str("a refresh token is not a bearer token"),
        }
    }
}

impl std::error::Error for TokenRefusal {}

impl TokenRefusal {
    /// Returns the error code for `WWW-Authenticate` (RFC 6750 section 3.1).
    #[must_use]
    pub const fn code(self) -> &'static str {
        "invalid_token"
    }
}

/// Checks that a stored token is valid for a request at `now`, and returns its grant.
///
/// # Errors
/// Returns the first reason that applies, in this order: not a bearer token, unknown, revoked, disabled,
/// expired.
pub fn check_token(
    record: &TokenRecord,
    account: &Account,
    now: SystemTime,
) -> Result<Grant, TokenRefusal> {
    if record.kind == TokenKind::Refresh {
        return Err(TokenRefusal::NotBearer);
    }
    is_alive(record, account, now)?;
    Ok(Grant {
        token: record.id,
        user: record.user,
        app: record.app,
        workspace: record.workspace,
        scopes: record.scopes,
        kind: record.kind,
        limit_key: record.digest.key(),
        tier: account.tier,
        allowed_workspaces: record.allowed_workspaces.clone(),
    })
}

/// Returns true if a token of any kind is alive at `now`. It is dead *at* its expiry, not after it.
pub(crate) fn is_alive(
    record: &TokenRecord,
    account: &Account,
    now: SystemTime,
) -> Result<(), TokenRefusal> {
    if record.user != account.user || !record.is_consistent() {
        return Err(TokenRefusal::Unknown);
    }
    if record.revoked_at.is_some() {
        return Err(TokenRefusal::Revoked);
    }
    if account.disabled {
        return Err(TokenRefusal::Disabled);
    }
    match record.expires_at {
        Some(end) if now >= end => Err(TokenRefusal::Expired),
        _ => Ok(()),
    }
}

//! Grants: what one request may do, decided from a stored token at one instant.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::record::{Account, Tier, TokenRecord};
use crate::scope::ScopeSet;
use crate::token::TokenKind;

/// What a request may do, and as whom. Valid for this request only: the next one asks again, so
/// that a revocation counts at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The token's record number, for `last_used_at`.
    pub token: u64,
    /// The user the request acts as.
    pub user: u64,
    /// The app it comes from, if the token is an app's.
    pub app: Option<u64>,
    /// The only workspace it reaches, for a service account.
    pub workspace: Option<u64>,
    /// The scopes it has.
    pub scopes: ScopeSet,
    /// The token's kind, from its record.
    pub kind: TokenKind,
    /// The key its limits are counted under: one per token.
    pub key: [u8; 16],
    /// Its quota.
    pub tier: Tier,
    /// The only workspaces it reaches, if the token is an app's: where the app works.
    pub reach: Option<Arc<[u64]>>,
}

/// Why a token is refused. Each is a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such token, or its record does not hold together.
    Unknown,
    /// It has expired; a refresh token may be used to get another.
    Expired,
    /// It was revoked.
    Revoked,
    /// The account it acts as is disabled.
    Disabled,
    /// It is a refresh token, which is not a bearer token.
    NotBearer,
}

impl Refusal {
    /// The error code for `WWW-Authenticate` (RFC 6750 section 3.1).
    #[must_use]
    pub const fn code(self) -> &'static str {
        "invalid_token"
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the bearer token is unknown",
            Self::Expired => {
                "the bearer token has expired; a refresh token may be used to get another"
            }
            Self::Revoked => "the bearer token was revoked",
            Self::Disabled => "the account of the bearer token is disabled",
            Self::NotBearer => "a refresh token is not a bearer token",
        })
    }
}

impl std::error::Error for Refusal {}

/// Decides whether a stored token is good for a request at `now`.
///
/// # Errors
/// The first reason that applies, in the order: not a bearer token, unknown, revoked, disabled,
/// expired.
pub fn check(record: &TokenRecord, account: &Account, now: SystemTime) -> Result<Grant, Refusal> {
    if record.kind == TokenKind::Refresh {
        return Err(Refusal::NotBearer);
    }
    alive(record, account, now)?;
    Ok(Grant {
        token: record.id,
        user: record.user,
        app: record.app,
        workspace: record.workspace,
        scopes: record.scopes,
        kind: record.kind,
        key: record.digest.key(),
        tier: account.tier,
        reach: record.reach.clone(),
    })
}

/// Whether a token of any kind is alive at `now`. It is dead *at* its expiry, not after it.
pub(crate) fn alive(
    record: &TokenRecord,
    account: &Account,
    now: SystemTime,
) -> Result<(), Refusal> {
    if record.user != account.user || !record.is_sound() {
        return Err(Refusal::Unknown);
    }
    if record.revoked_at.is_some() {
        return Err(Refusal::Revoked);
    }
    if account.disabled {
        return Err(Refusal::Disabled);
    }
    match record.expires_at {
        Some(end) if now >= end => Err(Refusal::Expired),
        _ => Ok(()),
    }
}

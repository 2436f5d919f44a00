//! Authorization codes: made when a user allows an app, redeemed once, within a minute.
use std::time::{Duration, SystemTime};

use crate::authorize::AuthorizationRequest;
use crate::pkce::Challenge;
use crate::record::TokenRecord;
use crate::scope::ScopeSet;
use crate::token::{Digest, Secret, TokenKind, mint_text};

/// How long a code may be redeemed.
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// How long after a code was redeemed a request that shows its verifier again is taken for the first
/// one, sent again because its answer was lost. After that it is a replay like any other.
pub const REPEAT_GRACE: Duration = Duration::from_secs(10);

/// The first characters of a code.
const CODE_PREFIX: &str = "wgc_";

/// A stored code, with everything that its redemption is held to (RFC 6749 section 4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The digest of its text.
    pub digest: Digest,
    /// The app it was issued to.
    pub app: u64,
    /// The user who allowed it.
    pub user: u64,
    /// The authorization it stands for. The store fills this in when it keeps the code.
    pub grant: u64,
    /// The redirect URL of the request, to be repeated.
    pub redirect: String,
    /// The challenge whose verifier is to be shown, if the request had one.
    pub challenge: Option<Challenge>,
    /// The scopes the user agreed to.
    pub scopes: ScopeSet,
    /// The nonce for the id_token.
    pub nonce: Option<String>,
    /// When the user signed in.
    pub auth_time: SystemTime,
    /// When it was made.
    pub created_at: SystemTime,
    /// The first instant at which it is dead.
    pub expires_at: SystemTime,
    /// When it was spent, in whatever way.
    pub used_at: Option<SystemTime>,
    /// The refresh token it was redeemed for: everything that came from the code hangs on it.
    pub refresh: Option<u64>,
}

/// What is to be done about an attempt at redeeming a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Spend it and issue tokens.
    Issue,
    /// It is the app's own, but something it is bound to differs: spend it and issue nothing.
    Burn,
    /// It was spent before: whatever came from it must die (RFC 6749 section 4.1.2).
    Replay,
    /// It is another app's or expired, or it is a repeat, as
    /// [`may_be_repeated`](Code::may_be_repeated) says: nothing happens to it.
    Refuse,
}

impl Code {
    /// Makes a code for a request that `user`, who signed in at `auth_time`, has allowed.
    #[must_use]
    pub fn mint(
        request: &AuthorizationRequest,
        user: u64,
        auth_time: SystemTime,
        random: &[u8; 32],
        now: SystemTime,
    ) -> (Secret, Self) {
        let (secret, digest) = mint_text(CODE_PREFIX, random);
        let code = Self {
            digest,
            app: request.app(),
            user,
            grant: 0,
            redirect: request.redirect().as_str().to_owned(),
            challenge: request.challenge(),
            scopes: request.scopes(),
            nonce: request.nonce().map(str::to_owned),
            auth_time,
            created_at: now,
            expires_at: now.checked_add(CODE_LIFETIME).unwrap_or(now),
            used_at: None,
            refresh: None,
        };
        (secret, code)
    }

    /// Judges an attempt at redemption by an app that has proved who it is.
    ///
    /// A verifier where no challenge was sent is as wrong as a missing one: it shows that the
    /// request was tampered with on its way (RFC 9700 section 4.8.2).
    #[must_use]
    pub fn judge(
        &self,
        app: u64,
        redirect: &str,
        verifier: Option<&str>,
        now: SystemTime,
    ) -> Verdict {
        if self.app != app {
            return Verdict::Refuse;
        }
        let proved = match (self.challenge, verifier) {
            (None, None) => true,
            (Some(challenge), Some(verifier)) => challenge.is_met_by(verifier),
            _ => false,
        };
        if self.used_at.is_some() {
            return if proved && self.may_be_repeated(now) {
                Verdict::Refuse
            } else {
                Verdict::Replay
            };
        }
        if now >= self.expires_at {
            return Verdict::Refuse;
        }
        if proved && self.redirect == redirect {
            Verdict::Issue
        } else {
            Verdict::Burn
        }
    }

    /// Returns whether an attempt at `now` that shows the verifier counts as the redemption that was
    /// there, sent again: soon after it, and of a code with a challenge. Without one, a repeat cannot
    /// be told from the use of a stolen code.
    #[must_use]
    pub fn may_be_repeated(&self, now: SystemTime) -> bool {
        let since = |used| now.duration_since(used).unwrap_or_default();
        self.challenge.is_some() && self.used_at.is_some_and(|used| since(used) < REPEAT_GRACE)
    }

    /// The record of a token of one of the OAuth kinds that this code is redeemed for.
    #[must_use]
    pub fn token(
        &self,
        kind: TokenKind,
        id: u64,
        digest: Digest,
        expires_at: Option<SystemTime>,
        now: SystemTime,
    ) -> TokenRecord {
        TokenRecord {
            kind,
            app: Some(self.app),
            grant: Some(self.grant),
            scopes: self.scopes,
            expires_at,
            ..TokenRecord::personal(id, digest, self.user, now)
        }
    }
}

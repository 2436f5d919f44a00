//! Authorization codes: created when a user allows an app, redeemed once, within a minute or the time set by the policy.
use std::time::{Duration, SystemTime};

use crate::authorization::authorization_request::AuthorizationRequest;
use crate::authorization::pkce::CodeChallenge;
use crate::refusal_reason::AuthRefusal;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::TokenRecord;
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind, mint_secret_text};

/// Time after the redemption of a code in which another request with its verifier counts as a retry, since the answer to the
/// first request may be lost. Later it is a replay like any other.
pub const REPEAT_GRACE: Duration = Duration::from_secs(10);

const CODE_PREFIX: &str = "wgc_";

/// Stored code, with the data for checking its redemption (RFC 6749 section 4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationCode {
    /// The digest of its text.
    pub digest: SecretDigest,
    /// The app that it was issued to.
    pub app: u64,
    /// The user who allowed the app.
    pub user: u64,
    /// The id of its authorization. The store fills this in when it stores the code.
    pub grant: u64,
    /// The redirect URL of the request; the redemption must repeat it.
    pub redirect: String,
    /// The challenge of the request, if any; the redemption must include its verifier.
    pub challenge: Option<CodeChallenge>,
    /// The scopes that the user agreed to.
    pub scopes: ScopeSet,
    /// The nonce for the id_token.
    pub nonce: Option<String>,
    /// The time at which the user signed in.
    pub auth_time: SystemTime,
    /// The time at which the code was issued.
    pub created_at: SystemTime,
    /// The time at which the code expires.
    pub expires_at: SystemTime,
    /// The time at which the code was spent, with or without tokens.
    pub used_at: Option<SystemTime>,
    /// The refresh token that the code was redeemed for; all tokens issued for the code depend on it.
    pub refresh: Option<u64>,
}

/// Result of checking an attempt to redeem a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeCheck {
    /// The code should be spent, and tokens are issued.
    Issue,
    /// The code belongs to the app, but the request differs in something that the code is bound to: the
    /// code should be spent, and nothing is issued.
    SpendOnly(AuthRefusal),
    /// The code was already spent: all tokens issued for it must be revoked (RFC 6749 section
    /// 4.1.2).
    Replay(AuthRefusal),
    /// The code belongs to another app or has expired, or this is a retry according to
    /// [`may_be_repeated`](AuthorizationCode::may_be_repeated): nothing is changed.
    Refuse(AuthRefusal),
}

impl AuthorizationCode {
    /// Makes a code for a request allowed by `user`, who signed in at `auth_time`.
    #[must_use]
    pub fn mint(
        request: &AuthorizationRequest,
        user: u64,
        auth_time: SystemTime,
        random: &[u8; 32],
        now: SystemTime,
    ) -> (Secret, Self) {
        let (secret, digest) = mint_secret_text(CODE_PREFIX, random);
        let code = Self {
            digest,
            app: request.app_id(),
            user,
            grant: 0,
            redirect: request.redirect().as_str().to_owned(),
            challenge: request.challenge(),
            scopes: request.scopes(),
            nonce: request.nonce().map(str::to_owned),
            auth_time,
            created_at: now,
            expires_at: now.checked_add(request.code_lifetime()).unwrap_or(now),
            used_at: None,
            refresh: None,
        };
        (secret, code)
    }

    /// Checks an attempt at redemption by an authenticated app.
    ///
    /// A verifier without a challenge is as wrong as a missing one: it shows that the request was
    /// tampered with in transit (RFC 9700 section 4.8.2).
    #[must_use]
    pub fn check_redemption(
        &self,
        app: u64,
        redirect: &str,
        verifier: Option<&str>,
        now: SystemTime,
    ) -> CodeCheck {
        if self.app != app {
            return CodeCheck::Refuse(AuthRefusal::CodeOfOtherClient);
        }
        let unproved = match (self.challenge, verifier) {
            (None, None) => None,
            (Some(challenge), Some(verifier)) if challenge.is_met_by(verifier) => None,
            (Some(_), Some(_)) => Some(AuthRefusal::CodeVerifierWrong),
            (Some(_), None) => Some(AuthRefusal::CodeVerifierMissing),
            (None, Some(_)) => Some(AuthRefusal::CodeVerifierUnexpected),
        };
        if self.used_at.is_some() {
            return if unproved.is_none() && self.may_be_repeated(now) {
                CodeCheck::Refuse(AuthRefusal::CodeRepeated)
            } else {
                CodeCheck::Replay(AuthRefusal::CodeReplayed)
            };
        }
        if now >= self.expires_at {
            return CodeCheck::Refuse(AuthRefusal::CodeExpired);
        }
        match unproved {
            Some(refusal) => CodeCheck::SpendOnly(refusal),
            None if self.redirect != redirect => {
                CodeCheck::SpendOnly(AuthRefusal::RedirectUriMismatch)
            }
            None => CodeCheck::Issue,
        }
    }

    /// Returns true if an attempt at `now` that includes the verifier counts as a retry of the earlier
    /// redemption: it follows soon after, and the code has a challenge. Without a challenge, a
    /// retry looks like the use of a stolen code.
    #[must_use]
    pub fn may_be_repeated(&self, now: SystemTime) -> bool {
        let since = |used| now.duration_since(used).unwrap_or_default();
        self.challenge.is_some() && self.used_at.is_some_and(|used| since(used) < REPEAT_GRACE)
    }

    /// Returns the record of an access or refresh token for which this code is redeemed.
    #[must_use]
    pub fn token(
        &self,
        kind: TokenKind,
        id: u64,
        digest: SecretDigest,
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

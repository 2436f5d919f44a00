//! Outcome of a decision, with the writes and the acts that follow from it.
use std::time::SystemTime;

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::BrowserSession;
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::Authorization;
use crate::ports::token_store::AuthStoreError;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Login, Tier, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest};

/// Decision, or the error that refuses it: then nothing is written.
pub type AuthDecisionResult<T> = Result<AuthDecision<T>, AuthStoreError>;

/// Outcome of a decision, with the writes and the acts that follow from it.
#[derive(Clone, Debug)]
#[must_use]
pub struct AuthDecision<T> {
    /// The result for the caller.
    pub outcome: T,
    /// The writes in order, all for one transaction. If an id, a digest or an e-mail address is taken, the decision is a
    /// [conflict](AuthStoreError::Conflict), and nothing is written.
    pub writes: Vec<AuthWrite>,
    /// The acts for the audit log, in their order.
    pub acts: Vec<AuditedAct>,
}

/// Write of one record, or of all records of a user.
#[derive(Clone, Debug)]
pub enum AuthWrite {
    /// Stores a new app.
    InsertApp(App),
    /// Replaces the stored app that has the same id.
    ReplaceApp(App),
    /// Stores a new account, or replaces the one of the same user.
    PutAccount(Account),
    /// Sets the tier of a user's account; a user without one gets an enabled account of this tier.
    SetTier(u64, Tier),
    /// Stores the login of a user, or replaces it.
    PutLogin(u64, Login),
    /// Replaces the hash in the login of a user.
    PutPasswordHash(u64, Secret),
    /// Stores the ticket of a consent form, which is accepted once.
    InsertTicket(SecretDigest, SystemTime),
    /// Stores a new authorization.
    InsertAuthorization(Authorization),
    /// Replaces the scopes of an authorization.
    SetScopes(u64, ScopeSet),
    /// Withdraws an authorization.
    WithdrawAuthorization {
        /// The id of the authorization.
        id: u64,
        /// The user who gave the authorization.
        user: u64,
        /// The time of the withdrawal.
        at: SystemTime,
    },
    /// Stores a new code.
    InsertCode(AuthorizationCode),
    /// Marks a code as redeemed.
    SpendCode {
        /// The digest of the code.
        code: SecretDigest,
        /// The time of the redemption.
        at: SystemTime,
        /// The id of the refresh token for which it was redeemed, if any.
        refresh: Option<u64>,
    },
    /// Stores a new token.
    InsertToken {
        /// The record of the token.
        token: TokenRecord,
        /// The id of the refresh token on which it depends: its own for a refresh token. `None` if it is independent.
        refresh: Option<u64>,
    },
    /// Revokes a token, if it is not revoked yet.
    RevokeToken {
        /// The id of the token.
        id: u64,
        /// The user of the token.
        user: u64,
        /// The time of the revocation.
        at: SystemTime,
    },
    /// Revokes the tokens of a user that are not revoked yet.
    RevokeTokensOf(u64, SystemTime),
    /// Withdraws all live authorizations of a user.
    WithdrawAuthorizationsOf(u64, SystemTime),
    /// Stores a new session.
    InsertSession(BrowserSession),
    /// Deletes a session.
    DeleteSession(SecretDigest),
    /// Deletes the sessions of a user, except the one with this digest.
    DeleteSessionsOf(u64, Option<SecretDigest>),
    /// Deletes the webhooks of a user and an app, unless the app still has access to the user: a live refresh token under a live
    /// authorization. Stores without webhooks ignore it.
    DeleteOrphanedWebhooks {
        /// The user who receives the events.
        user: u64,
        /// The app that made the webhooks.
        app: u64,
    },
    /// Deletes all webhooks of a user. Stores without webhooks ignore it.
    DeleteWebhooksOf(u64),
}

impl AuthWrite {
    /// Returns true if the write may change the result of a token look-up, so that earlier results are outdated. A new token
    /// of an app changes no earlier result, since nobody has looked it up before.
    #[must_use]
    pub const fn changes_found_tokens(&self) -> bool {
        match self {
            Self::InsertApp(_)
            | Self::ReplaceApp(_)
            | Self::PutAccount(_)
            | Self::SetTier(..)
            | Self::InsertAuthorization(_)
            | Self::SetScopes(..)
            | Self::WithdrawAuthorization { .. }
            | Self::RevokeToken { .. }
            | Self::RevokeTokensOf(..)
            | Self::WithdrawAuthorizationsOf(..) => true,
            Self::InsertToken { refresh, .. } => refresh.is_none(),
            Self::PutLogin(..)
            | Self::PutPasswordHash(..)
            | Self::InsertTicket(..)
            | Self::InsertCode(_)
            | Self::SpendCode { .. }
            | Self::InsertSession(_)
            | Self::DeleteSession(_)
            | Self::DeleteSessionsOf(..)
            | Self::DeleteOrphanedWebhooks { .. }
            | Self::DeleteWebhooksOf(_) => false,
        }
    }
}

/// Act that the audit log records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditedAct {
    /// A user allowed an app, or changed its scopes.
    AppAuthorized {
        /// The user who allowed the app.
        user: u64,
        /// The name of the app.
        app: String,
    },
    /// An authorization of an app ended.
    AppDeauthorized {
        /// The user whose authorization ended.
        user: u64,
        /// The name of the app, if it still exists.
        app: Option<String>,
    },
    /// A personal access token or the token of a service account was created.
    TokenCreated {
        /// The user that the token acts as.
        user: u64,
        /// The description of the token.
        description: String,
    },
    /// A personal access token or the token of a service account was revoked.
    TokenRevoked {
        /// The user that the token acts as.
        user: u64,
        /// The description of the token.
        description: String,
    },
    /// A user signed in.
    SignedIn(u64),
    /// A sign-in as a user failed.
    SignInFailed(u64),
    /// A session of a user ended.
    SignedOut(u64),
    /// The password of a user changed.
    PasswordChanged(u64),
    /// An account was disabled.
    AccountDisabled(u64),
    /// An account was enabled again.
    AccountEnabled(u64),
    /// The use of an app in a workspace changed.
    AppUseChanged {
        /// The workspace in which the use changed.
        workspace: u64,
        /// The name of the app.
        app: String,
        /// The use before: `removed`, `disabled` or `enabled`.
        before: &'static str,
        /// The use after the act.
        after: &'static str,
    },
}

impl<T> AuthDecision<T> {
    /// Returns a decision that writes nothing.
    pub const fn new(outcome: T) -> Self {
        Self {
            outcome,
            writes: Vec::new(),
            acts: Vec::new(),
        }
    }

    pub(super) fn write(mut self, write: AuthWrite) -> Self {
        self.writes.push(write);
        self
    }

    pub(super) fn act(mut self, act: impl Into<Option<AuditedAct>>) -> Self {
        self.acts.extend(act.into());
        self
    }

    /// Adds the writes and acts of another decision.
    pub(super) fn and(mut self, other: AuthDecision<()>) -> Self {
        self.writes.extend(other.writes);
        self.acts.extend(other.acts);
        self
    }
}

/// Returns true if a user has an account that is enabled.
pub(super) fn is_enabled(account: Option<&Account>) -> bool {
    account.is_some_and(|account| !account.disabled)
}

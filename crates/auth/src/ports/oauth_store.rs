//! Port of the store of apps, authorizations, codes and sessions.
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::BrowserSession;
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::Authorization;
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::token_record::{Account, Login, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest};

/// Consent of a user to an app on a form, to be stored in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentRecord {
    /// The id of the consent form's ticket; it is accepted once.
    pub ticket: SecretDigest,
    /// The time of the consent.
    pub time: SystemTime,
    /// The authorization; its id is used if there is no live one for this user and app.
    pub authorization: Authorization,
    /// The authorization code, if the request asked for one.
    pub code: Option<AuthorizationCode>,
}

/// Tokens issued for a redeemed code.
#[derive(Clone, Debug)]
pub struct IssuedTokens {
    /// The access token.
    pub access: TokenRecord,
    /// The refresh token, on which the access token depends.
    pub refresh: TokenRecord,
}

/// Change of a password by its owner.
#[derive(Clone, Debug)]
pub struct PasswordChange {
    /// The owner of the password.
    pub user: u64,
    /// The hash of the current password, which the owner has entered.
    pub before: Secret,
    /// The new hash.
    pub after: Secret,
    /// The session that stays open; all others end.
    pub keep_session: Option<SecretDigest>,
    /// The time at which all tokens of the user are revoked as well; `None` keeps them.
    pub revoke_tokens_at: Option<SystemTime>,
}

/// Outcome of an attempt to redeem a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedemptionOutcome {
    /// This call spent the code, and the tokens are stored. The value is the effective record of the access token.
    Issued(Box<TokenRecord>),
    /// This call spent the code and nothing was issued: no tokens were passed, or the authorization, the app or the
    /// account is no longer valid.
    Spent,
    /// The code was already spent. All tokens issued for it are dead now, unless the call was a retry by the
    /// client that spent the code: see [`OAuthStore::redeem`].
    Replayed,
    /// There is no such code.
    Unknown,
}

/// Store of apps, authorizations, codes and sessions, in addition to the tokens. Every method is one trip. A method that
/// makes a decision makes it in the transaction that writes the result, so that of any number of concurrent calls only
/// one wins.
///
/// [`TokenStore::find_token`] and [`TokenStore::list`] of an OAuth store return the effective records of issued tokens. With
/// each issued token, the store keeps the id of the refresh token that it depends on: for an access token, the refresh token
/// that was issued together with it or exchanged for it; for a refresh token, the token itself. An inserted token has no
/// such id. The store reads an issued token with its authorization, its app and that refresh token, and passes all of them
/// to [`effective_record`](crate::authorization::user_authorization::effective_record).
/// [`TokenStore::revoke`] of a refresh token is therefore one write to one row. Every method that changes an app, an
/// authorization or a token must remove the affected tokens from any token cache.
///
/// [`conformance::OAUTH_CASES`](crate::conformance::OAUTH_CASES) contains the requirements of each method as code.
#[async_trait]
pub trait OAuthStore: TokenStore {
    /// Creates an app if `was` is `None`, otherwise replaces it. `Conflict` if the stored app is not `was`: another call has
    /// changed it, and this one must not undo that, for example bring back a secret that was reset.
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError>;

    /// Returns an app, even if it is disabled.
    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError>;

    /// Returns the apps of an owner, or all apps, in order of id.
    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, AuthStoreError>;

    /// Stores a user's consent, and returns the live authorization: the existing one with its scopes replaced, or the
    /// new one. `Conflict` if the ticket, a new id or the code is taken, or the app unknown or disabled; `NoAccount`
    /// if the user is unknown or disabled. On an error nothing is changed, and no code is stored.
    async fn keep_consent(&self, allow: ConsentRecord) -> Result<Authorization, AuthStoreError>;

    /// Stores a code of a silent request under the live authorization of its user and app, which is returned unchanged: only
    /// the code has the scopes of its request. `Conflict` if no live authorization covers those scopes, if the code is taken,
    /// or the app unknown or disabled; `NoAccount` if the user is unknown or
    /// disabled. On an error nothing is changed.
    async fn keep_code(&self, code: AuthorizationCode) -> Result<Authorization, AuthStoreError>;

    /// Returns the live authorization of an app by a user.
    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, AuthStoreError>;

    /// Returns the live authorizations of a user, in order of id.
    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, AuthStoreError>;

    /// Withdraws an authorization of this user; `true` if this call did it. Its codes and tokens stop
    /// working.
    async fn deauthorize(
        &self,
        id: u64,
        user: u64,
        now: SystemTime,
    ) -> Result<bool, AuthStoreError>;

    /// Returns a code, even if it is spent.
    async fn code(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<AuthorizationCode>, AuthStoreError>;

    /// Spends a code, and stores the tokens for which it is redeemed, if any. Of any number of calls for one code,
    /// one spends it; each of the others is a replay, and revokes the refresh token for which the code was redeemed.
    /// Only pass tokens for a request that [`check_redemption`](AuthorizationCode::check_redemption) has accepted: if
    /// the code has a challenge, the request contained the verifier. If the request comes again while the code [may be
    /// repeated](AuthorizationCode::may_be_repeated), it is a retry by the client that spent the code; it gets nothing
    /// and revokes nothing. `Conflict` if an id or digest is taken: then nothing is changed.
    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Result<RedemptionOutcome, AuthStoreError>;

    /// Stores an access token issued for the refresh token with this id, if that is live at `now` and has the same user,
    /// app and grant; returns its effective record, or `None` if nothing was stored. `Conflict` if its id or
    /// digest is taken. The refresh token is not rotated: it stays live, and using it again is not a replay.
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError>;

    /// Returns the login of a user; `None` if the user has none.
    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError>;

    /// Replaces the hash of a user's login if it is still `before`, and ends the sessions of the user except the one
    /// to keep. Returns `false` and changes nothing if the hash differs.
    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError>;

    /// Stores a new session. `NoAccount` if its user is unknown or disabled, or if a hash is given that differs from that
    /// of the user's login: the password that was checked against it is no longer valid. `Conflict` if its digest
    /// is taken.
    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> Result<(), AuthStoreError>;

    /// Returns a session, expired or not, and the account of its user.
    async fn session(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(BrowserSession, Account)>, AuthStoreError>;

    /// Returns the sessions of a user, expired or not, in order of creation.
    async fn sessions(&self, user: u64) -> Result<Vec<BrowserSession>, AuthStoreError>;

    /// Updates the time and address of a session's last use. The time never moves back; a session that does not exist
    /// is ignored.
    async fn touch_session(
        &self,
        digest: &SecretDigest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), AuthStoreError>;

    /// Removes a session, if it exists.
    async fn end_session(&self, digest: &SecretDigest) -> Result<(), AuthStoreError>;

    /// Removes all sessions of a user but one, and returns their number.
    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError>;

    /// Counts a login attempt according to
    /// [`LoginAttempts::attempt`](crate::authorization::browser_session::LoginAttempts::attempt); `Some` is the
    /// wait after a refused attempt.
    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError>;

    /// Removes the attempts under a key, after a successful login.
    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError>;

    /// Deletes rows that ended before `before`: expired access tokens, sessions and codes, used
    /// tickets, login attempts that no longer count. Pass a time at least a day ago, so that a late replay of a
    /// code is still recognised. Returns the number of deleted rows.
    async fn delete_expired(&self, before: SystemTime) -> Result<u64, AuthStoreError>;
}

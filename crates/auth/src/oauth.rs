//! The port through which apps, authorizations, codes and sessions are kept.
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::authorization::Authorization;
use crate::client::App;
use crate::code::Code;
use crate::record::{Account, Login, TokenRecord};
use crate::session::Session;
use crate::store::{StoreError, TokenStore};
use crate::token::{Digest, Secret};

/// A user's yes to an app on a form that asked, to be kept in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The id of the consent form's ticket: taken once.
    pub ticket: Digest,
    /// When the user said yes.
    pub at: SystemTime,
    /// The authorization; its id counts if there is no live one for this user and app.
    pub authorization: Authorization,
    /// The code, unless the request asked for none.
    pub code: Option<Code>,
}

/// The tokens that a code is redeemed for.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The access token.
    pub access: TokenRecord,
    /// The refresh token, on which the access token hangs.
    pub refresh: TokenRecord,
}

/// A change of a password by its owner.
#[derive(Clone, Debug)]
pub struct PasswordChange {
    /// The user.
    pub user: u64,
    /// The hash that the owner has shown the password of.
    pub before: Secret,
    /// The hash in its place.
    pub after: Secret,
    /// The session that goes on.
    pub keep: Option<Digest>,
    /// Revokes all tokens of the user, too, at this instant.
    pub revoke: Option<SystemTime>,
}

/// What became of a redemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// This call spent the code, and the tokens are kept; the access token as its lineage leaves it.
    Issued(Box<TokenRecord>),
    /// This call spent the code and nothing was issued: none were given, or the authorization, the
    /// app or the account no longer stands.
    Spent,
    /// The code was spent before. Everything that came from it is dead now, unless the call showed
    /// that it came from whoever spent it: see [`OAuthStore::redeem`].
    Replayed,
    /// There is no such code.
    Unknown,
}

/// Apps, authorizations, codes and sessions, kept beside the tokens. Every method is one trip; each
/// that decides something decides it in the transaction that writes it, so that of any number of
/// calls at once only one wins.
///
/// A store of this kind returns the tokens that it issued from [`TokenStore::find`] and
/// [`TokenStore::list`] as their lineage leaves them. Beside each such token it keeps the id of the
/// refresh token it hangs on: for an access token the one it came with or was bought with, for a
/// refresh token its own; none marks a token that was inserted and stands alone. It reads an issued
/// token with its authorization, its app and that refresh token, and hands all to
/// [`as_left`](crate::authorization::as_left). [`TokenStore::revoke`] of a refresh token is therefore
/// one write to one row. A cache of tokens must be emptied, or of those concerned, by every method
/// here that changes an app, an authorization or a token.
///
/// [`conformance::OAUTH_CASES`](crate::conformance::OAUTH_CASES) says in code what each method
/// promises.
#[async_trait]
pub trait OAuthStore: TokenStore {
    /// Creates an app, if `was` is none, or replaces it. `Conflict` if what is kept is not `was`:
    /// somebody else changed it, and for instance a secret that was reset must not come back.
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), StoreError>;

    /// An app, disabled or not.
    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, StoreError>;

    /// The apps of an owner, or all, in order of id.
    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, StoreError>;

    /// Keeps a user's yes, and returns the authorization that stands: the live one with its scopes
    /// replaced, or the new one. `Conflict` if the ticket, a new id or the code is taken, or the
    /// app unknown or disabled; `NoAccount` if the user is unknown or disabled. Then nothing
    /// changed, and no code is kept.
    async fn allow(&self, allow: Allow) -> Result<Authorization, StoreError>;

    /// Keeps a code that nobody was asked for, under the live authorization of its user and app,
    /// which is returned and stays as it is: the code alone carries the scopes of its request.
    /// `Conflict` if none stands that covers those, if the code is taken, or the app unknown or
    /// disabled; `NoAccount` if the user is unknown or disabled. Then nothing changed.
    async fn keep_code(&self, code: Code) -> Result<Authorization, StoreError>;

    /// The live authorization of an app by a user.
    async fn authorization(&self, user: u64, app: u64)
    -> Result<Option<Authorization>, StoreError>;

    /// The live authorizations of a user, in order of id.
    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, StoreError>;

    /// Withdraws an authorization of this user; `true` if this call did it. Its codes and tokens
    /// are dead with it.
    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Result<bool, StoreError>;

    /// A code, spent or not.
    async fn code(&self, digest: &Digest) -> Result<Option<Code>, StoreError>;

    /// Spends a code, and keeps the tokens it is redeemed for, if any. Of any number of calls for
    /// one code, one spends it; each of the others is a replay, and revokes the refresh token that
    /// the code was redeemed for. Give tokens only for a request that
    /// [`judge`](Code::judge) has found good: if the code has a challenge, such a request has shown
    /// its verifier, and one that comes second, while the code
    /// [may be repeated](Code::may_be_repeated), is whoever began, asking again; it gets nothing and
    /// revokes nothing. `Conflict` if an id or digest is taken: then nothing changed.
    async fn redeem(
        &self,
        code: &Digest,
        tokens: Option<Tokens>,
        now: SystemTime,
    ) -> Result<Redeemed, StoreError>;

    /// Keeps an access token bought with the refresh token of this id, if that is alive at `now`
    /// and of the same user, app and grant; returns it as its lineage leaves it, or `None` if
    /// nothing was kept. `Conflict` if its id or digest is taken.
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, StoreError>;

    /// The login of a user.
    async fn login_of(&self, user: u64) -> Result<Option<Login>, StoreError>;

    /// Replaces the hash of a user's login if it is still the one that was shown, and ends the
    /// sessions of the user but the one to keep; `false` if it is not, and nothing changed.
    async fn change_password(&self, change: PasswordChange) -> Result<bool, StoreError>;

    /// Keeps a new session. `NoAccount` if its user is unknown or disabled, or if a hash is given that
    /// is not that of the user's login: the password that was checked against it is none any more.
    /// `Conflict` if its digest is taken.
    async fn start_session(
        &self,
        session: Session,
        hash: Option<&Secret>,
    ) -> Result<(), StoreError>;

    /// A session, over or not, and the account of its user.
    async fn session(&self, digest: &Digest) -> Result<Option<(Session, Account)>, StoreError>;

    /// The sessions of a user, over or not, in the order in which they began.
    async fn sessions(&self, user: u64) -> Result<Vec<Session>, StoreError>;

    /// Notes that a session was used, and from where. The time never moves back; a session that is
    /// gone is passed over.
    async fn touch_session(
        &self,
        digest: &Digest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), StoreError>;

    /// Forgets a session, if there is one.
    async fn end_session(&self, digest: &Digest) -> Result<(), StoreError>;

    /// Forgets all sessions of a user but one, and returns how many those were.
    async fn end_sessions(&self, user: u64, but: Option<Digest>) -> Result<u64, StoreError>;

    /// Counts an attempt at logging in, as [`Strikes::attempt`](crate::session::Strikes::attempt)
    /// says; `Some` is the wait of one that may not go ahead.
    async fn attempt_login(
        &self,
        key: &Digest,
        now: SystemTime,
    ) -> Result<Option<Duration>, StoreError>;

    /// Forgets the attempts under a key: the login succeeded.
    async fn forgive_login(&self, key: &Digest) -> Result<(), StoreError>;

    /// Forgets what was over before `before`: access tokens, sessions and codes that expired,
    /// tickets that were answered, login attempts that no longer count. Give a moment at least a
    /// day back, so that a late replay of a code is still known for one. Returns how many rows
    /// went.
    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError>;
}

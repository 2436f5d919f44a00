//! Port to the store of tokens and of the accounts that they act as.
use std::fmt;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::tokens::token_record::{Account, Login, Tier, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest};

/// Reason why a store did not do a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthStoreError {
    /// The store could not be reached or failed; the text is for the log.
    Unavailable(String),
    /// The store cannot be reached now; nothing was changed.
    Unreachable(String),
    /// The outcome of a change is unknown: it was made completely, or not at all.
    Unknown(String),
    /// An id, digest or e-mail address is taken. Nothing was changed.
    Conflict,
    /// The named account does not exist, or is disabled but must not be. Nothing was changed.
    NoAccount,
}

impl fmt::Display for AuthStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(f, "the token store is unavailable: {reason}"),
            Self::Unreachable(reason) => write!(f, "the token store cannot be reached: {reason}"),
            Self::Unknown(reason) => write!(f, "what became of the change is not known: {reason}"),
            Self::Conflict => f.write_str("an id, digest or e-mail address is taken"),
            Self::NoAccount => f.write_str("no such account, or it is switched off"),
        }
    }
}

impl std::error::Error for AuthStoreError {}

/// Result of a token look-up.
#[derive(Clone, Debug)]
pub struct TokenAtCommit {
    /// The token with the account that it acts as, if there is one.
    pub token: Option<(TokenRecord, Account)>,
    /// Last commit of the graph, if the store read it after the look-up began. Every write that was acknowledged earlier is
    /// in this commit or in one before it.
    pub commit: Option<u64>,
}

/// Store of tokens and accounts. Every method is one trip, and its effect is visible to every later call on
/// every node: results must not come from a cache that a revocation does not reach.
///
/// [`conformance::CASES`](crate::conformance::CASES) contains the requirements of each method as code.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Returns the token with exactly this digest, and the account that it acts as. Dead tokens are returned
    /// too: [`check_token`](crate::tokens::grant::check_token) decides. A store that is an
    /// [`OAuthStore`](crate::OAuthStore) returns the [effective
    /// records](crate::authorization::user_authorization::effective_record) of tokens that it issued.
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError>;

    /// Finds a token as [`find_token`](Self::find_token) does. A store that also holds the graph reads its last commit
    /// in the same trip.
    async fn find_token_at_commit(
        &self,
        digest: &SecretDigest,
    ) -> Result<TokenAtCommit, AuthStoreError> {
        let token = self.find_token(digest).await?;
        let commit = None;
        Ok(TokenAtCommit { token, commit })
    }

    /// Returns a number that changes with any call that changes the results of
    /// [`find_token`](Self::find_token): while it is the same as before a look-up, the result of that
    /// look-up is still valid. The call takes no trip. `None` gives no guarantee.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Stores a new independent token, regardless of its grant: only its own revocation or expiry
    /// ends it. (Tokens of apps come from [`OAuthStore`](crate::OAuthStore) and have a context.) `Conflict`
    /// if its id or digest is taken, `NoAccount` if its user is unknown or disabled.
    async fn insert_token(&self, record: TokenRecord) -> Result<(), AuthStoreError>;

    /// Revokes a token; `true` if this call did it. Of many calls for one token, one returns `true`, and
    /// its `now` is stored. Access tokens that were issued with a refresh token are revoked with it.
    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError>;

    /// Revokes all tokens of a user; in an [`OAuthStore`](crate::OAuthStore) their authorizations are
    /// withdrawn, too, and codes not yet redeemed become useless. Returns the number of tokens and
    /// authorizations that this call ended.
    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError>;

    /// Returns all tokens of a user, live or not, in order of id, each as [`find_token`](Self::find_token)
    /// returns it.
    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError>;

    /// Returns one token of a user by its number, as [`find_token`](Self::find_token) returns it. The default implementation
    /// searches all tokens of the user.
    async fn find_by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, AuthStoreError> {
        let mut all = self.list(user).await?.into_iter();
        Ok(all.find(|record| record.id == id))
    }

    /// Updates the times of the last use of many tokens at once. Times never go back; unknown ids are
    /// ignored.
    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Result<(), AuthStoreError>;

    /// Creates an account, or sets the tier of an existing one; only [`set_disabled`](Self::set_disabled)
    /// disables or enables an existing one. A login replaces the earlier one, and ends the sessions of the user if it
    /// differs; `None` keeps the earlier login. `Conflict` if the login's address belongs to another account.
    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError>;

    /// Changes only the tier of an account; a user without an account gets one that
    /// is enabled.
    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError>;

    /// Disables or enables an account; a user without an account gets one of the free tier. Disabling
    /// also does what [`revoke_all`](Self::revoke_all) does, and ends the sessions of the user; enabling the
    /// account brings none of this back. Tier and login stay.
    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError>;

    /// Returns the account of a user; `None` if the user has none.
    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError>;

    /// Returns the account with this e-mail address, without regard to case, and its password's hash. A
    /// disabled account is found too.
    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError>;
}

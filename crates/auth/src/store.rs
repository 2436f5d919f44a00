//! The port through which tokens and accounts are kept.
use std::fmt;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::record::{Account, Login, Tier, TokenRecord};
use crate::token::{Digest, Secret};

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The store could not be reached or failed; the text is for the log.
    Unavailable(String),
    /// An id, digest or e-mail address is taken. Nothing was changed.
    Conflict,
    /// The account named does not exist, or is switched off where it must not be. Nothing was changed.
    NoAccount,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "the token store is unavailable: {why}"),
            Self::Conflict => f.write_str("an id, digest or e-mail address is taken"),
            Self::NoAccount => f.write_str("no such account, or it is switched off"),
        }
    }
}

impl std::error::Error for StoreError {}

/// Tokens and accounts, kept. Every method is one trip, and its effect is seen by every later call
/// on every node: nothing in here may be served from a cache that a revocation does not reach.
///
/// [`conformance::CASES`](crate::conformance::CASES) says in code what each method promises.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The token with exactly this digest, and the account it acts as. Dead tokens are found too:
    /// [`check`](crate::grant::check) decides. A store that is an [`OAuthStore`](crate::OAuthStore)
    /// returns tokens that it issued [as their lineage leaves
    /// them](crate::authorization::as_left).
    async fn find(&self, digest: &Digest) -> Result<Option<(TokenRecord, Account)>, StoreError>;

    /// A number that is another one once anything returned that changed what
    /// [`find`](Self::find) finds: while it stays as it was before a find, that find is still true.
    /// Asking takes no trip. `None` says nothing.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Keeps a new token, which stands alone, whatever grant it names: nothing but its own
    /// revocation ends it. (Tokens of apps come from [`OAuthStore`](crate::OAuthStore) and have a
    /// lineage.) `Conflict` if its id or digest is taken, `NoAccount` if its user is
    /// unknown or disabled.
    async fn insert(&self, record: TokenRecord) -> Result<(), StoreError>;

    /// Revokes a token; `true` if this call did it. Of many calls for one token, one returns
    /// `true`, and its `now` stays. Access tokens that were issued with a refresh token die with it.
    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, StoreError>;

    /// Revokes all tokens of a user; in an [`OAuthStore`](crate::OAuthStore) their authorizations are
    /// withdrawn, too, and codes that wait are worth nothing. Returns how many tokens and
    /// authorizations this call ended.
    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, StoreError>;

    /// All tokens of a user, dead or alive, in order of id, each as [`find`](Self::find) has it.
    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, StoreError>;

    /// Returns the record of one token of a user by its number, as [`find`](Self::find) has it. Without one of its own a
    /// store looks through all tokens of the user.
    async fn by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, StoreError> {
        let mut all = self.list(user).await?.into_iter();
        Ok(all.find(|record| record.id == id))
    }

    /// Notes when tokens were last used, many at once. Times never move back; unknown ids are
    /// passed over.
    async fn touch(&self, used: &[(u64, SystemTime)]) -> Result<(), StoreError>;

    /// Creates an account, or gives the one there is this tier; only
    /// [`set_disabled`](Self::set_disabled) switches one that is there. A login replaces the earlier
    /// one, and if it is another one, the sessions of the user end; `None` leaves it. `Conflict` if
    /// the login's address is another account's.
    async fn put_account(&self, account: Account, login: Option<Login>) -> Result<(), StoreError>;

    /// Changes the tier of an account and nothing else about it; a user without an account gets
    /// one, which is on.
    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), StoreError>;

    /// Switches an account off or on; a user without an account gets one of the free tier. Switching
    /// off does what [`revoke_all`](Self::revoke_all) does, and ends the sessions of the user: nothing
    /// of it works again once the account is on again. Tier and login stay.
    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), StoreError>;

    /// The account of a user.
    async fn account(&self, user: u64) -> Result<Option<Account>, StoreError>;

    /// The account with this e-mail address, without regard to case, and its password's hash.
    /// A disabled account is found too.
    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, StoreError>;
}

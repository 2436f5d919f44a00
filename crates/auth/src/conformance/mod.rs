//! Requirements of every store: cases that any store can run, and laws that hold over long
//! random runs.
//!
//! Each case takes an empty store. A failure names the violated requirement.
use std::fmt;
mod account_cases;
mod oauth_cases;
pub mod oauth_laws;
mod token_cases;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::ports::oauth_store::OAuthStore;
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::scope::ScopeRegistry;
use crate::tokens::token_record::TokenRecord;
use crate::tokens::token_text::{SecretDigest, TokenKind, mint_token};

/// Scopes of the cases and laws. A store under test must be able to read these names; it may know more.
pub const SCOPES: ScopeRegistry = ScopeRegistry::of(&[
    ("email", "See your e-mail address"),
    ("openid", "Confirm who you are"),
    ("profile", "See your name and picture"),
    ("projects:delete", "Delete projects"),
    ("projects:read", "See projects"),
    ("tasks:delete", "Delete tasks"),
    ("tasks:read", "See tasks"),
    ("tasks:write", "Create and change tasks"),
    ("users:read", "See the people you work with"),
]);

/// Test case that runs against an empty store.
pub type TokenStoreCase =
    for<'a> fn(
        &'a dyn TokenStore,
    ) -> Pin<Box<dyn Future<Output = Result<(), TokenStoreFailure>> + Send + 'a>>;

/// Requirement that a store did not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStoreFailure(String);

impl fmt::Display for TokenStoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TokenStoreFailure {}

impl From<AuthStoreError> for TokenStoreFailure {
    fn from(error: AuthStoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

/// Every case, with the rule that it checks.
pub static CASES: &[(&str, TokenStoreCase)] = &[
    ("a record comes back as it was", |s| {
        Box::pin(token_cases::record_comes_back(s))
    }),
    ("a token is found by its whole digest only", |s| {
        Box::pin(token_cases::whole_digest(s))
    }),
    ("an id or digest is taken once", |s| {
        Box::pin(token_cases::taken_once(s))
    }),
    ("a token needs an account", |s| {
        Box::pin(token_cases::needs_account(s))
    }),
    ("a token is revoked once", |s| {
        Box::pin(token_cases::revoked_once(s))
    }),
    ("revoking one token leaves the others", |s| {
        Box::pin(token_cases::revokes_one(s))
    }),
    ("dead tokens are still found", |s| {
        Box::pin(token_cases::dead_found(s))
    }),
    ("a user's tokens are listed in order of id", |s| {
        Box::pin(token_cases::listed_in_order(s))
    }),
    ("the time of last use never moves back", |s| {
        Box::pin(token_cases::touch_forward(s))
    }),
    ("a version says whether what was found is still true", |s| {
        Box::pin(token_cases::version_says(s))
    }),
    ("an account is as it was last put", |s| {
        Box::pin(account_cases::last_put(s))
    }),
    ("a change of account reaches its tokens at once", |s| {
        Box::pin(account_cases::reaches_tokens(s))
    }),
    ("the tier of an account and its switch are set apart", |s| {
        Box::pin(account_cases::set_apart(s))
    }),
    ("a login is found without regard to case", |s| {
        Box::pin(account_cases::login_folds_case(s))
    }),
    ("an address belongs to one account", |s| {
        Box::pin(account_cases::address_is_unique(s))
    }),
    ("a login is kept until replaced", |s| {
        Box::pin(account_cases::login_is_kept(s))
    }),
    ("all tokens of a user are revoked at once", |s| {
        Box::pin(account_cases::revoked_at_once(s))
    }),
    ("switching an account off is for good", |s| {
        Box::pin(account_cases::off_for_good(s))
    }),
];

/// Test case for the OAuth half of a store; it runs against an empty one.
pub type OAuthStoreCase =
    for<'a> fn(
        &'a dyn OAuthStore,
    ) -> Pin<Box<dyn Future<Output = Result<(), TokenStoreFailure>> + Send + 'a>>;

/// Every case about apps, authorizations, codes and sessions, with the rule that it checks.
pub static OAUTH_CASES: &[(&str, OAuthStoreCase)] = &[
    ("an app comes back as it was", |s| {
        Box::pin(oauth_cases::app_cases::app_comes_back(s))
    }),
    ("an app is changed from what it was", |s| {
        Box::pin(oauth_cases::app_cases::app_expected(s))
    }),
    ("a user has one authorization of an app", |s| {
        Box::pin(oauth_cases::app_cases::one_authorization(s))
    }),
    ("a consent is given once", |s| {
        Box::pin(oauth_cases::app_cases::allowed_once(s))
    }),
    ("a silent answer changes nothing that stands", |s| {
        Box::pin(oauth_cases::app_cases::silent(s))
    }),
    ("a code comes back as it was", |s| {
        Box::pin(oauth_cases::app_cases::code_comes_back(s))
    }),
    ("a code is redeemed once", |s| {
        Box::pin(oauth_cases::code_cases::redeemed_once(s))
    }),
    ("a replayed code kills what came from it", |s| {
        Box::pin(oauth_cases::code_cases::replay_kills(s))
    }),
    ("a repeat that has shown its verifier kills nothing", |s| {
        Box::pin(oauth_cases::code_cases::repeated(s))
    }),
    ("a code can be burned", |s| {
        Box::pin(oauth_cases::code_cases::burned(s))
    }),
    ("a refused redemption leaves the code", |s| {
        Box::pin(oauth_cases::code_cases::redeem_conflict(s))
    }),
    ("a code is worth its authorization", |s| {
        Box::pin(oauth_cases::code_cases::redeem_needs_grant(s))
    }),
    ("a later authorization replaces the scopes", |s| {
        Box::pin(oauth_cases::token_context_cases::later_scopes_cut(s))
    }),
    ("an app's registration reaches its tokens at once", |s| {
        Box::pin(oauth_cases::token_context_cases::registration_cuts(s))
    }),
    ("deauthorizing an app kills its tokens", |s| {
        Box::pin(oauth_cases::token_context_cases::deauthorized(s))
    }),
    ("a token reaches where its app works", |s| {
        Box::pin(oauth_cases::token_context_cases::reach_follows(s))
    }),
    ("a refresh token buys access tokens", |s| {
        Box::pin(oauth_cases::token_context_cases::refresh_buys(s))
    }),
    ("a refresh token takes its access tokens along", |s| {
        Box::pin(oauth_cases::token_context_cases::family_dies(s))
    }),
    ("a session is kept until it ends", |s| {
        Box::pin(oauth_cases::session_cases::sessions(s))
    }),
    ("a session tells its last use", |s| {
        Box::pin(oauth_cases::session_cases::last_use(s))
    }),
    ("another login ends the sessions", |s| {
        Box::pin(oauth_cases::session_cases::login_ends_sessions(s))
    }),
    ("a password is changed by who knows it", |s| {
        Box::pin(oauth_cases::session_cases::password_changed(s))
    }),
    ("a replaced password starts no session", |s| {
        Box::pin(oauth_cases::session_cases::old_password_starts_none(s))
    }),
    (
        "switching an account off ends what apps and browsers had",
        |s| Box::pin(oauth_cases::session_cases::off_ends_all(s)),
    ),
    ("logins back off", |s| {
        Box::pin(oauth_cases::session_cases::logins_back_off(s))
    }),
    ("a sweep takes what is over", |s| {
        Box::pin(oauth_cases::token_context_cases::swept(s))
    }),
];

/// Runs a future on this thread, which sleeps while the future waits.
///
/// Sufficient for tests and examples that need no runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Fails with the requirement `promise` unless `kept` is true.
fn ensure(kept: bool, promise: &str) -> Result<(), TokenStoreFailure> {
    if kept {
        Ok(())
    } else {
        Err(TokenStoreFailure(promise.to_owned()))
    }
}

/// Returns the instant `millis` milliseconds after a fixed one; stores must keep times at least to the millisecond.
fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_800_000_000_123 + millis)
}

/// Returns the digest of a token that is determined by `seed` alone.
fn digest_of(seed: u8) -> SecretDigest {
    mint_token(TokenKind::Personal, &[seed; 32]).1
}

/// Returns the record of a personal token; its id is also the seed of its digest.
fn personal(id: u8, user: u64) -> TokenRecord {
    TokenRecord::personal(u64::from(id), digest_of(id), user, at(0))
}

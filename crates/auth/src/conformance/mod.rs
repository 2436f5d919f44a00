//! What every store must do, as cases that any of them can run, and as laws that hold over long
//! random runs.
//!
//! Each case takes an empty store. A failure says what was promised and not kept.
mod accounts;
pub mod laws;
mod oauth;
mod tokens;

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::oauth::OAuthStore;
use crate::record::TokenRecord;
use crate::store::{StoreError, TokenStore};
use crate::token::{Digest, TokenKind, mint};

/// One case: runs against an empty store.
pub type Case = for<'a> fn(
    &'a dyn TokenStore,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// A promise that a store did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

/// Every case with the rule it holds a store to.
pub static CASES: &[(&str, Case)] = &[
    ("a record comes back as it was", |s| {
        Box::pin(tokens::record_comes_back(s))
    }),
    ("a token is found by its whole digest only", |s| {
        Box::pin(tokens::whole_digest(s))
    }),
    ("an id or digest is taken once", |s| {
        Box::pin(tokens::taken_once(s))
    }),
    ("a token needs an account", |s| {
        Box::pin(tokens::needs_account(s))
    }),
    ("a token is revoked once", |s| {
        Box::pin(tokens::revoked_once(s))
    }),
    ("revoking one token leaves the others", |s| {
        Box::pin(tokens::revokes_one(s))
    }),
    ("dead tokens are still found", |s| {
        Box::pin(tokens::dead_found(s))
    }),
    ("a user's tokens are listed in order of id", |s| {
        Box::pin(tokens::listed_in_order(s))
    }),
    ("the time of last use never moves back", |s| {
        Box::pin(tokens::touch_forward(s))
    }),
    ("a version says whether what was found is still true", |s| {
        Box::pin(tokens::version_says(s))
    }),
    ("an account is as it was last put", |s| {
        Box::pin(accounts::last_put(s))
    }),
    ("a change of account reaches its tokens at once", |s| {
        Box::pin(accounts::reaches_tokens(s))
    }),
    ("the tier of an account and its switch are set apart", |s| {
        Box::pin(accounts::set_apart(s))
    }),
    ("a login is found without regard to case", |s| {
        Box::pin(accounts::login_folds_case(s))
    }),
    ("an address belongs to one account", |s| {
        Box::pin(accounts::address_is_unique(s))
    }),
    ("a login is kept until replaced", |s| {
        Box::pin(accounts::login_is_kept(s))
    }),
    ("all tokens of a user are revoked at once", |s| {
        Box::pin(accounts::revoked_at_once(s))
    }),
    ("switching an account off is for good", |s| {
        Box::pin(accounts::off_for_good(s))
    }),
];

/// One case about the OAuth half: runs against an empty store.
pub type OAuthCase = for<'a> fn(
    &'a dyn OAuthStore,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Every case about the OAuth half, with the rule it holds a store to.
pub static OAUTH_CASES: &[(&str, OAuthCase)] = &[
    ("an app comes back as it was", |s| {
        Box::pin(oauth::apps::app_comes_back(s))
    }),
    ("an app is changed from what it was", |s| {
        Box::pin(oauth::apps::app_expected(s))
    }),
    ("a user has one authorization of an app", |s| {
        Box::pin(oauth::apps::one_authorization(s))
    }),
    ("a consent is given once", |s| {
        Box::pin(oauth::apps::allowed_once(s))
    }),
    ("a silent answer changes nothing that stands", |s| {
        Box::pin(oauth::apps::silent(s))
    }),
    ("a code comes back as it was", |s| {
        Box::pin(oauth::apps::code_comes_back(s))
    }),
    ("a code is redeemed once", |s| {
        Box::pin(oauth::codes::redeemed_once(s))
    }),
    ("a replayed code kills what came from it", |s| {
        Box::pin(oauth::codes::replay_kills(s))
    }),
    ("a repeat that has shown its verifier kills nothing", |s| {
        Box::pin(oauth::codes::repeated(s))
    }),
    ("a code can be burned", |s| {
        Box::pin(oauth::codes::burned(s))
    }),
    ("a refused redemption leaves the code", |s| {
        Box::pin(oauth::codes::redeem_conflict(s))
    }),
    ("a code is worth its authorization", |s| {
        Box::pin(oauth::codes::redeem_needs_grant(s))
    }),
    ("a later authorization replaces the scopes", |s| {
        Box::pin(oauth::lineage::later_scopes_cut(s))
    }),
    ("an app's registration reaches its tokens at once", |s| {
        Box::pin(oauth::lineage::registration_cuts(s))
    }),
    ("deauthorizing an app kills its tokens", |s| {
        Box::pin(oauth::lineage::deauthorized(s))
    }),
    ("a token reaches where its app works", |s| {
        Box::pin(oauth::lineage::reach_follows(s))
    }),
    ("a refresh token buys access tokens", |s| {
        Box::pin(oauth::lineage::refresh_buys(s))
    }),
    ("a refresh token takes its access tokens along", |s| {
        Box::pin(oauth::lineage::family_dies(s))
    }),
    ("a session is kept until it ends", |s| {
        Box::pin(oauth::sessions::sessions(s))
    }),
    ("a session tells its last use", |s| {
        Box::pin(oauth::sessions::last_use(s))
    }),
    ("another login ends the sessions", |s| {
        Box::pin(oauth::sessions::login_ends_sessions(s))
    }),
    ("a password is changed by who knows it", |s| {
        Box::pin(oauth::sessions::password_changed(s))
    }),
    ("a replaced password starts no session", |s| {
        Box::pin(oauth::sessions::old_password_starts_none(s))
    }),
    (
        "switching an account off ends what apps and browsers had",
        |s| Box::pin(oauth::sessions::off_ends_all(s)),
    ),
    ("logins back off", |s| {
        Box::pin(oauth::sessions::logins_back_off(s))
    }),
    ("a sweep takes what is over", |s| {
        Box::pin(oauth::lineage::swept(s))
    }),
];

/// Runs a future on this thread, which sleeps while the future waits.
///
/// Enough for tests and examples of anything that needs no runtime of its own.
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

/// Fails with `promise` unless it was kept.
fn ensure(kept: bool, promise: &str) -> Result<(), Failure> {
    if kept {
        Ok(())
    } else {
        Err(Failure(promise.to_owned()))
    }
}

/// The instant `millis` after an arbitrary one; stores keep milliseconds at least.
fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_800_000_000_123 + millis)
}

/// The digest of a token that depends on `seed` only.
fn digest_of(seed: u8) -> Digest {
    mint(TokenKind::Personal, &[seed; 32]).1
}

/// A personal token's record with this id, also the seed of its digest.
fn personal(id: u8, user: u64) -> TokenRecord {
    TokenRecord::personal(u64::from(id), digest_of(id), user, at(0))
}

//! A try of a password: what is counted before it is looked at.
//!
//! Each try begins by counting, the cheapest first: against the address, against the account over all
//! addresses, against the queue of passwords, and only then in the store. A right password takes its
//! counts back; whatever else becomes of a try that got past the first two, they stay. A browser in
//! which somebody signed in before counts for itself: who floods an account from elsewhere does not
//! lock its owner out.
use std::time::{Duration, SystemTime};

use workgraph_api::Reply;
use workgraph_auth::record::fold_email;
use workgraph_auth::session::Strikes;
use workgraph_auth::{Account, Digest, Secret};

use crate::guard::network;
use crate::portal::{Broken, Portal};
use crate::request::Request;
use crate::session::Cookie;

const BY_ADDRESS: &str = "sign in";
const BY_ACCOUNT: &str = "account";
/// How long a browser in which somebody signed in is known.
pub(crate) const KNOWN_LIFETIME: Duration = Duration::from_secs(180 * 86_400);

/// The password that somebody says is theirs.
pub(crate) struct Claim<'a> {
    /// The address of the account.
    pub(crate) email: &'a str,
    /// The password.
    pub(crate) password: &'a str,
    /// What names the browser, if it is known for this account.
    pub(crate) browser: Option<&'a str>,
}

/// What became of a try.
pub(crate) enum Tried {
    /// It is the password of an account that is on, with its hash.
    Right(Account, Secret),
    /// It is not, or there is no such account.
    Wrong(Option<Account>),
    /// There were too many: the wait in seconds. It was not looked at.
    Late(u64),
    /// Too many others are being looked at. It was not.
    Busy,
}

impl Tried {
    /// What to tell whoever cannot try now: the status, the words, and after how many seconds it may
    /// work.
    pub(crate) fn refusal(&self) -> Option<(u16, String, u64)> {
        match self {
            Self::Late(wait) => {
                let words = format!("There were too many attempts. Try again in {wait} seconds.");
                Some((429, words, *wait))
            }
            Self::Busy => Some((
                503,
                "The server is busy. Try again in a moment.".to_owned(),
                5,
            )),
            Self::Right(..) | Self::Wrong(_) => None,
        }
    }
}

/// Says in a reply after how many seconds to come again.
pub(crate) fn retry_after(reply: Reply, wait: u64) -> Reply {
    reply.with("Retry-After", wait.to_string())
}

impl Portal {
    /// Tries a password.
    pub(crate) async fn try_password(
        &self,
        request: &Request,
        claim: &Claim<'_>,
        now: SystemTime,
    ) -> Result<Tried, Broken> {
        let settings = &self.settings;
        let from = network(request.address);
        let quota = settings.failures_per_minute;
        let by_address = match self.throttle.begin(BY_ADDRESS, &from, quota, now) {
            Ok(attempt) => attempt,
            Err(wait) => return Ok(Tried::Late(wait)),
        };
        let quota = settings
            .account_failures_per_minute
            .filter(|_| claim.browser.is_none());
        let email = fold_email(claim.email);
        let by_account = match self.throttle.begin(BY_ACCOUNT, &email, quota, now) {
            Ok(attempt) => attempt,
            Err(wait) => {
                // What others did to the account is not the fault of this address.
                by_address.give_back();
                return Ok(Tried::Late(wait));
            }
        };
        let Ok(slot) = self.passwords.reserve(claim.browser.is_some()) else {
            return Ok(Tried::Busy);
        };
        let key = Strikes::key(&email, claim.browser.unwrap_or(&from));
        if let Some(wait) = self.store.attempt_login(&key, now).await? {
            // Nobody is kept out of an account by tries that were not looked at.
            by_account.give_back();
            return Ok(Tried::Late(wait.as_secs().max(1)));
        }
        let found = self.store.login(&email).await?;
        let (account, hash) = found.unzip();
        let password = Secret::new(claim.password.to_owned());
        let right = self.passwords.check(slot, password, hash.clone()).await;
        let (Some(account), Some(hash), true) = (account, hash, right) else {
            return Ok(Tried::Wrong(account));
        };
        if account.disabled {
            return Ok(Tried::Wrong(Some(account)));
        }
        self.store.forgive_login(&key).await?;
        by_address.give_back();
        by_account.give_back();
        Ok(Tried::Right(account, hash))
    }

    /// What names this browser, if somebody signed in to the account with it before.
    pub(crate) fn known_browser(
        &self,
        request: &Request,
        email: &str,
        now: SystemTime,
    ) -> Option<Secret> {
        let ticket = self.cookie(request, Cookie::Known)?;
        let good = self.api.check_ticket(&known(email), ticket.expose(), now);
        good.is_ok().then_some(ticket)
    }

    /// Has a browser known for an account from now on.
    pub(crate) fn make_known(
        &self,
        reply: Reply,
        request: &Request,
        email: &str,
        now: SystemTime,
    ) -> Reply {
        if self.known_browser(request, email, now).is_some() {
            return reply;
        }
        let end = now.checked_add(KNOWN_LIFETIME).unwrap_or(now);
        let ticket = self.api.issue_ticket(&known(email), end);
        self.set_cookie(reply, Cookie::Known, Some(&ticket))
    }
}

/// What the ticket of a browser is for. It tells nothing of the address.
fn known(email: &str) -> String {
    let digest = Digest::of(&fold_email(email));
    let hex: String = digest.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("known browser {hex}")
}

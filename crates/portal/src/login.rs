//! Password checks, and the attempt counts before them.
//!
//! Each attempt is first counted, cheapest check first: against the address, against the account over all addresses,
//! against the password queue, and only then in the store. A correct password takes its counts back; any other attempt
//! that passed the first two checks keeps them. A browser in which the account's user has signed in before has its own
//! count, so that a flood of attempts from elsewhere does not lock the owner out.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, Refusal};
use workgraph_auth::authorization::browser_session::LoginAttempts;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{Account, AuthRefusal, Secret, SecretDigest};

use crate::cookies::{CookieKind, KNOWN_LIFETIME};
use crate::csrf::network;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;

const BY_ADDRESS: &str = "sign in";
const BY_ACCOUNT: &str = "account";
/// Credentials of one attempt to sign in.
pub(crate) struct LoginCredentials<'a> {
    /// E-mail address of the account.
    pub(crate) email: &'a str,
    /// Password that was typed.
    pub(crate) password: &'a str,
    /// Identifier of the browser, if it is known for this account.
    pub(crate) browser: Option<&'a str>,
}

/// Outcome of an attempt to check a password.
pub(crate) enum PasswordCheck {
    /// The password is right and the account is enabled: the account, and the hash.
    Right(Account, Secret),
    /// The password is wrong, or there is no such account.
    Wrong(Option<Account>),
    /// There were too many attempts: the kind of count, and the wait in seconds. The password was not checked.
    Throttled(AuthRefusal, u64),
    /// The password queue is full. The password was not checked.
    Busy,
}

impl PasswordCheck {
    /// Returns the response to an attempt that was not checked: reason, status, message, and the wait in seconds.
    pub(crate) fn refusal(&self) -> Option<(AuthRefusal, u16, String, u64)> {
        match self {
            Self::Throttled(reason, wait) => {
                let words = format!("There were too many attempts. Try again in {wait} seconds.");
                Some((*reason, 429, words, *wait))
            }
            Self::Busy => Some((
                AuthRefusal::PasswordQueueFull,
                503,
                "The server is busy. Try again in a moment.".to_owned(),
                5,
            )),
            Self::Right(..) | Self::Wrong(_) => None,
        }
    }

    /// Returns the refusal of a wrong password, with the account if it exists.
    pub(crate) fn wrong(&self) -> Refusal {
        let (reason, account) = match self {
            Self::Wrong(Some(account)) if account.disabled => {
                (AuthRefusal::AccountDisabled, Some(account))
            }
            Self::Wrong(Some(account)) => (AuthRefusal::PasswordWrong, Some(account)),
            _ => (AuthRefusal::AccountUnknown, None),
        };
        Refusal::from(reason).of_user(account.map(|account| account.user))
    }
}

/// Sets the `Retry-After` of a response, in seconds.
pub(crate) fn retry_after(reply: ApiResponse, wait: u64) -> ApiResponse {
    reply.with("Retry-After", wait.to_string())
}

impl Portal {
    /// Checks a password, and signs the user in if it is correct.
    pub(crate) async fn try_password(
        &self,
        request: &PortalRequest,
        claim: &LoginCredentials<'_>,
        now: SystemTime,
    ) -> Result<PasswordCheck, PortalError> {
        let settings = &self.settings;
        let from = network(request.address);
        let quota = settings.failures_per_minute;
        let (throttle, shared) = (&self.throttle, self.shared_limiter());
        let begun = throttle.begin(BY_ADDRESS, &from, quota, now, shared).await;
        let by_address = match begun {
            Ok(attempt) => attempt,
            Err(wait) => {
                let reason = AuthRefusal::TooManySignInsOfAddress;
                return Ok(PasswordCheck::Throttled(reason, wait));
            }
        };
        let quota = settings
            .account_failures_per_minute
            .filter(|_| claim.browser.is_none());
        let email = normalize_email(claim.email);
        let begun = throttle.begin(BY_ACCOUNT, &email, quota, now, shared).await;
        let by_account = match begun {
            Ok(attempt) => attempt,
            Err(wait) => {
                // Failed attempts by others on this account do not count for this address.
                by_address.give_back();
                let reason = AuthRefusal::TooManySignInsOfAccount;
                return Ok(PasswordCheck::Throttled(reason, wait));
            }
        };
        let Ok(slot) = self.passwords.reserve(claim.browser.is_some()) else {
            return Ok(PasswordCheck::Busy);
        };
        let key = LoginAttempts::key(&email, claim.browser.unwrap_or(&from));
        if let Some(wait) = self.store.attempt_login(&key, now).await? {
            // Unchecked attempts do not lock a user out.
            by_account.give_back();
            let (reason, wait) = (AuthRefusal::SignInTooSoon, wait.as_secs().max(1));
            return Ok(PasswordCheck::Throttled(reason, wait));
        }
        let found = self.store.login(&email).await?;
        let (account, hash) = found.unzip();
        let password = Secret::new(claim.password.to_owned());
        let right = self.passwords.check(slot, password, hash.clone()).await;
        let (Some(account), Some(hash), true) = (account, hash, right) else {
            return Ok(PasswordCheck::Wrong(account));
        };
        if account.disabled {
            return Ok(PasswordCheck::Wrong(Some(account)));
        }
        self.store.clear_login_attempts(&key).await?;
        by_address.give_back();
        by_account.give_back();
        Ok(PasswordCheck::Right(account, hash))
    }

    /// Returns the identifier of this browser, if the account's user has signed in with it before.
    pub(crate) fn known_browser(
        &self,
        request: &PortalRequest,
        email: &str,
        now: SystemTime,
    ) -> Option<Secret> {
        let ticket = self.cookie(request, CookieKind::Known)?;
        let good = self
            .api
            .check_ticket(&browser_ticket_purpose(email), ticket.expose(), now);
        good.is_ok().then_some(ticket)
    }

    /// Sets the cookie that identifies a browser as known for an account.
    pub(crate) fn remember_browser(
        &self,
        reply: ApiResponse,
        request: &PortalRequest,
        email: &str,
        now: SystemTime,
    ) -> ApiResponse {
        if self.known_browser(request, email, now).is_some() {
            return reply;
        }
        let end = now.checked_add(KNOWN_LIFETIME).unwrap_or(now);
        let ticket = self.api.issue_ticket(&browser_ticket_purpose(email), end);
        self.set_cookie((request, reply), CookieKind::Known, Some(&ticket))
    }
}

/// Returns the purpose of a browser's ticket. It does not reveal the e-mail address.
fn browser_ticket_purpose(email: &str) -> String {
    let digest = SecretDigest::of(&normalize_email(email));
    let hex: String = digest.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("known browser {hex}")
}

//! Browser sessions, the tickets in consent forms, and the waits after failed logins.
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::params::Param;
use crate::tokens::token_text::{Secret, SecretDigest, mint_secret_text};

/// Default lifetime of a session.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(14 * 86_400);
/// Minimum time between two updates of a session's last use.
pub const SESSION_TOUCH_INTERVAL: Duration = Duration::from_secs(300);
/// Time for which a consent page may be left open.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(600);

/// Prefix of a session's secret.
const SESSION_PREFIX: &str = "wgb_";

/// Sign-in of a browser. Its secret is only in a cookie, and the keys of its forms are computed from
/// the secret: a copy of the store is not enough to forge a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// The digest of its secret.
    pub digest: SecretDigest,
    /// The user who signed in.
    pub user: u64,
    /// The time of the sign-in: the `auth_time` of id_tokens.
    pub created_at: SystemTime,
    /// The time at which the session expires.
    pub expires_at: SystemTime,
    /// The time of its last use, to within [`SESSION_TOUCH_INTERVAL`].
    pub last_used_at: SystemTime,
    /// The address of its last use, if known.
    pub address: Option<IpAddr>,
}

impl BrowserSession {
    /// Starts a session, always with a new secret.
    #[must_use]
    pub fn start(user: u64, random: &[u8; 32], now: SystemTime) -> (Secret, Self) {
        let (secret, digest) = mint_secret_text(SESSION_PREFIX, random);
        let session = Self {
            digest,
            user,
            created_at: now,
            expires_at: now.checked_add(SESSION_LIFETIME).unwrap_or(now),
            last_used_at: now,
            address: None,
        };
        (secret, session)
    }

    /// Returns the session with this lifetime instead of [`SESSION_LIFETIME`].
    #[must_use]
    pub fn lasting(mut self, lifetime: Duration) -> Self {
        self.expires_at = self
            .created_at
            .checked_add(lifetime)
            .unwrap_or(self.created_at);
        self
    }

    /// Returns the session, used from this address.
    #[must_use]
    pub const fn used_from(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Returns the id of the session: a UUID of version 8 (RFC 9562, section 5.8) computed from its digest, so that it needs no
    /// storage. It reveals nothing about the secret.
    #[must_use]
    pub fn id(&self) -> String {
        let first = self.digest.0.first_chunk().copied().unwrap_or_default();
        uuid::Builder::from_custom_bytes(first)
            .into_uuid()
            .to_string()
    }

    /// Returns true if the stored time of the last use is due for an update at `now`.
    #[must_use]
    pub fn is_use_due(&self, now: SystemTime) -> bool {
        let since = now.duration_since(self.last_used_at);
        since.is_ok_and(|since| since >= SESSION_TOUCH_INTERVAL)
    }

    /// Returns true if the session has not expired at `now`.
    #[must_use]
    pub fn is_live(&self, now: SystemTime) -> bool {
        now < self.expires_at
    }
}

fn key(secret: &Secret, purpose: &str) -> hmac::Key {
    let session = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let derived = hmac::sign(&session, purpose.as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

/// Returns the anti-forgery text for a session's forms with this purpose.
#[must_use]
pub fn csrf(session: &Secret, purpose: &str) -> String {
    let tag = hmac::sign(&key(session, "csrf"), purpose.as_bytes());
    URL_SAFE_NO_PAD.encode(tag.as_ref())
}

/// Returns true if a form has the anti-forgery text of its session and purpose.
#[must_use]
pub fn csrf_matches(session: &Secret, purpose: &str, presented: &str) -> bool {
    let tag = URL_SAFE_NO_PAD.decode(presented).unwrap_or_default();
    hmac::verify(&key(session, "csrf"), purpose.as_bytes(), &tag).is_ok()
}

/// Returns the bytes that a ticket seals: the user, the request as sent, and the ticket's
/// head (id and expiry).
fn sealed(user: u64, request: &[Param], head: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let user = user.to_string();
    let pairs = request.iter().flat_map(|(name, value)| [name, value]);
    for part in [head, &user].into_iter().chain(pairs.map(String::as_str)) {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part.as_bytes());
    }
    out
}

/// Makes the ticket of a consent form. It is bound to this session, this user and this exact request, and
/// can be used once, since [`OAuthStore::keep_consent`](crate::OAuthStore::keep_consent) accepts
/// its id once.
#[must_use]
pub fn consent_ticket(
    session: &Secret,
    user: u64,
    request: &[Param],
    random: &[u8; 32],
    now: SystemTime,
) -> String {
    let end = now
        .checked_add(TICKET_LIFETIME)
        .and_then(|end| end.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    let head = format!("{}.{}", URL_SAFE_NO_PAD.encode(random), end.as_secs());
    let tag = hmac::sign(&key(session, "ticket"), &sealed(user, request, &head));
    format!("{head}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
}

/// Returns the id of a ticket submitted with a form, if it is intact, matches and has not expired.
#[must_use]
pub fn verify_consent_ticket(
    text: &str,
    session: &Secret,
    user: u64,
    request: &[Param],
    now: SystemTime,
) -> Option<SecretDigest> {
    let (head, tag) = text.rsplit_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    hmac::verify(&key(session, "ticket"), &sealed(user, request, head), &tag).ok()?;
    let (_, end) = head.split_once('.')?;
    let end = UNIX_EPOCH.checked_add(Duration::from_secs(end.parse().ok()?))?;
    (now < end).then(|| SecretDigest::of(head))
}

/// Login attempts from one address or known browser into one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginAttempts {
    /// The number of attempts allowed since the last success.
    pub count: u32,
    /// The time of the last allowed attempt.
    pub last_at: SystemTime,
}

/// Number of attempts without a wait, since users mistype passwords.
const FREE_ATTEMPTS: u32 = 5;
/// Maximum wait between two attempts.
const MAX_WAIT: Duration = Duration::from_secs(900);
/// Time without an attempt after which the count is forgotten.
pub const LOGIN_ATTEMPTS_LIFETIME: Duration = Duration::from_secs(86_400);

impl LoginAttempts {
    /// Returns the key under which attempts are counted: the account as typed, and the address or
    /// the known browser of the request.
    #[must_use]
    pub fn key(email: &str, address: &str) -> SecretDigest {
        let email = crate::tokens::token_record::normalize_email(email);
        SecretDigest::of(&format!("{} {email} {address}", email.len()))
    }

    /// Allows an attempt at `now`, and returns the count to store; or returns the wait.
    ///
    /// Five attempts are free; then the wait is one second and doubles, up to fifteen minutes. An
    /// attempt counts before its password is checked, so parallel attempts have no advantage. A refused
    /// attempt does not count, so it does not extend the wait.
    ///
    /// # Errors
    /// Returns the wait.
    pub fn attempt(before: Option<Self>, now: SystemTime) -> Result<Self, Duration> {
        let first = Self {
            count: 1,
            last_at: now,
        };
        let Some(before) = before else {
            return Ok(first);
        };
        // If the clock went back, no time has passed.
        let passed = now.duration_since(before.last_at).unwrap_or_default();
        if passed >= LOGIN_ATTEMPTS_LIFETIME {
            return Ok(first);
        }
        let wait = before.wait();
        if passed < wait {
            return Err(wait.saturating_sub(passed));
        }
        Ok(Self {
            count: before.count.saturating_add(1),
            last_at: now,
        })
    }

    fn wait(self) -> Duration {
        match self.count.checked_sub(FREE_ATTEMPTS) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(1 << over.min(20)).min(MAX_WAIT),
        }
    }
}

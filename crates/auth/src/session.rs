//! Browser sessions, the tickets that consent forms carry, and the back-off of failed logins.
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::params::Pair;
use crate::token::{Digest, Secret, mint_text};

/// How long a session lasts.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(14 * 86_400);
/// The least time between two notes of a session's last use.
pub const SESSION_USE_INTERVAL: Duration = Duration::from_secs(300);
/// How long a consent page may be left open.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(600);

/// The first characters of a session's secret.
const SESSION_PREFIX: &str = "wgb_";

/// A browser in which somebody signed in. Its secret is in a cookie and nowhere else: the keys of
/// its forms are computed from it, so a copy of the store forges none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The digest of its secret.
    pub digest: Digest,
    /// Who signed in.
    pub user: u64,
    /// When: the `auth_time` of id_tokens.
    pub created_at: SystemTime,
    /// The first instant at which it is over.
    pub expires_at: SystemTime,
    /// When it was last used, to within [`SESSION_USE_INTERVAL`].
    pub last_used_at: SystemTime,
    /// Where it was last used from, if that is known.
    pub address: Option<IpAddr>,
}

impl Session {
    /// Starts a session: always with a new secret, whatever the browser had before.
    #[must_use]
    pub fn start(user: u64, random: &[u8; 32], now: SystemTime) -> (Secret, Self) {
        let (secret, digest) = mint_text(SESSION_PREFIX, random);
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

    /// Returns the same session, used from this address.
    #[must_use]
    pub const fn used_from(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// A short text that names the session among those of its user, and tells nothing of its secret.
    #[must_use]
    pub fn id(&self) -> String {
        let start = self.digest.0.iter().take(8);
        start.map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the last use that was noted is so long ago at `now` that another is worth a note.
    #[must_use]
    pub fn is_use_due(&self, now: SystemTime) -> bool {
        let since = now.duration_since(self.last_used_at);
        since.is_ok_and(|since| since >= SESSION_USE_INTERVAL)
    }

    /// Whether it still holds at `now`.
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

/// The anti-forgery text of a session's forms of one purpose.
#[must_use]
pub fn csrf(session: &Secret, purpose: &str) -> String {
    let tag = hmac::sign(&key(session, "csrf"), purpose.as_bytes());
    URL_SAFE_NO_PAD.encode(tag.as_ref())
}

/// Whether a form carries the anti-forgery text of its session and purpose.
#[must_use]
pub fn csrf_matches(session: &Secret, purpose: &str, presented: &str) -> bool {
    let tag = URL_SAFE_NO_PAD.decode(presented).unwrap_or_default();
    hmac::verify(&key(session, "csrf"), purpose.as_bytes(), &tag).is_ok()
}

/// What a ticket is sealed over: the request as sent, who is asked, the id and the end.
fn sealed(user: u64, request: &[Pair], head: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let user = user.to_string();
    let pairs = request.iter().flat_map(|(name, value)| [name, value]);
    for part in [head, &user].into_iter().chain(pairs.map(String::as_str)) {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part.as_bytes());
    }
    out
}

/// Makes the ticket of a consent form: it fits this session, this user and this very request, and
/// is answered once, since [`OAuthStore::allow`](crate::OAuthStore::allow) takes its id once.
#[must_use]
pub fn ticket(
    session: &Secret,
    user: u64,
    request: &[Pair],
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

/// The id of a ticket that came back with a form, if it is whole, fits and is in time.
#[must_use]
pub fn open_ticket(
    text: &str,
    session: &Secret,
    user: u64,
    request: &[Pair],
    now: SystemTime,
) -> Option<Digest> {
    let (head, tag) = text.rsplit_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    hmac::verify(&key(session, "ticket"), &sealed(user, request, head), &tag).ok()?;
    let (_, end) = head.split_once('.')?;
    let end = UNIX_EPOCH.checked_add(Duration::from_secs(end.parse().ok()?))?;
    (now < end).then(|| Digest::of(head))
}

/// Failed logins from one address into one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strikes {
    /// How many attempts were let through since the last success.
    pub count: u32,
    /// When the last one was.
    pub last_at: SystemTime,
}

/// Attempts that cost nothing: people mistype.
const FREE_ATTEMPTS: u32 = 5;
/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(900);
/// A quiet time after which everything is forgotten.
pub const STRIKES_LIFETIME: Duration = Duration::from_secs(86_400);

impl Strikes {
    /// The key under which attempts are counted: the account as typed, and the address or the
    /// remembered browser that they came from.
    #[must_use]
    pub fn key(email: &str, address: &str) -> Digest {
        let email = crate::record::fold_email(email);
        Digest::of(&format!("{} {email} {address}", email.len()))
    }

    /// Lets an attempt at `now` through, as the count to keep, or tells how long to wait.
    ///
    /// Five attempts are free; then the wait is one second and doubles, up to fifteen minutes. An
    /// attempt counts before its password is looked at, so a flood in parallel gains nothing; one
    /// that is refused does not count, so nobody is locked out by it for longer.
    ///
    /// # Errors
    /// The wait.
    pub fn attempt(before: Option<Self>, now: SystemTime) -> Result<Self, Duration> {
        let first = Self {
            count: 1,
            last_at: now,
        };
        let Some(before) = before else {
            return Ok(first);
        };
        // A clock that went back has no time passed.
        let passed = now.duration_since(before.last_at).unwrap_or_default();
        if passed >= STRIKES_LIFETIME {
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

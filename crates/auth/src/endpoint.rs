//! The three endpoints that apps' servers call with forms: token, revocation and introspection.
//!
//! Each is a function of a decoded form over the store, the clock's reading and fresh random bytes.
//! HTTP around it is the caller's: POST only, `application/x-www-form-urlencoded` only, nothing in
//! the query.
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::client::{App, authenticate};
use crate::id_token::Person;
use crate::introspect::{Introspection, introspect};
use crate::json::Object;
use crate::keys::Signer;
use crate::oauth::OAuthStore;
use crate::params::{Pair, Params, Repeated, decode, number};
use crate::store::StoreError;
use crate::token::{TokenKind, digest};

mod token;

/// What is sent with every reply: none of them may be kept by anybody.
pub const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/json;charset=UTF-8"),
    ("Cache-Control", "no-store"),
    ("Pragma", "no-cache"),
];

/// The header of a 401 to a client that authenticated by the `Authorization` header, and to no other
/// (RFC 6749 section 5.2): libraries take it for the whole answer and never look at the body.
pub const CHALLENGE: (&str, &str) = ("WWW-Authenticate", "Basic realm=\"oauth\"");

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body: JSON.
    pub body: String,
    /// Whether [`CHALLENGE`] is sent with it.
    pub challenge: bool,
}

impl Reply {
    const fn ok(body: String) -> Self {
        Self::new(200, body)
    }

    /// Returns a reply without a challenge.
    #[must_use]
    pub const fn new(status: u16, body: String) -> Self {
        Self {
            status,
            body,
            challenge: false,
        }
    }

    /// The headers.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let challenge = self.challenge.then_some(CHALLENGE);
        HEADERS.into_iter().chain(challenge)
    }
}

/// Why a request was refused (RFC 6749 section 5.2, RFC 7009 section 2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// A parameter is missing, given twice or malformed, or the client authenticates in two ways.
    InvalidRequest(String),
    /// Unknown app, wrong secret, disabled app: which one is not told.
    InvalidClient,
    /// The code or refresh token does not stand for this request; which parameter it was.
    InvalidGrant(&'static str),
    /// Wider scopes than the refresh token has, or unknown ones.
    InvalidScope,
    /// Another grant type.
    UnsupportedGrantType,
    /// A token that cannot be revoked here.
    UnsupportedTokenType,
}

impl TokenError {
    /// The reply. Callers use it for what they refuse themselves: a query, another content type.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let (status, code, why) = match self {
            Self::InvalidRequest(why) => (400, "invalid_request", why.clone()),
            Self::InvalidClient => (
                401,
                "invalid_client",
                "The client credentials provided were invalid.".to_owned(),
            ),
            Self::InvalidGrant(what) => (
                400,
                "invalid_grant",
                format!("The `{what}` provided was invalid."),
            ),
            Self::InvalidScope => (
                400,
                "invalid_scope",
                "The `scope` provided is wider than what was granted, or unknown.".to_owned(),
            ),
            Self::UnsupportedGrantType => (
                400,
                "unsupported_grant_type",
                "The `grant_type` must be authorization_code or refresh_token.".to_owned(),
            ),
            Self::UnsupportedTokenType => (
                400,
                "unsupported_token_type",
                "Only refresh tokens can be revoked here.".to_owned(),
            ),
        };
        let body = Object::default()
            .text("error", code)
            .text("error_description", &why)
            .end();
        Reply::new(status, body)
    }
}

impl From<Repeated> for TokenError {
    fn from(Repeated(name): Repeated) -> Self {
        Self::InvalidRequest(format!("The `{name}` parameter is given twice."))
    }
}

/// How an endpoint's work ends early: the client is told, or the server says 500.
enum Stop {
    Told(TokenError),
    Broken(StoreError),
}

impl<E: Into<TokenError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Told(error.into())
    }
}

fn finish(form: &Form<'_>, outcome: Result<Reply, Stop>) -> Result<Reply, StoreError> {
    match outcome {
        Ok(reply) => Ok(reply),
        Err(Stop::Told(error)) => {
            let reply = error.reply();
            let challenge = reply.status == 401 && !form.authorization.is_empty();
            Ok(Reply { challenge, ..reply })
        }
        Err(Stop::Broken(error)) => Err(error),
    }
}

fn missing(name: &str) -> TokenError {
    TokenError::InvalidRequest(format!("The `{name}` parameter is missing."))
}

/// Where the endpoints learn about users.
#[async_trait]
pub trait People: Send + Sync {
    /// A user, if there is one.
    async fn person(&self, user: u64) -> Result<Option<Person>, StoreError>;
}

/// A request, decoded.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// The parameters of the body.
    pub pairs: &'a [Pair],
    /// The values of the `Authorization` headers. Schemes other than Basic are passed over.
    pub authorization: &'a [&'a str],
}

/// Numbers and random bytes for the tokens that a request may bring about.
#[derive(Clone, Copy)]
pub struct Fresh {
    /// The id of an access token.
    pub access_id: u64,
    /// The random bits of an access token.
    pub access: [u8; 32],
    /// The id of a refresh token.
    pub refresh_id: u64,
    /// The random bits of a refresh token.
    pub refresh: [u8; 32],
}

/// What the endpoints work with.
#[derive(Clone, Copy)]
pub struct Endpoints<'a> {
    /// Where everything is kept.
    pub store: &'a dyn OAuthStore,
    /// Who users are.
    pub people: &'a dyn People,
    /// The issuer: the configured base URL.
    pub issuer: &'a str,
    /// The key that signs now. Without one there are no id_tokens.
    pub signer: Option<&'a dyn Signer>,
}

/// A client that said who it is, not yet proved.
struct Claim {
    id: Option<u64>,
    secret: String,
}

impl Endpoints<'_> {
    /// `POST /-/oauth_token`: a code or a refresh token for an access token.
    ///
    /// # Errors
    /// The store failed; the client should be told 500 and nothing else.
    pub async fn token(
        &self,
        form: &Form<'_>,
        fresh: &Fresh,
        now: SystemTime,
    ) -> Result<Reply, StoreError> {
        finish(form, self.exchange(form, fresh, now).await)
    }

    /// `POST /-/oauth_revoke`: a refresh token and all access tokens that hang on it (RFC 7009).
    ///
    /// # Errors
    /// The store failed. That must never look like a success.
    pub async fn revoke(&self, form: &Form<'_>, now: SystemTime) -> Result<Reply, StoreError> {
        finish(form, self.revocation(form, now).await)
    }

    /// `POST /-/token_info`: what a token is good for (RFC 7662), told to whoever holds it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn token_info(&self, form: &Form<'_>, now: SystemTime) -> Result<Reply, StoreError> {
        finish(form, self.introspection(form, now).await)
    }

    async fn revocation(&self, form: &Form<'_>, now: SystemTime) -> Result<Reply, Stop> {
        let params = params(form)?;
        let text = params.one("token")?.ok_or_else(|| missing("token"))?;
        let claim = claim(form, params)?.ok_or_else(|| missing("client_id"))?;
        let claim = claim.complete()?;
        let app = self.client(claim).await?;
        let done = || Reply::ok("{}".to_owned());
        // A text that no token can have names an unknown token: the aim is reached (section 2.2).
        let Some(digest) = digest(text) else {
            return Ok(done());
        };
        let found = self.store.find(&digest).await.map_err(Stop::Broken)?;
        let Some((record, _)) = found else {
            return Ok(done());
        };
        if record.kind != TokenKind::Refresh {
            return Err(TokenError::UnsupportedTokenType.into());
        }
        if record.app != Some(app.id) {
            return Err(TokenError::InvalidGrant("token").into());
        }
        let revoked = self.store.revoke(record.id, now).await;
        revoked.map_err(Stop::Broken)?;
        Ok(done())
    }

    async fn introspection(&self, form: &Form<'_>, now: SystemTime) -> Result<Reply, Stop> {
        let params = params(form)?;
        let text = params.one("token")?.ok_or_else(|| missing("token"))?;
        let reply = match digest(text) {
            None => Introspection::Inactive,
            Some(digest) => {
                let found = self.store.find(&digest).await.map_err(Stop::Broken)?;
                introspect(
                    found.as_ref().map(|(record, account)| (record, account)),
                    now,
                )
            }
        };
        Ok(Reply::ok(reply.to_json()))
    }

    /// The app behind a claim that is proved. One look-up by id, then one comparison.
    async fn client(&self, claim: Claim) -> Result<Arc<App>, Stop> {
        let found = match claim.id {
            Some(id) => self.store.app(id).await.map_err(Stop::Broken)?,
            None => None,
        };
        let proved = authenticate(found.as_deref(), &claim.secret).is_some();
        Ok(found.filter(|_| proved).ok_or(TokenError::InvalidClient)?)
    }
}

impl Claim {
    /// For revocation, where the spec calls every missing field a bad request.
    fn complete(self) -> Result<Self, TokenError> {
        if self.secret.is_empty() {
            return Err(missing("client_secret"));
        }
        Ok(self)
    }
}

fn params<'a>(form: &Form<'a>) -> Result<Params<'a>, TokenError> {
    let nul = |text: &String| text.contains('\0');
    if form
        .pairs
        .iter()
        .any(|(name, value)| nul(name) || nul(value))
    {
        let why = "The form has a parameter with a NUL character.";
        return Err(TokenError::InvalidRequest(why.to_owned()));
    }
    Ok(Params(form.pairs))
}

/// Who the client says it is: by the form or by Basic, not by both (RFC 6749 section 2.3). `None`
/// if it does not say.
fn claim(form: &Form<'_>, params: Params<'_>) -> Result<Option<Claim>, TokenError> {
    let id = params.one("client_id")?;
    let secret = params.one("client_secret")?;
    let basic = match form.authorization {
        [] => None,
        [value] => basic(value),
        _ => {
            let why = "The `Authorization` header is given twice.";
            return Err(TokenError::InvalidRequest(why.to_owned()));
        }
    };
    let Some(header) = basic else {
        return Ok(id.map(|id| Claim {
            id: number(id),
            secret: secret.unwrap_or_default().to_owned(),
        }));
    };
    let (user, password) = header.ok_or(TokenError::InvalidClient)?;
    if secret.is_some() || id.is_some_and(|id| id != user) {
        let why = "The client authenticates in more than one way.";
        return Err(TokenError::InvalidRequest(why.to_owned()));
    }
    Ok(Some(Claim {
        id: number(&user),
        secret: password,
    }))
}

/// The two parts of Basic credentials, form-decoded (RFC 6749 section 2.3.1). The outer `None` is
/// another scheme, the inner one credentials that cannot be read.
fn basic(header: &str) -> Option<Option<(String, String)>> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let read = || {
        let text = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        Some((decode(user)?, decode(password)?))
    };
    Some(read())
}

//! Bearer token checks, for services that only verify tokens.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::bearer::{BearerError, bearer};
use crate::tokens::grant::{Grant, MissingScope, TokenRefusal, check_token};
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::{SecretDigest, TokenPrefixes};

/// Look-up of stored tokens: the only part that a service must provide to verify them. Every [`TokenStore`] implements it.
#[async_trait]
pub trait TokenLookup: Send + Sync {
    /// Returns the token with exactly this digest, and the account that it acts as. It may return an expired or revoked
    /// token, which the verifier refuses.
    async fn look_up(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError>;
}

#[async_trait]
impl<T: TokenStore + ?Sized> TokenLookup for T {
    async fn look_up(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        self.find_token(digest).await
    }
}

/// Reason why a request is refused. `Display` is a sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantError {
    /// The headers contain no bearer token: 401; or several, or a malformed one: 400 (RFC 6750 section 3.1).
    Header(BearerError),
    /// The token is not valid: 401.
    Token(TokenRefusal),
    /// The token lacks a scope: 403.
    Scope(MissingScope),
    /// The look-up failed: 503. The reason is for the log only.
    Store(AuthStoreError),
}

impl GrantError {
    /// Returns the status of the answer.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::Header(error) if error.code().is_some() => 400,
            Self::Header(_) | Self::Token(_) => 401,
            Self::Scope(_) => 403,
            Self::Store(_) => 503,
        }
    }

    /// Returns the value of `WWW-Authenticate` (RFC 6750 section 3), which is sent with every 400, 401 and 403.
    #[must_use]
    pub fn challenge(&self) -> Option<String> {
        let code = match self {
            Self::Header(error) => error.code(),
            Self::Token(refusal) => Some(refusal.code()),
            Self::Scope(missing) => return Some(missing.challenge()),
            Self::Store(_) => return None,
        };
        Some(code.map_or_else(
            || "Bearer".to_owned(),
            |code| format!("Bearer error=\"{code}\""),
        ))
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => error.fmt(f),
            Self::Token(refusal) => refusal.fmt(f),
            Self::Scope(missing) => missing.fmt(f),
            Self::Store(_) => f.write_str("the token can't be checked now; try again"),
        }
    }
}

impl std::error::Error for GrantError {}

impl From<MissingScope> for GrantError {
    fn from(missing: MissingScope) -> Self {
        Self::Scope(missing)
    }
}

/// Verifier of the bearer tokens of requests.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use workgraph_auth::{MemoryTokenStore, TokenVerifier};
///
/// # fn clock() -> SystemTime { SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) }
/// // In production, `clock` is `SystemTime::now`, and the look-up is your own.
/// let verifier = TokenVerifier::new(Arc::new(MemoryTokenStore::new()), clock);
/// # async fn handler(verifier: TokenVerifier) -> Result<(), workgraph_auth::GrantError> {
/// let grant = verifier.verify(&["Bearer wgp_..."]).await?;
/// grant.require("invoices:read")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TokenVerifier {
    lookup: Arc<dyn TokenLookup>,
    prefixes: TokenPrefixes,
    clock: fn() -> SystemTime,
}

impl TokenVerifier {
    /// Makes a verifier with this token look-up, and this clock for checking expiry.
    #[must_use]
    pub fn new(lookup: Arc<dyn TokenLookup>, clock: fn() -> SystemTime) -> Self {
        Self {
            lookup,
            prefixes: TokenPrefixes::DEFAULT,
            clock,
        }
    }

    /// Sets the prefixes of tokens. Texts with other prefixes are refused without a look-up.
    #[must_use]
    pub const fn with_prefixes(mut self, prefixes: TokenPrefixes) -> Self {
        self.prefixes = prefixes;
        self
    }

    /// Checks the values of a request's `Authorization` headers, and returns the rights of the request.
    ///
    /// # Errors
    /// Says why there is no token, why it is not valid, or that the look-up failed.
    pub async fn verify<T: AsRef<str> + Sync>(&self, headers: &[T]) -> Result<Grant, GrantError> {
        let text = bearer(headers).map_err(GrantError::Header)?;
        let unknown = GrantError::Token(TokenRefusal::Unknown);
        let digest = self.prefixes.digest(text).ok_or_else(|| unknown.clone())?;
        let found = self.lookup.look_up(&digest).await;
        let (record, account) = found.map_err(GrantError::Store)?.ok_or(unknown)?;
        check_token(&record, &account, (self.clock)()).map_err(GrantError::Token)
    }
}

#[cfg(any(feature = "axum", feature = "tower"))]
impl TokenVerifier {
    /// Checks the headers of a request as [`verify`](Self::verify) does.
    ///
    /// # Errors
    /// Fails as `verify` does.
    pub async fn verify_headers(&self, headers: &http::HeaderMap) -> Result<Grant, GrantError> {
        let values = headers.get_all(http::header::AUTHORIZATION).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        self.verify(&values).await
    }
}

#[cfg(any(feature = "axum", feature = "tower"))]
impl GrantError {
    /// Sets status and challenge of a response, and puts the error into its extensions, for the log or for another body.
    pub(crate) fn write_to<B>(self, response: &mut http::Response<B>) {
        let status = http::StatusCode::from_u16(self.status());
        *response.status_mut() = status.unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        let challenge = self.challenge().map(http::HeaderValue::try_from);
        if let Some(Ok(challenge)) = challenge {
            let headers = response.headers_mut();
            headers.insert(http::header::WWW_AUTHENTICATE, challenge);
        }
        response.extensions_mut().insert(self);
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TokenVerifier");
        shown
            .field("prefixes", &self.prefixes)
            .finish_non_exhaustive()
    }
}

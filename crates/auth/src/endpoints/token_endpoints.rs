//! The three endpoints that apps' servers call with forms: token, revocation and introspection.
//!
//! Each is a function of a decoded form over the store, the current time and fresh random bytes. The
//! caller handles HTTP around it: POST only, `application/x-www-form-urlencoded` only, nothing in
//! the query.
use std::time::SystemTime;

use async_trait::async_trait;
use serde::Serialize;

use crate::authorization::authorization_policy::PublicClients;
use crate::endpoints::introspection::{Introspection, introspect};
use crate::json::to_json;
use crate::oidc::id_token::UserInfo;
use crate::oidc::signing_keys::Signer;
use crate::params::{Param, Params, RepeatedParam};
use crate::ports::oauth_store::OAuthStore;
use crate::ports::token_store::AuthStoreError;
use crate::refusal_reason::AuthRefusal;
use crate::tokens::scope::ScopeRegistry;
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::{TokenKind, TokenSettings};

mod client_credentials;
mod token_exchange;

/// Headers of every reply: no reply may be cached.
pub const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/json;charset=UTF-8"),
    ("Cache-Control", "no-store"),
    ("Pragma", "no-cache"),
];

/// Header of a 401 to a client that used the `Authorization` header (RFC 6749 section 5.2). Other clients do not get it,
/// since some libraries treat it as the whole answer and never read the body.
pub const BASIC_CHALLENGE: (&str, &str) = ("WWW-Authenticate", "Basic realm=\"oauth\"");

/// Reply of an endpoint, for an HTTP server to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointReply {
    /// The HTTP status.
    pub status: u16,
    /// The body: JSON.
    pub body: String,
    /// True if [`BASIC_CHALLENGE`] is sent with it.
    pub challenge: bool,
    /// Reason of a refusal, for the log. It is not sent to the client.
    pub refusal: Option<AuthRefusal>,
    /// Client ID in a refused request, even if it does not exist.
    pub client: Option<u64>,
}

impl EndpointReply {
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
            refusal: None,
            client: None,
        }
    }

    /// Returns an error in the form of RFC 6749, section 5.2: its code, and a sentence for the
    /// developer of the client.
    #[must_use]
    pub fn error(status: u16, code: &str, description: &str) -> Self {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: &'a str,
            error_description: &'a str,
        }
        let body = ErrorBody {
            error: code,
            error_description: description,
        };
        Self::new(status, to_json(&body))
    }

    /// Returns the headers of the reply.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let challenge = self.challenge.then_some(BASIC_CHALLENGE);
        HEADERS.into_iter().chain(challenge)
    }
}

/// Reason why a request was refused (RFC 6749 section 5.2, RFC 7009 section 2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// A parameter is missing, given twice or malformed, or the client authenticates in two ways.
    InvalidRequest(AuthRefusal, String),
    /// Unknown app, wrong secret or disabled app. The reply does not reveal the reason.
    InvalidClient(AuthRefusal),
    /// The code or refresh token is not valid for this request; with the name of the parameter.
    InvalidGrant(AuthRefusal, &'static str),
    /// Unknown scopes, or more than the refresh token has.
    InvalidScope(AuthRefusal),
    /// The endpoint does not support the grant type.
    UnsupportedGrantType,
    /// The endpoint cannot revoke tokens of this type.
    UnsupportedTokenType,
}

impl TokenError {
    /// Returns the reply. Callers also use it for errors that they detect themselves, such as parameters in the
    /// query or a wrong content type.
    #[must_use]
    pub fn reply(&self) -> EndpointReply {
        let (status, code, reason) = match self {
            Self::InvalidRequest(_, reason) => (400, "invalid_request", reason.clone()),
            Self::InvalidClient(_) => (
                401,
                "invalid_client",
                "The client credentials provided were invalid.".to_owned(),
            ),
            Self::InvalidGrant(_, what) => (
                400,
                "invalid_grant",
                format!("The `{what}` provided was invalid."),
            ),
            Self::InvalidScope(_) => (
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
        EndpointReply {
            refusal: Some(self.refusal()),
            ..EndpointReply::error(status, code, &reason)
        }
    }

    /// Returns the reason, for the log.
    #[must_use]
    pub const fn refusal(&self) -> AuthRefusal {
        match self {
            Self::InvalidRequest(reason, _)
            | Self::InvalidClient(reason)
            | Self::InvalidGrant(reason, _)
            | Self::InvalidScope(reason) => *reason,
            Self::UnsupportedGrantType => AuthRefusal::GrantTypeUnsupported,
            Self::UnsupportedTokenType => AuthRefusal::TokenNotRevocable,
        }
    }
}

impl From<RepeatedParam> for TokenError {
    fn from(RepeatedParam(name): RepeatedParam) -> Self {
        let text = format!("The `{name}` parameter is given twice.");
        Self::InvalidRequest(AuthRefusal::ParameterRepeated, text)
    }
}

/// Early end of an endpoint's work: an error for the client, or a failure that is answered with a
/// 500.
enum EndpointStop {
    ClientError(TokenError),
    ServerError(AuthStoreError),
}

impl<E: Into<TokenError>> From<E> for EndpointStop {
    fn from(error: E) -> Self {
        Self::ClientError(error.into())
    }
}

fn finish(
    form: &EndpointRequest<'_>,
    outcome: Result<EndpointReply, EndpointStop>,
) -> Result<EndpointReply, AuthStoreError> {
    match outcome {
        Ok(reply) => Ok(reply),
        Err(EndpointStop::ClientError(error)) => {
            let reply = error.reply();
            let challenge = reply.status == 401 && !form.authorization.is_empty();
            Ok(EndpointReply {
                challenge,
                client: form.named_client(),
                ..reply
            })
        }
        Err(EndpointStop::ServerError(error)) => Err(error),
    }
}

fn missing(name: &str, refusal: AuthRefusal) -> TokenError {
    TokenError::InvalidRequest(refusal, format!("The `{name}` parameter is missing."))
}

/// Port through which the endpoints read names and addresses of users.
#[async_trait]
pub trait UserDirectory: Send + Sync {
    /// Returns a user; `None` if the user does not exist.
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError>;

    /// Returns true if the tokens of a user give access to anything at this time. If not, the endpoints issue no token for
    /// the user, introspection calls the user's tokens inactive, and they show no claims about the user. The default
    /// implementation returns true.
    async fn has_access(&self, _user: u64) -> Result<bool, AuthStoreError> {
        Ok(true)
    }

    /// Returns a user who has access; `None` if the user has none or does not exist. A directory that can look up both at
    /// once overrides this.
    async fn user_with_access(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        match self.has_access(user).await? {
            true => self.user_info(user).await,
            false => Ok(None),
        }
    }
}

/// Decoded request to an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointRequest<'a> {
    /// The parameters of the body.
    pub pairs: &'a [Param],
    /// The values of the `Authorization` headers. Schemes other than Basic are ignored.
    pub authorization: &'a [&'a str],
}

/// Numbers and random bytes for the tokens that a request may create.
#[derive(Clone, Copy)]
pub struct NewTokenMaterial {
    /// The id of an access token.
    pub access_id: u64,
    /// The random bits of an access token.
    pub access: [u8; 32],
    /// The id of a refresh token.
    pub refresh_id: u64,
    /// The random bits of a refresh token.
    pub refresh: [u8; 32],
}

/// The token, revocation and introspection endpoints with their dependencies.
#[derive(Clone, Copy)]
pub struct Endpoints<'a> {
    /// The store of tokens, accounts, apps and codes.
    pub store: &'a dyn OAuthStore,
    /// The names and addresses of users.
    pub users: &'a dyn UserDirectory,
    /// The issuer: the configured base URL.
    pub issuer: &'a str,
    /// The scopes that a refresh may request.
    pub scopes: ScopeRegistry,
    /// The prefixes and lifetime of the tokens.
    pub tokens: TokenSettings,
    /// The choice whether apps without a secret get tokens.
    pub public_clients: PublicClients,
    /// The current signing key. Without it there are no id_tokens.
    pub signer: Option<&'a dyn Signer>,
}

impl Endpoints<'_> {
    /// Issues an access token for a code or a refresh token: `POST /-/oauth_token`.
    ///
    /// # Errors
    /// Fails if the store failed; the client should get a 500 without details.
    pub async fn token(
        &self,
        form: &EndpointRequest<'_>,
        fresh: &NewTokenMaterial,
        now: SystemTime,
    ) -> Result<EndpointReply, AuthStoreError> {
        finish(form, self.exchange(form, fresh, now).await)
    }

    /// Revokes a refresh token and all access tokens that depend on it, or the access token of a client without a secret:
    /// `POST /-/oauth_revoke` (RFC 7009).
    ///
    /// # Errors
    /// Fails if the store failed. That must never look like a success.
    pub async fn revoke(
        &self,
        form: &EndpointRequest<'_>,
        now: SystemTime,
    ) -> Result<EndpointReply, AuthStoreError> {
        finish(form, self.revocation(form, now).await)
    }

    /// Describes the state of a token to a client that has its text: `POST /-/token_info` (RFC 7662).
    ///
    /// # Errors
    /// The store failed.
    pub async fn token_info(
        &self,
        form: &EndpointRequest<'_>,
        now: SystemTime,
    ) -> Result<EndpointReply, AuthStoreError> {
        finish(form, self.introspection(form, now).await)
    }

    async fn revocation(
        &self,
        form: &EndpointRequest<'_>,
        now: SystemTime,
    ) -> Result<EndpointReply, EndpointStop> {
        let params = params(form)?;
        let text = token_parameter(params)?;
        let claim = form.claim(params)?;
        let claim = claim.ok_or_else(|| missing("client_id", AuthRefusal::ClientIdMissing))?;
        let app = self.client(claim.complete(self.public_clients)?).await?;
        let done = || EndpointReply::ok("{}".to_owned());
        // If the token is unknown, the purpose of the request is already achieved (section 2.2).
        let Some((record, _)) = self.find_token(text).await? else {
            return Ok(done());
        };
        // A client without a secret has no refresh token, so it revokes its access token.
        let is_revocable = match record.kind {
            TokenKind::Refresh => true,
            TokenKind::Access => self.public_clients.include(&app),
            TokenKind::Personal | TokenKind::Service => false,
        };
        if !is_revocable {
            return Err(TokenError::UnsupportedTokenType.into());
        }
        if record.app != Some(app.id) {
            let refusal = AuthRefusal::TokenOfOtherClient;
            return Err(TokenError::InvalidGrant(refusal, "token").into());
        }
        let revoked = self.store.revoke(record.id, now).await;
        revoked.map_err(EndpointStop::ServerError)?;
        Ok(done())
    }

    async fn introspection(
        &self,
        form: &EndpointRequest<'_>,
        now: SystemTime,
    ) -> Result<EndpointReply, EndpointStop> {
        let params = params(form)?;
        let text = token_parameter(params)?;
        let found = self.find_token(text).await?;
        let found = found.as_ref().map(|(record, account)| (record, account));
        let mut reply = introspect(found, now);
        // The token of a service account is for one workspace, to which the account always belongs.
        if let Some((record, _)) = found.filter(|(record, _)| record.workspace.is_none())
            && reply != Introspection::Inactive
        {
            let has_access = self.users.has_access(record.user).await;
            if !has_access.map_err(EndpointStop::ServerError)? {
                reply = Introspection::Inactive;
            }
        }
        Ok(EndpointReply::ok(reply.to_json()))
    }

    /// Returns the token with this text and its context. A malformed text counts as an unknown token.
    async fn find_token(&self, text: &str) -> Result<Option<(TokenRecord, Account)>, EndpointStop> {
        let Some(digest) = self.tokens.prefixes.digest(text) else {
            return Ok(None);
        };
        let found = self.store.find_token(&digest).await;
        found.map_err(EndpointStop::ServerError)
    }
}

fn params<'a>(form: &EndpointRequest<'a>) -> Result<Params<'a>, TokenError> {
    let nul = |text: &String| text.contains('\0');
    if form
        .pairs
        .iter()
        .any(|(name, value)| nul(name) || nul(value))
    {
        let reason = "The form has a parameter with a NUL character.";
        let refusal = AuthRefusal::FormUnreadable;
        return Err(TokenError::InvalidRequest(refusal, reason.to_owned()));
    }
    Ok(Params(form.pairs))
}

/// Returns the `token` parameter of a request.
fn token_parameter(params: Params<'_>) -> Result<&str, TokenError> {
    let text = params.one("token")?;
    text.ok_or_else(|| missing("token", AuthRefusal::TokenParameterMissing))
}

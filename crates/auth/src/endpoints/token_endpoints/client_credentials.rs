//! Credentials with which clients authenticate at the endpoints.
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

use super::{EndpointRequest, EndpointStop, Endpoints, TokenError, missing};
use crate::authorization::authorization_policy::PublicClients;
use crate::authorization::registered_app::{App, authenticate};
use crate::params::{Params, decode, number};
use crate::refusal_reason::AuthRefusal;

/// Unchecked credentials of a client.
pub(super) struct ClientCredentials {
    id: Option<u64>,
    secret: String,
}

impl ClientCredentials {
    /// Checks that the secret is present, if every client has one. Revocation needs this, since its spec calls every
    /// missing field a bad request.
    pub(super) fn complete(self, public_clients: PublicClients) -> Result<Self, TokenError> {
        if self.secret.is_empty() && public_clients == PublicClients::Refused {
            return Err(missing("client_secret", AuthRefusal::ClientSecretMissing));
        }
        Ok(self)
    }
}

impl EndpointRequest<'_> {
    /// Returns the client ID in the header or the form of a request.
    pub(super) fn named_client(&self) -> Option<u64> {
        let header = match self.authorization {
            [value] => basic(value).flatten(),
            _ => None,
        };
        match header {
            Some((user, _)) => number(&user),
            None => Params(self.pairs).one("client_id").ok()?.and_then(number),
        }
    }

    /// Returns the client's credentials: from the form or from Basic, but not both (RFC 6749 section
    /// 2.3). `None` if there are none.
    pub(super) fn claim(
        &self,
        params: Params<'_>,
    ) -> Result<Option<ClientCredentials>, TokenError> {
        let id = params.one("client_id")?;
        let secret = params.one("client_secret")?;
        let basic = match self.authorization {
            [] => None,
            [value] => basic(value),
            _ => {
                let reason = "The `Authorization` header is given twice.";
                let refusal = AuthRefusal::AuthorizationHeaderRepeated;
                return Err(TokenError::InvalidRequest(refusal, reason.to_owned()));
            }
        };
        let Some(header) = basic else {
            return Ok(id.map(|id| ClientCredentials {
                id: number(id),
                secret: secret.unwrap_or_default().to_owned(),
            }));
        };
        let unreadable = TokenError::InvalidClient(AuthRefusal::ClientCredentialsUnreadable);
        let (user, password) = header.ok_or(unreadable)?;
        if secret.is_some() || id.is_some_and(|id| id != user) {
            let reason = "The client authenticates in more than one way.";
            let refusal = AuthRefusal::ClientAuthenticatesTwice;
            return Err(TokenError::InvalidRequest(refusal, reason.to_owned()));
        }
        Ok(Some(ClientCredentials {
            id: number(&user),
            secret: password,
        }))
    }
}

impl Endpoints<'_> {
    /// Returns the app if its credentials are correct. Takes one look-up by id, then one
    /// comparison.
    pub(super) async fn client(&self, claim: ClientCredentials) -> Result<Arc<App>, EndpointStop> {
        let found = match claim.id {
            Some(id) => self
                .store
                .app(id)
                .await
                .map_err(EndpointStop::ServerError)?,
            None => None,
        };
        let is_public = |app: &App| {
            self.public_clients.include(app) && claim.secret.is_empty() && app.disabled_at.is_none()
        };
        let proved = authenticate(found.as_deref(), &claim.secret).is_some()
            || found.as_deref().is_some_and(is_public);
        let refusal = match &found {
            None if claim.id.is_none() => AuthRefusal::ClientIdMalformed,
            None => AuthRefusal::ClientUnknown,
            Some(app) if app.secret.is_none() => AuthRefusal::ClientWithoutSecret,
            Some(_) if claim.secret.is_empty() => AuthRefusal::ClientSecretMissing,
            Some(app) if app.disabled_at.is_some() => AuthRefusal::ClientDisabled,
            Some(_) => AuthRefusal::ClientSecretWrong,
        };
        let found = found.filter(|_| proved);
        Ok(found.ok_or(TokenError::InvalidClient(refusal))?)
    }
}

/// Returns the two parts of Basic credentials, form-decoded (RFC 6749 section 2.3.1). The outer
/// `None` means another scheme, the inner one credentials that cannot be read.
fn basic(header: &str) -> Option<Option<(String, String)>> {
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

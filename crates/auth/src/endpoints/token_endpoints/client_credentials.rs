//! Credentials with which clients authenticate at the endpoints.
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{EndpointRequest, TokenError, missing};
use crate::authorization::authorization_policy::PublicClients;
use crate::params::{Params, decode, number};
use crate::refusal_reason::AuthRefusal;

/// Unchecked credentials of a client.
pub(super) struct ClientCredentials {
    pub(super) id: Option<u64>,
    pub(super) secret: String,
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

/// Returns the client ID in the header or the form of a request.
pub(super) fn named_client(form: &EndpointRequest<'_>) -> Option<u64> {
    let header = match form.authorization {
        [value] => basic(value).flatten(),
        _ => None,
    };
    match header {
        Some((user, _)) => number(&user),
        None => Params(form.pairs).one("client_id").ok()?.and_then(number),
    }
}

/// Returns the client's credentials: from the form or from Basic, but not both (RFC 6749 section
/// 2.3). `None` if there are none.
pub(super) fn claim(
    form: &EndpointRequest<'_>,
    params: Params<'_>,
) -> Result<Option<ClientCredentials>, TokenError> {
    let id = params.one("client_id")?;
    let secret = params.one("client_secret")?;
    let basic = match form.authorization {
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

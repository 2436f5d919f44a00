//! Extractor for grants, and responses for their errors, for axum.
use axum_core::extract::{FromRef, FromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::header;
use http::request::Parts;
use serde::Serialize;

use crate::json::to_json;
use crate::ports::token_store::AuthStoreError;
use crate::token_verifier::{GrantError, TokenVerifier};
use crate::tokens::grant::{Grant, MissingScope};

/// Verifies the bearer token of a request with the [`TokenVerifier`] in the router's state, unless a `GrantLayer` around the
/// router has already put the grant into the request's extensions. A handler with its own error format
/// takes `Result<Grant, GrantError>`.
impl<S> FromRequestParts<S> for Grant
where
    S: Send + Sync,
    TokenVerifier: FromRef<S>,
{
    type Rejection = GrantError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, GrantError> {
        // The layer around the router has already verified the token.
        #[cfg(feature = "tower")]
        if let Some(grant) = parts.extensions.get::<Self>() {
            return Ok(grant.clone());
        }
        let verifier = TokenVerifier::from_ref(state);
        verifier.verify_headers(&parts.headers).await
    }
}

/// Body of the response: the form of RFC 6749 section 5.2.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    error_description: String,
}

/// Sends the challenge and a JSON body. The extensions of the response contain the error, for the log or for another body.
impl IntoResponse for GrantError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: match &self {
                Self::Header(error) => error.code().unwrap_or("invalid_request"),
                Self::Token(refusal) => refusal.code(),
                Self::Scope(_) => "insufficient_scope",
                Self::Store(_) => "temporarily_unavailable",
            },
            error_description: self.to_string(),
        };
        let kind = [(header::CONTENT_TYPE, "application/json;charset=UTF-8")];
        let mut response = (kind, to_json(&body)).into_response();
        self.write_to(&mut response);
        response
    }
}

impl IntoResponse for MissingScope {
    fn into_response(self) -> Response {
        GrantError::from(self).into_response()
    }
}

/// Sends a 503 that reveals nothing about the store. The extensions of the response contain the error, for the log.
impl IntoResponse for AuthStoreError {
    fn into_response(self) -> Response {
        crate::oauth_server::failed(self)
    }
}

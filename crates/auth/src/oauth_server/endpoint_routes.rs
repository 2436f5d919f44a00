//! Handlers of the endpoints for apps' servers, and of the documents.
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Request, StatusCode, header};

use super::http_forms::form;
use super::{OAuthServer, failed};
use crate::endpoints::discovery::document;
use crate::endpoints::token_endpoints::{
    EndpointReply, EndpointRequest, NewTokenMaterial, TokenError,
};
use crate::oidc::id_token::user_info as claims_of;
use crate::oidc::signing_keys::KEY_SET_LIFETIME;
use crate::params::Param;
use crate::ports::token_store::AuthStoreError;
use crate::refusal_reason::AuthRefusal;
use crate::token_verifier::GrantError;
use crate::tokens::grant::{Grant, TokenRefusal};

/// Request to an endpoint: its form, and its `Authorization` headers.
struct Posted {
    pairs: Vec<Param>,
    authorization: Vec<String>,
}

impl Posted {
    /// Reads a request, or returns the reply that refuses it.
    async fn read(request: Request<Body>) -> Result<Self, EndpointReply> {
        let invalid = |refusal, text: &str| TokenError::InvalidRequest(refusal, text.to_owned());
        if request.uri().query().is_some_and(|query| !query.is_empty()) {
            let text = "Parameters belong into the body, not into the query.";
            return Err(invalid(AuthRefusal::QueryGiven, text).reply());
        }
        let headers = request.headers().get_all(header::AUTHORIZATION).iter();
        let authorization = headers
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        let read = form(request).await;
        let refused = |text| invalid(AuthRefusal::FormUnreadable, text).reply();
        let pairs = read.map_err(refused)?;
        Ok(Self {
            pairs,
            authorization,
        })
    }

    fn headers(&self) -> Vec<&str> {
        self.authorization.iter().map(String::as_str).collect()
    }
}

pub(super) async fn token(State(server): State<OAuthServer>, request: Request<Body>) -> Response {
    let posted = match Posted::read(request).await {
        Ok(posted) => posted,
        Err(reply) => return response(&reply),
    };
    let authorization = posted.headers();
    let form = EndpointRequest {
        pairs: &posted.pairs,
        authorization: &authorization,
    };
    let fresh = match server.new_tokens() {
        Ok(fresh) => fresh,
        Err(error) => return broken(error),
    };
    let now = server.now();
    finish(server.endpoints(now).token(&form, &fresh, now).await)
}

pub(super) async fn revoke(State(server): State<OAuthServer>, request: Request<Body>) -> Response {
    let posted = match Posted::read(request).await {
        Ok(posted) => posted,
        Err(reply) => return response(&reply),
    };
    let authorization = posted.headers();
    let form = EndpointRequest {
        pairs: &posted.pairs,
        authorization: &authorization,
    };
    let now = server.now();
    finish(server.endpoints(now).revoke(&form, now).await)
}

pub(super) async fn token_info(
    State(server): State<OAuthServer>,
    request: Request<Body>,
) -> Response {
    let posted = match Posted::read(request).await {
        Ok(posted) => posted,
        Err(reply) => return response(&reply),
    };
    let authorization = posted.headers();
    let form = EndpointRequest {
        pairs: &posted.pairs,
        authorization: &authorization,
    };
    let now = server.now();
    finish(server.endpoints(now).token_info(&form, now).await)
}

/// Answers with the claims about the user of a token (OpenID Connect Core section 5.3). The tokens of a user without access are
/// invalid, as introspection says.
pub(super) async fn user_info(
    State(server): State<OAuthServer>,
    grant: Result<Grant, GrantError>,
) -> Response {
    let grant = match grant {
        Ok(grant) => grant,
        Err(error) => return error.into_response(),
    };
    let person = match server.0.users.user_with_access(grant.user).await {
        Ok(Some(person)) => person,
        Ok(None) => return GrantError::Token(TokenRefusal::Unknown).into_response(),
        Err(error) => return failed(error),
    };
    match (claims_of(&person, grant.scopes), grant.require("openid")) {
        (Some(claims), _) => response(&EndpointReply::new(200, claims)),
        (None, Err(missing)) => missing.into_response(),
        (None, Ok(())) => response(&EndpointReply::error(
            403,
            "insufficient_scope",
            "No claims.",
        )),
    }
}

pub(super) async fn key_set(State(server): State<OAuthServer>) -> Response {
    // A key is published for this long before it signs, so every copy of the key set has it by then.
    let age = KEY_SET_LIFETIME.as_secs() / 2;
    public(server.0.signing_keys.key_set(server.now()), age)
}

pub(super) async fn discovery(State(server): State<OAuthServer>) -> Response {
    public(document(&server.policy(), &server.0.issuer), 3600)
}

impl OAuthServer {
    fn new_tokens(&self) -> Result<NewTokenMaterial, AuthStoreError> {
        Ok(NewTokenMaterial {
            access_id: self.new_id()?,
            access: self.random()?,
            refresh_id: self.new_id()?,
            refresh: self.random()?,
        })
    }
}

impl axum_core::extract::FromRef<OAuthServer> for crate::token_verifier::TokenVerifier {
    fn from_ref(server: &OAuthServer) -> Self {
        server.verifier()
    }
}

/// Returns a document that caches may keep for some seconds.
fn public(json: String, seconds: u64) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json;charset=UTF-8")];
    let mut response = (kind, json).into_response();
    if let Ok(age) = HeaderValue::try_from(format!("public, max-age={seconds}")) {
        response.headers_mut().insert(header::CACHE_CONTROL, age);
    }
    response
}

fn finish(reply: Result<EndpointReply, AuthStoreError>) -> Response {
    match reply {
        Ok(reply) => response(&reply),
        Err(error) => broken(error),
    }
}

/// Returns the reply for a store failure. Its extensions contain the error, for the log.
fn broken(error: AuthStoreError) -> Response {
    let text = "The server can't do this now; try again in a few seconds.";
    let mut response = response(&EndpointReply::error(500, "server_error", text));
    response.extensions_mut().insert(error);
    response
}

/// Returns a reply as a response. Its extensions contain the reason of a refusal, for the log.
fn response(reply: &EndpointReply) -> Response {
    let status = StatusCode::from_u16(reply.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, reply.body.clone()).into_response();
    for (name, value) in reply.headers() {
        if let Ok(name) = http::HeaderName::try_from(name) {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
    }
    if let Some(refusal) = reply.refusal {
        response.extensions_mut().insert(refusal);
    }
    response
}

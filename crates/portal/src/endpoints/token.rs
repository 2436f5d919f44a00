//! The endpoints that take forms from apps' servers: token, revocation, introspection.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, Refusal, RequestRefusal};
use workgraph_auth::{
    AuthRefusal, EndpointReply, EndpointRequest, Endpoints, NewTokenMaterial, TokenError,
    TokenSettings,
};

use crate::common_responses::failure;
use crate::csrf::network;
use crate::form_decoding;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::route::{Endpoint, Route};

const CLIENTS: &str = "client";
const TOKEN_INFO: &str = "token_info";

impl Portal {
    pub(crate) async fn endpoint(
        &self,
        to: Endpoint,
        request: &PortalRequest,
        now: SystemTime,
    ) -> ApiResponse {
        let quota = self.settings.token_info_per_minute;
        let (from, shared) = (network(request.address), self.shared_limiter());
        if to == Endpoint::TokenInfo
            && let Err(wait) = self
                .throttle
                .admit(TOKEN_INFO, &from, quota, now, shared)
                .await
        {
            return too_many(AuthRefusal::TooManyIntrospections.into(), wait);
        }
        let reply = match self.exchange(to, request, now).await {
            Ok(reply) => reply,
            Err(broken) => {
                let phrase = self.log(&broken);
                return into_api_response(EndpointReply::error(
                    500,
                    "server_error",
                    &format!("Something broke here: {phrase}"),
                ))
                .refused_for(AuthRefusal::AuthorizationFailed);
            }
        };
        // Clients that guess secrets are slowed down; a client with the right secret never waits here.
        let quota = self.settings.failures_per_minute;
        if reply.status == 401
            && let Err(wait) = self
                .throttle
                .admit(CLIENTS, &from, quota, now, shared)
                .await
        {
            let refusal = Refusal::from(AuthRefusal::TooManyClientFailures);
            return too_many(refusal.of_client(reply.client), wait);
        }
        into_api_response(reply)
    }

    async fn exchange(
        &self,
        to: Endpoint,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<EndpointReply, PortalError> {
        let invalid = |refusal: AuthRefusal, reason: String| {
            Ok(TokenError::InvalidRequest(refusal, reason).reply())
        };
        if !request.query.is_empty() {
            let reason = "Parameters belong in the body, not in the query.";
            return invalid(AuthRefusal::QueryGiven, reason.to_owned());
        }
        let pairs = match form_decoding::read(request) {
            Ok(pairs) => pairs,
            Err(reason) => return invalid(AuthRefusal::FormUnreadable, reason),
        };
        let headers: Vec<&str> = request.authorization.iter().map(String::as_str).collect();
        let form = EndpointRequest {
            pairs: &pairs,
            authorization: &headers,
        };
        let policy = self.settings.policy(self.base_url(request));
        let mut endpoints = Endpoints {
            store: &*self.store,
            users: &*self.user_directory,
            issuer: policy.issuer,
            scopes: policy.scopes,
            tokens: TokenSettings::DEFAULT,
            public_clients: policy.public_clients,
            signer: None,
        };
        Ok(match to {
            Endpoint::Revoke => endpoints.revoke(&form, now).await?,
            Endpoint::TokenInfo => endpoints.token_info(&form, now).await?,
            _ => {
                let fresh = NewTokenMaterial {
                    access_id: self.next_id()?,
                    access: self.random()?,
                    refresh_id: self.next_id()?,
                    refresh: self.random()?,
                };
                // Only the exchange of a code returns an id_token, so a refresh does not wait for a key.
                let by_code = !form_decoding::one(&pairs, "code").is_empty();
                let ring = if by_code {
                    Some(self.signing_keys().await?)
                } else {
                    None
                };
                endpoints.signer = ring.as_ref().and_then(|ring| ring.signer(now));
                endpoints.token(&form, &fresh, now).await?
            }
        })
    }
}

fn into_api_response(mut reply: EndpointReply) -> ApiResponse {
    let body = std::mem::take(&mut reply.body);
    let mut out = ApiResponse::json(reply.status, body.into_bytes());
    let headers = reply.headers();
    out.headers
        .extend(headers.map(|(name, value)| (name, value.to_owned())));
    if let Some(reason) = reply.refusal {
        out = out.refused_for(Refusal::from(reason).of_client(reply.client));
    }
    out
}

fn too_many(refusal: Refusal, wait: u64) -> ApiResponse {
    let reason = format!("Too many requests from this address. Retry after {wait} seconds.");
    into_api_response(EndpointReply::error(
        429,
        "temporarily_unavailable",
        &reason,
    ))
    .with("Retry-After", wait.to_string())
    .refused_for(refusal)
}

impl Portal {
    /// Returns the response to a form that the transport rejected: too large, or incomplete. `why` is a text of this
    /// server.
    #[must_use]
    pub fn refused(
        &self,
        route: Route,
        refusal: RequestRefusal,
        status: u16,
        reason: &str,
    ) -> ApiResponse {
        let mut reply = match route.endpoint {
            Endpoint::Token | Endpoint::Revoke | Endpoint::TokenInfo => {
                into_api_response(EndpointReply::error(status, "invalid_request", reason))
                    .refused_for(refusal)
            }
            _ => failure(refusal, status, "This form could not be used", reason),
        };
        reply.operation = route.name;
        reply
    }
}

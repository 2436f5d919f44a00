//! Discovery, the key set and user info (OpenID Connect Core section 5.3).
use std::time::SystemTime;

use workgraph_api::{ApiResponse, RequestRefusal};
use workgraph_auth::endpoints::discovery::document;
use workgraph_auth::oidc::id_token::user_info;
use workgraph_auth::oidc::signing_keys::KEY_SET_LIFETIME;
use workgraph_wire::error_envelope::error;

use crate::common_responses::json;
use crate::portal::Portal;
use crate::portal_request::PortalRequest;

impl Portal {
    /// Returns the document of OpenID Connect Discovery and of RFC 8414: one for both. Its issuer is the address that the
    /// request was sent to, as Discovery, section 4.3, requires.
    pub(crate) fn discovery(&self, request: &PortalRequest) -> ApiResponse {
        let text = match &request.base_url {
            None => self.discovery_document().to_owned(),
            Some(issuer) => document(&self.settings.policy(issuer), self.auth_url(request)),
        };
        json(200, text).with("Cache-Control", "public, max-age=3600")
    }

    pub(crate) async fn key_set(&self, request: &PortalRequest, now: SystemTime) -> ApiResponse {
        match self.signing_keys().await {
            Ok(ring) => {
                // A key is published for this long before it signs, so every copy of the key set has it by then.
                let age = format!("public, max-age={}", KEY_SET_LIFETIME.as_secs() / 2);
                json(200, ring.key_set(now)).with("Cache-Control", age)
            }
            Err(broken) => self.fault(broken, request),
        }
    }

    pub(crate) async fn user_info(&self, request: &PortalRequest) -> ApiResponse {
        let (grant, permit) = match self
            .api
            .admit_bearer(&request.authorization, request.base_url.as_deref())
            .await
        {
            Ok(admitted) => admitted,
            Err(reply) => return reply,
        };
        let mut reply = match self.user_directory.user_info(grant.user).await {
            Err(e) => self.fault(e.into(), request),
            Ok(None) => json(
                404,
                text(error("user: Unknown object", &*self.error_help(request))),
            )
            .refused_for(RequestRefusal::NotFound),
            Ok(Some(person)) => match user_info(&person, grant.scopes) {
                Some(claims) => json(200, claims),
                None => json(
                    403,
                    text(error(
                        "The token lacks the scope openid",
                        &*self.error_help(request),
                    )),
                )
                .with(
                    "WWW-Authenticate",
                    "Bearer error=\"insufficient_scope\", scope=\"openid\"",
                )
                .refused_for(RequestRefusal::ScopeInsufficient),
            },
        };
        if let Some(refusal) = &mut reply.refusal {
            *refusal = refusal.of_client(grant.app).of_user(Some(grant.user));
        }
        reply.permit = Some(permit);
        reply
    }
}

/// Returns JSON of this server as text.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

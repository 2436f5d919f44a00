//! The discovery document (OpenID Connect Discovery section 3, RFC 8414 section 2).
use crate::authorization::authorization_policy::{AuthorizationPolicy, IssuerInResponses};
use crate::json_object::JsonObject;
use crate::tokens::scope::{DEFAULT, SCOPES};

/// Returns the document, from the configuration only: nothing in a request can change it. The
/// issuer is the policy's, byte for byte; the OAuth endpoints are under `auth_url`.
#[must_use]
pub fn document(policy: &AuthorizationPolicy<'_>, auth_url: &str) -> String {
    let base_url = policy.issuer;
    let auth = |path: &str| format!("{auth_url}/-/{path}");
    let methods = ["client_secret_post", "client_secret_basic"];
    let scopes: Vec<&str> = [DEFAULT]
        .into_iter()
        .chain(SCOPES.iter().map(|scope| scope.name))
        .collect();
    let document = JsonObject::default()
        .text("issuer", base_url)
        .text("authorization_endpoint", &auth("oauth_authorize"))
        .text("token_endpoint", &auth("oauth_token"))
        .text("revocation_endpoint", &auth("oauth_revoke"))
        .text("introspection_endpoint", &auth("token_info"))
        .text(
            "userinfo_endpoint",
            &format!("{base_url}/openid_connect/userinfo"),
        )
        .text("jwks_uri", &format!("{base_url}/openid_connect/jwks"))
        .texts(
            "response_types_supported",
            &["code", "id_token", "code id_token"],
        )
        .texts(
            "response_modes_supported",
            &["query", "fragment", "form_post"],
        )
        .texts(
            "grant_types_supported",
            &["authorization_code", "refresh_token"],
        )
        .texts("subject_types_supported", &["public"])
        .texts(
            "id_token_signing_alg_values_supported",
            &[crate::oidc::signing_keys::ALGORITHM],
        )
        .texts("token_endpoint_auth_methods_supported", &methods)
        .texts("revocation_endpoint_auth_methods_supported", &methods)
        .texts("introspection_endpoint_auth_methods_supported", &["none"])
        .texts(
            "code_challenge_methods_supported",
            &[crate::authorization::pkce::METHOD],
        )
        .texts("scopes_supported", &scopes)
        .texts(
            "claims_supported",
            &[
                "iss",
                "sub",
                "aud",
                "exp",
                "iat",
                "auth_time",
                "nonce",
                "at_hash",
                "c_hash",
                "email",
                "name",
                "picture",
            ],
        )
        .flag("claims_parameter_supported", false)
        .flag("request_parameter_supported", false)
        .flag("request_uri_parameter_supported", false);
    // A client that reads this takes a response without `iss` for a forged one.
    match policy.issuer_in_responses {
        IssuerInResponses::Always => {
            document.flag("authorization_response_iss_parameter_supported", true)
        }
        IssuerInResponses::Openid | IssuerInResponses::Never => document,
    }
    .end()
}

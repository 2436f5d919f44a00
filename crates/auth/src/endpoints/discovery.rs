//! The discovery document (OpenID Connect Discovery section 3, RFC 8414 section 2).
use serde::Serialize;

use crate::authorization::authorization_policy::{
    AuthorizationPolicy, IssuerInResponses, PublicClients,
};
use crate::authorization::pkce::METHOD;
use crate::json::to_json;
use crate::oidc::signing_keys::ALGORITHM;
use crate::tokens::scope::DEFAULT;

/// Methods of client authentication; the last one is for clients without a secret.
const METHODS: [&str; 3] = ["client_secret_post", "client_secret_basic", "none"];

/// Members of the document, in order.
#[derive(Serialize)]
struct DiscoveryDocument<'a> {
    issuer: &'a str,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    response_types_supported: &'a [&'a str],
    response_modes_supported: &'a [&'a str],
    grant_types_supported: &'a [&'a str],
    subject_types_supported: &'a [&'a str],
    id_token_signing_alg_values_supported: &'a [&'a str],
    token_endpoint_auth_methods_supported: &'a [&'a str],
    revocation_endpoint_auth_methods_supported: &'a [&'a str],
    introspection_endpoint_auth_methods_supported: &'a [&'a str],
    code_challenge_methods_supported: &'a [&'a str],
    scopes_supported: Vec<&'a str>,
    claims_supported: &'a [&'a str],
    claims_parameter_supported: bool,
    request_parameter_supported: bool,
    request_uri_parameter_supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_response_iss_parameter_supported: Option<bool>,
}

/// Returns the discovery document, computed from the policy alone. It has exactly the issuer of the policy; the OAuth
/// endpoints are below `auth_url`.
#[must_use]
pub fn document(policy: &AuthorizationPolicy<'_>, auth_url: &str) -> String {
    let base_url = policy.issuer;
    let auth = |path: &str| format!("{auth_url}/-/{path}");
    let methods = match policy.public_clients {
        PublicClients::Allowed => &METHODS[..],
        PublicClients::Refused => METHODS.split_last().map_or(&METHODS[..], |(_, rest)| rest),
    };
    // Without the scope, id_tokens cannot be requested.
    let has_openid = policy.scopes.iter().any(|scope| scope.name == "openid");
    let if_openid = |values: &'static [&'static str]| if has_openid { values } else { &[] };
    let scopes: Vec<&str> = [DEFAULT]
        .into_iter()
        .chain(policy.scopes.iter().map(|scope| scope.name))
        .collect();
    to_json(&DiscoveryDocument {
        issuer: base_url,
        authorization_endpoint: auth("oauth_authorize"),
        token_endpoint: auth("oauth_token"),
        revocation_endpoint: auth("oauth_revoke"),
        introspection_endpoint: auth("token_info"),
        userinfo_endpoint: format!("{base_url}/openid_connect/userinfo"),
        jwks_uri: format!("{base_url}/openid_connect/jwks"),
        response_types_supported: match has_openid {
            true => &["code", "id_token", "code id_token"],
            false => &["code"],
        },
        response_modes_supported: &["query", "fragment", "form_post"],
        grant_types_supported: &["authorization_code", "refresh_token"],
        subject_types_supported: &["public"],
        id_token_signing_alg_values_supported: if_openid(&[ALGORITHM]),
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        introspection_endpoint_auth_methods_supported: &["none"],
        code_challenge_methods_supported: &[METHOD],
        scopes_supported: scopes,
        claims_supported: if_openid(&[
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
        ]),
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
        // A client that reads this rejects responses without `iss` as forged.
        authorization_response_iss_parameter_supported: match policy.issuer_in_responses {
            IssuerInResponses::Always => Some(true),
            IssuerInResponses::Openid | IssuerInResponses::Never => None,
        },
    })
}

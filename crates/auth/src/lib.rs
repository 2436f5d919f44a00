//! The crate's front page: its modules, and the names most callers need.
#![cfg_attr(feature = "conformance", doc = include_str!("../README.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod authorization;
#[cfg(feature = "axum")]
mod axum_support;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod endpoints;
#[cfg(feature = "tower")]
pub mod grant_layer;
mod json;
pub mod memory_token_store;
#[cfg(feature = "axum")]
pub mod oauth_server;
pub mod oidc;
mod params;
pub mod ports;
pub mod refusal_reason;
pub mod rules;
pub mod token_verifier;
pub mod tokens;

pub use authorization::authorization_code::AuthorizationCode;
pub use authorization::authorization_policy::{
    AuthorizationPolicy, IssuerInResponses, PublicClients,
};
pub use authorization::authorization_request::{
    AuthorizationRefusal, AuthorizationRequest, AuthorizationStep, UnverifiedClientError,
    VerifiedClient,
};
pub use authorization::authorization_response::{
    AuthorizationResponse, AuthorizeError, ResponseMode, ResponseType,
};
pub use authorization::browser_session::BrowserSession;
pub use authorization::redirect_uri::{LoopbackPolicy, RedirectUri};
pub use authorization::registered_app::{App, RegisteredScopes};
pub use authorization::user_authorization::Authorization;
pub use endpoints::introspection::{Introspection, introspect};
pub use endpoints::token_endpoints::{
    EndpointReply, EndpointRequest, Endpoints, NewTokenMaterial, TokenError, UserDirectory,
};
#[cfg(feature = "tower")]
pub use grant_layer::GrantLayer;
pub use memory_token_store::MemoryTokenStore;
#[cfg(feature = "axum")]
pub use oauth_server::{OAuthServer, OAuthServerBuilder, Random};
pub use oidc::id_token::{IdToken, UserInfo};
pub use oidc::signing_keys::{JsonWebKey, Rs256, Signer, SigningKeyRing};
pub use params::Param;
pub use ports::oauth_store::{
    ConsentRecord, IssuedTokens, OAuthStore, PasswordChange, RedemptionOutcome,
};
pub use ports::token_store::{AuthStoreError, TokenAtCommit, TokenStore};
pub use refusal_reason::AuthRefusal;
pub use token_verifier::{GrantError, TokenLookup, TokenVerifier};
pub use tokens::bearer::{BearerError, bearer};
pub use tokens::grant::{Grant, MissingScope, TokenRefusal, check_token};
pub use tokens::scope::{Scope, ScopeError, ScopeRegistry, ScopeSet};
pub use tokens::token_record::{Account, Login, PasswordLength, Tier, TokenRecord, check_password};
pub use tokens::token_text::{
    Secret, SecretDigest, TokenKind, TokenPrefixes, TokenSettings, mint_token, token_digest,
};

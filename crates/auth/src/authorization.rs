//! Authorization of apps by users: registered apps, authorization requests and responses, codes
//! with PKCE, browser sessions, and the authorizations granted by users.
pub mod authorization_code;
pub mod authorization_policy;
pub mod authorization_request;
pub mod authorization_response;
pub mod browser_session;
pub mod pkce;
pub mod redirect_uri;
pub mod registered_app;
pub mod user_authorization;
mod verified_client;

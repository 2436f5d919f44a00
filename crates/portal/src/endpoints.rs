//! The endpoints for apps and their servers: tokens, and OpenID Connect.
pub(crate) mod openid;
pub(crate) mod token;

//! The endpoints that apps and their servers call: tokens, and OpenID Connect.
pub(crate) mod openid;
pub(crate) mod token;

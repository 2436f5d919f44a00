//! OpenID Connect: id_tokens, the keys that sign them, and the discovery document.
pub mod discovery;
pub mod id_token;
pub mod signing_keys;

//! The endpoints called by apps' servers: token, revocation and introspection (RFC 6749, RFC 7009,
//! RFC 7662).
pub mod discovery;
pub mod introspection;
pub mod token_endpoints;

//! OpenID Connect: id_tokens and the keys that sign them.
pub mod id_token;
pub mod signing_keys;

use std::time::Duration;

/// Lifetime of an id_token.
pub const ID_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

//! The crate's tests, one file per subject. Each property also runs against a version that breaks
//! it on purpose, and must notice it.
#![cfg(test)]

mod answers;
mod authorize;
mod bearer;
mod codes;
mod endpoints;
mod flawed;
mod grants;
mod id_tokens;
mod introspection;
mod laws;
mod oauth;
#[cfg(feature = "axum")]
mod oauth_server;
mod public_clients;
mod redirects;
mod revocation;
mod scopes;
mod sessions;
mod stores;
mod tokens;
#[cfg(feature = "tower")]
mod tower_layer;
mod verifier;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_auth::{SecretDigest, TokenKind, TokenRecord, mint_token};

/// Returns the instant `millis` after an arbitrary one.
fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_800_000_000_000 + millis)
}

/// Returns 32 bytes that differ for every `seed` and look random enough.
fn random(seed: u64) -> [u8; 32] {
    SecretDigest::of(&seed.to_string()).0
}

/// Returns a record of each kind that is alive at `at(0)`; the access token expires at
/// `at(3_600_000)`.
fn record(kind: TokenKind) -> TokenRecord {
    let (_, digest) = mint_token(kind, &random(1));
    let base = TokenRecord::personal(5, digest, 12, at(0));
    match kind {
        TokenKind::Personal => base,
        TokenKind::Service => TokenRecord::service(5, digest, 12, 30, at(0)),
        TokenKind::Access => TokenRecord {
            kind,
            app: Some(40),
            grant: Some(50),
            expires_at: Some(at(3_600_000)),
            ..base
        },
        TokenKind::Refresh => TokenRecord {
            kind,
            app: Some(40),
            grant: Some(50),
            ..base
        },
    }
}

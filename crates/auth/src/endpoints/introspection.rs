//! Introspection: the state of a token, for a client that has its text (RFC 7662).
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::tokens::grant::is_alive;
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::TokenKind;

/// Reported lifetime of a token that does not expire, counted from now: ten years.
///
/// The reply always contains both times, since typed clients read them as plain integers.
pub const UNLIMITED: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Reply to an introspection request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Introspection {
    /// The token is unknown, expired or revoked, or its account is disabled. The reply does not
    /// reveal the reason.
    Inactive,
    /// The token works.
    Active {
        /// `refresh` for a refresh token, else `bearer`.
        token_type: &'static str,
        /// Seconds of validity: the whole lifetime of an access token, the remaining time of any
        /// other token.
        expires_in: u64,
        /// The instant of expiry in seconds since 1970.
        exp: u64,
        /// The scopes, space-separated; `default` for full permissions.
        scope: String,
        /// The app, for the OAuth kinds.
        client_id: Option<u64>,
    },
}

/// Describes a token at `now`, from the record that the store found under its digest.
#[must_use]
pub fn introspect(found: Option<(&TokenRecord, &Account)>, now: SystemTime) -> Introspection {
    let Some((record, account)) = found else {
        return Introspection::Inactive;
    };
    if is_alive(record, account, now).is_err() {
        return Introspection::Inactive;
    }
    let end = record
        .expires_at
        .or(now.checked_add(UNLIMITED))
        .unwrap_or(now);
    let since = if record.kind == TokenKind::Access {
        record.created_at
    } else {
        now
    };
    Introspection::Active {
        token_type: if record.kind == TokenKind::Refresh {
            "refresh"
        } else {
            "bearer"
        },
        expires_in: end.duration_since(since).unwrap_or_default().as_secs(),
        exp: end.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        scope: record.scopes.to_string(),
        client_id: record.app,
    }
}

impl Introspection {
    /// Returns the reply's JSON body. Nothing in it needs escaping: scope names come from the registry
    /// and the rest are numbers.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Self::Active {
            token_type,
            expires_in,
            exp,
            scope,
            client_id,
        } = self
        else {
            return r#"{"active":false}"#.to_owned();
        };
        let mut json = format!(
            r#"{{"token_type":"{token_type}","expires_in":{expires_in},"exp":{exp},"scope":"{scope}","active":true"#
        );
        if let Some(app) = client_id {
            // Writing to a String cannot fail.
            let _ = write!(json, r#","client_id":"{app}""#);
        }
        json.push('}');
        json
    }
}

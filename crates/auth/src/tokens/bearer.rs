//! Parser of the bearer token in the `Authorization` header (RFC 6750 section 2.1).
//!
//! Tokens in a query or a body are ignored: the caller does not pass them in.

use std::fmt;
/// Name of the authentication scheme.
const SCHEME: &str = "Bearer";

/// Reason why a request's headers contain no bearer token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BearerError {
    /// There is no `Authorization` header, or it is empty.
    Missing,
    /// The header names another scheme, such as `Basic`.
    Scheme,
    /// The header has the scheme, but no token.
    Empty,
    /// More than one token, or a token with white space in it.
    Spaced,
    /// Several `Authorization` headers, even with equal values.
    Repeated,
}

impl fmt::Display for BearerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no Authorization header"),
            Self::Scheme => f.write_str("the Authorization scheme is not Bearer"),
            Self::Empty => f.write_str("no token after Bearer"),
            Self::Spaced => f.write_str("more than one token after Bearer"),
            Self::Repeated => f.write_str("more than one Authorization header"),
        }
    }
}

impl std::error::Error for BearerError {}

impl BearerError {
    /// Returns the error code for `WWW-Authenticate` (RFC 6750 section 3.1). `None` if the client
    /// did not try a bearer token at all: then the challenge has no code.
    #[must_use]
    pub const fn code(self) -> Option<&'static str> {
        match self {
            Self::Missing | Self::Scheme => None,
            Self::Empty | Self::Spaced | Self::Repeated => Some("invalid_request"),
        }
    }
}

/// Returns the token in the values of a request's `Authorization` headers.
///
/// The scheme is matched without regard to case and followed by one or more spaces. The form of the
/// token is not checked: a malformed one is merely unknown.
///
/// # Errors
/// Returns a different error for each way in which the headers do not contain exactly one bearer token.
pub fn bearer<T: AsRef<str>>(headers: &[T]) -> Result<&str, BearerError> {
    let value = match headers {
        [] => return Err(BearerError::Missing),
        [value] => trimmed(value.as_ref()),
        _ => return Err(BearerError::Repeated),
    };
    if value.is_empty() {
        return Err(BearerError::Missing);
    }
    let (scheme, rest) = match value.split_at_checked(SCHEME.len()) {
        Some((scheme, rest)) if rest.is_empty() || rest.starts_with(' ') => (scheme, rest),
        _ => return Err(BearerError::Scheme),
    };
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(BearerError::Scheme);
    }
    let token = rest.trim_start_matches(' ');
    if token.is_empty() {
        return Err(BearerError::Empty);
    }
    // Most values are plain, and this check finds that without a branch for each byte.
    let plain = |all: bool, b: u8| all & b.is_ascii_graphic();
    if !token.bytes().fold(true, plain) && token.contains(char::is_whitespace) {
        return Err(BearerError::Spaced);
    }
    Ok(token)
}

/// Returns a text without the spaces and tabs around it.
fn trimmed(text: &str) -> &str {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let bytes = text.as_bytes();
    let start = bytes.iter().take_while(|b| blank(b)).count();
    let end = bytes.iter().rev().take_while(|b| blank(b)).count();
    text.get(start..bytes.len() - end).unwrap_or_default()
}

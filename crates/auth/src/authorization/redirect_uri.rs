//! Redirect URLs and the rules for registering them. A request must then repeat one byte for byte.
use crate::params::decode;
use std::fmt;

/// Redirect URL of native apps: the code is shown on a page instead.
pub const OUT_OF_BAND: &str = "urn:ietf:wg:oauth:2.0:oob";
/// Maximum length of a redirect URL, in bytes.
pub const MAX_REDIRECT_BYTES: usize = 2000;

/// Parameters of authorization responses (RFC 6749 sections 4.1.2 and 4.1.2.1, RFC 9207, OpenID Connect Core 3.3.2.5).
const RESPONSE_PARAMETERS: [&str; 7] = [
    "code",
    "state",
    "error",
    "error_description",
    "error_uri",
    "iss",
    "id_token",
];

/// Permission to register `http` on this machine: for demonstrations and development only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopbackPolicy {
    /// `http` is refused everywhere.
    #[default]
    Refused,
    /// `http://127.0.0.1`, `http://[::1]` and `http://localhost` are allowed, on any port.
    Allowed,
}

/// Redirect URL that follows the rules for registration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RedirectUri(String);

/// Reason why a redirect URL cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectError {
    /// Neither `https` nor the out-of-band URN.
    Scheme,
    /// Longer than [`MAX_REDIRECT_BYTES`].
    Long,
    /// Spaces, control characters, backslashes, or anything outside ASCII.
    Characters,
    /// Has a fragment.
    Fragment,
    /// A user name or password.
    UserInfo,
    /// Has a wildcard in it.
    Wildcard,
    /// No host, or a malformed one; or an invalid port.
    Host,
    /// A query parameter that responses also have.
    Parameter(&'static str),
    /// A dot segment or a broken percent escape.
    Path,
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("A redirect URL must start with https://, or be urn:ietf:wg:oauth:2.0:oob for native apps."),
            Self::Long => f.write_str("A redirect URL must not be longer than 2,000 characters."),
            Self::Characters => f.write_str("A redirect URL must be plain ASCII without spaces and backslashes."),
            Self::Fragment => f.write_str("A redirect URL must not have a fragment."),
            Self::UserInfo => f.write_str("A redirect URL must not have a user name or password."),
            Self::Wildcard => f.write_str("A redirect URL must not have a wildcard."),
            Self::Host => f.write_str("A redirect URL must have a valid host and port."),
            Self::Parameter(name) => write!(
                f,
                "A redirect URL must not have the parameter {name} in its query: responses have one of this name."
            ),
            Self::Path => f.write_str("A redirect URL must not have dot segments or broken escapes."),
        }
    }
}

impl std::error::Error for RedirectError {}

impl RedirectUri {
    /// Checks a redirect URL for registration.
    ///
    /// # Errors
    /// The first rule that the URL breaks.
    pub fn register(text: &str, loopback: LoopbackPolicy) -> Result<Self, RedirectError> {
        let uri = Self::checked(text, loopback)?;
        match uri.response_parameter() {
            Some(name) => Err(RedirectError::Parameter(name)),
            None => Ok(uri),
        }
    }

    /// Parses a stored redirect URL: one that was registered, under any setting, and possibly before response parameters
    /// were refused.
    ///
    /// # Errors
    /// The first rule that the URL breaks.
    pub fn stored(text: &str) -> Result<Self, RedirectError> {
        Self::checked(text, LoopbackPolicy::Allowed)
    }

    /// Returns the first parameter of its query that responses also have: an app would get it twice, once with the value in
    /// the registered URL.
    #[must_use]
    pub fn response_parameter(&self) -> Option<&'static str> {
        let (_, query) = self.0.split_once('?')?;
        let names = query.split('&').filter_map(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            decode(name)
        });
        names
            .filter_map(|name| RESPONSE_PARAMETERS.iter().find(|own| **own == name))
            .next()
            .copied()
    }

    /// Returns the reasons why an app's stored redirect URLs, given one per line, could not be registered today.
    pub fn problems(lines: &str) -> impl Iterator<Item = String> + '_ {
        lines.lines().filter_map(|line| {
            let wrong = match Self::stored(line) {
                Ok(uri) => RedirectError::Parameter(uri.response_parameter()?),
                Err(wrong) => wrong,
            };
            Some(format!("{line}: {wrong}"))
        })
    }

    fn checked(text: &str, loopback: LoopbackPolicy) -> Result<Self, RedirectError> {
        if text == OUT_OF_BAND {
            return Ok(Self(text.to_owned()));
        }
        let secure = text.strip_prefix("https://");
        let Some(rest) = secure.or_else(|| text.strip_prefix("http://")) else {
            return Err(RedirectError::Scheme);
        };
        if text.len() > MAX_REDIRECT_BYTES {
            return Err(RedirectError::Long);
        }
        let plain = |b: u8| b.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&b);
        if !text.bytes().all(plain) {
            return Err(RedirectError::Characters);
        }
        if text.contains('#') {
            return Err(RedirectError::Fragment);
        }
        if text.contains('*') {
            return Err(RedirectError::Wildcard);
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(RedirectError::Host)?;
        if authority.contains('@') {
            return Err(RedirectError::UserInfo);
        }
        let host = host(authority).ok_or(RedirectError::Host)?;
        let here = ["127.0.0.1", "[::1]", "localhost"].contains(&host);
        if secure.is_none() && !(here && loopback == LoopbackPolicy::Allowed) {
            return Err(RedirectError::Scheme);
        }
        if !is_path(path) {
            return Err(RedirectError::Path);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the URL, as registered.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if this is the URN for native apps.
    #[must_use]
    pub fn is_out_of_band(&self) -> bool {
        self.0 == OUT_OF_BAND
    }

    /// Returns the URL in a native app's request, if it matches this one on any port: this one must be `http` on
    /// `127.0.0.1` or `[::1]`, and everything but the port must be equal byte for byte (RFC 8252 sections 7.3 and 8.4). The name
    /// `localhost` may resolve elsewhere and only matches with its registered port (section 8.3).
    #[must_use]
    pub fn on_any_port(&self, sent: &str) -> Option<Self> {
        let same = loopback_parts(&self.0)? == loopback_parts(sent)?;
        let sent = Self::checked(sent, LoopbackPolicy::Allowed).ok()?;
        same.then_some(sent)
    }

    /// Returns the host, for the consent page; `None` for native apps.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        host(rest.split(['/', '?']).next()?)
    }
}

/// Returns the address and the text after the port in an `http` URL on a loopback address; `None` for every other URL. The
/// format of the port is not checked.
fn loopback_parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
    let is_port = |text: &str| text.is_empty() || text.starts_with(':');
    let mut addresses = ["127.0.0.1", "[::1]"].into_iter();
    let address = addresses.find(|address| authority.strip_prefix(address).is_some_and(is_port))?;
    Some((address, path))
}

/// Returns the host of `host` or `host:port`, if both are well-formed.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']')? + 2;
            let (host, port) = authority.split_at_checked(end)?;
            let inner = host.strip_prefix('[')?.strip_suffix(']')?;
            inner.parse::<std::net::Ipv6Addr>().ok()?;
            match port.strip_prefix(':') {
                None if port.is_empty() => (host, None),
                port => (host, Some(port?)),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if let Some(port) = port {
        let n = port.parse::<u16>().ok()?;
        if n == 0 || n.to_string() != port {
            return None;
        }
    }
    let label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && label.bytes().all(plain)
    };
    (host.starts_with('[') || host.split('.').all(label)).then_some(host)
}

/// Returns true if escapes are complete and no segment, plain or escaped, is a dot segment that
/// servers resolve.
fn is_path(path_and_query: &str) -> bool {
    let escapes = path_and_query.split('%').skip(1).all(|after| {
        after
            .get(..2)
            .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    let path = path_and_query.split('?').next().unwrap_or_default();
    let dots = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        let name = plain.split(';').next().unwrap_or_default();
        name == "." || name == ".."
    };
    escapes && !path.split('/').any(dots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parameter_of_a_response_is_registered() {
        for (query, name) in [
            ("code=1", "code"),
            ("a=1&state", "state"),
            ("error=", "error"),
            ("iss=x&a=b", "iss"),
            ("id%5Ftoken=x", "id_token"),
            ("a&error_description=b", "error_description"),
        ] {
            let text = format!("https://a.example/back?{query}");
            let refused = RedirectUri::register(&text, LoopbackPolicy::Refused);
            assert_eq!(refused, Err(RedirectError::Parameter(name)), "{query}");
            // A URL that was registered before can still be read.
            let stored = RedirectUri::stored(&text).unwrap();
            assert_eq!(stored.response_parameter(), Some(name));
        }
        for query in ["", "codes=1", "a=code", "my_state=1&errors=2", "Code=1"] {
            let text = format!("https://a.example/back?{query}");
            assert!(
                RedirectUri::register(&text, LoopbackPolicy::Refused).is_ok(),
                "{query}"
            );
        }
    }
}

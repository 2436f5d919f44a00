//! Targets: the URLs of receivers.
use crate::target_policy::TargetPolicy;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use thiserror::Error;

/// Maximum length of a target, in bytes.
pub const TARGET_MAX: usize = 1024;

/// Host of a target: a name or an IP address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Host {
    /// An IP address.
    Ip(IpAddr),
    /// A name, in lower case.
    Name(String),
}

/// A parsed target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// True if the target is called with TLS.
    pub https: bool,
    /// The host: an address or a name.
    pub host: Host,
    /// The port; 443 or 80 if the URL has none.
    pub port: u16,
    /// Path and query, as they are sent.
    pub path: String,
}

/// The reason why a target is refused. `Display` is the message for the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum TargetError {
    /// Not a URL that can be called.
    #[error(
        "Not a URL that events can be sent to; it must be https://host/path without user and fragment"
    )]
    Malformed,
    /// http, although only https is allowed.
    #[error("Not allowed; it must begin with https://")]
    PlainHttp,
    /// A port that is neither 443 nor above 1023 (80 for http).
    #[error("Not allowed; the port must be 443 or above 1023")]
    Port,
    /// An address that is not public.
    #[error("not allowed; it must lead to a public address")]
    Address,
    /// A name that never resolves to a public address.
    #[error("not allowed; it must lead to a public address")]
    Local,
}
impl Target {
    /// Reads a target and checks everything that needs no resolver.
    ///
    /// # Errors
    /// Fails if the text is not a URL, or the policy does not allow its host or port.
    pub fn read(text: &str, policy: &TargetPolicy) -> Result<Self, TargetError> {
        let target = Self::parse(text).ok_or(TargetError::Malformed)?;
        let loopback = match &target.host {
            Host::Ip(ip) => {
                if !policy.allows(SocketAddr::new(*ip, target.port)) {
                    return Err(TargetError::Address);
                }
                ip.to_canonical().is_loopback()
            }
            Host::Name(name) => {
                let local = is_local(name);
                if local && !(policy.loopback && is_localhost(name)) {
                    return Err(TargetError::Local);
                }
                local
            }
        };
        if !target.https && !loopback && !policy.plain_http {
            return Err(TargetError::PlainHttp);
        }
        let usual = target.port == if target.https { 443 } else { 80 };
        if !usual && target.port < 1024 {
            return Err(TargetError::Port);
        }
        Ok(target)
    }

    /// Reads `http(s)://host[:port][/path][?query]`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TARGET_MAX || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if text.contains(['#', '\\', '"', '<', '>', '^', '`', '{', '|', '}'])
            || authority.contains('@')
        {
            return None;
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                let ip: Ipv6Addr = host.parse().ok()?;
                (Host::Ip(ip.into()), port)
            }
            None => {
                let at = authority.find(':').unwrap_or(authority.len());
                let (host, port) = authority.split_at(at);
                (name(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => {
                if https {
                    443
                } else {
                    80
                }
            }
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
            _ => return None,
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        (port > 0).then(|| Self {
            https,
            host,
            port,
            path: format!("{slash}{path}"),
        })
    }

    /// Returns the value of the `Host` header.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = match &self.host {
            Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]"),
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        };
        if self.port == if self.https { 443 } else { 80 } {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

/// Reads a host that is not in brackets. Text that looks like a number is an address or is refused:
/// resolvers read `0x7f.1` and `2130706433` as addresses, too.
fn name(text: &str) -> Option<Host> {
    if let Ok(ip) = text.parse::<Ipv4Addr>() {
        return Some(Host::Ip(ip.into()));
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or("");
    let number = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let plain = name.len() <= 253 && name.split('.').all(label);
    (plain && !number).then_some(Host::Name(name))
}

/// Returns true for names that never resolve to a public address: RFC 6761, RFC 6762, and names of internal networks.
fn is_local(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or("");
    matches!(
        last,
        "localhost" | "local" | "internal" | "localdomain" | "lan" | "intranet"
    ) || !name.contains('.')
}

/// Returns true for the names of this machine (RFC 6761 section 6.3).
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, TargetError> {
        Target::read(text, &TargetPolicy::default())
    }

    #[test]
    fn targets_are_urls_of_public_hosts() {
        let target = read("HTTPS://Hooks.Example.COM:8443/in?x=1").unwrap();
        assert_eq!(target.authority(), "hooks.example.com:8443");
        assert_eq!((target.path.as_str(), target.https), ("/in?x=1", true));
        assert_eq!(read("https://a.test").unwrap().path, "/");
        assert_eq!(read("https://a.test?q").unwrap().path, "/?q");
        assert_eq!(
            read("https://[2606:4700::1111]/").unwrap().authority(),
            "[2606:4700::1111]"
        );
        for (bad, reason) in [
            ("", TargetError::Malformed),
            ("a.test/x", TargetError::Malformed),
            ("ftp://a.test/", TargetError::Malformed),
            ("https:///x", TargetError::Malformed),
            ("https://u:p@a.test/", TargetError::Malformed),
            ("https://a.test/#x", TargetError::Malformed),
            ("https://a.test:0/", TargetError::Malformed),
            ("https://a.test:99999/", TargetError::Malformed),
            ("https://a.test:+443/", TargetError::Malformed),
            ("https://a b.test/", TargetError::Malformed),
            ("https://a.test/\r\nX: y", TargetError::Malformed),
            ("https://a.test\\@b.test/", TargetError::Malformed),
            ("https://[::1", TargetError::Malformed),
            ("https://[fe80::1%25eth0]/", TargetError::Malformed),
            ("https://2130706433/", TargetError::Malformed),
            ("https://0x7f000001/", TargetError::Malformed),
            ("https://127.1/", TargetError::Malformed),
            ("https://0177.0.0.1/", TargetError::Malformed),
            ("https://1.2.3.4.5/", TargetError::Malformed),
            ("http://a.test/", TargetError::PlainHttp),
            ("https://a.test:22/", TargetError::Port),
            ("https://a.test:80/", TargetError::Port),
            ("http://127.0.0.1:8080/", TargetError::Address),
            ("https://[::ffff:10.0.0.1]/", TargetError::Address),
            (
                "https://169.254.169.254/latest/meta-data",
                TargetError::Address,
            ),
            ("https://localhost:8443/", TargetError::Local),
            ("https://a.localhost/", TargetError::Local),
            ("https://localhost./", TargetError::Local),
            ("https://printer.local/", TargetError::Local),
            ("https://metadata.google.internal/", TargetError::Local),
            ("https://intranet/", TargetError::Local),
        ] {
            assert_eq!(read(bad), Err(reason), "{bad}");
        }
        assert_eq!(
            Target::parse(&format!("https://a.test/{}", "x".repeat(1024))),
            None
        );
    }

    #[test]
    fn loopback_with_http_needs_its_setting() {
        let policy = TargetPolicy {
            loopback: true,
            ..TargetPolicy::default()
        };
        for good in [
            "http://127.0.0.1:9000/echo/a",
            "http://[::1]:9000/",
            "http://localhost:9000/",
            "http://a.localhost:9000/",
        ] {
            assert!(Target::read(good, &policy).is_ok(), "{good}");
        }
        assert_eq!(
            Target::read("http://evillocalhost:9000/", &policy),
            Err(TargetError::Local)
        );
        assert_eq!(
            Target::read("http://10.0.0.1:9000/", &policy),
            Err(TargetError::Address)
        );
        assert_eq!(
            Target::read("http://a.test:9000/", &policy),
            Err(TargetError::PlainHttp)
        );
    }
}

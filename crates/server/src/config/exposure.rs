//! The clients that can reach the server according to its settings, and the settings that follow from it.
use crate::config::Config;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use workgraph_auth::SecretDigest;

/// Returns true if only this machine can reach the main listener. A proxy in front of it would let others in; it shows in
/// the public address or in the list of proxies.
pub(crate) fn is_private(config: &Config, listens: SocketAddr) -> bool {
    let proxied = !config.server.public_url.0.is_empty() || !config.http.trusted_proxies.is_empty();
    listens.ip().to_canonical().is_loopback() && !proxied
}

/// Returns the digest of the metrics token, if one is set.
pub(crate) fn token(text: &str) -> Option<SecretDigest> {
    (!text.is_empty()).then(|| SecretDigest::of(text))
}

/// Returns true if an address neither uses https nor points to this machine.
pub(crate) fn is_plain(root: &str) -> bool {
    let Some(rest) = root.strip_prefix("http://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback = host
        .parse::<IpAddr>()
        .is_ok_and(|ip| ip.to_canonical().is_loopback());
    let name = host.to_ascii_lowercase();
    !(loopback || name == "localhost" || name.ends_with(".localhost"))
}

/// Returns the value of `Strict-Transport-Security` (RFC 6797) for pages: browsers then only use https for that
/// time.
pub(crate) fn transport_security(root: &str, age: Duration) -> Option<String> {
    let sent = root.starts_with("https://") && !age.is_zero();
    sent.then(|| format!("max-age={}", age.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S124.
    #[test]
    fn plain_addresses_of_other_machines_are_told_from_those_of_this_one() {
        for root in [
            "https://work.example",
            "http://127.0.0.1:8080",
            "http://127.9.9.9",
            "http://[::1]:8080/x",
            "http://localhost:1",
            "http://app.LOCALHOST/x",
        ] {
            assert!(!is_plain(root), "{root}");
        }
        for root in [
            "http://work.example",
            "http://10.0.0.1:8080",
            "http://[2001:db8::1]:80",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example/",
        ] {
            assert!(is_plain(root), "{root}");
        }
    }

    /// S122. S124.
    #[test]
    fn what_follows_from_an_address() {
        let day = Duration::from_secs(86_400);
        assert_eq!(
            transport_security("https://work.example", day).as_deref(),
            Some("max-age=86400")
        );
        assert_eq!(
            transport_security("https://work.example", Duration::ZERO),
            None
        );
        assert_eq!(transport_security("http://127.0.0.1", day), None);
        let here: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let mut config = Config::default();
        assert!(is_private(&config, here));
        assert!(is_private(&config, "[::1]:80".parse().unwrap()));
        assert!(!is_private(&config, "0.0.0.0:80".parse().unwrap()));
        assert!(!is_private(&config, "10.0.0.1:80".parse().unwrap()));
        crate::config::set(&mut config, "public_url", "https://work.example").unwrap();
        assert!(!is_private(&config, here), "a proxy lets others in");
        let mut config = Config::default();
        crate::config::set(&mut config, "http.trusted_proxies", "127.0.0.1").unwrap();
        assert!(!is_private(&config, here));
        assert_eq!(token(""), None);
    }
}

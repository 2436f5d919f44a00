//! Client addresses behind proxies.
use crate::config::setting::SettingValue;
use anyhow::Result;
use hyper::header::HeaderMap;
use std::net::{IpAddr, SocketAddr};
use workgraph_webhooks::target_policy::IpNet;

/// The proxies whose `X-Forwarded-For` is trusted: none, unless the operator names some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrustedProxies(Vec<IpNet>);

impl SettingValue for TrustedProxies {
    fn is_list(&self) -> bool {
        true
    }
    fn set(&mut self, text: &str) -> Result<()> {
        self.0.set(text)
    }
    fn text(&self) -> String {
        self.0.text()
    }
}

impl TrustedProxies {
    /// Returns true if an address belongs to one of the proxies.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns true if no proxies are trusted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the client that sent a request over a connection from this peer: the peer, unless it is one of the
    /// proxies; then the last address in the header that is not a proxy.
    pub(crate) fn client_ip(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.has(client) {
            return client;
        }
        let lines = headers.get_all("x-forwarded-for").iter().rev();
        let hops = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
        for hop in hops.map(str::trim) {
            let address = hop
                .parse()
                .or_else(|_| hop.parse().map(|a: SocketAddr| a.ip()));
            // An entry that none of our proxies wrote ends the trusted part.
            let Ok(address) = address else { break };
            client = address.to_canonical();
            if !self.has(client) {
                break;
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &str, peer: &str, lines: &[&str]) -> String {
        let mut trusted = TrustedProxies::default();
        trusted.set(proxies).unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        trusted
            .client_ip(peer.parse().unwrap(), &headers)
            .to_string()
    }

    /// B59. A client cannot impersonate another one: only the part of the header that our own proxies
    /// wrote counts.
    #[test]
    fn only_configured_proxies_are_believed() {
        for (proxies, peer, lines, expected) in [
            ("", "203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("", "127.0.0.1", &["198.51.100.1"], "127.0.0.1"),
            (
                "10.0.0.0/8",
                "203.0.113.9",
                &["198.51.100.1"],
                "203.0.113.9",
            ),
            ("10.0.0.0/8", "11.0.0.1", &["198.51.100.1"], "11.0.0.1"),
            ("10.0.0.0/8", "10.1.2.3", &["198.51.100.1"], "198.51.100.1"),
            (
                "10.0.0.0/8",
                "::ffff:10.1.2.3",
                &["198.51.100.1"],
                "198.51.100.1",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3",
                &["192.0.2.7, 198.51.100.1"],
                "198.51.100.1",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3",
                &["192.0.2.7", "198.51.100.1, 10.9.9.9"],
                "198.51.100.1",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3",
                &["198.51.100.1:4711"],
                "198.51.100.1",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3",
                &["192.0.2.7, unknown"],
                "10.1.2.3",
            ),
            (
                "10.0.0.0/8",
                "10.1.2.3",
                &["192.0.2.7, unknown, 10.9.9.9"],
                "10.9.9.9",
            ),
            ("10.0.0.0/8", "10.1.2.3", &[], "10.1.2.3"),
            (
                "10.0.0.0/8, 2001:db8::/32",
                "2001:db8:1::1",
                &["2001:db9::1"],
                "2001:db9::1",
            ),
            (
                "::1 127.0.0.1",
                "::1",
                &["[2001:db9::1]:443"],
                "2001:db9::1",
            ),
            ("0.0.0.0/0", "1.2.3.4", &["5.6.7.8"], "5.6.7.8"),
        ] {
            assert_eq!(
                client(proxies, peer, lines),
                expected,
                "{proxies}: {peer} {lines:?}"
            );
        }
    }

    #[test]
    fn networks_are_read_and_shown() {
        let mut proxies = TrustedProxies::default();
        for wrong in [
            "10.0.0.0/33",
            "10.0.0.0/",
            "x",
            "10.0.0/8",
            "::/129",
            "10.0.0.0/-1",
            "010.0.0.1",
            "010.0.0.0/8",
        ] {
            assert!(proxies.set(wrong).is_err(), "{wrong}");
        }
        proxies.set(" 10.0.0.1/8,::1 ").unwrap();
        assert_eq!(proxies.text(), "10.0.0.1/8 ::1/128");
        proxies.set("").unwrap();
        assert_eq!(proxies.text(), "");
    }
}

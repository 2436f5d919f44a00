//! Address at which a client reached this server; links in its replies begin with it.
use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use std::sync::Arc;

/// Path of the API's base.
pub(crate) const BASE: &str = "/api/1.0";

/// Maximum length of a host in bytes: a name and a port.
const HOST_MAX: usize = 253 + ":65535".len();

/// Address of this server. Without `public_url` it is the address that a request was sent to.
#[derive(Debug)]
pub(crate) struct OwnAddress {
    /// Scheme, host and port: `public_url`, or the address of the listener.
    root: String,
    /// Path of the world below the root; empty for a server with one world.
    path: String,
    /// True if it is `public_url`, which no request changes.
    is_fixed: bool,
    /// Hosts that are reached over https although their requests arrive without it.
    https_hosts: Arc<[String]>,
}

/// Mark of a request that was sent to the root. Its world may still have a path; then its token or code identified the
/// world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtTheRoot;

/// Error of a request whose host is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidHost;

impl OwnAddress {
    pub(crate) fn new(root: String, is_fixed: bool) -> Self {
        let path = String::new();
        Self {
            root,
            path,
            is_fixed,
            https_hosts: Arc::default(),
        }
    }

    /// Returns the address with the hosts that are reached over https although their requests arrive without it.
    pub(crate) fn behind_https(self, https_hosts: Arc<[String]>) -> Self {
        Self {
            https_hosts,
            ..self
        }
    }

    /// Returns the address of a world below this one.
    pub(crate) fn below(self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self
        }
    }

    /// Returns the root for documents that are the same for all clients: empty if it differs between them.
    pub(crate) fn shared_root(&self) -> &str {
        if self.is_fixed { &self.root } else { "" }
    }

    /// Returns the address at which the client of a request reached the API; `None` if it is the one in the settings.
    /// `is_proxied` is true if the request came from a trusted proxy, whose host and scheme headers are used.
    ///
    /// # Errors
    /// Fails if the host is invalid (RFC 9110, section 7.2).
    pub(crate) fn base_url_of(
        &self,
        head: &Parts,
        is_proxied: bool,
    ) -> Result<Option<String>, InvalidHost> {
        if self.is_fixed {
            return Ok(None);
        }
        let forwarded = |name| is_proxied.then(|| last_item(&head.headers, name)).flatten();
        let sent = head.uri.authority().map(Authority::as_str);
        let host = match forwarded("x-forwarded-host").or(sent) {
            Some(host) => host,
            None => match head.headers.get(header::HOST) {
                Some(host) => host.to_str().map_err(|_| InvalidHost)?,
                None => return Ok(None),
            },
        };
        let scheme = match forwarded("x-forwarded-proto") {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
            None if self.https_hosts.iter().any(|known| known == host) => "https",
            _ => "http",
        };
        let own = self.root.strip_prefix(scheme);
        let own = own.and_then(|rest| rest.strip_prefix("://"));
        let path = match head.extensions.get::<AtTheRoot>() {
            Some(AtTheRoot) => "",
            None => &self.path,
        };
        // An empty host means nothing.
        if host.is_empty() || (own == Some(host) && path == self.path) {
            return Ok(None);
        }
        match is_host(host) {
            true => Ok(Some(format!("{scheme}://{host}{path}{BASE}"))),
            false => Err(InvalidHost),
        }
    }
}

/// Returns the last item of a header, which the nearest proxy wrote, unless it is not text.
fn last_item<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let line = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    line.rsplit(',').next().map(str::trim)
}

/// Returns true if a text is a name, an IPv4 address, or an IPv6 address in brackets, with or without a port. Names consist
/// of letters, digits, hyphens and underscores, so that none can end the address or hide in it.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text.ends_with(']') => {
            let (host, port) = text.split_at(at);
            (host, port.get(1..))
        }
        _ => (text, None),
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
    };
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_plain)
    };
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_name = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host
            .strip_suffix('.')
            .unwrap_or(host)
            .split('.')
            .all(is_label),
    };
    text.len() <= HOST_MAX && is_name && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_intercepted_are_reached_by_https() {
        let hosts: Arc<[String]> = ["app.example.com".to_owned()].into();
        let own = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false).behind_https(hosts);
        let base = |host: &'static str| {
            let head = head("/api/1.0/tasks", &[("host", host)]);
            own.base_url_of(&head, false).unwrap()
        };
        let https = base("app.example.com");
        assert_eq!(https.unwrap(), "https://app.example.com/api/1.0");
        assert_eq!(base("example.com").unwrap(), "http://example.com/api/1.0");
        assert_eq!(base("127.0.0.1:8080"), None);
        // Links lead to the path of a world only if the request came there.
        let world = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false).below("/w/7");
        let mut entered = head("/api/1.0/tasks", &[("host", "127.0.0.1:8080")]);
        assert_eq!(world.base_url_of(&entered, false).unwrap(), None);
        entered.extensions.insert(AtTheRoot);
        let root = world.base_url_of(&entered, false).unwrap();
        assert_eq!(root.unwrap(), "http://127.0.0.1:8080/api/1.0");
    }

    fn head(uri: &str, headers: &[(&'static str, &'static str)]) -> Parts {
        let mut request = hyper::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn of(address: &OwnAddress, headers: &[(&'static str, &'static str)], proxied: bool) -> String {
        match address.base_url_of(&head("/x", headers), proxied) {
            Ok(found) => found.unwrap_or_else(|| "own".to_owned()),
            Err(InvalidHost) => "invalid".to_owned(),
        }
    }

    #[test]
    fn links_follow_the_host_unless_the_operator_named_the_address() {
        let open = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false);
        for (host, base) in [
            ("127.0.0.1:8080", "own"),
            ("", "own"),
            ("tasks.lan:8080", "http://tasks.lan:8080/api/1.0"),
            ("tasks.lan.", "http://tasks.lan./api/1.0"),
            ("work_graph-1", "http://work_graph-1/api/1.0"),
            ("192.168.1.5:80", "http://192.168.1.5:80/api/1.0"),
            ("[::1]", "http://[::1]/api/1.0"),
            ("[fe80::1]:8080", "http://[fe80::1]:8080/api/1.0"),
        ] {
            assert_eq!(of(&open, &[("host", host)], false), base, "{host}");
        }
        assert_eq!(of(&open, &[], false), "own");
        let world = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false).below("/w/7");
        let base = of(&world, &[("host", "tasks.lan")], false);
        assert_eq!(base, "http://tasks.lan/w/7/api/1.0");
        assert_eq!(of(&world, &[("host", "127.0.0.1:8080")], false), "own");
        let named = OwnAddress::new("https://work.example".to_owned(), true);
        assert_eq!(of(&named, &[("host", "tasks.lan")], false), "own");
        assert_eq!(of(&named, &[("host", "a b")], false), "own");
        assert_eq!(named.shared_root(), "https://work.example");
        assert_eq!(open.shared_root(), "");
    }

    #[test]
    fn a_host_that_is_none_is_refused() {
        let open = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false);
        for host in [
            "a/b",
            "a b",
            "evil.example#",
            "evil.example?x",
            "evil.example\\x",
            "user@evil.example",
            "evil.example:0",
            "evil.example:80:80",
            "evil.example:",
            "evil.example:+80",
            "evil.example:65536",
            "[::1",
            "::1",
            "[evil]",
            "a..b",
            ".",
            "<script>",
            "\"x\"",
            "a,b",
        ] {
            assert_eq!(of(&open, &[("host", host)], false), "invalid", "{host}");
        }
        let long = format!("{}.example", "a.".repeat(130));
        let parts = hyper::Request::builder()
            .header("host", &long)
            .body(())
            .unwrap();
        let found = open.base_url_of(&parts.into_parts().0, false);
        assert_eq!(found, Err(InvalidHost));
    }

    #[test]
    fn the_word_of_a_proxy_counts_if_it_is_trusted() {
        let open = OwnAddress::new("http://127.0.0.1:8080".to_owned(), false);
        let sent = [
            ("host", "127.0.0.1:8080"),
            ("x-forwarded-host", "evil.example, work.example"),
            ("x-forwarded-proto", "https"),
        ];
        assert_eq!(of(&open, &sent, false), "own");
        assert_eq!(of(&open, &sent, true), "https://work.example/api/1.0");
        let broken = [("host", "127.0.0.1:8080"), ("x-forwarded-host", "a b")];
        assert_eq!(of(&open, &broken, true), "invalid");
        let secure = [("host", "127.0.0.1:8080"), ("x-forwarded-proto", "https")];
        assert_eq!(of(&open, &secure, true), "https://127.0.0.1:8080/api/1.0");
        // The target of the request takes precedence over the header (RFC 9112, section 3.2.2).
        let absolute = head("http://tasks.lan/x", &[("host", "other.lan")]);
        let found = open.base_url_of(&absolute, false).unwrap();
        assert_eq!(found.as_deref(), Some("http://tasks.lan/api/1.0"));
    }
}

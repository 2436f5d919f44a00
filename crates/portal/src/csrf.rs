//! Protection of forms: the origin of a form, and the network of its client.
use std::net::IpAddr;

use crate::portal_request::PortalRequest;

/// Purpose of the anti-forgery text in the console's forms.
pub const PURPOSE: &str = "console";

/// Returns true if a browser sent this form from a page of this server, judging by its headers.
///
/// Pages are sent with `Referrer-Policy: no-referrer`, so browsers set the origin of a form to `null` (Fetch,
/// section 3.1); then `Sec-Fetch-Site` decides, which browsers send to `https` and to this machine. A request without
/// any of these headers is accepted: the form's anti-forgery text decides.
pub(crate) fn is_same_origin(request: &PortalRequest, origin: &str) -> bool {
    match request.fetch_site.as_deref() {
        Some("same-origin") => {
            return request
                .origin
                .as_deref()
                .is_none_or(|o| o == origin || o == "null");
        }
        None => {}
        Some(_) => return false,
    }
    match (request.origin.as_deref(), request.referer.as_deref()) {
        (Some("null"), _) => origin.starts_with("http://"),
        (Some(sent), _) => sent == origin,
        (None, Some(page)) => page
            .strip_prefix(origin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        (None, None) => true,
    }
}

/// Returns the origin of an address: scheme, host and port.
pub(crate) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(start..).unwrap_or_default();
    let end = rest.find('/').map_or(url.len(), |at| start + at);
    url.get(..end).unwrap_or(url)
}

/// Returns the name under which attempts from an address are counted: the address itself, or its network for IPv6, where
/// each client has many addresses.
pub(crate) fn network(from: IpAddr) -> String {
    match from.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const OWN: &str = "https://work.example";

    fn request(origin: Option<&str>, referer: Option<&str>, site: Option<&str>) -> PortalRequest {
        PortalRequest {
            method: "POST".to_owned(),
            path: String::new(),
            query: String::new(),
            authorization: Vec::new(),
            content_type: None,
            cookies: Vec::new(),
            origin: origin.map(str::to_owned),
            referer: referer.map(str::to_owned),
            fetch_site: site.map(str::to_owned),
            fetch_dest: None,
            address: IpAddr::from([127, 0, 0, 1]),
            user_agent: None,
            base_url: None,
            request_id: None,
            body: Bytes::new(),
        }
    }

    /// B20.
    #[test]
    fn forms_of_other_origins_are_refused() {
        for (origin, referer, site, own) in [
            (Some(OWN), None, None, true),
            (Some("null"), None, Some("same-origin"), true),
            (None, Some("https://work.example/-/sign_in"), None, true),
            (None, None, None, true),
            (Some("null"), None, None, false),
            (Some("null"), None, Some("cross-site"), false),
            (Some(OWN), None, Some("cross-site"), false),
            (Some(OWN), None, Some("same-site"), false),
            (
                Some("https://evil.example"),
                None,
                Some("same-origin"),
                false,
            ),
            (Some("http://work.example"), None, None, false),
            (Some("https://work.example.evil"), None, None, false),
            (None, Some("https://work.example.evil/"), None, false),
            (None, Some("https://evil.example/"), None, false),
        ] {
            let sent = request(origin, referer, site);
            assert_eq!(
                is_same_origin(&sent, OWN),
                own,
                "{origin:?} {referer:?} {site:?}"
            );
        }
        assert!(is_same_origin(
            &request(Some("null"), None, None),
            "http://10.0.0.1"
        ));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (url, is) in [
            ("https://h", "https://h"),
            ("https://h:8/api", "https://h:8"),
            ("http://[::1]:80/a/b", "http://[::1]:80"),
        ] {
            assert_eq!(origin(url), is);
        }
    }

    #[test]
    fn the_addresses_of_a_network_of_version_6_count_together() {
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let two: IpAddr = "2001:db8::2".parse().unwrap();
        assert_eq!(network(one), network(two));
    }
}

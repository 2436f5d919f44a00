//! Who may control a stand-in: programs on this machine, and no page that a browser shows.
use hyper::header;
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use std::net::IpAddr;

/// Reason for which a control request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlRefusal {
    /// The host is not this machine's: a name of another machine may lead here.
    ForeignHost,
    /// A page of another origin sent the request.
    ForeignOrigin,
    /// The body is not JSON: a form of any page could send it.
    NotJson,
}

impl ControlRefusal {
    /// Returns what is wrong, and what would be right.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::ForeignHost => {
                "Host: the stand-in is controlled at an address of this machine, such as 127.0.0.1"
            }
            Self::ForeignOrigin => "Origin: pages of other origins can't control the stand-in",
            Self::NotJson => "Content-Type: must be application/json",
        }
    }
}

/// Checks that a request may control the stand-in.
///
/// # Errors
/// Returns the reason why it may not.
pub(crate) fn check(head: &Parts) -> Result<(), ControlRefusal> {
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let sent = head.uri.authority().map(Authority::as_str);
    let host = sent.or_else(|| text(header::HOST)).unwrap_or_default();
    if !is_of_this_machine(host) {
        return Err(ControlRefusal::ForeignHost);
    }
    if head.headers.contains_key(header::ORIGIN) {
        let origin = text(header::ORIGIN).unwrap_or_default();
        if origin.split_once("://").map(|(_, origin)| origin) != Some(host) {
            return Err(ControlRefusal::ForeignOrigin);
        }
    }
    let has_body = head.method == hyper::Method::POST || head.method == hyper::Method::PUT;
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if has_body && !kind.eq_ignore_ascii_case("application/json") {
        return Err(ControlRefusal::NotJson);
    }
    Ok(())
}

/// Returns true if a host with or without a port is an address of this machine that no other machine can have.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(method: &str, headers: &[(&'static str, &'static str)]) -> Option<ControlRefusal> {
        let mut request = hyper::Request::builder().method(method).uri("/-/clock");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0).err()
    }

    #[test]
    fn programs_of_this_machine_may_control() {
        let json = ("content-type", "application/json; charset=utf-8");
        for host in [
            "127.0.0.1:8080",
            "localhost",
            "LOCALHOST:1",
            "[::1]:8080",
            "127.1.2.3",
        ] {
            assert_eq!(refusal("POST", &[("host", host), json]), None, "{host}");
            assert_eq!(refusal("GET", &[("host", host)]), None, "{host}");
        }
        let own = [
            ("host", "127.0.0.1:8080"),
            json,
            ("origin", "http://127.0.0.1:8080"),
        ];
        assert_eq!(refusal("POST", &own), None);
    }

    #[test]
    fn pages_and_other_machines_may_not() {
        let json = ("content-type", "application/json");
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:8080",
            "",
            "localhost.evil:1",
        ] {
            let refused = refusal("POST", &[("host", host), json]);
            assert_eq!(refused, Some(ControlRefusal::ForeignHost), "{host}");
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:9", ""] {
            let sent = [("host", "127.0.0.1:8080"), json, ("origin", origin)];
            assert_eq!(
                refusal("POST", &sent),
                Some(ControlRefusal::ForeignOrigin),
                "{origin}"
            );
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let sent = [("host", "127.0.0.1"), ("content-type", kind)];
            assert_eq!(
                refusal("POST", &sent),
                Some(ControlRefusal::NotJson),
                "{kind}"
            );
        }
    }
}

//! Access to the control routes of a stand-in: for programs on this machine, and not for pages that a browser shows.
use hyper::header;
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use std::net::{IpAddr, Ipv4Addr};
use workgraph_auth::SecretDigest;

/// Reason why a control request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlRefusal {
    /// The request comes from another machine, or its host is not an address of this machine: any name can be made to lead
    /// here.
    ForeignHost,
    /// The control token is not the one of this stand-in.
    WrongToken,
    /// A page of another origin sent the request.
    ForeignOrigin,
    /// The body is not JSON: a form of any page could send it.
    NotJson,
}

impl ControlRefusal {
    /// Returns a text that says what is wrong, and what would be right.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::ForeignHost => {
                "The stand-in is controlled from this machine and at an address of it, such as 127.0.0.1, or with its --control-token in the header Workgraph-Control"
            }
            Self::WrongToken => "Workgraph-Control: not the --control-token of this stand-in",
            Self::ForeignOrigin => "Origin: pages of other origins can't control the stand-in",
            Self::NotJson => "Content-Type: must be application/json",
        }
    }
}

/// Header with the token that allows control from other machines.
pub(crate) const CONTROL_TOKEN: &str = "workgraph-control";

/// Source address of intercepted requests. Any client of the interception may have sent them, so they can't control the
/// stand-in.
pub(crate) const INTERCEPTED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Checks that a request may reach a route of the stand-in: it comes from this machine and names it, or has the control token.
///
/// # Errors
/// Returns the reason why it may not.
pub(crate) fn check_client(
    head: &Parts,
    client: IpAddr,
    token: Option<SecretDigest>,
) -> Result<(), ControlRefusal> {
    if let (Some(token), Some(sent)) = (token, text(head, CONTROL_TOKEN)) {
        // Comparing digests: the time does not reveal how much of a guess is right.
        return match SecretDigest::of(sent) == token {
            true => Ok(()),
            false => Err(ControlRefusal::WrongToken),
        };
    }
    let client = client.to_canonical();
    let is_own = client.is_loopback() && client != INTERCEPTED;
    match is_own && is_of_this_machine(host(head)) {
        true => Ok(()),
        false => Err(ControlRefusal::ForeignHost),
    }
}

/// Checks that a request was not sent by a page of another origin that a browser shows.
///
/// # Errors
/// Fails if it was.
pub(crate) fn check_origin(head: &Parts) -> Result<(), ControlRefusal> {
    if head.headers.contains_key(header::ORIGIN) {
        let origin = text(head, header::ORIGIN.as_str()).unwrap_or_default();
        if origin.split_once("://").map(|(_, origin)| origin) != Some(host(head)) {
            return Err(ControlRefusal::ForeignOrigin);
        }
    }
    Ok(())
}

/// Checks that a control request may change something: it was not sent by a page that a browser shows.
///
/// # Errors
/// Returns the reason why it may not.
pub(crate) fn check_content(head: &Parts) -> Result<(), ControlRefusal> {
    check_origin(head)?;
    let has_body = head.method == hyper::Method::POST || head.method == hyper::Method::PUT;
    let kind = text(head, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if has_body && !kind.eq_ignore_ascii_case("application/json") {
        return Err(ControlRefusal::NotJson);
    }
    Ok(())
}

fn text<'h>(head: &'h Parts, name: &str) -> Option<&'h str> {
    head.headers.get(name)?.to_str().ok()
}

/// Returns the host that a request names.
fn host(head: &Parts) -> &str {
    let sent = head.uri.authority().map(Authority::as_str);
    sent.or_else(|| text(head, header::HOST.as_str()))
        .unwrap_or_default()
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

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn refusal_of(
        client: IpAddr,
        token: Option<&str>,
        method: &str,
        headers: &[(&'static str, &'static str)],
    ) -> Option<ControlRefusal> {
        let mut request = hyper::Request::builder().method(method).uri("/-/clock");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let head = request.body(()).unwrap().into_parts().0;
        let reached = check_client(&head, client, token.map(SecretDigest::of));
        reached.and_then(|()| check_content(&head)).err()
    }

    fn refusal(method: &str, headers: &[(&'static str, &'static str)]) -> Option<ControlRefusal> {
        refusal_of(HERE, None, method, headers)
    }

    #[test]
    fn other_machines_need_the_token() {
        let far = IpAddr::from([10, 0, 0, 9]);
        let json = ("content-type", "application/json");
        let own = [("host", "localhost"), json];
        assert_eq!(
            refusal_of(far, None, "POST", &own),
            Some(ControlRefusal::ForeignHost)
        );
        assert_eq!(
            refusal_of(far, Some("s3cret"), "POST", &own),
            Some(ControlRefusal::ForeignHost)
        );
        let with = |token| [("host", "stand-in:8080"), json, (CONTROL_TOKEN, token)];
        assert_eq!(
            refusal_of(far, Some("s3cret"), "POST", &with("s3cret")),
            None
        );
        // Intercepted requests come from this machine, and from anybody.
        let intercepted = refusal_of(INTERCEPTED, None, "POST", &own);
        assert_eq!(intercepted, Some(ControlRefusal::ForeignHost));
        let wrong = refusal_of(HERE, Some("s3cret"), "POST", &with("guess"));
        assert_eq!(wrong, Some(ControlRefusal::WrongToken));
        assert_eq!(
            refusal_of(far, None, "POST", &with("s3cret")),
            Some(ControlRefusal::ForeignHost)
        );
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

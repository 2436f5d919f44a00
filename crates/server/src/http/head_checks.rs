//! Checks of the head of a request, before routing.
use crate::http::routed_response::RoutedResponse;
use hyper::Method;
use hyper::Version;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use workgraph_api::RequestRefusal;

const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;
const URI_MAX: usize = 8 << 10;
/// Additional bytes that the address of a page may have: enough for an authorization request with a `state` of 8 KiB in the
/// address of the sign-in page that leads back to it.
const PAGE_MORE: usize = 24 << 10;

/// Returns the refusal of a request with an invalid host.
pub(crate) fn no_host() -> RoutedResponse {
    RoutedResponse::refuse(
        RequestRefusal::HostInvalid,
        400,
        "Host: it must be a name or an address, with or without a port",
    )
}

/// Returns the refusal of a request with an invalid head, before routing.
pub(crate) fn check(head: &Parts) -> Option<RoutedResponse> {
    let headers = &head.headers;
    let path = head.uri.path_and_query().map_or(0, |p| p.as_str().len());
    let more = match head.uri.path().starts_with("/-/") {
        true => PAGE_MORE,
        false => 0,
    };
    if path > URI_MAX + more {
        return Some(RoutedResponse::refuse(
            RequestRefusal::AddressTooLong,
            414,
            "The request address is too long",
        ));
    }
    let (mut size, mut hosts, mut readable) = (0, 0, true);
    for (name, value) in headers {
        size += name.as_str().len() + value.len() + 4;
        if name == header::HOST {
            hosts += 1;
            readable &= value.to_str().is_ok();
        }
    }
    // hyper itself reads no more HTTP/1 headers than this.
    if headers.len() > HEADERS_MAX || size + path > HEAD_MAX + more {
        return Some(RoutedResponse::refuse(
            RequestRefusal::HeadersTooLarge,
            431,
            "The request headers are too large",
        ));
    }
    let is_encoded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    let takes_body = matches!(head.method, Method::POST | Method::PUT | Method::PATCH);
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if takes_body && encodings.any(is_encoded) {
        return Some(RoutedResponse::refuse(
            RequestRefusal::ContentEncoding,
            415,
            "Content-Encoding: not supported; send the body as it is",
        ));
    }
    let host_is_wrong = match hosts {
        0 => {
            head.version != Version::HTTP_10
                && (head.version != Version::HTTP_2 || head.uri.authority().is_none())
        }
        1 => !readable,
        _ => true,
    };
    if host_is_wrong {
        return Some(RoutedResponse::refuse(
            RequestRefusal::HostInvalid,
            400,
            "Host: one such header is needed",
        ));
    }
    None
}

//! Request and response of the API, without their transport.
use crate::cache::token_cache::ConnectionTokenCache;
use crate::request_inspector::{PendingRecord, RequestRecord};
use bytes::Bytes;
use workgraph_limits::Permit;
use workgraph_operations::Caller;
pub use workgraph_operations::Method;

/// A request of the API.
#[derive(Clone, Debug, Default)]
pub struct ApiRequest {
    /// The method, if it is one that operations have.
    pub method: Option<Method>,
    /// The path below the API base, as it was sent (percent-encoded).
    pub path: String,
    /// The query as it was sent, without the `?`.
    pub query: String,
    /// The values of all `Authorization` headers.
    pub authorization: Vec<String>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// True if the request asks for the limits ([`EXPLAIN_HEADER`](crate::limits::explain::EXPLAIN_HEADER)).
    pub explain: bool,
    /// The body, as it was sent.
    pub body: Bytes,
}

/// A response of the API.
#[derive(Debug)]
pub struct ApiResponse {
    /// The HTTP status code.
    pub status: u16,
    /// Headers in addition to those of every response.
    pub headers: Vec<(&'static str, String)>,
    /// The body, as JSON.
    pub body: Vec<u8>,
    /// The name of the operation, for logs and metrics.
    pub operation: &'static str,
    /// The concurrency permit, to be held until the body is written.
    pub permit: Option<Permit>,
    /// The record of the request, for [`RequestInspector::push`](crate::request_inspector::RequestInspector),
    /// if requests are recorded.
    pub record: Option<Box<RequestRecord>>,
}

impl ApiResponse {
    /// Returns a response with a JSON body.
    #[must_use]
    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            operation: "",
            permit: None,
            record: None,
        }
    }
    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
}

/// Origin of a request: the client, and the memory of its connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestOrigin<'a> {
    /// The client.
    pub caller: Caller<'a>,
    /// The token cache of the client's connection.
    pub token_cache: Option<&'a ConnectionTokenCache>,
    /// Keeper of the record of the request, for a transport that may give it up.
    pub pending_record: Option<&'a PendingRecord>,
}

impl<'a> From<Caller<'a>> for RequestOrigin<'a> {
    fn from(caller: Caller<'a>) -> Self {
        Self {
            caller,
            ..Self::default()
        }
    }
}

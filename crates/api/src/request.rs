//! Request and response of the API, independent of their transport.
use crate::cache::token_cache::ConnectionTokenCache;
use crate::refusal_reason::{Refusal, RefusalReason};
use crate::request_inspector::{PendingRecord, RequestRecord};
use bytes::Bytes;
use std::fmt::Debug;
use workgraph_limits::Permit;
use workgraph_operations::Caller;
pub use workgraph_operations::Method;
use workgraph_operations::settings::ApiSettings;
use workgraph_wire::error_envelope;

/// Request of the API, as a transport has received it.
#[derive(Clone, Debug, Default)]
pub struct ApiRequest {
    /// The method, if operations support it.
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
    /// The body as the client sent it.
    pub body: Bytes,
}

impl ApiRequest {
    /// Returns the request without a parameter of its query.
    pub(crate) fn without_parameter(&self, name: &str) -> Self {
        let pairs = self.query.split('&');
        let others = pairs.filter(|pair| pair.split('=').next() != Some(name));
        Self {
            query: others.collect::<Vec<_>>().join("&"),
            ..self.clone()
        }
    }
}

/// Memory of a transport for replies that are not sent yet.
pub trait TransportMemory: Debug + Sync {
    /// Returns true if there is room for another reply to a user.
    fn has_room(&self, user: u64) -> bool;
}

/// Room that a transport reserved for a response; dropping it frees the room.
pub type ResponseRoom = Box<dyn Debug + Send + Sync>;

/// Response of the API, for a transport to send.
#[derive(Debug)]
pub struct ApiResponse {
    /// The HTTP status code.
    pub status: u16,
    /// Headers besides the headers of every response.
    pub headers: Vec<(&'static str, String)>,
    /// The body as JSON bytes.
    pub body: Bytes,
    /// True if many responses share the bytes of the body, which live as long as the process.
    pub is_body_shared: bool,
    /// The gid of the user whose memory the body counts against until it is sent, if the token is valid.
    pub user: Option<u64>,
    /// Message of a refusal whose body [`complete`](Self::complete) writes.
    pub message: Option<Box<str>>,
    /// The refusal, if the request was refused. The reason is not sent to the client.
    pub refusal: Option<Refusal>,
    /// The name of the operation, for logs and metrics.
    pub operation: &'static str,
    /// The concurrency permit, to be held until the body is written.
    pub permit: Option<Permit>,
    /// Room in memory that the transport keeps with the body until it is sent.
    pub room: Option<ResponseRoom>,
    /// The record of the request, for [`RequestInspector::push`](crate::request_inspector::RequestInspector),
    /// if requests are recorded.
    pub record: Option<Box<RequestRecord>>,
}

impl ApiResponse {
    /// Returns a response with a JSON body.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            is_body_shared: false,
            user: None,
            message: None,
            refusal: None,
            operation: "",
            permit: None,
            room: None,
            record: None,
        }
    }
    /// Returns a response whose body is shared by many responses.
    #[must_use]
    pub fn shared(status: u16, body: Bytes) -> Self {
        Self {
            body,
            is_body_shared: true,
            ..Self::json(status, Vec::new())
        }
    }
    /// Returns a refusal made by the transport instead of an operation. It has no body before [`complete`](Self::complete).
    #[must_use]
    pub fn refusal(reason: impl Into<RefusalReason>, status: u16, message: &str) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::json(status, Vec::new()).refused_for(reason.into())
        }
    }
    /// Marks the response as a refusal, with its reason.
    #[must_use]
    pub fn refused_for(mut self, refusal: impl Into<Refusal>) -> Self {
        self.refusal = Some(refusal.into());
        self
    }
    /// Writes the body of a refusal, for a client that reached the API at `base_url`, if it differs from the address of the
    /// settings.
    pub fn complete(&mut self, settings: &ApiSettings, base_url: Option<&str>) {
        if let Some(message) = self.message.take() {
            self.body = error_envelope::error(&message, &*settings.error_help(base_url)).into();
        }
    }
    /// Returns the response with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
    /// Returns the value of a header, if the response has it.
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
    /// Client that sent the request.
    pub caller: Caller<'a>,
    /// The token cache of the client's connection.
    pub token_cache: Option<&'a ConnectionTokenCache>,
    /// Memory of the transport, with room for the replies of each user.
    pub memory: Option<&'a dyn TransportMemory>,
    /// Holder of the request's record, for a transport that may abandon the request.
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

//! Watch over requests: reports them to a tester, and replaces their work with the faults that the tester asks for.
use crate::error::ApiError;
use async_trait::async_trait;

/// Request that was admitted within its limits, as a watch sees it.
#[derive(Clone, Copy, Debug)]
pub struct AdmittedRequest<'r> {
    /// Id of the operation, such as `getTask`.
    pub operation: &'static str,
    /// Method in capitals, such as `GET`.
    pub method: &'static str,
    /// Path below the API base, as it was sent.
    pub path: &'r str,
    /// Values of its `Authorization` headers.
    pub authorization: &'r [String],
    /// Number of the app that the token was issued to, if any.
    pub app: Option<u64>,
}

/// Fault of a request.
#[derive(Debug)]
pub enum RequestFault {
    /// The request ends with this error before anything is done.
    Error(ApiError),
    /// The sync token of a request for events counts as forgotten.
    SyncTokenForgotten,
}

/// Name in a request that its operation does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownInput {
    /// Part of the request: `query`, `data` or `opt_fields`.
    pub part: &'static str,
    /// Name as it was sent; in `opt_fields` a path.
    pub name: String,
    /// Names that the operation knows in the same place.
    pub known: Vec<&'static str>,
}

/// Watch over requests, which can replace their work with faults. Without a watch there are no faults, and unknown names
/// are ignored.
#[async_trait]
pub trait RequestWatch: Send + Sync {
    /// Returns the fault of a request that its limits have admitted, or `None` to let it continue. The request holds its
    /// permits for as long as this takes.
    async fn fault_of(&self, request: &AdmittedRequest<'_>) -> Option<RequestFault>;

    /// Examines the names that an operation does not know, in a request or in an action of a batch. Returns the message to
    /// refuse it with, or `None` to ignore the names.
    fn refuse_unknown(&self, unknown: &[UnknownInput]) -> Option<String>;

    /// Takes the body of a request that has ended, as far as it was read.
    fn request_ended(&self, body: &[u8]);
}

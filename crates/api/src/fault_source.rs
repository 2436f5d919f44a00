//! Faults that a tester asks for, in place of the work of a request.
use crate::error::ApiError;
use async_trait::async_trait;

/// Request that was admitted within its limits, as a source of faults sees it.
#[derive(Clone, Copy, Debug)]
pub struct AdmittedRequest<'r> {
    /// Name of the operation.
    pub operation: &'static str,
    /// Method, as in HTTP.
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
    /// The sync token of a request for events is not known any more.
    SyncTokenForgotten,
}

/// Source of faults, which is asked once for each request that its limits admit. Without a source no request has a fault.
#[async_trait]
pub trait FaultSource: Send + Sync {
    /// Returns the fault of a request; `None` if it goes on. The request holds its permits as long as this takes.
    async fn fault_of(&self, request: &AdmittedRequest<'_>) -> Option<RequestFault>;
}

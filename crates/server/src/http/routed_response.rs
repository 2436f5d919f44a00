//! The response of a route, before it is converted for hyper.
use crate::http::download::Download;
use workgraph_api::{ApiResponse, RefusalReason};

/// Response of a route, before it is converted for hyper.
pub(crate) struct RoutedResponse {
    pub(crate) reply: ApiResponse,
    /// True if nothing is read from the connection after this request.
    pub(crate) close_connection: bool,
    /// Media type of the body.
    pub(crate) media_type: &'static str,
    /// File that is sent instead of the reply's body.
    pub(crate) file: Option<Box<Download>>,
}

impl RoutedResponse {
    /// Returns a reply of the API unchanged: JSON, and the connection stays open.
    pub(crate) fn of(reply: ApiResponse) -> Self {
        Self {
            reply,
            close_connection: false,
            media_type: JSON,
            file: None,
        }
    }
    /// Returns a refusal. Except for 404 it closes the connection: the client may have sent more invalid data.
    pub(crate) fn refuse(reason: impl Into<RefusalReason>, status: u16, text: &str) -> Self {
        Self {
            close_connection: status != 404,
            ..Self::of(ApiResponse::refusal(reason, status, text))
        }
    }
    /// Returns a response in plain text.
    pub(crate) fn text(status: u16, text: String) -> Self {
        Self {
            media_type: TEXT,
            ..Self::of(ApiResponse::json(status, text.into_bytes()))
        }
    }
}

/// Media type of nearly all replies.
pub(crate) const JSON: &str = "application/json; charset=UTF-8";
/// Media type of the operator pages.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

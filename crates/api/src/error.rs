//! Errors of the API, and the only place that maps them to status codes.
use crate::budget;
use crate::ports::Entropy;
use crate::ports::body_source::BodyReadError;
use crate::refusal_reason::{RefusalReason, RequestRefusal};
use crate::reply_cost::least_cost;
use crate::request::ApiResponse;
use crate::storage_error::StorageError;
use workgraph_auth::{AuthRefusal, AuthStoreError};
use workgraph_core::InterruptReason;
use workgraph_core::domain_error::{DomainError, DomainErrorKind};
use workgraph_core::storage::GraphStoreError;
use workgraph_limits::LimitExceeded;
use workgraph_wire::{ErrorObject, error_envelope, messages};

/// Cost in credits of a request whose work was stopped, regardless of how far it got: the cost of the largest replies.
pub const INTERRUPTED_COST: u32 = 50_000;

/// Reason for an error response.
#[derive(Debug)]
pub enum ApiError {
    /// No operation has this method and path.
    NoRoute,
    /// The token is missing or invalid: the reason, the message, and the error code of RFC 6750, section 3.1, if one applies.
    Unauthorized(AuthRefusal, &'static str, Option<&'static str>),
    /// The Authorization header is malformed.
    BadHeader(String),
    /// The token lacks a scope.
    Scope(String),
    /// A rate limit refuses the request.
    Limited(LimitExceeded),
    /// The media type of the body is not supported.
    MediaType,
    /// The body is too large.
    TooLarge,
    /// The file of an upload is larger than this number of bytes.
    FileTooLarge(u64),
    /// The disk with the attached files has too little free space for an upload.
    NoDiskSpace,
    /// The body of an upload did not arrive.
    Body(BodyReadError),
    /// The sync token is missing, unknown or too old. The text is a new token to continue from.
    Resync(String),
    /// The domain refuses the request.
    Domain(DomainError),
    /// A store failed; the text is only for the log.
    Storage(StorageError),
    /// The server failed; the text is only for the log.
    Server(String),
    /// A tester asked for this reply.
    Requested {
        /// Status code of the reply.
        status: u16,
        /// Headers that the error adds to the reply.
        headers: Vec<(&'static str, String)>,
        /// Body of the reply, as JSON.
        body: Vec<u8>,
    },
}

impl<E> From<E> for ApiError
where
    StorageError: From<E>,
{
    fn from(error: E) -> Self {
        match error.into() {
            StorageError::Graph(GraphStoreError::Interrupted(reason)) => {
                Self::Domain(reason.into())
            }
            StorageError::Graph(GraphStoreError::OverBudget) => {
                Self::Domain(budget::read_budget_exceeded())
            }
            error => Self::Storage(error),
        }
    }
}

impl ApiError {
    /// Returns the reason of the refusal.
    #[must_use]
    pub fn reason(&self) -> RefusalReason {
        let reason = match self {
            Self::Unauthorized(reason, ..) => return (*reason).into(),
            Self::BadHeader(_) => return AuthRefusal::AuthorizationHeaderRepeated.into(),
            Self::NoRoute => RequestRefusal::NoRoute,
            Self::Scope(_) => RequestRefusal::ScopeInsufficient,
            Self::Limited(refusal) => refusal.limit.into(),
            Self::MediaType => RequestRefusal::MediaType,
            Self::TooLarge => RequestRefusal::BodyTooLarge,
            Self::FileTooLarge(_) => RequestRefusal::FileTooLarge,
            Self::NoDiskSpace => RequestRefusal::NoDiskSpace,
            Self::Body(BodyReadError::TimedOut) => RequestRefusal::BodyTimedOut,
            Self::Body(BodyReadError::Broken) => RequestRefusal::BodyBroken,
            Self::Body(BodyReadError::NoRoom) => RequestRefusal::NoRoom,
            Self::Resync(_) => RequestRefusal::SyncTokenOld,
            Self::Requested { .. } => RequestRefusal::FaultRequested,
            Self::Domain(fault) => match fault.kind {
                DomainErrorKind::Invalid => RequestRefusal::InputInvalid,
                DomainErrorKind::TooLarge => RequestRefusal::ResultTooLarge,
                DomainErrorKind::QuotaExceeded => RequestRefusal::QuotaExceeded,
                DomainErrorKind::NotFound => RequestRefusal::NotFound,
                DomainErrorKind::Forbidden => RequestRefusal::Forbidden,
                DomainErrorKind::PaidOnly => RequestRefusal::PlanRequired,
                DomainErrorKind::Unprocessable => RequestRefusal::Unprocessable,
                DomainErrorKind::Interrupted(InterruptReason::Abandoned) => {
                    RequestRefusal::Abandoned
                }
                DomainErrorKind::Interrupted(_) => RequestRefusal::DeadlineExceeded,
                DomainErrorKind::Busy(_) => RequestRefusal::Busy,
            },
            Self::Storage(
                StorageError::Graph(GraphStoreError::Unavailable(_))
                | StorageError::Auth(AuthStoreError::Unreachable(_)),
            ) => RequestRefusal::StoreUnavailable,
            Self::Storage(_) | Self::Server(_) => RequestRefusal::Failed,
        };
        reason.into()
    }

    /// Returns the log text of a server error.
    fn to_log(&self) -> String {
        match self {
            Self::Storage(error) => error.to_string(),
            Self::Server(text) => text.clone(),
            other => format!("{other:?}"),
        }
    }

    /// Returns the error for a request whose changes are already stored: it must not look like an error that changed nothing
    /// and may be retried.
    pub(crate) fn after_changes(self) -> Self {
        match self {
            Self::Storage(error) => Self::Server(format!(
                "the changes are kept, and what follows them failed: {error}"
            )),
            other => other,
        }
    }

    /// Returns true if the request needs more than a budget allows.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Domain(fault) if fault.kind == DomainErrorKind::TooLarge)
    }

    /// Returns true if the request itself was valid, but showing its records exceeded the byte budget or the time
    /// limit.
    pub(crate) fn is_render_failure(&self) -> bool {
        let stopped = |kind| {
            matches!(
                kind,
                DomainErrorKind::TooLarge | DomainErrorKind::Interrupted(_)
            )
        };
        matches!(self, Self::Domain(fault) if stopped(fault.kind))
    }

    /// Returns true if the work was stopped at its deadline.
    pub(crate) fn is_deadline_exceeded(&self) -> bool {
        let late = DomainErrorKind::Interrupted(InterruptReason::Deadline);
        matches!(self, Self::Domain(fault) if fault.kind == late)
    }

    /// Returns the cost, in credits, of a request that ended with this error. It is 0, unless the work ran until it was
    /// stopped, or filled the largest reply.
    #[must_use]
    pub fn cost(&self, reply_max: usize) -> u32 {
        match self {
            Self::Domain(fault) if matches!(fault.kind, DomainErrorKind::Interrupted(_)) => {
                INTERRUPTED_COST
            }
            failure if failure.is_too_large() => least_cost(reply_max),
            _ => 0,
        }
    }
}

impl From<DomainError> for ApiError {
    fn from(fault: DomainError) -> Self {
        Self::Domain(fault)
    }
}

/// Returns the reply for an error; `help` is the text from the settings. Server errors are logged with the phrase that
/// the client gets.
#[must_use]
pub fn error_response(failure: &ApiError, entropy: &dyn Entropy, help: &str) -> ApiResponse {
    response_to(failure, entropy, help).refused_for(failure.reason())
}

fn response_to(failure: &ApiError, entropy: &dyn Entropy, help: &str) -> ApiResponse {
    let say =
        |status: u16, text: &str| ApiResponse::json(status, error_envelope::error(text, help));
    match failure {
        ApiError::NoRoute => say(404, messages::NO_ROUTE),
        ApiError::Unauthorized(_, text, code) => {
            let challenge =
                code.map_or_else(|| "Bearer".to_owned(), |c| format!("Bearer error=\"{c}\""));
            say(401, text).with("WWW-Authenticate", challenge)
        }
        ApiError::BadHeader(text) => say(400, text),
        ApiError::Scope(text) => say(403, text),
        ApiError::Limited(refusal) => {
            say(429, messages::RATE_LIMITED).with("Retry-After", refusal.retry_after.to_string())
        }
        ApiError::MediaType => say(415, messages::UNSUPPORTED_MEDIA),
        ApiError::TooLarge => say(413, messages::BODY_TOO_LARGE),
        ApiError::FileTooLarge(most) => {
            say(413, &format!("file: Larger than {most} bytes, the limit"))
        }
        ApiError::NoDiskSpace => say(507, messages::NO_DISK_SPACE).with("Retry-After", "60"),
        ApiError::Body(error @ BodyReadError::TimedOut) => say(408, &error.to_string()),
        ApiError::Body(error @ BodyReadError::Broken) => say(400, &error.to_string()),
        ApiError::Body(error @ BodyReadError::NoRoom) => {
            say(503, &error.to_string()).with("Retry-After", "1")
        }
        ApiError::Resync(token) => {
            let body = error_envelope::error_with_sync(messages::SYNC_TOKEN_OLD, token, help);
            ApiResponse::json(412, body)
        }
        ApiError::Domain(fault) => match fault.kind {
            DomainErrorKind::Invalid | DomainErrorKind::TooLarge => say(400, &fault.message),
            DomainErrorKind::NotFound => say(404, &fault.message),
            DomainErrorKind::Forbidden => say(403, &fault.message),
            DomainErrorKind::PaidOnly => say(402, &fault.message),
            DomainErrorKind::QuotaExceeded => say(413, &fault.message),
            DomainErrorKind::Unprocessable => say(422, &fault.message),
            DomainErrorKind::Interrupted(_) => say(504, &fault.message),
            DomainErrorKind::Busy(seconds) => {
                say(429, &fault.message).with("Retry-After", seconds.to_string())
            }
        },
        ApiError::Storage(
            StorageError::Graph(GraphStoreError::Unavailable(_))
            | StorageError::Auth(AuthStoreError::Unreachable(_)),
        ) => {
            let phrase = log_error(&failure.to_log(), entropy);
            let error = ErrorObject::with_phrase(messages::NOT_AVAILABLE, phrase);
            ApiResponse::json(503, error_envelope::errors(&[error], help)).with("Retry-After", "5")
        }
        ApiError::Requested {
            status,
            headers,
            body,
        } => {
            let mut reply = ApiResponse::json(*status, body.clone());
            reply.headers.clone_from(headers);
            reply
        }
        ApiError::Storage(_) | ApiError::Server(_) => {
            let phrase = log_error(&failure.to_log(), entropy);
            ApiResponse::json(
                500,
                error_envelope::errors(
                    &[ErrorObject::with_phrase(messages::SERVER_ERROR, phrase)],
                    help,
                ),
            )
        }
    }
}

/// Logs a server error, and returns the phrase that identifies its log line.
#[must_use]
pub fn log_error(reason: &str, entropy: &dyn Entropy) -> String {
    let mut random = [0u8; 8];
    // Without entropy the phrase is always the same; the log line still has it.
    let _missing = entropy.fill(&mut random);
    let phrase = workgraph_wire::phrase::phrase(u64::from_le_bytes(random));
    tracing::error!(phrase, reason, "request failed");
    phrase
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::EntropyUnavailable;

    struct NoEntropy;

    impl Entropy for NoEntropy {
        fn fill(&self, _buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
            Err(EntropyUnavailable)
        }
    }

    /// S941.
    #[test]
    fn a_503_says_that_nothing_was_kept_and_an_unknown_outcome_is_a_500_with_a_phrase() {
        let text = || "the connection broke".to_owned();
        let errors: [(StorageError, u16); 4] = [
            (GraphStoreError::Unavailable(text()).into(), 503),
            (GraphStoreError::Unknown(text()).into(), 500),
            (AuthStoreError::Unreachable(text()).into(), 503),
            (AuthStoreError::Unknown(text()).into(), 500),
        ];
        for (error, status) in errors {
            let reply = error_response(&ApiError::Storage(error), &NoEntropy, "help");
            let may_retry = reply.headers.iter().any(|(name, _)| *name == "Retry-After");
            assert_eq!((reply.status, may_retry), (status, status == 503));
            let body = String::from_utf8(reply.body.to_vec()).unwrap_or_default();
            assert!(
                body.contains("\"phrase\"") && !body.contains("broke"),
                "{body}"
            );
        }
    }
}

//! Error replies: a status and the errors envelope.

use std::fmt;

use crate::error_envelope::{ErrorObject, errors};
use crate::form_body::FormError;
use crate::json_body::JsonError;
use crate::messages;
use crate::page_tokens::{PageTokenError, SealError};
use crate::query_params::QueryError;

/// Reply to a failed request: `{"errors":[{"message":...}]}`, with a help text if there is one.
///
/// Errors of this crate convert to it with `?`. A service with its own error format converts them to that instead: each has
/// its message as `Display`, and its documentation names the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// The status code.
    pub status: u16,
    /// The errors, at least one.
    pub errors: Vec<ErrorObject>,
    /// The text that says where errors are explained, added to each error.
    pub help: Option<String>,
    /// The cause of a server fault, for the log; it is not sent.
    pub cause: Option<String>,
}

impl ErrorReply {
    /// Makes a reply with one message and no help text.
    #[must_use]
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            errors: vec![ErrorObject::new(message)],
            help: None,
            cause: None,
        }
    }

    /// Makes the reply for a server fault: the cause is only for the log.
    #[must_use]
    pub fn server_fault(cause: impl Into<String>) -> Self {
        let mut reply = Self::new(500, messages::SERVER_ERROR);
        reply.cause = Some(cause.into());
        reply
    }

    /// Adds the text that says where errors are explained.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the body of the reply as JSON.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        errors(&self.errors, self.help.as_deref())
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.errors.first();
        f.write_str(first.map_or(messages::SERVER_ERROR, |error| &error.message))
    }
}

impl std::error::Error for ErrorReply {}

impl From<QueryError> for ErrorReply {
    fn from(error: QueryError) -> Self {
        Self::new(400, error.to_string())
    }
}

impl From<PageTokenError> for ErrorReply {
    fn from(error: PageTokenError) -> Self {
        match error {
            // A mistake in the program, which the client can't correct.
            PageTokenError::TimeNeeded => Self::server_fault(error.to_string()),
            _ => Self::new(400, format!("offset: {error}")),
        }
    }
}

/// Treats a key that can't be sealed as a server fault.
impl From<SealError> for ErrorReply {
    fn from(error: SealError) -> Self {
        Self::server_fault(error.to_string())
    }
}

impl From<JsonError> for ErrorReply {
    fn from(error: JsonError) -> Self {
        Self::new(error.status(), error.to_string())
    }
}

impl From<FormError> for ErrorReply {
    fn from(error: FormError) -> Self {
        Self::new(error.status(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query_params::QueryParams;

    #[test]
    fn a_reply_has_the_help_text_that_the_service_gives_it_or_none() {
        let reply = ErrorReply::new(409, "name: taken");
        assert_eq!(reply.body(), br#"{"errors":[{"message":"name: taken"}]}"#);
        let body = reply.with_help("https://a.example/errors").body();
        assert_eq!(
            body,
            br#"{"errors":[{"message":"name: taken","help":"https://a.example/errors"}]}"#
        );
    }

    #[test]
    fn errors_of_a_request_say_what_is_wrong_and_those_of_the_program_stay_with_it() {
        let limit = QueryParams::parse("limit=0").unwrap().limit().unwrap_err();
        let of_client = [
            (ErrorReply::from(limit), "limit: must be 1 to 100"),
            (
                PageTokenError::OtherBinding.into(),
                "offset: the page token belongs to another list",
            ),
        ];
        for (reply, message) in of_client {
            assert_eq!((reply.status, reply.to_string()), (400, message.to_owned()));
        }
        let of_server: [ErrorReply; 2] = [
            SealError::Key("secret".to_owned()).into(),
            PageTokenError::TimeNeeded.into(),
        ];
        for reply in of_server {
            assert_eq!(
                (reply.status, reply.to_string().as_str()),
                (500, "Server Error")
            );
            assert!(
                reply
                    .cause
                    .is_some_and(|cause| cause.contains("page token"))
            );
        }
    }
}

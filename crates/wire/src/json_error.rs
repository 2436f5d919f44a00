//! The error of a JSON request body.

use thiserror::Error;

use crate::messages;

/// Error of a body that can't be read. `Display` is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// Over the byte limit: status 413. All others are 400.
    #[error("{}", messages::BODY_TOO_LARGE)]
    TooLarge,
    /// Not JSON: broken syntax, a byte order mark, or something after the value.
    #[error("{}", messages::INVALID_JSON)]
    Syntax,
    /// Invalid UTF-8, or half a surrogate pair in an escape.
    #[error("{}", messages::NOT_UTF8)]
    NotUtf8,
    /// A number beyond the range of a double.
    #[error("{}", messages::NUMBER_RANGE)]
    Number,
    /// Nested deeper than this many levels.
    #[error("{}", messages::too_deep(*.0))]
    Depth(usize),
    /// This key (cut and escaped) stands twice in one object.
    #[error("{0}: given twice")]
    DuplicateKey(String),
    /// The body is not an object.
    #[error("{}", messages::NOT_AN_OBJECT)]
    NotAnObject,
    /// This key (cut and escaped) stands beside `data` and `options`.
    #[error("{}", messages::unrecognized(.0))]
    Unrecognized(String),
    /// No `data`, or `data` is null.
    #[error("{}", messages::missing_input("data"))]
    MissingData,
    /// `data` is not an object.
    #[error("data: must be an object")]
    DataNotAnObject,
    /// This option breaks this rule.
    #[error("{0}: {1}")]
    Option(&'static str, &'static str),
}

impl JsonError {
    /// Returns the status code of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        if *self == Self::TooLarge { 413 } else { 400 }
    }
}

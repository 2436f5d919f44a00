//! The error of a JSON request body.

use std::fmt;

use crate::messages;

/// Error of a body that can't be read. `Display` is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonError {
    /// Over the byte limit: status 413. All others are 400.
    TooLarge,
    /// Not JSON: broken syntax, a byte order mark, or text after the value.
    Syntax,
    /// Invalid UTF-8, or half a surrogate pair in an escape.
    NotUtf8,
    /// A number beyond the range of a double.
    Number,
    /// Nested deeper than this many levels.
    Depth(usize),
    /// This key (cut and escaped) occurs twice in one object.
    DuplicateKey(String),
    /// The body is not an object.
    NotAnObject,
    /// This key (cut and escaped) occurs next to `data` and `options`.
    Unrecognized(String),
    /// No `data`, or `data` is null.
    MissingData,
    /// `data` is not an object.
    DataNotAnObject,
    /// This option breaks this rule.
    Option(&'static str, &'static str),
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str(messages::BODY_TOO_LARGE),
            Self::Syntax => f.write_str(messages::INVALID_JSON),
            Self::NotUtf8 => f.write_str(messages::NOT_UTF8),
            Self::Number => f.write_str(messages::NUMBER_RANGE),
            Self::Depth(most) => f.write_str(&messages::too_deep(*most)),
            Self::DuplicateKey(key) => write!(f, "{key}: given twice"),
            Self::NotAnObject => f.write_str(messages::NOT_AN_OBJECT),
            Self::Unrecognized(key) => f.write_str(&messages::unrecognized(key)),
            Self::MissingData => f.write_str(&messages::missing_input("data")),
            Self::DataNotAnObject => f.write_str("data: must be an object"),
            Self::Option(option, rule) => write!(f, "{option}: {rule}"),
        }
    }
}

impl std::error::Error for JsonError {}

impl JsonError {
    /// Returns the status code of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        if *self == Self::TooLarge { 413 } else { 400 }
    }
}

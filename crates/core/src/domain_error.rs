//! Errors of requests, in terms of the domain. The api crate maps them to statuses.
use crate::interrupt::InterruptReason;
use std::fmt;
use thiserror::Error;

/// Kind of a domain error, from which its status follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DomainErrorKind {
    /// A parameter is missing or malformed.
    Invalid,
    /// The object of the request does not exist.
    NotFound,
    /// The viewer lacks access.
    Forbidden,
    /// The operation is for paid workspaces only.
    PaidOnly,
    /// The request is well formed, but it cannot be carried out as it is.
    Unprocessable,
    /// Too much work at once: the client may try again after this many seconds.
    Busy(u32),
    /// The interrupt of the request stopped the work.
    Interrupted(InterruptReason),
    /// The request needs more bytes than a budget allows.
    TooLarge,
    /// The file of the request needs more bytes than a quota has left.
    QuotaExceeded,
}

/// A refusal that the client can act on.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct DomainError {
    /// Kind of the error; an API turns it into a status.
    pub kind: DomainErrorKind,
    /// Message for the client: the parameter, the fault, and a value that would be valid.
    pub message: String,
}

impl DomainError {
    /// Returns the error of a missing parameter: the spec's `<parameter>: Missing input`.
    #[must_use]
    pub fn missing(parameter: &str) -> Self {
        Self::invalid(format!("{parameter}: Missing input"))
    }
    /// Returns the error of malformed or impossible input.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::Invalid,
            message: message.into(),
        }
    }
    /// Returns the error of malformed input in this parameter.
    #[must_use]
    pub fn field(parameter: &str, message: impl fmt::Display) -> Self {
        Self::invalid(format!("{parameter}: {message}"))
    }
    /// Returns the error with the name of the parameter that contains the faulty part.
    #[must_use]
    pub fn within(self, parameter: &str) -> Self {
        Self {
            message: format!("{parameter}.{}", self.message),
            ..self
        }
    }
    /// Returns the error for a property that only other operations can write.
    #[must_use]
    pub fn unwritable(parameter: &str) -> Self {
        Self::field(parameter, "Cannot write this property")
    }
    /// Returns the error of an object that does not have this custom field.
    #[must_use]
    pub fn field_not_on_object(field: impl fmt::Display) -> Self {
        Self::invalid(format!(
            "Custom field with ID {field} is not on given object"
        ))
    }
    /// Returns the error of a path that names no existing object.
    #[must_use]
    pub fn not_found(noun: &str, gid: impl fmt::Display) -> Self {
        Self {
            kind: DomainErrorKind::NotFound,
            message: format!("{noun}: Unknown object: {gid}"),
        }
    }
    /// Returns the error of a query or body that names no existing object.
    #[must_use]
    pub fn reference_not_found(parameter: &str, value: impl fmt::Display) -> Self {
        Self::field(parameter, format_args!("Unknown object: {value}"))
    }
    /// Returns the error of an object that the viewer may not see.
    #[must_use]
    pub fn no_access(noun: &str) -> Self {
        Self::forbidden(format!("You do not have access to this {noun}."))
    }
    /// Returns the error of an action that the viewer is not allowed to take.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::Forbidden,
            message: message.into(),
        }
    }
    /// Returns the error of a request that is well formed, but cannot be carried out as it is.
    #[must_use]
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::Unprocessable,
            message: message.into(),
        }
    }
    /// Returns the error of too much work at once, to be tried again after this many seconds.
    #[must_use]
    pub fn busy(seconds: u32, message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::Busy(seconds),
            message: message.into(),
        }
    }
    /// Returns the error of an exceeded byte budget; the message says which part of the request must shrink.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::TooLarge,
            message: message.into(),
        }
    }
    /// Returns the error of a file for which a quota has no room; the message says which quota.
    #[must_use]
    pub fn quota_exceeded(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::QuotaExceeded,
            message: message.into(),
        }
    }
    /// Returns the error of an operation that is for paid workspaces only.
    #[must_use]
    pub fn paid_only(message: impl Into<String>) -> Self {
        Self {
            kind: DomainErrorKind::PaidOnly,
            message: message.into(),
        }
    }
}

impl From<InterruptReason> for DomainError {
    fn from(interrupted: InterruptReason) -> Self {
        Self {
            kind: DomainErrorKind::Interrupted(interrupted),
            message: "The request took too long. A read can ask for less: fewer opt_fields, a smaller limit, \
                      more filters. A change it makes may still be made"
                .to_owned(),
        }
    }
}

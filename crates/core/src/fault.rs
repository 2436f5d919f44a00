//! What can be wrong with a request, in the domain's words. Statuses are chosen elsewhere.
use crate::interrupt::Interrupted;
use std::fmt;

/// The kind of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A parameter is missing or malformed.
    Invalid,
    /// The object of the request does not exist.
    Unknown,
    /// The viewer lacks access.
    Forbidden,
    /// Only for paid workspaces.
    Premium,
    /// Well formed, but it cannot be carried out as it stands.
    Unprocessable,
    /// Too much at once: to be tried again after so many seconds.
    Busy(u32),
    /// The work on it was stopped.
    Interrupted(Interrupted),
    /// More than a budget holds.
    TooLarge,
}

/// A refusal that the client can act on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// Which parameter, what was wrong, and what would be right.
    pub message: String,
}

impl Fault {
    /// A parameter that must be there is not: the spec's `<parameter>: Missing input`.
    #[must_use]
    pub fn missing(parameter: &str) -> Self {
        Self::invalid(format!("{parameter}: Missing input"))
    }
    /// Malformed or impossible input.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
        }
    }
    /// Malformed input in this parameter.
    #[must_use]
    pub fn field(parameter: &str, message: impl fmt::Display) -> Self {
        Self::invalid(format!("{parameter}: {message}"))
    }
    /// A property that other operations write.
    #[must_use]
    pub fn unwritable(parameter: &str) -> Self {
        Self::field(parameter, "Cannot write this property")
    }
    /// Says that an object does not have this custom field.
    #[must_use]
    pub fn not_on(field: impl fmt::Display) -> Self {
        Self::invalid(format!(
            "Custom field with ID {field} is not on given object"
        ))
    }
    /// The object named by the path does not exist.
    #[must_use]
    pub fn unknown(noun: &str, gid: impl fmt::Display) -> Self {
        Self {
            kind: Kind::Unknown,
            message: format!("{noun}: Unknown object: {gid}"),
        }
    }
    /// An object named in the query or body does not exist.
    #[must_use]
    pub fn unknown_ref(parameter: &str, value: impl fmt::Display) -> Self {
        Self::field(parameter, format_args!("Unknown object: {value}"))
    }
    /// The viewer may not see the object.
    #[must_use]
    pub fn no_access(noun: &str) -> Self {
        Self::forbidden(format!("You do not have access to this {noun}."))
    }
    /// The viewer may not do that.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Forbidden,
            message: message.into(),
        }
    }
    /// Well formed, but it cannot be carried out as it stands.
    #[must_use]
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Unprocessable,
            message: message.into(),
        }
    }
    /// Too much at once: to be tried again after so many seconds.
    #[must_use]
    pub fn busy(seconds: u32, message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Busy(seconds),
            message: message.into(),
        }
    }
    /// More than a budget holds; the message says of what there would have to be less.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::TooLarge,
            message: message.into(),
        }
    }
    /// Only for paid workspaces.
    #[must_use]
    pub fn premium(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Premium,
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Fault {}

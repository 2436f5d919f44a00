//! The HTTP methods that operations use.

/// The methods that operations use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Creates a resource, or performs an action that the path names.
    Post,
    /// Updates a resource.
    Put,
    /// Deletes a resource.
    Delete,
}

impl Method {
    /// Returns the method of this name; `HEAD` and all others have no operations.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "GET" => Some(Self::Get),
            "POST" => Some(Self::Post),
            "PUT" => Some(Self::Put),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
    /// Returns the name in capitals, such as `GET`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

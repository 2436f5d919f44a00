//! Position of a node in a list, from the anchors of a body.
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::storage::ListPosition;

/// Position in the list that the body asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPosition {
    /// The body has no position.
    None,
    /// First: after null.
    First,
    /// Last: before null.
    Last,
    /// Before this node.
    Before(Gid),
    /// After this node.
    After(Gid),
}

impl InsertPosition {
    /// Reads two body fields of which at most one may be given. Null means the end of the list that the field is
    /// nearest to; beside a value it means nothing.
    ///
    /// # Errors
    /// Fails when both are given, or one is not a gid.
    pub fn read(call: &RequestContext<'_>, before: &str, after: &str) -> Result<Self, DomainError> {
        match (call.has_field(before), call.has_field(after)) {
            (true, true) => match (call.body_gid(before)?, call.body_gid(after)?) {
                (Some(gid), None) => Ok(Self::Before(gid)),
                (None, Some(gid)) => Ok(Self::After(gid)),
                _ => Err(DomainError::invalid(format!(
                    "You may only provide one of {before} or {after}!"
                ))),
            },
            (true, false) => Ok(call.body_gid(before)?.map_or(Self::Last, Self::Before)),
            (false, true) => Ok(call.body_gid(after)?.map_or(Self::First, Self::After)),
            (false, false) => Ok(Self::None),
        }
    }

    /// Returns the name of the field that the body has, for errors.
    #[must_use]
    pub fn field_name<'n>(call: &RequestContext<'_>, before: &'n str, after: &'n str) -> &'n str {
        if call.field(before).is_some() {
            before
        } else {
            after
        }
    }

    /// Returns the neighbour that the body names, if any.
    #[must_use]
    pub fn neighbour(self) -> Option<Gid> {
        match self {
            Self::Before(gid) | Self::After(gid) => Some(gid),
            _ => None,
        }
    }

    /// Returns the list position, or `otherwise` if the body has none.
    #[must_use]
    pub fn list_position(self, otherwise: ListPosition) -> ListPosition {
        match self {
            Self::None => otherwise,
            Self::First => ListPosition::First,
            Self::Last => ListPosition::Last,
            Self::Before(gid) => ListPosition::Before(gid),
            Self::After(gid) => ListPosition::After(gid),
        }
    }
}

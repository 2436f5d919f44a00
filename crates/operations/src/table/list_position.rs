//! Position of a node in a list, from the neighbours in a body.
use crate::operation::inputs::{Input, InputPlace, InputReader, Named};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::ListPosition;

/// Position in the list that the body requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPosition {
    /// The body has no position.
    None,
    /// Start of the list: [`InsertInputs::after`] is null.
    First,
    /// End of the list: [`InsertInputs::before`] is null.
    Last,
    /// Directly before this node.
    Before(Gid),
    /// Directly after this node.
    After(Gid),
}

impl InsertPosition {
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

/// Two body fields for a position in a list; a body may have at most one of them.
#[derive(Debug)]
pub struct InsertInputs {
    /// Field that names the node to insert before.
    pub before: Input<Named<Gid>>,
    /// Field that names the node to insert after.
    pub after: Input<Named<Gid>>,
}

/// Returns the inputs `insert_before` and `insert_after`, for neighbours of these types.
#[must_use]
pub const fn insert_beside(types: &'static [Type]) -> InsertInputs {
    InsertInputs {
        before: Input::gid(
            InputPlace::Body,
            "insert_before",
            types,
            "The node before which it is inserted; null for the end of the list.",
        )
        .nullable(),
        after: Input::gid(
            InputPlace::Body,
            "insert_after",
            types,
            "The node after which it is inserted; null for the start of the list.",
        )
        .nullable(),
    }
}

/// Position that a body asks for, with the name of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestedPosition {
    /// Position that the body gives.
    pub position: InsertPosition,
    /// The name of the field that the body has, for errors.
    pub field: &'static str,
}

impl InsertInputs {
    /// Reads the position. Null means the end of the list on the side of that field; next to a value it is ignored.
    ///
    /// # Errors
    /// Fails if both fields are given, or one is not a gid.
    pub fn read(&'static self, inputs: &InputReader<'_>) -> Result<RequestedPosition, DomainError> {
        let (before, after) = (self.before.def.name, self.after.def.name);
        let has = (
            inputs.has_field(&self.before.def),
            inputs.has_field(&self.after.def),
        );
        let first = inputs.optional(&self.before);
        let second = inputs.optional(&self.after);
        let gid = |named: Option<Named<Gid>>| named.map(|named| named.node);
        let position = match has {
            (true, true) => match (gid(first?), gid(second?)) {
                (Some(gid), None) => InsertPosition::Before(gid),
                (None, Some(gid)) => InsertPosition::After(gid),
                _ => {
                    return Err(DomainError::invalid(format!(
                        "You may only provide one of {before} or {after}!"
                    )));
                }
            },
            (true, false) => gid(first?).map_or(InsertPosition::Last, InsertPosition::Before),
            (false, true) => gid(second?).map_or(InsertPosition::First, InsertPosition::After),
            (false, false) => InsertPosition::None,
        };
        let is_before = inputs.body_value(&self.before.def).is_some();
        Ok(RequestedPosition {
            position,
            field: if is_before { before } else { after },
        })
    }
}

#[cfg(test)]
mod tests;

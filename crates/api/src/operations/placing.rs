//! Where a thing goes in a list, from the anchors of a body.
use crate::call::Call;
use workgraph_core::Gid;
use workgraph_core::fault::Fault;
use workgraph_core::graph::Place;

/// What the body says about the place in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// Nothing.
    None,
    /// First: after null.
    First,
    /// Last: before null.
    Last,
    /// Before this one.
    Before(Gid),
    /// After this one.
    After(Gid),
}

impl Anchor {
    /// Reads two body fields of which at most one may be given; null means the end of the list
    /// that it is nearest to, and nothing beside a value.
    ///
    /// # Errors
    /// When both are given, or one is not a gid.
    pub fn read(call: &Call<'_>, before: &str, after: &str) -> Result<Self, Fault> {
        match (call.has(before), call.has(after)) {
            (true, true) => match (call.body_gid(before)?, call.body_gid(after)?) {
                (Some(gid), None) => Ok(Self::Before(gid)),
                (None, Some(gid)) => Ok(Self::After(gid)),
                _ => Err(Fault::invalid(format!(
                    "You may only provide one of {before} or {after}!"
                ))),
            },
            (true, false) => Ok(call.body_gid(before)?.map_or(Self::Last, Self::Before)),
            (false, true) => Ok(call.body_gid(after)?.map_or(Self::First, Self::After)),
            (false, false) => Ok(Self::None),
        }
    }

    /// Which of the two fields the body has, for errors.
    #[must_use]
    pub fn given<'n>(call: &Call<'_>, before: &'n str, after: &'n str) -> &'n str {
        if call.field(before).is_some() {
            before
        } else {
            after
        }
    }

    /// The neighbour named, if any.
    #[must_use]
    pub fn neighbour(self) -> Option<Gid> {
        match self {
            Self::Before(gid) | Self::After(gid) => Some(gid),
            _ => None,
        }
    }

    /// The place, or `otherwise` if the body says nothing.
    #[must_use]
    pub fn place(self, otherwise: Place) -> Place {
        match self {
            Self::None => otherwise,
            Self::First => Place::First,
            Self::Last => Place::Last,
            Self::Before(gid) => Place::Before(gid),
            Self::After(gid) => Place::After(gid),
        }
    }
}

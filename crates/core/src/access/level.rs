//! Levels of access, from none to admin.

/// Level of access that a viewer has to a node; each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Level {
    /// No access; the node is left out of lists and is 403 by gid.
    #[default]
    None = 0,
    /// May see the node.
    Viewer = 1,
    /// May see the node and comment on it.
    Commenter = 2,
    /// May change the node.
    Editor = 3,
    /// May change the node's memberships, and delete it.
    Admin = 4,
}

impl Level {
    /// Returns the level that a membership edge stores as its rank.
    #[must_use]
    pub const fn from_rank(rank: i64) -> Self {
        match rank {
            1 => Self::Viewer,
            2 => Self::Commenter,
            3 => Self::Editor,
            4.. => Self::Admin,
            _ => Self::None,
        }
    }
}

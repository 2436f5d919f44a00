//! Access of followers: each edge keeps, as its rank, the level that the user who added the follower could give.
use super::level::Level;

/// Rank of users who follow an object on their own, so nobody has added them.
const OWN: i64 = -1;
/// Rank of edges that were written by versions which did not store a level.
const UNKNOWN: i64 = 0;

/// Returns the rank of a follower whom a user with this level added, or `None` if they follow on their own.
#[must_use]
pub fn follower_rank(given: Option<Level>) -> i64 {
    given.map_or(OWN, |level| level.min(Level::Editor) as i64)
}

/// Returns the level that an edge with this rank gives, if nothing else gives access.
#[must_use]
pub fn follower_level(rank: i64) -> Level {
    match rank {
        UNKNOWN => Level::Commenter,
        rank => Level::from_rank(rank).min(Level::Editor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_has_what_was_given_and_nothing_else() {
        for level in [Level::Viewer, Level::Commenter, Level::Editor] {
            assert_eq!(follower_level(follower_rank(Some(level))), level);
        }
        assert_eq!(
            follower_level(follower_rank(Some(Level::Admin))),
            Level::Editor
        );
        assert_eq!(follower_level(follower_rank(None)), Level::None);
    }
}

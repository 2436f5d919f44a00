//! What users and teams become members of, each with a level of their own.
use crate::access::Level;
use crate::gid::Gid;
use crate::graph::Place;
use crate::registry::{Field, Type, rel};
use crate::resources::{custom_field, membership, project};
use crate::work::Work;

/// How things of a type are shared.
#[derive(Debug)]
pub struct Sharing {
    /// The type of what is shared.
    pub ty: Type,
    /// The type of its memberships.
    pub membership: Type,
    /// The field that says which level new members have.
    pub default: Field<str>,
    /// The words of the contract for the levels, lowest first, with what each allows.
    pub levels: &'static [(&'static str, Level)],
}

/// Projects.
pub static PROJECTS: Sharing = Sharing {
    ty: Type::Project,
    membership: Type::ProjectMembership,
    default: project::DEFAULT_ACCESS,
    levels: &[
        ("viewer", Level::Viewer),
        ("commenter", Level::Commenter),
        ("editor", Level::Editor),
        ("admin", Level::Admin),
    ],
};

/// Custom fields.
pub static CUSTOM_FIELDS: Sharing = Sharing {
    ty: Type::CustomField,
    membership: Type::CustomFieldMembership,
    default: custom_field::DEFAULT_ACCESS,
    levels: &[
        ("user", Level::Viewer),
        ("editor", Level::Editor),
        ("admin", Level::Admin),
    ],
};

impl Sharing {
    /// What is shared by levels.
    pub const TYPES: &'static [Type] = &[Type::Project, Type::CustomField];

    /// How things of this type are shared; none if they are not.
    #[must_use]
    pub fn of(ty: Type) -> Option<&'static Self> {
        [&PROJECTS, &CUSTOM_FIELDS]
            .into_iter()
            .find(|sharing| sharing.ty == ty)
    }

    /// The level that a word means.
    #[must_use]
    pub fn level(&self, word: &str) -> Option<Level> {
        let found = self.levels.iter().find(|(name, _)| *name == word);
        found.map(|(_, level)| *level)
    }

    /// The word for a level.
    #[must_use]
    pub fn word(&self, level: Level) -> &'static str {
        let found = self.levels.iter().find(|(_, l)| *l == level);
        found.map_or("none", |(name, _)| name)
    }

    /// Makes a user or team a member; returns the membership.
    pub fn join(&self, work: &mut Work<'_>, who: Gid, place: Gid, home: Gid, level: Level) -> Gid {
        let mut draft = work.draft(self.membership, Some(home));
        draft.set(membership::PARENT, place);
        draft.set(membership::MEMBER, who);
        draft.set(membership::ACCESS_LEVEL, self.word(level));
        let gid = work.create(&draft, Some(place));
        work.needs_unlinked(place, rel::MEMBERS, who);
        let rank = Place::Rank(level as i64);
        work.link(place, rel::MEMBERS, who, rank, Some(gid));
        if self.ty == Type::Project {
            work.gained(place, self.ty, "members", who);
        }
        gid
    }

    /// Ends a membership.
    pub fn leave(&self, work: &mut Work<'_>, who: Gid, place: Gid, membership: Gid) {
        work.trash(membership, self.membership);
        work.unlink(place, rel::MEMBERS, who);
        if self.ty == Type::Project {
            work.unlink(place, rel::PROJECT_FOLLOWERS, who);
            work.lost(place, self.ty, "members", who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Shape;
    use crate::resources::resource;

    #[test]
    fn levels_are_those_that_the_memberships_declare() {
        for ty in Sharing::TYPES {
            let sharing = Sharing::of(*ty).unwrap();
            let field = resource(sharing.membership).field("access_level").unwrap();
            let Shape::Word(words) = field.shape else {
                panic!("{ty:?} has no words");
            };
            let names: Vec<&str> = sharing.levels.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, words);
            for (name, level) in sharing.levels {
                assert_eq!(sharing.level(name), Some(*level));
                assert_eq!(sharing.word(*level), *name);
            }
            assert_eq!(sharing.level("owner"), None);
        }
        assert!(Sharing::of(Type::Task).is_none());
    }
}

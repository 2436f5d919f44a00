//! Sharing of objects with users and teams, each with their own access level.
use crate::access::{Level, follower_rank};
use crate::model::gid::Gid;
use crate::model::registry::{Type, TypedField, rel};
use crate::model::resources::{custom_field, goal, membership, portfolio, project, resource};
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

/// Rules for sharing objects of a type.
#[derive(Debug)]
pub struct Sharing {
    /// Type of the shared objects.
    pub ty: Type,
    /// Type of the memberships.
    pub membership: Type,
    /// Field with the level of new members.
    pub default: TypedField<str>,
    /// Names of the levels in the contract, lowest first, with the level that each gives.
    pub levels: &'static [(&'static str, Level)],
}

/// Rules for sharing projects.
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

/// Rules for sharing portfolios.
pub static PORTFOLIOS: Sharing = Sharing {
    ty: Type::Portfolio,
    membership: Type::PortfolioMembership,
    default: portfolio::DEFAULT_ACCESS,
    levels: &[
        ("viewer", Level::Viewer),
        ("editor", Level::Editor),
        ("admin", Level::Admin),
    ],
};

/// Rules for sharing goals.
pub static GOALS: Sharing = Sharing {
    ty: Type::Goal,
    membership: Type::GoalMembership,
    default: goal::DEFAULT_ACCESS,
    levels: PROJECTS.levels,
};

/// Rules for sharing custom fields.
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
    /// Types of objects that are shared with a level of access.
    pub const TYPES: &'static [Type] = &[
        Type::Project,
        Type::Portfolio,
        Type::Goal,
        Type::CustomField,
    ];

    /// Returns the rules for sharing objects of a type, or `None` if they are not shared.
    #[must_use]
    pub fn of(ty: Type) -> Option<&'static Self> {
        [&PROJECTS, &PORTFOLIOS, &GOALS, &CUSTOM_FIELDS]
            .into_iter()
            .find(|sharing| sharing.ty == ty)
    }

    /// Returns the level with this name.
    #[must_use]
    pub fn level(&self, word: &str) -> Option<Level> {
        let found = self.levels.iter().find(|(name, _)| *name == word);
        found.map(|(_, level)| *level)
    }

    /// Returns the name of a level.
    #[must_use]
    pub fn word(&self, level: Level) -> &'static str {
        let found = self.levels.iter().find(|(_, l)| *l == level);
        found.map_or("none", |(name, _)| name)
    }

    /// Makes a user or team a member; returns the membership.
    pub fn join(
        &self,
        work: &mut ChangeBuilder<'_>,
        member: Gid,
        shared: Gid,
        workspace: Gid,
        level: Level,
    ) -> Gid {
        let mut draft = work.draft(self.membership, Some(workspace));
        draft.set(membership::PARENT, shared);
        draft.set(membership::MEMBER, member);
        draft.set(membership::ACCESS_LEVEL, self.word(level));
        let gid = work.create(&draft, Some(shared));
        work.require_unlinked(shared, rel::MEMBERS, member);
        let rank = ListPosition::Rank(level as i64);
        work.link(shared, rel::MEMBERS, member, rank, Some(gid));
        if self.lists_members() {
            work.record_added(shared, self.ty, "members", member);
        }
        gid
    }

    /// Ends a membership.
    pub fn leave(&self, work: &mut ChangeBuilder<'_>, member: Gid, shared: Gid, membership: Gid) {
        work.trash(membership, self.membership);
        work.unlink(shared, rel::MEMBERS, member);
        if resource(self.ty).field("followers").is_some() {
            work.unlink(shared, rel::PROJECT_FOLLOWERS, member);
        }
        if self.lists_members() {
            work.record_removed(shared, self.ty, "members", member);
        }
    }

    /// Returns true if records of the shared objects list their members.
    fn lists_members(&self) -> bool {
        resource(self.ty).field("members").is_some()
    }
}

/// Makes a user a follower of a task, with at most the level of the user who adds them. Users who follow on their own get no
/// access.
pub fn follow_task(work: &mut ChangeBuilder<'_>, task: Gid, user: Gid, level: Level) {
    let own = work.changes.actor == Some(user);
    let rank = follower_rank((!own).then_some(level));
    work.link(task, rel::FOLLOWERS, user, ListPosition::Rank(rank), None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::ValueType;

    #[test]
    fn levels_are_those_that_the_memberships_declare() {
        for ty in Sharing::TYPES {
            let sharing = Sharing::of(*ty).unwrap();
            let field = resource(sharing.membership).field("access_level").unwrap();
            let ValueType::Word(words) = field.value_type else {
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

//! The gate: who may let others into an object, at which level, and who may change the settings that restrict somebody. Nobody
//! gives more access than they have, and nobody lifts a restriction on themselves.
use super::level::Level;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::{custom_field, goal, portfolio, project, team};

/// Users who may change a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingKeeper {
    /// Users who may share the object.
    Sharers,
    /// The admins of the object.
    Admins,
    /// The users who may change the workflow and the appearance of the project.
    Customizers,
    /// The users that another setting of the team names: all members, or only its admins.
    Named(&'static str),
}

/// Value of a team setting that reserves an action for the team's admins.
const TEAM_ADMINS: &str = "only_team_admins";

const PROJECT: &[(&str, SettingKeeper)] = &[
    (project::PRIVACY.def.name, SettingKeeper::Sharers),
    (project::DEFAULT_ACCESS.def.name, SettingKeeper::Sharers),
    (project::COLOR.def.name, SettingKeeper::Customizers),
    (project::ICON.def.name, SettingKeeper::Customizers),
    (project::DEFAULT_VIEW.def.name, SettingKeeper::Customizers),
    (project::CUSTOMIZE_ACCESS.def.name, SettingKeeper::Admins),
    (project::SHARE_ACCESS.def.name, SettingKeeper::Admins),
    // The owner has all access.
    (project::OWNER.def.name, SettingKeeper::Admins),
];
const PORTFOLIO: &[(&str, SettingKeeper)] = &[
    (portfolio::PRIVACY.def.name, SettingKeeper::Sharers),
    (portfolio::DEFAULT_ACCESS.def.name, SettingKeeper::Sharers),
    (portfolio::OWNER.def.name, SettingKeeper::Admins),
];
const GOAL: &[(&str, SettingKeeper)] = &[
    (goal::PRIVACY.def.name, SettingKeeper::Sharers),
    (goal::DEFAULT_ACCESS.def.name, SettingKeeper::Sharers),
    (goal::TEAM.def.name, SettingKeeper::Sharers),
    (goal::OWNER.def.name, SettingKeeper::Admins),
];
const CUSTOM_FIELD: &[(&str, SettingKeeper)] = &[
    (custom_field::PRIVACY.def.name, SettingKeeper::Sharers),
    (
        custom_field::DEFAULT_ACCESS.def.name,
        SettingKeeper::Sharers,
    ),
];
const BY_NAME_KEEPERS: SettingKeeper = SettingKeeper::Named(team::EDIT_NAME.def.name);
const TEAM: &[(&str, SettingKeeper)] = &[
    (team::NAME.def.name, BY_NAME_KEEPERS),
    (team::DESCRIPTION.def.name, BY_NAME_KEEPERS),
    (team::HTML_DESCRIPTION.def.name, BY_NAME_KEEPERS),
    (
        team::VISIBILITY.def.name,
        SettingKeeper::Named(team::EDIT_VISIBILITY.def.name),
    ),
    (team::EDIT_NAME.def.name, SettingKeeper::Admins),
    (team::EDIT_VISIBILITY.def.name, SettingKeeper::Admins),
    (team::INVITE_MEMBERS.def.name, SettingKeeper::Admins),
    (team::INVITE_GUESTS.def.name, SettingKeeper::Admins),
    (team::JOIN_REQUESTS.def.name, SettingKeeper::Admins),
    (team::REMOVE_MEMBERS.def.name, SettingKeeper::Admins),
    (team::CONTENT.def.name, SettingKeeper::Admins),
];

/// Returns the settings of a type that restrict somebody, each with the users who may change it. Everyone who may change the
/// object may change its other settings.
#[must_use]
pub const fn settings(ty: Type) -> &'static [(&'static str, SettingKeeper)] {
    match ty {
        Type::Project => PROJECT,
        Type::Portfolio => PORTFOLIO,
        Type::Goal => GOAL,
        Type::CustomField => CUSTOM_FIELD,
        Type::Team => TEAM,
        _ => &[],
    }
}

/// Returns the lowest level at which a user may let others into an object, or remove them from it.
#[must_use]
pub fn least_to_share(node: &Node) -> Level {
    let reserved = match node.ty {
        Type::CustomField => true,
        Type::Project => node.get(project::SHARE_ACCESS).as_deref() == Some("admin"),
        Type::Team => node.get(team::INVITE_MEMBERS).as_deref() == Some(TEAM_ADMINS),
        _ => false,
    };
    if reserved {
        Level::Admin
    } else {
        Level::Editor
    }
}

/// Returns the lowest level at which a user may change the workflow and the appearance of a project; other objects leave them
/// to their editors.
#[must_use]
pub fn least_to_customize(node: &Node) -> Level {
    let word = node.get(project::CUSTOMIZE_ACCESS);
    if node.ty == Type::Project && word.as_deref() == Some("admin") {
        Level::Admin
    } else {
        Level::Editor
    }
}

/// Returns the lowest level at which a user may change a setting of an object, or `None` if the setting restricts nobody.
#[must_use]
pub fn least_to_change(node: &Node, key: &str) -> Option<Level> {
    let (_, keeper) = settings(node.ty).iter().find(|(name, _)| *name == key)?;
    Some(match keeper {
        SettingKeeper::Sharers => least_to_share(node),
        SettingKeeper::Admins => Level::Admin,
        SettingKeeper::Customizers => least_to_customize(node),
        SettingKeeper::Named(setting) => {
            let word = node.raw(setting).unwrap_or_default();
            if word.trim_matches('"') == TEAM_ADMINS {
                Level::Admin
            } else {
                Level::Editor
            }
        }
    })
}

/// Returns the level of a user who joins: the usual one, but not more than the level of the user who lets them in.
#[must_use]
pub fn joining_level(usual: Level, own: Level) -> Level {
    usual.min(own)
}

/// Returns the level of a user whose request for access is approved: the usual one, but at most the level of the approving
/// user and never admin, since an approval does not say so.
#[must_use]
pub fn approved_level(usual: Level, own: Level) -> Level {
    joining_level(usual, own).min(Level::Editor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::ValueType;
    use crate::model::resources::ALL;

    /// Returns true if a setting with this name restricts somebody.
    fn restricts(name: &str) -> bool {
        ["access_level", "privacy", "visibility", "minimum_access"]
            .iter()
            .any(|part| name.contains(part))
    }

    #[test]
    fn every_setting_that_restricts_somebody_has_a_keeper() {
        let mut walked = 0;
        for resource in ALL {
            // Memberships are changed by those who may share their parent.
            if resource.name.ends_with("_membership") {
                continue;
            }
            for field in resource.fields {
                let words = matches!(field.value_type, ValueType::Word(_));
                if words && restricts(field.name) {
                    let known = settings(resource.ty);
                    let kept = known.iter().any(|(name, _)| *name == field.name);
                    assert!(kept, "{}.{}", resource.name, field.name);
                    walked += 1;
                }
            }
        }
        assert!(walked >= 18, "{walked}");
    }

    #[test]
    fn every_keeper_keeps_a_field_that_exists() {
        for resource in ALL {
            for (name, keeper) in settings(resource.ty) {
                assert!(resource.field(name).is_some(), "{}.{name}", resource.name);
                if let SettingKeeper::Named(other) = keeper {
                    assert!(resource.field(other).is_some(), "{other}");
                    let of_other = settings(resource.ty).iter().find(|(n, _)| n == other);
                    assert_eq!(of_other.map(|(_, k)| *k), Some(SettingKeeper::Admins));
                }
            }
        }
    }

    #[test]
    fn nobody_gives_more_than_they_have_and_an_approval_makes_no_admin() {
        let levels = [0, 1, 2, 3, 4].map(Level::from_rank);
        for usual in levels {
            for own in levels {
                assert!(joining_level(usual, own) <= own);
                assert!(approved_level(usual, own) <= own.min(Level::Editor));
            }
        }
    }
}

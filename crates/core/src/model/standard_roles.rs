//! Standard roles as nodes, which are computed from their gids and never stored.
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::role::{BASE, DESCRIPTION, IS_STANDARD, NAME};

/// Series of the gids of standard roles.
const SERIES: u64 = 1;

/// The roles of memberships: base, name, description.
const ROLES: &[(&str, &str, &str)] = &[
    ("guest", "Guest", "Sees what is shared with them."),
    ("member", "Member", "Sees what is public to the workspace."),
    ("admin", "Admin", "Administers the workspace."),
];

/// Returns the standard role whose gid has these parts, if there is one.
pub(super) fn of_parts(series: u64, number: u8) -> Option<Node> {
    if series != SERIES {
        return None;
    }
    let (base, name, description) = *ROLES.get(usize::from(number))?;
    let mut draft = Draft::new(Type::Role, Gid::computed(SERIES, number)?, None);
    draft.set(NAME, name);
    draft.set(DESCRIPTION, description);
    draft.set(IS_STANDARD, true);
    draft.set(BASE, base);
    Some(draft.finish())
}

/// Returns the standard roles in the order of their gids.
pub fn all() -> impl Iterator<Item = Node> {
    (0..=u8::MAX).map_while(|number| of_parts(SERIES, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::computed_nodes;

    #[test]
    fn standard_roles_are_found_by_their_gids() {
        let roles: Vec<Node> = all().collect();
        assert_eq!(roles.len(), ROLES.len());
        for role in &roles {
            assert_eq!(computed_nodes::of_gid(role.gid).as_ref(), Some(role));
            assert!(role.get(IS_STANDARD));
        }
        assert!(roles.windows(2).all(|pair| pair[0].gid < pair[1].gid));
    }
}

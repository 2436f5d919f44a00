//! Roles in a workspace: the role that an invitation gives, and the role of a returning user.
use crate::access::Role;
use crate::audit::{AuditEntry, event_kinds};
use crate::model::draft::Draft;
use crate::model::node::{Node, json_string};
use crate::model::resources::{membership, workspace};
use crate::storage::change_builder::ChangeBuilder;

/// Role of a user in a workspace, with the limit of a view-only membership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MembershipRole {
    /// Role of the user.
    pub role: Role,
    /// True if the user may only look.
    pub view_only: bool,
}

impl MembershipRole {
    /// Returns a role that is not view-only.
    #[must_use]
    pub const fn of(role: Role) -> Self {
        Self {
            role,
            view_only: false,
        }
    }

    /// Returns the role that a workspace membership gives.
    #[must_use]
    pub fn of_membership(membership: &Node) -> Self {
        let role = match (
            membership.get(membership::IS_ADMIN),
            membership.get(membership::IS_GUEST),
        ) {
            (true, _) => Role::Admin,
            (_, true) => Role::Guest,
            _ => Role::Member,
        };
        Self {
            role,
            view_only: membership.get(membership::IS_VIEW_ONLY),
        }
    }

    /// Returns the number that is stored for the role, as the rank of an edge.
    #[must_use]
    pub const fn rank(self) -> i64 {
        let role = match self.role {
            Role::Guest => 0,
            Role::Member => 1,
            Role::Admin => 2,
        };
        if self.view_only {
            role + VIEW_ONLY
        } else {
            role
        }
    }

    /// Returns the role with this number; an unknown number means guest.
    #[must_use]
    pub const fn from_rank(rank: i64) -> Self {
        let role = match rank % VIEW_ONLY {
            1 => Role::Member,
            2 => Role::Admin,
            _ => Role::Guest,
        };
        Self {
            role,
            view_only: rank >= VIEW_ONLY,
        }
    }
}

const VIEW_ONLY: i64 = 8;

/// Returns the domains of a workspace.
#[must_use]
pub fn domains(workspace: &Node) -> Vec<String> {
    let raw = workspace.raw(workspace::EMAIL_DOMAINS.def.name);
    raw.and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default()
}

/// Replaces the domains of a workspace. They must be in the form of [`crate::model::email_address::parse_domain`].
pub fn set_domains(work: &mut ChangeBuilder<'_>, workspace: &Node, tied: &[String]) {
    let before = domains(workspace);
    let mut draft = Draft::edit(workspace);
    let list = tied.iter().map(|domain| json_string(domain));
    let list = format!("[{}]", list.collect::<Vec<_>>().join(","));
    let def = workspace::EMAIL_DOMAINS.def;
    draft.set_raw(def.name, def.default, list);
    if !work.save(&draft) {
        return;
    }
    let entry = |kind| AuditEntry::new(kind, workspace.gid, workspace.gid);
    for domain in before.iter().filter(|d| !tied.contains(d)) {
        let entry = entry(event_kinds::EMAIL_DOMAIN_REMOVED).details(Some(domain.clone()), None);
        work.changes.audit_entries.push(entry);
    }
    for domain in tied.iter().filter(|d| !before.contains(d)) {
        let entry = entry(event_kinds::EMAIL_DOMAIN_ADDED).details(None, Some(domain.clone()));
        work.changes.audit_entries.push(entry);
    }
}

/// Returns the role that an invitation gives to an address. In an organization with domains, the domains decide. Elsewhere people
/// whom an admin invites become members, and all others become guests.
#[must_use]
pub fn role_of_invitation(workspace: &Node, address: &str, by_admin: bool) -> Role {
    let domains = domains(workspace);
    let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
    let member = if domains.is_empty() {
        by_admin
    } else {
        domains.iter().any(|d| d.eq_ignore_ascii_case(domain))
    };
    if member { Role::Member } else { Role::Guest }
}

/// Returns the role of a user who returns to a workspace. If an admin brings them back, it is the role of an invitation. If
/// another user does, it is their last role, but at most a member's, and no more than the domains allow. Users who left before
/// last roles were stored come back as guests.
#[must_use]
pub fn role_on_return(
    workspace: &Node,
    address: &str,
    by_admin: bool,
    last: Option<MembershipRole>,
) -> MembershipRole {
    let role = role_of_invitation(workspace, address, by_admin);
    if by_admin {
        return MembershipRole::of(role);
    }
    let last = last.unwrap_or(MembershipRole::of(Role::Guest));
    let most = if domains(workspace).is_empty() {
        Role::Member
    } else {
        role
    };
    MembershipRole {
        role: last.role.min(most),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gid::Gid;
    use crate::model::registry::Type;

    const ROLES: [Role; 3] = [Role::Guest, Role::Member, Role::Admin];

    fn workspace(domains: &[&str]) -> Node {
        let mut draft = Draft::new(Type::Workspace, Gid::new(7).unwrap(), None);
        let raw = serde_json::to_string(domains).unwrap();
        draft.set_raw("email_domains", "[]", raw);
        draft.finish()
    }

    #[test]
    fn standings_are_what_they_were_stored_as() {
        for role in ROLES {
            for view_only in [false, true] {
                let standing = MembershipRole { role, view_only };
                assert_eq!(MembershipRole::from_rank(standing.rank()), standing);
            }
        }
        assert_eq!(
            MembershipRole::from_rank(-1),
            MembershipRole::of(Role::Guest)
        );
        assert_eq!(MembershipRole::from_rank(77).role, Role::Guest);
    }

    #[test]
    fn domains_decide_and_without_them_the_inviter_does() {
        let (open, tied) = (workspace(&[]), workspace(&["Corp.example", "corp.test"]));
        assert_eq!(role_of_invitation(&open, "a@b.c", true), Role::Member);
        assert_eq!(role_of_invitation(&open, "a@b.c", false), Role::Guest);
        for by_admin in [true, false] {
            assert_eq!(
                role_of_invitation(&tied, "a@corp.EXAMPLE", by_admin),
                Role::Member
            );
            assert_eq!(
                role_of_invitation(&tied, "a@sub.corp.example", by_admin),
                Role::Guest
            );
            assert_eq!(
                role_of_invitation(&tied, "a@evilcorp.example", by_admin),
                Role::Guest
            );
        }
    }

    #[test]
    fn nobody_but_an_admin_gives_more_than_the_last_standing() {
        for workspace in [workspace(&[]), workspace(&["corp.test"])] {
            for address in ["a@corp.test", "a@else.test"] {
                for role in ROLES {
                    for view_only in [false, true] {
                        let last = MembershipRole { role, view_only };
                        let back = role_on_return(&workspace, address, false, Some(last));
                        assert!(back.role <= role && back.role < Role::Admin);
                        assert_eq!(back.view_only, view_only);
                    }
                }
                let unknown = role_on_return(&workspace, address, false, None);
                assert_eq!(unknown, MembershipRole::of(Role::Guest));
            }
        }
        let member = Some(MembershipRole::of(Role::Member));
        assert_eq!(
            role_on_return(&workspace(&[]), "a@b.c", false, member).role,
            Role::Member
        );
        let guest = Some(MembershipRole::of(Role::Guest));
        assert_eq!(
            role_on_return(&workspace(&[]), "a@b.c", true, guest).role,
            Role::Member
        );
    }
}

//! Roles in a workspace: which one an invitation gives, and which one is left to who comes back.
use crate::access::Role;
use crate::audit::{Told, kind};
use crate::draft::Draft;
use crate::node::{Node, quoted};
use crate::resources::{membership, workspace};
use crate::work::Work;

/// A user's role in a workspace, with what a view-only seat takes from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// Whether the seat is view-only.
    pub view_only: bool,
}

impl Standing {
    /// A role with a full seat.
    #[must_use]
    pub const fn of(role: Role) -> Self {
        Self {
            role,
            view_only: false,
        }
    }

    /// Returns the standing that a workspace membership gives.
    #[must_use]
    pub fn given(seat: &Node) -> Self {
        let role = match (
            seat.get(membership::IS_ADMIN),
            seat.get(membership::IS_GUEST),
        ) {
            (true, _) => Role::Admin,
            (_, true) => Role::Guest,
            _ => Role::Member,
        };
        Self {
            role,
            view_only: seat.get(membership::IS_VIEW_ONLY),
        }
    }

    /// Returns the number it is stored as, as the rank of an edge.
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

    /// Returns the standing with this number; a number that no version wrote is a guest's.
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

/// Returns the domains tied to a workspace.
#[must_use]
pub fn domains(place: &Node) -> Vec<String> {
    let raw = place.raw(workspace::EMAIL_DOMAINS.def.name);
    raw.and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default()
}

/// Ties domains to a workspace, instead of those it had. They must be in the form of
/// [`crate::address::domain`].
pub fn tie_domains(work: &mut Work<'_>, place: &Node, tied: &[String]) {
    let before = domains(place);
    let mut draft = Draft::edit(place);
    let list = tied.iter().map(|domain| quoted(domain));
    let list = format!("[{}]", list.collect::<Vec<_>>().join(","));
    let def = workspace::EMAIL_DOMAINS.def;
    draft.set_raw(def.name, def.default, list);
    if !work.save(&draft) {
        return;
    }
    let told = |kind| Told::new(kind, place.gid, place.gid);
    for domain in before.iter().filter(|d| !tied.contains(d)) {
        let told = told(kind::EMAIL_DOMAIN_REMOVED).details(Some(domain.clone()), None);
        work.changes.told.push(told);
    }
    for domain in tied.iter().filter(|d| !before.contains(d)) {
        let told = told(kind::EMAIL_DOMAIN_ADDED).details(None, Some(domain.clone()));
        work.changes.told.push(told);
    }
}

/// Returns the role that an invitation gives to an address. Where an organization has domains they
/// decide; elsewhere admins make members, and everybody else makes guests.
#[must_use]
pub fn invited(place: &Node, address: &str, by_admin: bool) -> Role {
    let domains = domains(place);
    let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
    let member = if domains.is_empty() {
        by_admin
    } else {
        domains.iter().any(|d| d.eq_ignore_ascii_case(domain))
    };
    if member { Role::Member } else { Role::Guest }
}

/// Returns the standing of who comes back to a workspace. An admin gives what an invitation would;
/// others give back the last one, never more than a member's, and no more than the domains allow. Of
/// who left before last standings were kept nothing is known, and they come back as guests.
#[must_use]
pub fn returning(place: &Node, address: &str, by_admin: bool, last: Option<Standing>) -> Standing {
    let role = invited(place, address, by_admin);
    if by_admin {
        return Standing::of(role);
    }
    let last = last.unwrap_or(Standing::of(Role::Guest));
    let most = if domains(place).is_empty() {
        Role::Member
    } else {
        role
    };
    Standing {
        role: last.role.min(most),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gid::Gid;
    use crate::registry::Type;

    const ROLES: [Role; 3] = [Role::Guest, Role::Member, Role::Admin];

    fn place(domains: &[&str]) -> Node {
        let mut draft = Draft::new(Type::Workspace, Gid::new(7).unwrap(), None);
        let raw = serde_json::to_string(domains).unwrap();
        draft.set_raw("email_domains", "[]", raw);
        draft.finish()
    }

    #[test]
    fn standings_are_what_they_were_stored_as() {
        for role in ROLES {
            for view_only in [false, true] {
                let standing = Standing { role, view_only };
                assert_eq!(Standing::from_rank(standing.rank()), standing);
            }
        }
        assert_eq!(Standing::from_rank(-1), Standing::of(Role::Guest));
        assert_eq!(Standing::from_rank(77).role, Role::Guest);
    }

    #[test]
    fn domains_decide_and_without_them_the_inviter_does() {
        let (open, tied) = (place(&[]), place(&["Corp.example", "corp.test"]));
        assert_eq!(invited(&open, "a@b.c", true), Role::Member);
        assert_eq!(invited(&open, "a@b.c", false), Role::Guest);
        for by_admin in [true, false] {
            assert_eq!(invited(&tied, "a@corp.EXAMPLE", by_admin), Role::Member);
            assert_eq!(invited(&tied, "a@sub.corp.example", by_admin), Role::Guest);
            assert_eq!(invited(&tied, "a@evilcorp.example", by_admin), Role::Guest);
        }
    }

    #[test]
    fn nobody_but_an_admin_gives_more_than_the_last_standing() {
        for place in [place(&[]), place(&["corp.test"])] {
            for address in ["a@corp.test", "a@else.test"] {
                for role in ROLES {
                    for view_only in [false, true] {
                        let last = Standing { role, view_only };
                        let back = returning(&place, address, false, Some(last));
                        assert!(back.role <= role && back.role < Role::Admin);
                        assert_eq!(back.view_only, view_only);
                    }
                }
                let unknown = returning(&place, address, false, None);
                assert_eq!(unknown, Standing::of(Role::Guest));
            }
        }
        let member = Some(Standing::of(Role::Member));
        assert_eq!(
            returning(&place(&[]), "a@b.c", false, member).role,
            Role::Member
        );
        let guest = Some(Standing::of(Role::Guest));
        assert_eq!(
            returning(&place(&[]), "a@b.c", true, guest).role,
            Role::Member
        );
    }
}

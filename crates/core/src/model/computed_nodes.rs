//! Nodes that are computed from their gids and never stored: time periods and standard roles.
use super::standard_roles;
use super::time_periods::TimePeriod;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Type;

/// Returns the computed node with this gid, if it is one.
#[must_use]
pub fn of_gid(gid: Gid) -> Option<Node> {
    let (series, number) = gid.computed_parts()?;
    match TimePeriod::of_gid(gid) {
        Some(period) => period.node(),
        None => standard_roles::of_parts(series, number),
    }
}

/// Returns the computed nodes of a type that every workspace has, in the order of their gids.
pub fn of_every_workspace(ty: Type) -> impl Iterator<Item = Node> {
    let roles = (ty == Type::Role).then(standard_roles::all);
    roles.into_iter().flatten()
}

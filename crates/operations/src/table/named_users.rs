//! Users that a body names, to add to a list or remove from it.
use crate::operation::inputs::Named;
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::{NodeRef, ReadView};

/// Returns a user to remove from a list: one in the list, or else one whom the caller may see.
pub(crate) fn leaver(
    call: &RequestContext<'_>,
    view: &ReadView,
    field: &str,
    name: &NodeRef,
    container: Gid,
    rel: Relation,
) -> Result<Gid, DomainError> {
    match view.resolve(name) {
        Some(user) if view.link(container, rel, user).is_some() => Ok(user),
        _ => call
            .resolve_ref(view, field, name, &[Type::User], Level::Viewer)
            .map(|n| n.gid),
    }
}

/// Returns a user who belongs to the workspace.
pub(crate) fn member_of(
    call: &RequestContext<'_>,
    view: &ReadView,
    field: &str,
    name: &NodeRef,
    workspace: Gid,
) -> Result<Gid, DomainError> {
    let me = view.resolve(name).filter(|user| *user == call.user_gid());
    match me.filter(|user| view.node(*user).is_some()) {
        Some(me) => Ok(me),
        None => call
            .resolve_member(view, field, name, (workspace, || "Workspace"))
            .map(|user| user.gid),
    }
}

/// Returns a user of an input who belongs to the workspace.
pub(crate) fn named_member(
    call: &RequestContext<'_>,
    view: &ReadView,
    named: &Named<NodeRef>,
    workspace: Gid,
) -> Result<Gid, DomainError> {
    member_of(call, view, named.input.name, &named.node, workspace)
}

#[cfg(test)]
mod tests;

//! Likes: the field `liked` of a body, for the user of the request.
use crate::request_context::RequestContext;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{FieldSource, Relation, Type};
use workgraph_core::model::resources::resource;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, NodeRef, ReadQuery, ReadView};

/// Name of the field in records and bodies.
const LIKED: &str = "liked";

/// Returns the relation of a type's likes, if a body sets or removes the user's like.
fn relation(ty: Type, inputs: &CheckedInputs) -> Option<Relation> {
    inputs.get(LIKED)?;
    match resource(ty).field(LIKED)?.source {
        FieldSource::HasViewer(rel) => Some(rel),
        _ => None,
    }
}

/// Returns true if a body contains only a like, which needs less access than other changes.
pub(super) fn is_alone(inputs: &CheckedInputs) -> bool {
    inputs.has(LIKED) && inputs.names().all(|name| name == LIKED)
}

/// Adds the user's current like.
pub(super) fn needs(
    call: &RequestContext<'_>,
    (on, ty): (&NodeRef, Type),
    inputs: &CheckedInputs,
    query: ReadQuery,
) -> ReadQuery {
    match relation(ty, inputs) {
        Some(rel) => query.edge(on.clone(), rel, call.user_gid()),
        None => query,
    }
}

/// Applies the user's like.
pub(super) fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    draft: &Draft,
    inputs: &CheckedInputs,
) {
    let (on, ty, is_new) = (draft.gid, draft.ty, draft.is_new());
    let (Some(rel), Some(InputValue::Stored(raw))) = (relation(ty, inputs), inputs.get(LIKED))
    else {
        return;
    };
    let user = call.user_gid();
    let liked = !is_new && view.link(on, rel, user).is_some();
    match (raw == "true", liked) {
        (true, false) => {
            let like = work.next_gid();
            work.link(on, rel, user, ListPosition::Rank(0), Some(like));
            work.record_added(on, ty, "likes", user);
        }
        (false, true) => {
            work.unlink(on, rel, user);
            work.record_removed(on, ty, "likes", user);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;

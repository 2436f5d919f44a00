//! The node of an export, which owns its file.
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::{export, job};
use workgraph_core::storage::NodeWrite;
use workgraph_core::storage::change_builder::ChangeBuilder;

/// Adds the node that will own the file of an export.
pub(super) fn create_export_node(
    call: &RequestContext<'_>,
    work: &mut ChangeBuilder<'_>,
    ty: Type,
    workspace: Gid,
) -> Gid {
    let mut draft = work.draft(ty, Some(workspace));
    draft.set(export::CREATED_AT, call.now);
    draft.set(job::CREATED_BY, call.user_gid());
    work.changes.node_writes.push(NodeWrite {
        node: draft.finish(),
    });
    draft.gid
}

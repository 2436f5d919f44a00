//! Exports as a file: a whole workspace; the part of a team, project or task that the caller sees; or the resources that pass
//! filters.
use super::export_node::create_export_node;
use super::resource_exports;
use crate::operation::inputs::{Input, InputDef, InputPlace, InputReader, Named, OperationInput};
use crate::operation::rows::create;
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::audit::event_kinds::{OBJECT_EXPORT_STARTED, WORKSPACE_EXPORT_STARTED};
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::cleanup::KEPT_MS;
use workgraph_core::jobs::tree_export::{CACHED_MS, ROOTS, TreeExport, cached};
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{export, job};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, NodeRef, NodeWrite, ReadQuery, ReadView};

/// Operations on exports: a part of [`TABLES`](super::TABLES).
pub static EXPORTS: &[Operation] = &[
    create(
        "createGraphExport",
        "/exports/graph",
        Type::Job,
        &Steps::new(graph_needs, export_graph),
    )
    .paid_only(PREMIUM),
    create(
        "createResourceExport",
        "/exports/resource",
        Type::Job,
        &Steps::new(resource_exports::needs, resource_exports::export),
    )
    .paid_only(PREMIUM)
    .no_guests(),
    create(
        "createOrganizationExport",
        "/organization_exports",
        Type::OrganizationExport,
        &Steps::new(organization_needs, export_organization),
    )
    .not_in_batch(),
    get(
        "getOrganizationExport",
        "/organization_exports/{organization_export_gid}",
        Type::OrganizationExport,
    )
    .time_dependent()
    .not_in_batch(),
];

/// Message for free workspaces.
const PREMIUM: &str = "Exports are not available for free users.";

const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    ROOTS,
    "The team, project or task that is exported with all that is in it.",
)
.required();
const ORGANIZATION: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "organization",
    &[Type::Workspace],
    "The organization that is exported.",
)
.required();

/// The root of a tree to export.
struct ExportGraph {
    parent: Named<Gid>,
}

impl OperationInput for ExportGraph {
    const INPUTS: &'static [&'static InputDef] = &[&PARENT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            parent: inputs.required(&PARENT)?,
        })
    }
}

struct ExportOrganization {
    organization: Named<Gid>,
}

impl OperationInput for ExportOrganization {
    const INPUTS: &'static [&'static InputDef] = &[&ORGANIZATION.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            organization: inputs.required(&ORGANIZATION)?,
        })
    }
}

fn graph_needs(call: &RequestContext<'_>, input: &ExportGraph) -> Result<ReadQuery, DomainError> {
    let parent = input.parent.node;
    let found = NodeRef::Alias(cached(call.user_gid(), parent));
    Ok(jobs::start_needs(call.read_query(), call.job_requester())
        .node(parent)
        .node(found))
}

fn export_graph(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ExportGraph,
) -> Result<Decision, DomainError> {
    let parent = call.named_node(view, &input.parent, Level::Viewer)?;
    call.require_plan(view, parent)?;
    let workspace = parent.workspace.unwrap_or(parent.gid);
    let mut work = call.change_builder();
    work.add_audit_entry(OBJECT_EXPORT_STARTED, workspace, parent.gid);
    if let Some(done) = recent(call, view, parent.gid) {
        let gid = found_again(call, view, &mut work, workspace, done);
        return Ok(Decision::about(work.changes, gid));
    }
    let new = create_export_node(call, &mut work, Type::GraphExport, workspace);
    let plot = TreeExport::new(parent.gid, parent.ty, new, call.base_url());
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "graph_export_request",
        JobKind::Export(plot),
        |draft| draft.set(job::NEW_GRAPH_EXPORT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

/// Returns the caller's last large export of the same node, if it is not old.
fn recent(call: &RequestContext<'_>, view: &ReadView, parent: Gid) -> Option<Gid> {
    let found = view.resolve(&NodeRef::Alias(cached(call.user_gid(), parent)))?;
    let done = view.node(found)?.get(export::COMPLETED_AT)?;
    (call.now.millis() - done.millis() < CACHED_MS).then_some(found)
}

/// Adds a job that has already succeeded, with an earlier export.
fn found_again(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    workspace: Gid,
    done: Gid,
) -> Gid {
    let mut draft = work.draft(Type::Job, Some(workspace));
    draft.set(job::SUBTYPE, "graph_export_request");
    draft.set(job::STATUS, "succeeded");
    draft.set(job::CREATED_BY, call.user_gid());
    draft.set(job::NEW_GRAPH_EXPORT, done);
    work.changes.node_writes.push(NodeWrite {
        node: draft.finish(),
    });
    if let Some(queue) = view.resolve(&jobs::queue()) {
        let until = ListPosition::Rank(call.now.millis() + KEPT_MS);
        work.link(draft.gid, rel::ENDED, queue, until, None);
    }
    draft.gid
}

fn organization_needs(
    call: &RequestContext<'_>,
    input: &ExportOrganization,
) -> Result<ReadQuery, DomainError> {
    let organization = input.organization.node;
    Ok(jobs::start_needs(call.read_query(), call.job_requester()).node(organization))
}

fn export_organization(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ExportOrganization,
) -> Result<Decision, DomainError> {
    let organization = call.named_node(view, &input.organization, Level::Viewer)?;
    let workspace = organization.gid;
    if view.viewer.service_workspace != Some(workspace) {
        return Err(DomainError::forbidden(
            "Only a service account of an organization can export it.",
        ));
    }
    let mut work = call.change_builder();
    work.add_audit_entry(WORKSPACE_EXPORT_STARTED, workspace, workspace);
    let mut draft = work.draft(Type::OrganizationExport, Some(workspace));
    draft.set(export::CREATED_AT, call.now);
    let base_url = call.base_url();
    let plot = TreeExport::new(workspace, Type::Workspace, draft.gid, base_url);
    let gid = jobs::start_from_draft(
        &mut work,
        view,
        call.job_requester(),
        draft,
        JobKind::Export(plot),
    )?;
    Ok(Decision::about(work.changes, gid))
}

#[cfg(test)]
mod tests;

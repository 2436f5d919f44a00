//! Exports: all of a workspace, what the caller sees of a team, project or task, or what fits filters, as
//! a file.
use super::resource_exports;
use crate::call::Call;
use crate::operation::{Decision, Operation, create, get};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::audit::kind::{OBJECT_EXPORT_STARTED, WORKSPACE_EXPORT_STARTED};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Place, Put, Ref, View, Want};
use workgraph_core::jobs::ended::KEPT_MS;
use workgraph_core::jobs::export::{CACHED_MS, Export, ROOTS, cached};
use workgraph_core::jobs::{self, Plot};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::{export, job};
use workgraph_core::work::Work;

/// The rows.
pub static EXPORTS: &[Operation] = &[
    create(
        "createGraphExport",
        "/exports/graph",
        Type::Job,
        graph_needs,
        export_graph,
    )
    .body(&["parent"])
    .premium(PREMIUM),
    create(
        "createResourceExport",
        "/exports/resource",
        Type::Job,
        resource_exports::needs,
        resource_exports::export,
    )
    .body(&["workspace", "export_request_parameters"])
    .premium(PREMIUM)
    .no_guests(),
    create(
        "createOrganizationExport",
        "/organization_exports",
        Type::OrganizationExport,
        organization_needs,
        export_organization,
    )
    .body(&["organization"])
    .alone(),
    get(
        "getOrganizationExport",
        "/organization_exports/{organization_export_gid}",
        Type::OrganizationExport,
    )
    .timed()
    .alone(),
];

/// What free workspaces are told.
const PREMIUM: &str = "Exports are not available for free users.";

/// The node that the file of an export will belong to.
pub(super) fn made(call: &Call<'_>, work: &mut Work<'_>, ty: Type, home: Gid) -> Gid {
    let mut draft = work.draft(ty, Some(home));
    draft.set(export::CREATED_AT, call.now);
    draft.set(job::CREATED_BY, call.me());
    work.changes.puts.push(Put {
        node: draft.finish(),
    });
    draft.gid
}

fn graph_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let parent = call.required_gid("parent")?;
    let found = Ref::Alias(cached(call.me(), parent));
    Ok(jobs::starting(call.want(), call.starter())
        .node(parent)
        .node(found))
}

fn export_graph(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let parent = call.required_gid("parent")?;
    let parent = call.named(view, "parent", &Ref::Gid(parent), ROOTS, Level::Viewer)?;
    call.premium(view, parent)?;
    let home = parent.home.unwrap_or(parent.gid);
    let mut work = call.work();
    work.told(OBJECT_EXPORT_STARTED, home, parent.gid);
    if let Some(done) = recent(call, view, parent.gid) {
        let gid = found_again(call, view, &mut work, home, done);
        return Ok(Decision::about(work.changes, gid));
    }
    let new = made(call, &mut work, Type::GraphExport, home);
    let plot = Export::new(parent.gid, parent.ty, new, &call.settings.base_url);
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        home,
        "graph_export_request",
        Plot::Export(plot),
        |draft| draft.set(job::NEW_GRAPH_EXPORT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

/// The caller's last large export of the same thing, if it is not old.
fn recent(call: &Call<'_>, view: &View, parent: Gid) -> Option<Gid> {
    let found = view.resolve(&Ref::Alias(cached(call.me(), parent)))?;
    let done = view.node(found)?.get(export::COMPLETED_AT)?;
    (call.now.millis() - done.millis() < CACHED_MS).then_some(found)
}

/// A job that is done already, with an export that was made before.
fn found_again(call: &Call<'_>, view: &View, work: &mut Work<'_>, home: Gid, done: Gid) -> Gid {
    let mut draft = work.draft(Type::Job, Some(home));
    draft.set(job::SUBTYPE, "graph_export_request");
    draft.set(job::STATUS, "succeeded");
    draft.set(job::CREATED_BY, call.me());
    draft.set(job::NEW_GRAPH_EXPORT, done);
    work.changes.puts.push(Put {
        node: draft.finish(),
    });
    if let Some(queue) = view.resolve(&jobs::queue()) {
        let until = Place::Rank(call.now.millis() + KEPT_MS);
        work.link(draft.gid, rel::ENDED, queue, until, None);
    }
    draft.gid
}

fn organization_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let organization = call.required_gid("organization")?;
    Ok(jobs::starting(call.want(), call.starter()).node(organization))
}

fn export_organization(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let name = Ref::Gid(call.required_gid("organization")?);
    let types = &[Type::Workspace];
    let organization = call.named(view, "organization", &name, types, Level::Viewer)?;
    let home = organization.gid;
    if view.viewer.service != Some(home) {
        return Err(Fault::forbidden(
            "Only a service account of an organization can export it.",
        ));
    }
    let mut work = call.work();
    work.told(WORKSPACE_EXPORT_STARTED, home, home);
    let mut draft = work.draft(Type::OrganizationExport, Some(home));
    draft.set(export::CREATED_AT, call.now);
    let base_url = &call.settings.base_url;
    let plot = Export::new(home, Type::Workspace, draft.gid, base_url);
    let gid = jobs::launch(&mut work, view, call.starter(), draft, Plot::Export(plot))?;
    Ok(Decision::about(work.changes, gid))
}

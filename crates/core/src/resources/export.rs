//! Exports: files with everything in a workspace, or in what somebody sees of a part of it.
use super::{GID, RESOURCE_TYPE, job};
use crate::node::{Node, write_string};
use crate::project::Scene;
use crate::registry::{Def, Field, One, Opaque, Resource, Shape, Source, Type};
use crate::time::Time;

/// Where the export of an organization stands, by the statuses of jobs.
pub const STATES: &[&str] = &["pending", "started", "finished", "error"];

/// When it was asked for.
pub const CREATED_AT: Field<Time> = Field::time("created_at")
    .compact()
    .doc("When the export was asked for.");
/// When it was done.
pub const COMPLETED_AT: Field<Time> = Field::time("completed_at")
    .compact()
    .doc("When the export was done, or null.");
/// Where its file is.
pub const DOWNLOAD_URL: Field<Opaque> = Field::other(
    "download_url",
    Shape::Text(1024),
    Source::Computed(download_url),
)
.compact()
.doc("Where the gzip file can be fetched: a fresh address each time, good for an hour. Null until the export is done, and once its file is gone.");
/// Where the export of an organization stands.
pub const STATE: Field<Opaque> =
    Field::other("state", Shape::Word(STATES), Source::Computed(state))
        .compact()
        .doc("Where the export stands.");
/// What was exported.
pub const ORGANIZATION: Field<One> = Field::home("organization")
    .compact()
    .doc("The exported organization.");

fn download_url(node: &Node, scene: &Scene<'_>, out: &mut Vec<u8>) {
    let done = node.get(COMPLETED_AT);
    let address = done.and_then(|done| scene.files?.address(node, done));
    match address {
        Some(address) => write_string(out, &address),
        None => out.extend_from_slice(b"null"),
    }
}

fn state(node: &Node, _: &Scene<'_>, out: &mut Vec<u8>) {
    let status = node.get(job::STATUS);
    let at = job::STATUSES
        .iter()
        .position(|s| Some(*s) == status.as_deref());
    let state = at.and_then(|at| STATES.get(at)).or(STATES.first());
    write_string(out, state.copied().unwrap_or_default());
}

const MADE: &[Def] = &[
    GID.def,
    RESOURCE_TYPE.def,
    CREATED_AT.def,
    DOWNLOAD_URL.def,
    COMPLETED_AT.def,
];

/// What a graph export made. Shown in its job.
pub static GRAPH_EXPORT: Resource = Resource {
    path: "graph_exports",
    noun: "graph export",
    read_scope: "default",
    title: None,
    fields: MADE,
    ..Resource::of(Type::GraphExport, "graph_export")
};

/// What an export of resources made. Shown in its job.
pub static RESOURCE_EXPORT: Resource = Resource {
    path: "resource_exports",
    noun: "resource export",
    read_scope: "default",
    title: None,
    fields: MADE,
    ..Resource::of(Type::ResourceExport, "export_request")
};

/// The export of a whole workspace.
pub static ORGANIZATION_EXPORT: Resource = Resource {
    path: "organization_exports",
    noun: "organization export",
    read_scope: "default",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        CREATED_AT.def,
        DOWNLOAD_URL.def,
        STATE.def,
        ORGANIZATION.def,
    ],
    ..Resource::of(Type::OrganizationExport, "organization_export")
};

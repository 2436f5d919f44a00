//! Exports: files with everything in a workspace, or with the part that a user sees.
use super::{GID, RESOURCE_TYPE, job};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::{Node, write_json_string};
use crate::model::registry::{
    FieldDef, FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType,
};
use crate::model::time::Time;

/// States of the export of an organization, in the order of the statuses of jobs.
pub const STATES: &[&str] = &["pending", "started", "finished", "error"];

/// Time at which the export was requested.
pub const CREATED_AT: TypedField<Time> = TypedField::time("created_at")
    .compact()
    .doc("Time of the request for the export, in UTC.");
/// Time at which the file was complete.
pub const COMPLETED_AT: TypedField<Time> = TypedField::time("completed_at")
    .compact()
    .doc("Time of completion, in UTC, or null.");
/// Address of the file. It expires after a while.
pub const DOWNLOAD_URL: TypedField<Opaque> = TypedField::other(
    "download_url",
    ValueType::Text(1024),
    FieldSource::Computed(download_url),
)
.compact()
.doc(
    "Address of the gzip file, new in each response and valid for an hour; null until the \
             export is done and after the file is deleted.",
);
/// State of the export of an organization.
pub const STATE: TypedField<Opaque> = TypedField::other(
    "state",
    ValueType::Word(STATES),
    FieldSource::Computed(state),
)
.compact()
.doc("The progress of the export.");
/// Organization that was exported.
pub const ORGANIZATION: TypedField<LinkOne> = TypedField::workspace("organization")
    .compact()
    .doc("The exported organization.");

fn download_url(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let done = node.get(COMPLETED_AT);
    let address = done.and_then(|done| scene.files?.address(node, done));
    match address {
        Some(address) => write_json_string(out, &address),
        None => out.extend_from_slice(b"null"),
    }
}

fn state(node: &Node, _: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let status = node.get(job::STATUS);
    let at = job::STATUSES
        .iter()
        .position(|s| Some(*s) == status.as_deref());
    let state = at.and_then(|at| STATES.get(at)).or(STATES.first());
    write_json_string(out, state.copied().unwrap_or_default());
}

const MADE: &[FieldDef] = &[
    GID.def,
    RESOURCE_TYPE.def,
    CREATED_AT.def,
    DOWNLOAD_URL.def,
    COMPLETED_AT.def,
];

/// Declaration of graph exports. They are shown in their jobs.
pub static GRAPH_EXPORT: Resource = Resource {
    path: "graph_exports",
    noun: "graph export",
    read_scope: "default",
    title: None,
    fields: MADE,
    ..Resource::of(Type::GraphExport, "graph_export")
};

/// Declaration of exports of resources. They are shown in their jobs.
pub static RESOURCE_EXPORT: Resource = Resource {
    path: "resource_exports",
    noun: "resource export",
    read_scope: "default",
    title: None,
    fields: MADE,
    ..Resource::of(Type::ResourceExport, "export_request")
};

/// Declaration of exports of organizations.
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

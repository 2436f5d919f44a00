//! Jobs: long work that continues after the request that started it.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{Inclusion, LinkOne, Opaque, Resource, Type, TypedField};

/// Kinds of work. A job that an earlier version started keeps its old word, `graph_export` or `resource_export`, until it is
/// deleted.
pub const SUBTYPES: &[&str] = &[
    "duplicate_task",
    "duplicate_project",
    "save_as_template",
    "instantiate_project",
    "instantiate_task",
    "graph_export_request",
    "number_tasks",
    "export_request",
    "duplicate_portfolio",
];
/// Values of `status`.
pub const STATUSES: &[&str] = &["not_started", "in_progress", "succeeded", "failed"];

/// Kind of its work.
pub const SUBTYPE: TypedField<str> =
    TypedField::word("resource_subtype", SUBTYPES, "\"duplicate_task\"")
        .compact()
        .doc("The kind of work of the job.");
/// Status of the job.
pub const STATUS: TypedField<str> = TypedField::word("status", STATUSES, "\"not_started\"")
    .compact()
    .doc("The progress of the job.");
/// Task that the job makes.
pub const NEW_TASK: TypedField<LinkOne> = TypedField::inline("new_task", &[Type::Task])
    .compact()
    .doc("The task the job creates; complete once the job has succeeded.");
/// Project that the job makes.
pub const NEW_PROJECT: TypedField<LinkOne> = TypedField::inline("new_project", &[Type::Project])
    .compact()
    .doc("The project the job creates; complete once the job has succeeded.");
/// Project template that the job makes.
pub const NEW_PROJECT_TEMPLATE: TypedField<LinkOne> =
    TypedField::inline("new_project_template", &[Type::ProjectTemplate])
        .compact()
        .doc("The project template the job creates; complete once the job has succeeded.");
/// Portfolio that the job makes.
pub const NEW_PORTFOLIO: TypedField<LinkOne> =
    TypedField::inline("new_portfolio", &[Type::Portfolio])
        .compact()
        .doc("The portfolio the job creates; complete once the job has succeeded.");
/// Graph export that the job makes.
pub const NEW_GRAPH_EXPORT: TypedField<LinkOne> =
    TypedField::inline("new_graph_export", &[Type::GraphExport])
        .compact()
        .record(Inclusion::Compact)
        .doc(
            "The export the job writes, with a new address of its file once the job has \
             succeeded.",
        );
/// Export of resources that the job makes.
pub const NEW_RESOURCE_EXPORT: TypedField<LinkOne> =
    TypedField::inline("new_resource_export", &[Type::ResourceExport])
        .compact()
        .record(Inclusion::Compact)
        .doc(
            "The export the job writes, with a new address of its file once the job has \
             succeeded.",
        );
/// User who started it; not part of the public record.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).opt_in();
/// Work to be done, progress and deadline: a [`JobRecord`](crate::jobs::JobRecord). Not part of the public record.
pub const RECORD: TypedField<Opaque> = TypedField::json("job").opt_in();

/// Declaration of jobs.
pub static JOB: Resource = Resource {
    path: "jobs",
    read_scope: "jobs:read",
    title: None,
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        SUBTYPE.def,
        STATUS.def,
        NEW_TASK.def,
        NEW_PROJECT.def,
        NEW_PORTFOLIO.def,
        NEW_PROJECT_TEMPLATE.def,
        NEW_GRAPH_EXPORT.def,
        NEW_RESOURCE_EXPORT.def,
    ],
    ..Resource::of(Type::Job, "job")
};

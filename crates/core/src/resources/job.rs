//! Jobs: long work that goes on after the request that asked for it.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, One, Opaque, Rep, Resource, Shape, Source, Type};

/// What jobs do. A job that an earlier version started keeps the word it had, `graph_export` or `resource_export`, until
/// it is forgotten.
pub const SUBTYPES: &[&str] = &[
    "duplicate_task",
    "duplicate_project",
    "save_as_template",
    "instantiate_project",
    "instantiate_task",
    "graph_export_request",
    "number_tasks",
    "export_request",
];
/// Where a job stands.
pub const STATUSES: &[&str] = &["not_started", "in_progress", "succeeded", "failed"];

/// What it does.
pub const SUBTYPE: Field<str> = Field::word("resource_subtype", SUBTYPES, "\"duplicate_task\"")
    .compact()
    .doc("What the job does.");
/// Where it stands.
pub const STATUS: Field<str> = Field::word("status", STATUSES, "\"not_started\"")
    .compact()
    .doc("Where the job stands.");
/// The task it makes.
pub const NEW_TASK: Field<One> = Field::inline("new_task", &[Type::Task])
    .compact()
    .doc("The task it makes; whole when the job has succeeded.");
/// The project it makes.
pub const NEW_PROJECT: Field<One> = Field::inline("new_project", &[Type::Project])
    .compact()
    .doc("The project it makes; whole when the job has succeeded.");
/// The template it makes.
pub const NEW_PROJECT_TEMPLATE: Field<One> =
    Field::inline("new_project_template", &[Type::ProjectTemplate])
        .compact()
        .doc("The project template it makes; whole when the job has succeeded.");
/// The portfolio it makes: none, since portfolios are not kept.
pub const NEW_PORTFOLIO: Field<Opaque> =
    Field::other("new_portfolio", Shape::Json, Source::Always("null"))
        .compact()
        .doc("The portfolio it makes, or null.");
/// The export it makes.
pub const NEW_GRAPH_EXPORT: Field<One> = Field::inline("new_graph_export", &[Type::GraphExport])
    .compact()
    .record(Rep::Compact)
    .doc("The export it makes, with a fresh address of its file once the job has succeeded.");
/// The export of resources it makes.
pub const NEW_RESOURCE_EXPORT: Field<One> =
    Field::inline("new_resource_export", &[Type::ResourceExport])
        .compact()
        .record(Rep::Compact)
        .doc("The export it makes, with a fresh address of its file once the job has succeeded.");
/// Who asked for it; not part of the public record.
pub const CREATED_BY: Field<One> = Field::inline("created_by", &[Type::User]).opt_in();
/// What is to be done, how far it is and by when: a [`Record`](crate::jobs::Record). Not part of
/// the public record.
pub const RECORD: Field<Opaque> = Field::json("job").opt_in();

/// The declaration.
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

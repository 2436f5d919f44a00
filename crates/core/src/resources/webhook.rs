//! Webhooks: who is told of what happens to an object.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Def, Field, NAME_MAX, One, Opaque, Resource, Shape, Source, Type};
use crate::time::Time;

/// What may be watched.
pub const WATCHED: &[Type] = &[
    Type::Workspace,
    Type::Team,
    Type::Project,
    Type::Section,
    Type::Task,
    Type::Tag,
    Type::Story,
];

/// Deliveries are made.
pub const ACTIVE: Field<bool> = Field::flag("active")
    .compact()
    .doc("Whether events are delivered.");
/// What is watched.
pub const RESOURCE: Field<One> = Field::inline("resource", WATCHED)
    .compact()
    .on_create()
    .doc("The watched object.");
/// Where events go.
pub const TARGET: Field<str> = Field::text("target", NAME_MAX)
    .compact()
    .on_create()
    .doc("The address events are sent to.");
/// When it was made.
pub const CREATED_AT: Field<Time> =
    Field::time("created_at").doc("When the webhook was established.");
/// The last failure.
pub const LAST_FAILURE_AT: Field<Time> =
    Field::time("last_failure_at").doc("When a delivery last failed, or null.");
/// What the last failure said.
pub const LAST_FAILURE_CONTENT: Field<str> = Field::text("last_failure_content", 1024)
    .doc("What the target answered at the last failure, or what went wrong.");
/// The last success.
pub const LAST_SUCCESS_AT: Field<Time> = Field::time("last_success_at")
    .doc("When the target last acknowledged a delivery or a heartbeat.");
/// Failures since the last success.
pub const RETRIES: Field<i64> = Field::int("delivery_retry_count")
    .doc("How often delivery was tried in vain since the last success.");
/// When it is tried again.
pub const NEXT_ATTEMPT: Field<Time> =
    Field::time("next_attempt_after").doc("While delivery fails: when it is tried again.");
/// When it is given up.
pub const DELETION: Field<Time> = Field::time("failure_deletion_timestamp")
    .doc("While delivery fails: when the webhook is deleted unless a delivery succeeds before.");
/// What is delivered.
pub const FILTERS: Field<Opaque> = Field::other(
    "filters",
    Shape::Json,
    Source::Stored("filters"),
)
.writable()
.doc("Only events that one of these fits are delivered: resource_type, resource_subtype, action, fields.");

const ALL: &[Def] = &[
    GID.def,
    RESOURCE_TYPE.def,
    ACTIVE.def,
    RESOURCE.def,
    TARGET.def,
    CREATED_AT.def,
    LAST_FAILURE_AT.def,
    LAST_FAILURE_CONTENT.def,
    LAST_SUCCESS_AT.def,
    RETRIES.def,
    NEXT_ATTEMPT.def,
    DELETION.def,
    FILTERS.def,
];

/// The declaration.
pub static WEBHOOK: Resource = Resource {
    path: "webhooks",
    read_scope: "webhooks:read",
    title: None,
    fields: ALL,
    ..Resource::of(Type::Webhook, "webhook")
};

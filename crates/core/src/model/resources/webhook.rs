//! Webhooks: subscriptions of targets to events of a resource.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    FieldDef, FieldSource, LinkOne, NAME_MAX, Opaque, Resource, Type, TypedField, ValueType,
};
use crate::model::time::Time;

/// Types of resources that a webhook may watch.
pub const WATCHED: &[Type] = &[
    Type::Workspace,
    Type::Team,
    Type::Project,
    Type::Section,
    Type::Task,
    Type::Tag,
    Type::Story,
    Type::Attachment,
];

/// True if deliveries are made.
pub const ACTIVE: TypedField<bool> = TypedField::flag("active")
    .compact()
    .doc("Whether events are delivered.");
/// Resource that is watched.
pub const RESOURCE: TypedField<LinkOne> = TypedField::inline("resource", WATCHED)
    .compact()
    .on_create()
    .doc("The watched object.");
/// URL to which events are delivered.
pub const TARGET: TypedField<str> = TypedField::text("target", NAME_MAX)
    .compact()
    .on_create()
    .doc("The address events are sent to.");
/// Time of its creation.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("When the webhook was established.");
/// Time of the last failed delivery.
pub const LAST_FAILURE_AT: TypedField<Time> =
    TypedField::time("last_failure_at").doc("When a delivery last failed, or null.");
/// Error message or reply of the last failed delivery.
pub const LAST_FAILURE_CONTENT: TypedField<str> = TypedField::text("last_failure_content", 1024)
    .doc("What the target answered at the last failure, or what went wrong.");
/// Time of the last delivery or heartbeat that the target acknowledged.
pub const LAST_SUCCESS_AT: TypedField<Time> = TypedField::time("last_success_at")
    .doc("When the target last acknowledged a delivery or a heartbeat.");
/// Number of failures since the last success.
pub const RETRIES: TypedField<i64> = TypedField::int("delivery_retry_count")
    .doc("How often delivery was tried in vain since the last success.");
/// Time of the next attempt after a failure.
pub const NEXT_ATTEMPT: TypedField<Time> =
    TypedField::time("next_attempt_after").doc("While delivery fails: when it is tried again.");
/// Time at which the webhook is deleted if deliveries go on to fail.
pub const DELETION: TypedField<Time> = TypedField::time("failure_deletion_timestamp")
    .doc("While delivery fails: when the webhook is deleted unless a delivery succeeds before.");
/// Filters that say which events are delivered.
pub const FILTERS: TypedField<Opaque> = TypedField::other(
    "filters",
    ValueType::Json,
    FieldSource::Stored("filters"),
)
.writable()
.doc("Only events that one of these fits are delivered: resource_type, resource_subtype, action, fields.");

const ALL: &[FieldDef] = &[
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

/// Declaration of webhooks.
pub static WEBHOOK: Resource = Resource {
    path: "webhooks",
    read_scope: "webhooks:read",
    title: None,
    fields: ALL,
    ..Resource::of(Type::Webhook, "webhook")
};

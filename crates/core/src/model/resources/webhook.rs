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
    Type::Portfolio,
    Type::Project,
    Type::Goal,
    Type::Section,
    Type::Task,
    Type::Tag,
    Type::Story,
    Type::Attachment,
];

/// True if the webhook makes deliveries.
pub const ACTIVE: TypedField<bool> = TypedField::flag("active")
    .compact()
    .doc("True if events are delivered.");
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
/// Time at which the webhook was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time the webhook was established, in UTC.");
/// Time of the last failed delivery.
pub const LAST_FAILURE_AT: TypedField<Time> =
    TypedField::time("last_failure_at").doc("Time of the last failed delivery, in UTC, or null.");
/// Error message or reply of the last failed delivery.
pub const LAST_FAILURE_CONTENT: TypedField<str> = TypedField::text("last_failure_content", 1024)
    .doc("The target's answer at the last failure, or the reason why there was none.");
/// Time of the last delivery or heartbeat that the target acknowledged.
pub const LAST_SUCCESS_AT: TypedField<Time> = TypedField::time("last_success_at")
    .doc("Time the target last acknowledged a delivery or a heartbeat, in UTC.");
/// Number of failures since the last success.
pub const RETRIES: TypedField<i64> = TypedField::int("delivery_retry_count")
    .doc("Number of failed deliveries since the last success.");
/// Time of the next attempt after a failure.
pub const NEXT_ATTEMPT: TypedField<Time> = TypedField::time("next_attempt_after")
    .doc("While delivery fails: time of the next attempt, in UTC.");
/// Time at which the webhook is deleted if deliveries keep failing.
pub const DELETION: TypedField<Time> = TypedField::time("failure_deletion_timestamp").doc(
    "While delivery fails: time at which the webhook is deleted unless a delivery \
             succeeds before, in UTC.",
);
/// Filters that say which events are delivered.
pub const FILTERS: TypedField<Opaque> =
    TypedField::other("filters", ValueType::Json, FieldSource::Stored("filters"))
        .writable()
        .doc(
            "Conditions of which an event must fit one to be delivered: resource_type, \
             resource_subtype, action, fields.",
        );

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

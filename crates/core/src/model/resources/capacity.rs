//! Planning of the capacity of projects: allocations of users, and rates of their time.
use super::{END_DATE, GID, RESOURCE_TYPE, START_DATE};
use crate::model::registry::{
    FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType, rel,
};

/// Values of the `type` of an effort.
pub const EFFORT_TYPES: &[&str] = &["hours", "percent"];
/// Effort of an allocation: an object with `type` and `value`.
pub const EFFORT: TypedField<Opaque> = TypedField::json("effort")
    .compact()
    .writable()
    .doc("The effort: type (hours or percent) and value; null if it is not known.");
/// User who is allocated.
pub const ASSIGNEE: TypedField<LinkOne> = TypedField::inline("assignee", &[Type::User])
    .writable()
    .listed_by(rel::ALLOCATED_USER)
    .doc("The user allocated.");
/// User who created the allocation or rate.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).doc("The user who created it.");
/// Project of an allocation.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Project])
    .writable()
    .listed_by(rel::ALLOCATION_OF)
    .doc("The project the user is allocated to.");
const SUBTYPE: TypedField<Opaque> = TypedField::other(
    "resource_subtype",
    ValueType::Json,
    FieldSource::Always("\"project_allocation\""),
)
.doc("The kind of allocation.");

/// Declaration of allocations.
pub static ALLOCATION: Resource = Resource {
    path: "allocations",
    read_scope: "default",
    title: None,
    container: Some("parent"),
    ordered_by: Some("start_date"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        START_DATE.def,
        END_DATE.def,
        EFFORT.def,
        ASSIGNEE.def,
        CREATED_BY.def,
        PARENT.def,
        SUBTYPE.def,
    ],
    ..Resource::of(Type::Allocation, "allocation")
};

/// Project in which the rate applies.
pub const RATE_PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Project])
    .compact()
    .on_create()
    .listed_by(rel::RATE_OF)
    .doc("The project the rate is for.");
/// User whose time the rate prices.
pub const RATE_RESOURCE: TypedField<LinkOne> = TypedField::inline("resource", &[Type::User])
    .compact()
    .on_create()
    .listed_by(rel::RATED_USER)
    .doc("The user whose time has the rate.");
/// Price of an hour.
pub const RATE_VALUE: TypedField<Opaque> = TypedField::json("rate")
    .compact()
    .writable()
    .doc("The money for an hour of the user's time.");
/// Currency of a rate. Workspaces have none, so it is null.
pub const RATE_CURRENCY: TypedField<Opaque> = TypedField::other(
    "currency_code",
    ValueType::Json,
    FieldSource::Always("null"),
)
.compact()
.doc("The code of the currency, or null where the workspace has none.");
/// User who created a rate.
pub const RATE_CREATED_BY: TypedField<LinkOne> = CREATED_BY.compact();

/// Declaration of rates.
pub static RATE: Resource = Resource {
    path: "rates",
    read_scope: "default",
    title: None,
    container: Some("parent"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        RATE_PARENT.def,
        RATE_RESOURCE.def,
        RATE_VALUE.def,
        RATE_CURRENCY.def,
        RATE_CREATED_BY.def,
    ],
    ..Resource::of(Type::Rate, "rate")
};

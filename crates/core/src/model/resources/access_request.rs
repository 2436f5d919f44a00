//! Access requests: users ask for access to projects and portfolios that they do not see.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    FieldDef, FieldSource, LinkOne, Opaque, Resource, TEXT_MAX, Type, TypedField, ValueType,
};

/// Values of `approval_status`.
pub const STATES: &[&str] = &["pending", "approved", "denied"];
/// Types of the objects to which users can request access.
pub const TARGET_TYPES: &[Type] = &[Type::Project, Type::Portfolio];

/// Message to the users who decide.
pub const MESSAGE: TypedField<str> = TypedField::text("message", TEXT_MAX)
    .compact()
    .doc("The message to those who decide.");
/// State of the request.
pub const STATUS: TypedField<str> = TypedField::word("approval_status", STATES, "\"pending\"")
    .compact()
    .doc("The decision: pending, approved or denied.");
/// User who asks.
pub const REQUESTER: TypedField<LinkOne> = TypedField::inline("requester", &[Type::User])
    .compact()
    .doc("The user who asks for access.");
/// Project or portfolio, as gid and type. The requester does not see it and learns no more about it here.
pub const TARGET: TypedField<Opaque> = TypedField::other(
    "target",
    ValueType::Group(TARGET_PARTS),
    FieldSource::Stored("target"),
)
.compact()
.doc("The project or portfolio that access is asked for.");
/// Link to the project or portfolio; not part of the public record.
pub const TARGET_LINK: TypedField<LinkOne> = TypedField::inline("target_gid", TARGET_TYPES);

const TARGET_PARTS: &[FieldDef] = &[
    TypedField::text("gid", 16)
        .doc("The gid of the project or portfolio.")
        .def,
    TypedField::text("resource_type", 64)
        .doc("The type of the resource: project or portfolio.")
        .def,
];

/// Declaration of access requests.
pub static ACCESS_REQUEST: Resource = Resource {
    path: "access_requests",
    noun: "access request",
    read_scope: "default",
    title: None,
    container: Some("target_gid"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        MESSAGE.def,
        STATUS.def,
        REQUESTER.def,
        TARGET.def,
    ],
    ..Resource::of(Type::AccessRequest, "access_request")
};

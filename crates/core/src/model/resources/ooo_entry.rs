//! Out-of-office entries: days on which a user does not work.
use super::{END_DATE, GID, RESOURCE_TYPE, START_DATE};
use crate::model::registry::{LinkOne, Resource, Type, TypedField, rel};

/// User who is out of office.
pub const USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .compact()
    .on_create()
    .listed_by(rel::OUT_OF_OFFICE)
    .doc("The user who is out of office.");
/// User who created the out-of-office entry.
pub const CREATED_BY: TypedField<LinkOne> = TypedField::inline("created_by", &[Type::User])
    .compact()
    .doc("The user who created the entry.");
/// Workspace membership of the user, whose vacation dates are computed from the entries; not part of the public record.
pub const MEMBERSHIP: TypedField<LinkOne> =
    TypedField::inline("membership", &[Type::WorkspaceMembership]);

/// Declaration of out-of-office entries.
pub static OOO_ENTRY: Resource = Resource {
    path: "ooo_entries",
    noun: "out-of-office entry",
    read_scope: "ooo_entries:read",
    title: None,
    container: Some("membership"),
    ordered_by: Some("start_date"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        START_DATE.def,
        END_DATE.def,
        USER.def,
        CREATED_BY.def,
    ],
    ..Resource::of(Type::OooEntry, "ooo_entry")
};

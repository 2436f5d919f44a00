//! Fields of objects that users like. A relation leads from the object to the users; each edge is a like.
use crate::model::registry::{
    Direction, FieldDef, FieldSource, LinkMany, Opaque, Relation, Type, TypedField, ValueType,
};

/// The gid of a like, which is an edge rather than a node.
const LIKE_GID: TypedField<Opaque> =
    TypedField::other("gid", ValueType::Text(16), FieldSource::ItemAuxGid)
        .compact()
        .doc("Globally unique identifier of the like.");
/// The type of a like, which the registry does not have.
const LIKE_TYPE: TypedField<Opaque> = TypedField::other(
    "resource_type",
    ValueType::Text(64),
    FieldSource::Always("\"like\""),
)
.compact()
.doc("The type of the resource.");
/// User who likes the object.
const LIKE_USER: TypedField<Opaque> = TypedField::other(
    "user",
    ValueType::One(&[Type::User]),
    FieldSource::ItemTarget,
)
.compact()
.doc("The user who likes the object.");
/// Fields of an item in `likes`.
const LIKE_PARTS: &[FieldDef] = &[LIKE_GID.def, LIKE_TYPE.def, LIKE_USER.def];

/// Returns the flag of the viewer's own like, which a request body can change.
#[must_use]
pub const fn liked(rel: Relation) -> TypedField<bool> {
    let mut field = TypedField::flag("liked").writable();
    field.def.source = FieldSource::HasViewer(rel);
    field
}

/// Returns a flag of the viewer's own like that request bodies cannot change.
#[must_use]
pub const fn shown_flag(name: &'static str, rel: Relation) -> TypedField<Opaque> {
    TypedField::other(name, ValueType::Flag, FieldSource::HasViewer(rel))
}

/// Returns a field with the likes, each with its user.
#[must_use]
pub const fn list(name: &'static str, rel: Relation) -> TypedField<LinkMany> {
    TypedField::items(name, LIKE_PARTS, rel)
}

/// Returns a field with the number of likes.
#[must_use]
pub const fn count(name: &'static str, rel: Relation) -> TypedField<Opaque> {
    TypedField::other(
        name,
        ValueType::Int,
        FieldSource::Count(rel, Direction::Out),
    )
}

//! Agents: automatic members of a workspace. No workspace has any.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    FieldSource, LinkOne, NAME_MAX, Opaque, Resource, TEXT_MAX, Type, TypedField, ValueType,
};

const SUBTYPE: TypedField<Opaque> = TypedField::other(
    "resource_subtype",
    ValueType::Json,
    FieldSource::Always("\"asana_teammate\""),
)
.compact()
.doc("The kind of agent.");
/// Name of the agent.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the agent.");
const DESCRIPTION: TypedField<str> =
    TypedField::text_or_null("description", TEXT_MAX).doc("The description as plain text.");
const BEHAVIOR_GUIDANCE: TypedField<str> = TypedField::text_or_null("behavior_guidance", TEXT_MAX)
    .doc("The guidance by which the agent behaves.");
const WORKSPACE: TypedField<LinkOne> =
    TypedField::workspace("workspace").doc("The workspace of the agent.");
const PHOTO: TypedField<Opaque> =
    TypedField::other("photo", ValueType::Json, FieldSource::Always("null"))
        .doc("The addresses of the photo by size, or null without one.");

/// Declaration of agents.
pub static AGENT: Resource = Resource {
    path: "agents",
    read_scope: "default",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        SUBTYPE.def,
        NAME.def,
        DESCRIPTION.def,
        BEHAVIOR_GUIDANCE.def,
        WORKSPACE.def,
        PHOTO.def,
    ],
    ..Resource::of(Type::Agent, "agent")
};

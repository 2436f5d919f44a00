//! Events: what happened, as the events API and webhooks tell it.
use crate::registry::{Def, Field, One, Opaque, Resource, Shape, Source, Type};
use crate::time::Time;

/// Anything an event may be about.
const ANYTHING: &[Type] = &[
    Type::Workspace,
    Type::User,
    Type::Team,
    Type::WorkspaceMembership,
    Type::TeamMembership,
    Type::Project,
    Type::ProjectMembership,
    Type::Section,
    Type::Task,
    Type::Tag,
    Type::UserTaskList,
    Type::Story,
    Type::CustomField,
    Type::EnumOption,
    Type::CustomFieldSetting,
    Type::CustomFieldMembership,
];

/// Who did it.
pub const USER: Field<One> =
    Field::inline("user", &[Type::User]).doc("Who did it; null for the system.");
/// What it happened to.
pub const RESOURCE: Field<One> =
    Field::inline("resource", ANYTHING).doc("The object it happened to.");
/// Old name of the resource's type.
pub const TYPE: Field<str> =
    Field::text("type", 64).doc("Old name of the resource_type of the resource.");
/// What happened.
pub const ACTION: Field<str> = Field::word("action", ACTIONS, "\"changed\"")
    .doc("What happened: changed, added, removed, deleted or undeleted.");
/// Where it was put into or taken out of.
pub const PARENT: Field<One> = Field::inline("parent", ANYTHING)
    .doc("For added and removed: what the object was put into or taken out of.");
/// When.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When it happened.");
/// What changed.
pub const CHANGE: Field<Opaque> = Field::other(
    "change",
    Shape::Group(CHANGE_PARTS),
    Source::Stored("change"),
)
.if_set()
.doc("For changed: the field and, if it is an object, its new, added or removed value.");

/// The words of `action`.
pub const ACTIONS: &[&str] = &["changed", "added", "removed", "deleted", "undeleted"];

const CHANGE_PARTS: &[Def] = &[
    Field::text("field", 256).doc("The name of the field.").def,
    Field::word("action", &["changed", "added", "removed"], "\"changed\"")
        .doc("Whether the value changed, or something was added to the list or removed from it.")
        .def,
    Field::inline("new_value", ANYTHING)
        .if_set()
        .doc("The new value.")
        .def,
    Field::inline("added_value", ANYTHING)
        .if_set()
        .doc("What was added to the list.")
        .def,
    Field::inline("removed_value", ANYTHING)
        .if_set()
        .doc("What was removed from the list.")
        .def,
];

/// The declaration.
pub static EVENT: Resource = Resource {
    path: "events",
    read_scope: "default",
    title: None,
    fields: &[
        USER.def,
        RESOURCE.def,
        TYPE.def,
        ACTION.def,
        PARENT.def,
        CREATED_AT.def,
        CHANGE.def,
    ],
    ..Resource::of(Type::Event, "event")
};

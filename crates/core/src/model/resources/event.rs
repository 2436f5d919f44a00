//! Events: changes of objects, in the form of the events API and of webhooks.
use crate::model::registry::{
    FieldDef, FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType,
};
use crate::model::time::Time;

/// Types of objects that an event may be about.
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
    Type::Attachment,
    Type::CustomField,
    Type::EnumOption,
    Type::CustomFieldSetting,
    Type::CustomFieldMembership,
    Type::StatusUpdate,
    Type::TimeTrackingCategory,
    Type::TimeTrackingEntry,
    Type::Portfolio,
    Type::PortfolioMembership,
    Type::ProjectBrief,
    Type::OooEntry,
    Type::Allocation,
    Type::CustomType,
    Type::CustomTypeStatusOption,
    Type::AccessRequest,
    Type::Role,
    Type::Goal,
    Type::GoalMembership,
    Type::GoalRelationship,
    Type::ProjectTemplate,
    Type::TaskTemplate,
    Type::Rate,
    Type::Budget,
    Type::TimesheetApprovalStatus,
];

/// User who made the change.
pub const USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .doc("The user who made the change; null for the system.");
/// Object that was changed.
pub const RESOURCE: TypedField<LinkOne> =
    TypedField::inline("resource", ANYTHING).doc("The object that changed.");
/// Old name of the type of the resource.
pub const TYPE: TypedField<str> =
    TypedField::text("type", 64).doc("Old name of the resource_type of the resource.");
/// Kind of change, one of [`ACTIONS`].
pub const ACTION: TypedField<str> = TypedField::word("action", ACTIONS, "\"changed\"")
    .doc("The kind of event: changed, added, removed, deleted or undeleted.");
/// Object that the resource was added to or removed from.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", ANYTHING)
    .doc("For added and removed: the object that the resource was put into or taken out of.");
/// Time of the change.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of the change, in UTC.");
/// Field that changed, with the values added or removed.
pub const CHANGE: TypedField<Opaque> = TypedField::other(
    "change",
    ValueType::Group(CHANGE_PARTS),
    FieldSource::Stored("change"),
)
.if_set()
.doc("For changed: the field and, if it is an object, its new, added or removed value.");

/// Values of `action`.
pub const ACTIONS: &[&str] = &["changed", "added", "removed", "deleted", "undeleted"];

const CHANGE_PARTS: &[FieldDef] = &[
    TypedField::text("field", 256)
        .doc("The name of the changed field.")
        .def,
    TypedField::word("action", &["changed", "added", "removed"], "\"changed\"")
        .doc("The kind of change: a changed value, or an item added to or removed from a list.")
        .def,
    TypedField::inline("new_value", ANYTHING)
        .if_set()
        .doc("The value after the change, if it is an object.")
        .def,
    TypedField::inline("added_value", ANYTHING)
        .if_set()
        .doc("The object added to the list.")
        .def,
    TypedField::inline("removed_value", ANYTHING)
        .if_set()
        .doc("The object removed from the list.")
        .def,
];

/// Declaration of events.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_can_name_an_object_of_each_type_with_events() {
        // Their changes are not reported.
        let unreported = [Type::TemplateTask, Type::ProjectPortfolioSetting];
        for ty in Type::ALL {
            let expected = ty.has_events() && !unreported.contains(ty);
            assert_eq!(ANYTHING.contains(ty), expected, "{ty:?}");
        }
    }
}

//! Sections: the parts of a project or of a user task list.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    Direction, LinkMany, LinkOne, NAME_MAX, Resource, Type, TypedField, rel,
};
use crate::model::time::Time;

/// Display name of the section.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the section, shown as its heading.");
/// Time at which the section was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of creation, in UTC.");
/// The project it is part of.
pub const PROJECT: TypedField<LinkOne> =
    TypedField::inline("project", &[Type::Project, Type::UserTaskList])
        .doc("The project the section is part of.");
/// Old array form of `project`.
pub const PROJECTS: TypedField<LinkMany> = TypedField::edges(
    "projects",
    &[Type::Project, Type::UserTaskList],
    rel::SECTION_OF,
    Direction::Out,
)
.doc("Old array form of project.");

/// Declaration of sections.
pub static SECTION: Resource = Resource {
    path: "sections",
    read_scope: "project_sections:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        CREATED_AT.def,
        PROJECT.def,
        PROJECTS.def,
    ],
    ..Resource::of(Type::Section, "section")
};

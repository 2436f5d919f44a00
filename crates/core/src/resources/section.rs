//! Sections: the parts of a project or of a user task list.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Dir, Field, Many, NAME_MAX, One, Resource, Type, rel};
use crate::time::Time;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the section.");
/// When it was created.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When the section was created.");
/// The project it is part of.
pub const PROJECT: Field<One> = Field::inline("project", &[Type::Project, Type::UserTaskList])
    .doc("The project the section is part of.");
/// Old array form of `project`.
pub const PROJECTS: Field<Many> = Field::edges(
    "projects",
    &[Type::Project, Type::UserTaskList],
    rel::SECTION_OF,
    Dir::Out,
)
.doc("Old array form of project.");

/// The declaration.
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

//! Every resource type of the graph, one file each; [`ALL`] lists them.
pub mod custom_field;
pub mod custom_field_setting;
pub mod enum_option;
pub mod event;
pub mod export;
pub mod job;
pub mod membership;
pub mod project;
pub mod project_template;
pub mod section;
pub mod story;
pub mod tag;
pub mod task;
pub mod task_template;
pub mod team;
pub mod user;
pub mod user_task_list;
pub mod webhook;
pub mod workspace;

use crate::node::{Node, write_string};
use crate::project::Scene;
use crate::registry::{Def, Field, Opaque, Resource, Shape, Source, Type};

/// Every resource type.
pub static ALL: &[&Resource] = &[
    &workspace::WORKSPACE,
    &user::USER,
    &team::TEAM,
    &membership::WORKSPACE_MEMBERSHIP,
    &membership::TEAM_MEMBERSHIP,
    &project::PROJECT,
    &membership::PROJECT_MEMBERSHIP,
    &section::SECTION,
    &task::TASK,
    &tag::TAG,
    &user_task_list::USER_TASK_LIST,
    &story::STORY,
    &custom_field::CUSTOM_FIELD,
    &enum_option::ENUM_OPTION,
    &custom_field_setting::CUSTOM_FIELD_SETTING,
    &webhook::WEBHOOK,
    &event::EVENT,
    &job::JOB,
    &project_template::PROJECT_TEMPLATE,
    &task_template::TASK_TEMPLATE,
    &project_template::RECIPE,
    &export::GRAPH_EXPORT,
    &export::ORGANIZATION_EXPORT,
    &membership::CUSTOM_FIELD_MEMBERSHIP,
    &export::RESOURCE_EXPORT,
];

/// The declaration of a type.
#[must_use]
pub fn resource(ty: Type) -> &'static Resource {
    match ty {
        Type::Workspace => &workspace::WORKSPACE,
        Type::User => &user::USER,
        Type::Team => &team::TEAM,
        Type::WorkspaceMembership => &membership::WORKSPACE_MEMBERSHIP,
        Type::TeamMembership => &membership::TEAM_MEMBERSHIP,
        Type::Project => &project::PROJECT,
        Type::ProjectMembership => &membership::PROJECT_MEMBERSHIP,
        Type::Section => &section::SECTION,
        Type::Task => &task::TASK,
        Type::Tag => &tag::TAG,
        Type::UserTaskList => &user_task_list::USER_TASK_LIST,
        Type::Story => &story::STORY,
        Type::CustomField => &custom_field::CUSTOM_FIELD,
        Type::EnumOption => &enum_option::ENUM_OPTION,
        Type::CustomFieldSetting => &custom_field_setting::CUSTOM_FIELD_SETTING,
        Type::Webhook => &webhook::WEBHOOK,
        Type::Event => &event::EVENT,
        Type::Job => &job::JOB,
        Type::ProjectTemplate => &project_template::PROJECT_TEMPLATE,
        Type::TaskTemplate => &task_template::TASK_TEMPLATE,
        Type::Recipe => &project_template::RECIPE,
        Type::GraphExport => &export::GRAPH_EXPORT,
        Type::OrganizationExport => &export::ORGANIZATION_EXPORT,
        Type::CustomFieldMembership => &membership::CUSTOM_FIELD_MEMBERSHIP,
        Type::ResourceExport => &export::RESOURCE_EXPORT,
    }
}

/// `gid`, on every type.
pub const GID: Field<Opaque> = Field::other("gid", Shape::Text(16), Source::Gid)
    .compact()
    .doc("Globally unique identifier.");
/// `resource_type`, on every type.
pub const RESOURCE_TYPE: Field<Opaque> =
    Field::other("resource_type", Shape::Text(64), Source::Kind)
        .compact()
        .doc("The type of the resource.");
/// `permalink_url`: where the record is found.
pub const PERMALINK: Field<Opaque> = Field::other(
    "permalink_url",
    Shape::Text(1024),
    Source::Computed(permalink),
)
.doc("A link to the object.");

/// The gid of a like, which is an edge rather than a node.
const LIKE_GID: Field<Opaque> = Field::other("gid", Shape::Text(16), Source::ItemAuxGid)
    .compact()
    .doc("The like.");
/// The type of a like, which no registry of types has.
const LIKE_TYPE: Field<Opaque> =
    Field::other("resource_type", Shape::Text(64), Source::Always("\"like\""))
        .compact()
        .doc("The type of the resource.");
/// Who likes it.
const LIKE_USER: Field<Opaque> =
    Field::other("user", Shape::One(&[Type::User]), Source::ItemTarget)
        .compact()
        .doc("The user who likes the object.");
/// The items of `likes` and `hearts`.
pub const LIKE_PARTS: &[Def] = &[LIKE_GID.def, LIKE_TYPE.def, LIKE_USER.def];

/// The display colours of projects.
pub const PROJECT_COLORS: &[&str] = &[
    "dark-pink",
    "dark-green",
    "dark-blue",
    "dark-red",
    "dark-teal",
    "dark-brown",
    "dark-orange",
    "dark-purple",
    "dark-warm-gray",
    "light-pink",
    "light-green",
    "light-blue",
    "light-red",
    "light-teal",
    "light-brown",
    "light-orange",
    "light-purple",
    "light-warm-gray",
    "none",
];
/// The display colours of tags: those of projects but `none`.
pub const TAG_COLORS: &[&str] = PROJECT_COLORS.split_at(18).0;

fn permalink(node: &Node, scene: &Scene<'_>, out: &mut Vec<u8>) {
    write_string(
        out,
        &format!("{}/{}/{}", scene.base_url, resource(node.ty).path, node.gid),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_says_where_it_is_and_what_reading_it_needs() {
        for of in Type::ALL.iter().map(|ty| resource(*ty)) {
            let parts = [of.path, of.read_scope];
            assert!(parts.iter().all(|p| !p.is_empty()), "{}", of.name);
            assert!(!of.fields.is_empty(), "{}", of.name);
        }
    }
}

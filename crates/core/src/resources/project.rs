//! Projects: lists or boards of tasks, in sections.
use super::membership::LEVELS;
use super::{GID, PERMALINK, PROJECT_COLORS, RESOURCE_TYPE};
use crate::node::Node;
use crate::project::Scene;
use crate::registry::{
    Deprecation, Dir, Field, Many, Mentions, NAME_MAX, One, Opaque, Rep, Resource, Shape, Source,
    TEXT_MAX, Type, rel,
};
use crate::rich::Flavor;
use crate::time::{Date, Time};

const ICONS: &[&str] = &[
    "list",
    "board",
    "timeline",
    "calendar",
    "rocket",
    "people",
    "graph",
    "star",
    "bug",
    "light_bulb",
    "globe",
    "gear",
    "notebook",
    "computer",
    "check",
    "target",
    "html",
    "megaphone",
    "chat_bubbles",
    "briefcase",
    "page_layout",
    "mountain_flag",
    "puzzle",
    "presentation",
    "line_and_symbols",
    "speed_dial",
    "ribbon",
    "shoe",
    "shopping_basket",
    "map",
    "ticket",
    "coins",
];

/// A project is to be shared with teams by memberships, as with users.
const TEAM_CHANGE: Deprecation = Deprecation {
    name: "project_team",
    instead: "/memberships",
    values: &[],
};

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the project.");
/// Hidden from normal views.
pub const ARCHIVED: Field<bool> = Field::flag("archived")
    .writable()
    .doc("Whether the project is archived.");
/// Display colour.
pub const COLOR: Field<str> = Field::word_or_null("color", PROJECT_COLORS)
    .writable()
    .doc("The display colour.");
/// Icon.
pub const ICON: Field<str> = Field::word_or_null("icon", ICONS)
    .writable()
    .doc("The icon.");
/// When it was created.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When the project was created.");
/// The newest old-style status.
pub const CURRENT_STATUS: Field<Opaque> =
    Field::other("current_status", Shape::Json, Source::Always("null"))
        .constant()
        .doc("The newest old-style status, or null.");
/// The newest status update.
pub const CURRENT_STATUS_UPDATE: Field<Opaque> =
    Field::other("current_status_update", Shape::Json, Source::Always("null"))
        .constant()
        .doc("The newest status update, or null.");
/// Custom fields its tasks have.
pub const CUSTOM_FIELD_SETTINGS: Field<Opaque> = Field::other(
    "custom_field_settings",
    Shape::Many(&[Type::CustomFieldSetting]),
    Source::Aux(rel::FIELD_ON, Dir::In),
)
.record(Rep::Compact)
.doc("Custom fields its tasks have.");
/// The view opened first.
pub const DEFAULT_VIEW: Field<str> = Field::word(
    "default_view",
    &["list", "board", "calendar", "timeline"],
    "\"list\"",
)
.writable()
.doc("The view opened first.");
/// Old name of `due_on`.
pub const DUE_DATE: Field<Date> = Field::date("due_date")
    .stored_as("due_on")
    .writable()
    .doc("Old name of due_on.");
/// The day it is due.
pub const DUE_ON: Field<Date> = Field::date("due_on")
    .writable()
    .doc("The day the project is due.");
/// Description as rich text.
pub const HTML_NOTES: Field<str> = Field::html("html_notes")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// Users with a membership.
pub const MEMBERS: Field<Many> = Field::edges("members", &[Type::User], rel::MEMBERS, Dir::Out)
    .doc("Users with a membership of their own.");
/// When the project itself last changed.
pub const MODIFIED_AT: Field<Time> = Field::time("modified_at")
    .doc("When the project itself last changed; tasks and comments don't move it.");
/// Description as plain text.
pub const NOTES: Field<str> = Field::text("notes", TEXT_MAX)
    .mentions(Mentions::Links("html_notes"))
    .writable()
    .doc("The description as plain text.");
/// Old visibility flag.
pub const PUBLIC: Field<bool> = {
    let mut f = Field::flag("public")
        .writable()
        .doc("Old form of privacy_setting.");
    f.def.source = Source::Computed(public);
    f
};
/// The custom fields that number its tasks; not part of the public record.
pub const NUMBERED_BY: Field<Opaque> = Field::gids("numbered_by", &[Type::CustomField]).opt_in();
/// Who can see it.
pub const PRIVACY: Field<str> = Field::word(
    "privacy_setting",
    &["public_to_workspace", "private_to_team", "private"],
    "\"public_to_workspace\"",
)
.writable()
.deprecated(Deprecation {
    values: &["private_to_team"],
    ..TEAM_CHANGE
})
.doc("Who can see the project.");
/// The day it starts.
pub const START_ON: Field<Date> = Field::date("start_on")
    .writable()
    .doc("The day the project starts.");
/// The level of newly added members.
pub const DEFAULT_ACCESS: Field<str> = Field::word("default_access_level", LEVELS, "\"editor\"")
    .writable()
    .doc("The access level of newly added members.");
/// Who may customise it.
pub const CUSTOMIZE_ACCESS: Field<str> = Field::word(
    "minimum_access_level_for_customization",
    &["admin", "editor"],
    "\"editor\"",
)
.writable()
.doc("The lowest level that may change workflow and appearance.");
/// Who may share it.
pub const SHARE_ACCESS: Field<str> = Field::word(
    "minimum_access_level_for_sharing",
    &["admin", "editor"],
    "\"editor\"",
)
.writable()
.doc("The lowest level that may share it and manage members.");
/// Custom field values of the project.
pub const CUSTOM_FIELDS: Field<Opaque> =
    Field::other("custom_fields", Shape::Json, Source::Always("[]"))
        .no_custom_fields()
        .doc("Custom field values of the project.");
/// Done.
pub const COMPLETED: Field<bool> = Field::flag("completed").doc("Whether the project is done.");
/// When it was done.
pub const COMPLETED_AT: Field<Time> =
    Field::time("completed_at").doc("When the project was done, or null.");
/// Who did it.
pub const COMPLETED_BY: Field<One> =
    Field::inline("completed_by", &[Type::User]).doc("Who completed it.");
/// Members who are told of new tasks.
pub const FOLLOWERS: Field<Many> =
    Field::edges("followers", &[Type::User], rel::PROJECT_FOLLOWERS, Dir::Out)
        .on_create()
        .doc("Members who are told of new tasks.");
/// Who is responsible.
pub const OWNER: Field<One> = Field::inline("owner", &[Type::User])
    .writable()
    .doc("The user responsible for it.");
/// The team it is shared with.
pub const TEAM: Field<One> = Field::edge("team", &[Type::Team], rel::TEAM)
    .writable()
    .deprecated(TEAM_CHANGE)
    .doc("The team it is shared with.");
/// Its brief.
pub const PROJECT_BRIEF: Field<Opaque> =
    Field::other("project_brief", Shape::Json, Source::Always("null")).doc("The brief, or null.");
/// Its template.
pub const CREATED_FROM_TEMPLATE: Field<One> =
    Field::inline("created_from_template", &[Type::ProjectTemplate])
        .doc("The template it came from, or null.");
/// The workspace it belongs to.
pub const WORKSPACE: Field<One> = Field::home("workspace")
    .on_create()
    .doc("The workspace it belongs to.");
/// Who created it; not part of the public record.
pub const CREATED_BY: Field<One> = Field::inline("created_by", &[Type::User]).opt_in();

/// The declaration.
pub static PROJECT: Resource = Resource {
    path: "projects",
    read_scope: "projects:read",
    flavor: Flavor::Task,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        ARCHIVED.def,
        COLOR.def,
        ICON.def,
        CREATED_AT.def,
        CURRENT_STATUS.def,
        CURRENT_STATUS_UPDATE.def,
        CUSTOM_FIELD_SETTINGS.def,
        DEFAULT_VIEW.def,
        DUE_DATE.def,
        DUE_ON.def,
        HTML_NOTES.def,
        MEMBERS.def,
        MODIFIED_AT.def,
        NOTES.def,
        PUBLIC.def,
        PRIVACY.def,
        START_ON.def,
        DEFAULT_ACCESS.def,
        CUSTOMIZE_ACCESS.def,
        SHARE_ACCESS.def,
        CUSTOM_FIELDS.def,
        COMPLETED.def,
        COMPLETED_AT.def,
        COMPLETED_BY.def,
        FOLLOWERS.def,
        OWNER.def,
        TEAM.def,
        PERMALINK.def,
        PROJECT_BRIEF.def,
        CREATED_FROM_TEMPLATE.def,
        WORKSPACE.def,
    ],
    ..Resource::of(Type::Project, "project")
};

fn public(node: &Node, _scene: &Scene<'_>, out: &mut Vec<u8>) {
    let public = node.get(PRIVACY).as_deref() == Some("public_to_workspace");
    out.extend_from_slice(if public { b"true" } else { b"false" });
}

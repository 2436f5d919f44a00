//! Projects: lists or boards of tasks, in sections.
use super::membership::LEVELS;
use super::status_update::CURRENT_STATUS_UPDATE;
use super::{GID, PERMALINK, PROJECT_COLORS, RESOURCE_TYPE};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::Node;
use crate::model::registry::{
    Deprecation, Direction, FieldSource, Inclusion, LinkMany, LinkOne, MentionRule, NAME_MAX,
    Opaque, Resource, TEXT_MAX, Type, TypedField, ValueType, rel,
};
use crate::model::time::{Date, Time};
use workgraph_richtext::RichTextProfile;

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

/// Announced change of the contract: projects are shared with teams by memberships, as with users.
const TEAM_CHANGE: Deprecation = Deprecation {
    name: "project_team",
    instead: "/memberships",
    values: &[],
};

/// Display name of the project.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the project.");
/// True if it is hidden from normal views.
pub const ARCHIVED: TypedField<bool> = TypedField::flag("archived")
    .writable()
    .doc("True if the project is archived: kept, but out of daily use.");
/// Display colour.
pub const COLOR: TypedField<str> = TypedField::word_or_null("color", PROJECT_COLORS)
    .writable()
    .doc("The display colour, or null.");
/// Name of the icon.
pub const ICON: TypedField<str> = TypedField::word_or_null("icon", ICONS)
    .writable()
    .doc("The display icon, or null.");
/// Time at which the project was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of creation, in UTC.");
/// The newest status update in its old form.
pub const CURRENT_STATUS: TypedField<LinkOne> =
    TypedField::inline("current_status", &[Type::ProjectStatus])
        .stored_as("current_status_update")
        .record(Inclusion::Full)
        .new_record()
        .doc("The newest old-style status, or null; a record without a gid posts a new one.");
/// Settings of the custom fields that its tasks have.
pub const CUSTOM_FIELD_SETTINGS: TypedField<Opaque> = TypedField::other(
    "custom_field_settings",
    ValueType::Many(&[Type::CustomFieldSetting]),
    FieldSource::Aux(rel::FIELD_ON, Direction::In),
)
.record(Inclusion::Compact)
.doc("The custom fields of the project's tasks, each with its settings.");
/// View that is opened first.
pub const DEFAULT_VIEW: TypedField<str> = TypedField::word(
    "default_view",
    &["list", "board", "calendar", "timeline"],
    "\"list\"",
)
.writable()
.doc("The view in which the project opens.");
/// Old name of `due_on`.
pub const DUE_DATE: TypedField<Date> = TypedField::date("due_date")
    .stored_as("due_on")
    .writable()
    .doc("Old name of due_on.");
/// Day on which the project is due.
pub const DUE_ON: TypedField<Date> = TypedField::date("due_on")
    .writable()
    .doc("The day the project is due, or null.");
/// Description as rich text.
pub const HTML_NOTES: TypedField<str> = TypedField::html("html_notes")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// Users with a membership.
pub const MEMBERS: TypedField<LinkMany> =
    TypedField::edges("members", &[Type::User], rel::MEMBERS, Direction::Out)
        .doc("Users with a membership of their own.");
/// Time of the last change of the project itself.
pub const MODIFIED_AT: TypedField<Time> = TypedField::time("modified_at").doc(
    "Time of the last change of the project itself, in UTC; tasks and comments do not \
             count.",
);
/// Description as plain text.
pub const NOTES: TypedField<str> = TypedField::text("notes", TEXT_MAX)
    .mentions(MentionRule::Links("html_notes"))
    .writable()
    .doc("The description as plain text.");
/// Old flag for the visibility.
pub const PUBLIC: TypedField<bool> = {
    let mut f = TypedField::flag("public")
        .writable()
        .doc("Old form of privacy_setting.");
    f.def.source = FieldSource::Computed(public);
    f
};
/// The custom fields that number its tasks; not part of the public record.
pub const NUMBERED_BY: TypedField<Opaque> =
    TypedField::gids("numbered_by", &[Type::CustomField]).opt_in();
/// Portfolios whose members have access to it; not part of the public record.
pub const ACCESS_FROM: TypedField<Opaque> =
    TypedField::gids("access_from", &[Type::Portfolio]).opt_in();
/// Visibility of the project.
pub const PRIVACY: TypedField<str> = TypedField::word(
    "privacy_setting",
    &["public_to_workspace", "private_to_team", "private"],
    "\"public_to_workspace\"",
)
.writable()
.deprecated(Deprecation {
    values: &["private_to_team"],
    ..TEAM_CHANGE
})
.doc("The visibility of the project.");
/// Day on which the project starts.
pub const START_ON: TypedField<Date> = TypedField::date("start_on")
    .writable()
    .doc("The day the project starts, or null; needs due_on.");
/// The level of newly added members.
pub const DEFAULT_ACCESS: TypedField<str> =
    TypedField::word("default_access_level", LEVELS, "\"editor\"")
        .writable()
        .doc("The access level of newly added members.");
/// Lowest access level that may customise it.
pub const CUSTOMIZE_ACCESS: TypedField<str> = TypedField::word(
    "minimum_access_level_for_customization",
    &["admin", "editor"],
    "\"editor\"",
)
.writable()
.doc("The lowest level that may change workflow and appearance.");
/// Lowest access level that may share it.
pub const SHARE_ACCESS: TypedField<str> = TypedField::word(
    "minimum_access_level_for_sharing",
    &["admin", "editor"],
    "\"editor\"",
)
.writable()
.doc("The lowest level that may share it and manage members.");
/// Custom field values of the project itself.
pub const CUSTOM_FIELDS: TypedField<Opaque> =
    super::task::CUSTOM_FIELDS.value_map().doc(
        "The custom fields that its portfolios give it, with their values; written as a map from gids to values.",
    );
/// True if the project is completed.
pub const COMPLETED: TypedField<bool> =
    TypedField::flag("completed").doc("True if the project is completed.");
/// Time at which the project was completed.
pub const COMPLETED_AT: TypedField<Time> =
    TypedField::time("completed_at").doc("Time of completion, in UTC, or null.");
/// User who completed it.
pub const COMPLETED_BY: TypedField<LinkOne> = TypedField::inline("completed_by", &[Type::User])
    .doc("The user who completed the project, or null.");
/// Members who are notified of new tasks.
pub const FOLLOWERS: TypedField<LinkMany> = TypedField::edges(
    "followers",
    &[Type::User],
    rel::PROJECT_FOLLOWERS,
    Direction::Out,
)
.on_create()
.doc("The members who are notified of new tasks.");
/// User who is responsible.
pub const OWNER: TypedField<LinkOne> = TypedField::inline("owner", &[Type::User])
    .writable()
    .doc("The user responsible for the project, or null.");
/// Team that the project is shared with.
pub const TEAM: TypedField<LinkOne> = TypedField::edge("team", &[Type::Team], rel::TEAM)
    .writable()
    .deprecated(TEAM_CHANGE)
    .doc("The team the project is shared with, or null.");
/// Brief of the project.
pub const PROJECT_BRIEF: TypedField<LinkOne> =
    TypedField::inline("project_brief", &[Type::ProjectBrief]).doc("The project brief, or null.");
/// Project template that it was made from.
pub const CREATED_FROM_TEMPLATE: TypedField<LinkOne> =
    TypedField::inline("created_from_template", &[Type::ProjectTemplate])
        .doc("The template the project was made from, or null.");
/// Workspace of the project.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .on_create()
    .doc("The workspace the project belongs to.");
/// User who created it; not part of the public record.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).opt_in();

/// Declaration of projects.
pub static PROJECT: Resource = Resource {
    path: "projects",
    read_scope: "projects:read",
    flavor: RichTextProfile::Task,
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

fn public(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let public = node.get(PRIVACY).as_deref() == Some("public_to_workspace");
    out.extend_from_slice(if public { b"true" } else { b"false" });
}

//! Teams: groups of people in an organization.
use super::{GID, PERMALINK, RESOURCE_TYPE};
use crate::model::registry::{
    FieldSource, LinkOne, MentionRule, NAME_MAX, Opaque, Resource, TEXT_MAX, Type, TypedField,
    ValueType,
};

const WHO: &[&str] = &["all_team_members", "only_team_admins"];
const ALL_MEMBERS: &str = "\"all_team_members\"";

/// Display name of the team.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the team.");
/// The description as plain text.
pub const DESCRIPTION: TypedField<str> = TypedField::text("description", TEXT_MAX)
    .mentions(MentionRule::Links("html_description"))
    .opt_in()
    .writable()
    .doc("The description as plain text.");
/// The description as rich text.
pub const HTML_DESCRIPTION: TypedField<str> = TypedField::html("html_description")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// The organization it belongs to.
pub const ORGANIZATION: TypedField<LinkOne> = TypedField::workspace("organization")
    .on_create()
    .doc("The organization the team belongs to.");
/// Users who can find and join it, as a word.
pub const VISIBILITY: TypedField<str> = TypedField::word(
    "visibility",
    &["secret", "request_to_join", "public"],
    "\"secret\"",
)
.writable()
.doc("The visibility of the team, and the way to join it.");
/// Members who may edit name and description, as a word.
pub const EDIT_NAME: TypedField<str> = TypedField::word(
    "edit_team_name_or_description_access_level",
    WHO,
    ALL_MEMBERS,
)
.writable()
.doc("The members allowed to edit name and description.");
/// Members who may change visibility or trash it, as a word.
pub const EDIT_VISIBILITY: TypedField<str> = TypedField::word(
    "edit_team_visibility_or_trash_team_access_level",
    WHO,
    ALL_MEMBERS,
)
.writable()
.doc("The members allowed to change the visibility and to delete the team.");
/// Members who may invite members, as a word.
pub const INVITE_MEMBERS: TypedField<str> =
    TypedField::word("member_invite_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("The members allowed to accept or deny member invites.");
/// Members who may invite guests, as a word.
pub const INVITE_GUESTS: TypedField<str> =
    TypedField::word("guest_invite_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("The members allowed to accept or deny guest invites.");
/// Members who may handle requests to join, as a word.
pub const JOIN_REQUESTS: TypedField<str> =
    TypedField::word("join_request_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("The members allowed to accept or deny join requests.");
/// Members who may remove members, as a word.
pub const REMOVE_MEMBERS: TypedField<str> =
    TypedField::word("team_member_removal_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("The members allowed to remove team members.");
/// Members who may create content in it, as a word.
pub const CONTENT: TypedField<str> = TypedField::word(
    "team_content_management_access_level",
    &["no_restriction", "only_team_admins"],
    "\"no_restriction\"",
)
.writable()
.doc("The members allowed to create content and share it with the team.");
/// True if it is endorsed by the organization's admins.
pub const ENDORSED: TypedField<bool> = TypedField::flag("endorsed")
    .writable()
    .doc("True if an admin of the organization endorsed the team.");
/// Settings of the custom fields attached to the team; always none.
pub const CUSTOM_FIELD_SETTINGS: TypedField<Opaque> = TypedField::other(
    "custom_field_settings",
    ValueType::Json,
    FieldSource::Always("[]"),
)
.doc("The custom fields attached to the team.");

/// Declaration of teams.
pub static TEAM: Resource = Resource {
    path: "teams",
    read_scope: "teams:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        DESCRIPTION.def,
        HTML_DESCRIPTION.def,
        ORGANIZATION.def,
        PERMALINK.def,
        VISIBILITY.def,
        EDIT_NAME.def,
        EDIT_VISIBILITY.def,
        INVITE_MEMBERS.def,
        INVITE_GUESTS.def,
        JOIN_REQUESTS.def,
        REMOVE_MEMBERS.def,
        CONTENT.def,
        ENDORSED.def,
        CUSTOM_FIELD_SETTINGS.def,
    ],
    ..Resource::of(Type::Team, "team")
};

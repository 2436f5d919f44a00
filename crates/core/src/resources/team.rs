//! Teams: groups of people in an organization.
use super::{GID, PERMALINK, RESOURCE_TYPE};
use crate::registry::{
    Field, Mentions, NAME_MAX, One, Opaque, Resource, Shape, Source, TEXT_MAX, Type,
};

const WHO: &[&str] = &["all_team_members", "only_team_admins"];
const ALL_MEMBERS: &str = "\"all_team_members\"";

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the team.");
/// The description as plain text.
pub const DESCRIPTION: Field<str> = Field::text("description", TEXT_MAX)
    .mentions(Mentions::Links("html_description"))
    .opt_in()
    .writable()
    .doc("The description as plain text.");
/// The description as rich text.
pub const HTML_DESCRIPTION: Field<str> = Field::html("html_description")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// The organization it belongs to.
pub const ORGANIZATION: Field<One> = Field::home("organization")
    .on_create()
    .doc("The organization the team belongs to.");
/// Who can find and join it.
pub const VISIBILITY: Field<str> = Field::word(
    "visibility",
    &["secret", "request_to_join", "public"],
    "\"secret\"",
)
.writable()
.doc("Who can find and join the team.");
/// Who may edit name and description.
pub const EDIT_NAME: Field<str> = Field::word(
    "edit_team_name_or_description_access_level",
    WHO,
    ALL_MEMBERS,
)
.writable()
.doc("Who may edit its name and description.");
/// Who may change visibility or trash it.
pub const EDIT_VISIBILITY: Field<str> = Field::word(
    "edit_team_visibility_or_trash_team_access_level",
    WHO,
    ALL_MEMBERS,
)
.writable()
.doc("Who may change its visibility.");
/// Who may invite members.
pub const INVITE_MEMBERS: Field<str> =
    Field::word("member_invite_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("Who may accept or deny member invites.");
/// Who may invite guests.
pub const INVITE_GUESTS: Field<str> =
    Field::word("guest_invite_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("Who may accept or deny guest invites.");
/// Who handles requests to join.
pub const JOIN_REQUESTS: Field<str> =
    Field::word("join_request_management_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("Who may accept or deny join requests.");
/// Who may remove members.
pub const REMOVE_MEMBERS: Field<str> =
    Field::word("team_member_removal_access_level", WHO, ALL_MEMBERS)
        .writable()
        .doc("Who may remove team members.");
/// Who may create content in it.
pub const CONTENT: Field<str> = Field::word(
    "team_content_management_access_level",
    &["no_restriction", "only_team_admins"],
    "\"no_restriction\"",
)
.writable()
.doc("Who may create and share content with the team.");
/// Endorsed by the organization's admins.
pub const ENDORSED: Field<bool> = Field::flag("endorsed")
    .writable()
    .doc("Whether an admin endorsed the team.");
/// Custom fields attached to the team.
pub const CUSTOM_FIELD_SETTINGS: Field<Opaque> =
    Field::other("custom_field_settings", Shape::Json, Source::Always("[]"))
        .doc("Custom fields attached to the team.");

/// The declaration.
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

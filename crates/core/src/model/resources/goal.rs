//! Goals of workspaces and teams, and memberships in them.
use super::goal_metric::{KEY, METRIC_PARTS};
use super::membership::{LEVELS, MEMBER, MEMBER_USER};
use super::status_update::CURRENT_STATUS_UPDATE;
use super::{GID, RESOURCE_TYPE, likes, project};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::Node;
use crate::model::registry::{
    Direction, FieldSource, Inclusion, LinkMany, LinkOne, MentionRule, NAME_MAX, Opaque, Resource,
    TEXT_MAX, Type, TypedField, ValueType, rel,
};
use crate::model::time::Date;

/// The privacy setting of goals that are open to the workspace, or to everyone who sees their team.
pub const PUBLIC: &str = "public_to_workspace";
/// Values of `status`: first for open goals, then for closed ones.
pub const STATUSES: &[&str] = &[
    "green", "yellow", "red", "achieved", "partial", "missed", "dropped",
];

/// Display name of the goal.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the goal.");
/// User who is responsible.
pub const OWNER: TypedField<LinkOne> = TypedField::inline("owner", &[Type::User])
    .compact()
    .writable()
    .doc("The user responsible for the goal, or null.");
/// Description as rich text.
pub const HTML_NOTES: TypedField<str> = TypedField::html("html_notes")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// Description as plain text.
pub const NOTES: TypedField<str> = TypedField::text("notes", TEXT_MAX)
    .mentions(MentionRule::Links("html_notes"))
    .writable()
    .doc("The description as plain text.");
/// Day on which the goal is due.
pub const DUE_ON: TypedField<Date> = TypedField::date("due_on")
    .writable()
    .doc("The day the goal is due, or null.");
/// Day on which the goal starts.
pub const START_ON: TypedField<Date> = TypedField::date("start_on")
    .writable()
    .doc("The day the goal starts, or null; needs due_on.");
/// True unless it belongs to a team.
pub const IS_WORKSPACE_LEVEL: TypedField<bool> = {
    let mut f = TypedField::flag("is_workspace_level")
        .writable()
        .doc("True if it is a goal of the workspace, false if it is one of a team.");
    f.def.source = FieldSource::Computed(is_workspace_level);
    f
};
/// True if the viewer likes the goal.
pub const LIKED: TypedField<bool> =
    likes::liked(rel::STORY_LIKES).doc("True if the viewer likes the goal.");
/// Users who like the goal.
pub const LIKES: TypedField<LinkMany> =
    likes::list("likes", rel::STORY_LIKES).doc("The likes of the goal, each with its user.");
/// Number of users who like the goal.
pub const NUM_LIKES: TypedField<Opaque> =
    likes::count("num_likes", rel::STORY_LIKES).doc("Number of users who like the goal.");
/// Team to which it belongs.
pub const TEAM: TypedField<LinkOne> = TypedField::inline("team", &[Type::Team])
    .writable()
    .listed_by(rel::GOAL_OF_TEAM)
    .doc("The team of the goal, or null for a goal of the workspace.");
/// Workspace of the goal.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .on_create()
    .doc("The workspace the goal belongs to.");
/// Users who follow the goal.
pub const FOLLOWERS: TypedField<LinkMany> =
    project::FOLLOWERS.doc("The members who are notified of news.");
/// Time period of the goal.
pub const TIME_PERIOD: TypedField<LinkOne> = TypedField::inline("time_period", &[Type::TimePeriod])
    .writable()
    .doc("The period of the goal, or null.");
/// Metric by which the progress is measured.
pub const METRIC: TypedField<Opaque> = TypedField::other(
    KEY,
    ValueType::Group(METRIC_PARTS),
    FieldSource::Stored(KEY),
)
.doc("The metric of the goal, or null.");
/// State of the goal, one of [`STATUSES`].
pub const STATUS: TypedField<str> = TypedField::word_or_null("status", STATUSES)
    .writable()
    .doc("The state of the goal, as its newest status update says, or null; only that of a goal with a metric is written.");
/// Visibility of the goal.
pub const PRIVACY: TypedField<str> = TypedField::word(
    "privacy_setting",
    &[PUBLIC, "members_only"],
    "\"public_to_workspace\"",
)
.writable()
.doc("The visibility of the goal; a public goal of a team is open to those who see the team.");
/// The level of newly added members.
pub const DEFAULT_ACCESS: TypedField<str> =
    TypedField::word("default_access_level", LEVELS, "\"commenter\"")
        .writable()
        .doc("The access level of newly added members.");
/// Values of the goal's custom fields.
pub const CUSTOM_FIELDS: TypedField<Opaque> = super::task::CUSTOM_FIELDS
    .value_map()
    .doc("The custom fields of the goal, with their values; written as a map from gids to values.");
/// Settings of the goal's custom fields.
pub const CUSTOM_FIELD_SETTINGS: TypedField<Opaque> = TypedField::other(
    "custom_field_settings",
    ValueType::Many(&[Type::CustomFieldSetting]),
    FieldSource::Aux(rel::FIELD_ON, Direction::In),
)
.record(Inclusion::Compact)
.doc("The custom fields of the goal, each with its settings.");

/// Declaration of goals.
pub static GOAL: Resource = Resource {
    path: "goals",
    read_scope: "goals:read",
    container: Some("team"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        OWNER.def,
        HTML_NOTES.def,
        NOTES.def,
        DUE_ON.def,
        START_ON.def,
        IS_WORKSPACE_LEVEL.def,
        LIKED.def,
        LIKES.def,
        NUM_LIKES.def,
        TEAM.def,
        WORKSPACE.def,
        FOLLOWERS.def,
        TIME_PERIOD.def,
        METRIC.def,
        CURRENT_STATUS_UPDATE.def,
        STATUS.def,
        PRIVACY.def,
        DEFAULT_ACCESS.def,
        CUSTOM_FIELDS.def,
        CUSTOM_FIELD_SETTINGS.def,
    ],
    ..Resource::of(Type::Goal, "goal")
};

fn is_workspace_level(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(match node.get(TEAM) {
        Some(_) => b"false",
        None => b"true",
    });
}

/// Subtype, always `goal_membership`.
pub const MEMBERSHIP_SUBTYPE: TypedField<Opaque> = TypedField::other(
    "resource_subtype",
    ValueType::Json,
    FieldSource::Always("\"goal_membership\""),
)
.compact()
.doc("The kind of membership.");
/// The goal of a goal membership.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Goal])
    .compact()
    .on_create()
    .doc("The goal the membership gives access to.");
/// Old name of `parent`.
pub const MEMBER_GOAL: TypedField<LinkOne> = TypedField::inline("goal", &[Type::Goal])
    .stored_as("parent")
    .compact()
    .doc("Old name of parent.");
/// Access level of the member to the goal.
pub const ACCESS_LEVEL: TypedField<str> = TypedField::word("access_level", LEVELS, "\"commenter\"")
    .compact()
    .writable()
    .doc("The rights of the member on the goal.");
/// Old form of `access_level`.
pub const ROLE: TypedField<Opaque> = TypedField::other(
    "role",
    ValueType::Word(&["commenter", "editor"]),
    FieldSource::Computed(role),
)
.compact()
.doc("Old form of access_level.");
/// The workspace of the goal.
pub const MEMBERSHIP_WORKSPACE: TypedField<LinkOne> =
    TypedField::workspace("workspace").doc("The workspace of the goal.");

/// Declaration of goal memberships.
pub static GOAL_MEMBERSHIP: Resource = Resource {
    path: "memberships",
    noun: "membership",
    read_scope: "goals:read",
    title: None,
    container: Some("parent"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        MEMBERSHIP_SUBTYPE.def,
        MEMBER.def,
        PARENT.def,
        ROLE.def,
        ACCESS_LEVEL.def,
        MEMBER_GOAL.def,
        MEMBER_USER.def,
        MEMBERSHIP_WORKSPACE.def,
    ],
    ..Resource::of(Type::GoalMembership, "goal_membership")
};

fn role(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let level = node.get(ACCESS_LEVEL);
    out.extend_from_slice(match level.as_deref() {
        Some("admin" | "editor") => b"\"editor\"",
        _ => b"\"commenter\"",
    });
}

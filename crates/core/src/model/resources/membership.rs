//! Memberships: of users in workspaces and teams, of users and teams in projects and custom fields.
//!
//! Each membership is a node; the edge between the two parties has the node's gid as its auxiliary gid. So lists and access
//! rules read edges, and only a get reads the node.
use super::{GID, RESOURCE_TYPE};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType};
use crate::model::time::{Date, Time};

/// The user of a workspace or team membership.
pub const USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .compact()
    .doc("The user who belongs to the parent.");
/// The workspace of a workspace membership.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .compact()
    .doc("The workspace the user belongs to.");
/// The user's task list in that workspace.
pub const TASK_LIST: TypedField<LinkOne> =
    TypedField::inline("user_task_list", &[Type::UserTaskList])
        .doc("The user's task list in the workspace.");
/// False once the user has been removed.
pub const IS_ACTIVE: TypedField<bool> = {
    let mut f = TypedField::flag("is_active")
        .doc("True while the user belongs to the workspace; false once removed.");
    f.def.default = "true";
    f
};
/// True if the user administers the workspace.
pub const IS_ADMIN: TypedField<bool> =
    TypedField::flag("is_admin").doc("True if the user administers the workspace.");
/// True if the user sees only objects shared with them.
pub const IS_GUEST: TypedField<bool> =
    TypedField::flag("is_guest").doc("True if the user is a guest.");
/// True if the user holds a view-only seat.
pub const IS_VIEW_ONLY: TypedField<bool> =
    TypedField::flag("is_view_only").doc("True if the user may view but change nothing.");
/// Days of the user's first out-of-office entry that was not over at the last change of the entries.
pub const VACATION_DATES: TypedField<Opaque> = TypedField::other(
    "vacation_dates",
    ValueType::Json,
    FieldSource::Computed(vacation_dates),
)
.doc("The out-of-office range as {start_on, end_on}, or null.");
/// Out-of-office entries of the user that are not over, in the form that [`vacations`] reads.
pub const VACATIONS: TypedField<Opaque> = TypedField::json("vacation_dates");

/// Days of an out-of-office entry, as stored in the membership of its user.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Vacation {
    /// First day.
    pub start_on: Date,
    /// Last day.
    pub end_on: Date,
    /// Gid of the entry.
    pub entry: Gid,
}

/// Returns the out-of-office entries in a membership, in the order of their days.
#[must_use]
pub fn vacations(seat: &Node) -> Vec<Vacation> {
    let raw = seat.raw(VACATIONS.def.name).unwrap_or("[]");
    // A body has only what `set_vacations` wrote.
    let stored: Vec<[String; 3]> = serde_json::from_str(raw).unwrap_or_default();
    let read = |[start_on, end_on, entry]: &[String; 3]| {
        Some(Vacation {
            start_on: Date::parse(start_on).ok()?,
            end_on: Date::parse(end_on).ok()?,
            entry: Gid::parse(entry)?,
        })
    };
    stored.iter().filter_map(read).collect()
}

fn vacation_dates(seat: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    match vacations(seat).first() {
        Some(Vacation {
            start_on, end_on, ..
        }) => out.extend_from_slice(
            format!(r#"{{"start_on":"{start_on}","end_on":"{end_on}"}}"#).as_bytes(),
        ),
        None => out.extend_from_slice(b"null"),
    }
}
/// Time at which the membership began.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time the membership began, in UTC.");

/// The declaration of workspace memberships.
pub static WORKSPACE_MEMBERSHIP: Resource = Resource {
    path: "workspace_memberships",
    noun: "workspace membership",
    read_scope: "workspaces:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        USER.def,
        WORKSPACE.def,
        TASK_LIST.def,
        IS_ACTIVE.def,
        IS_ADMIN.def,
        IS_GUEST.def,
        IS_VIEW_ONLY.def,
        VACATION_DATES.def,
        CREATED_AT.def,
    ],
    ..Resource::of(Type::WorkspaceMembership, "workspace_membership")
};

/// The team of a team membership.
pub const TEAM: TypedField<LinkOne> = TypedField::inline("team", &[Type::Team])
    .compact()
    .needs(&["teams:read"])
    .doc("The team the user belongs to.");
/// True for a guest of the team.
pub const TEAM_IS_GUEST: TypedField<bool> = TypedField::flag("is_guest")
    .compact()
    .doc("True if the user is a guest.");
/// True if the user sees only part of the team.
pub const IS_LIMITED_ACCESS: TypedField<bool> = TypedField::flag("is_limited_access")
    .compact()
    .doc("True if the user has limited access to the team.");
/// True if the user administers the team.
pub const TEAM_IS_ADMIN: TypedField<bool> = TypedField::flag("is_admin")
    .compact()
    .doc("True if the user administers the team.");

/// The declaration of team memberships.
pub static TEAM_MEMBERSHIP: Resource = Resource {
    path: "team_memberships",
    noun: "team membership",
    read_scope: "team_memberships:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        USER.def,
        TEAM.def,
        TEAM_IS_GUEST.def,
        IS_LIMITED_ACCESS.def,
        TEAM_IS_ADMIN.def,
    ],
    ..Resource::of(Type::TeamMembership, "team_membership")
};

/// The levels of access to a project, lowest first.
pub const LEVELS: &[&str] = &["viewer", "commenter", "editor", "admin"];

/// The project of a project membership.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Project])
    .compact()
    .on_create()
    .doc("The project the membership gives access to.");
/// User or team that holds the membership.
pub const MEMBER: TypedField<LinkOne> = TypedField::inline("member", &[Type::User, Type::Team])
    .compact()
    .on_create()
    .doc("The user or team with the membership.");
/// Access level of the member.
pub const ACCESS_LEVEL: TypedField<str> = TypedField::word("access_level", LEVELS, "\"editor\"")
    .compact()
    .writable()
    .doc("The rights of the member on the project.");
/// Subtype, always `project_membership`.
pub const SUBTYPE: TypedField<Opaque> = TypedField::other(
    "resource_subtype",
    ValueType::Json,
    FieldSource::Always("\"project_membership\""),
)
.compact()
.doc("The kind of membership.");
/// Old name of `member`, when it is a user.
pub const MEMBER_USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .stored_as("member")
    .doc("The member if it is a user, or null.");
/// Old name of `parent`.
pub const MEMBER_PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .stored_as("parent")
    .doc("Old name of parent.");
/// Old form of `access_level`.
pub const WRITE_ACCESS: TypedField<Opaque> = TypedField::other(
    "write_access",
    ValueType::Json,
    FieldSource::Computed(write_access),
)
.doc("Old form of the access level.");

/// The declaration of project memberships.
pub static PROJECT_MEMBERSHIP: Resource = Resource {
    path: "memberships",
    noun: "membership",
    read_scope: "projects:read",
    title: None,
    variants: &[
        Type::CustomFieldMembership,
        Type::PortfolioMembership,
        Type::GoalMembership,
    ],
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        PARENT.def,
        MEMBER.def,
        ACCESS_LEVEL.def,
        SUBTYPE.def,
        MEMBER_USER.def,
        MEMBER_PROJECT.def,
        WRITE_ACCESS.def,
    ],
    ..Resource::of(Type::ProjectMembership, "project_membership")
};

/// Subtype, always `custom_field_membership`.
pub const FIELD_SUBTYPE: TypedField<Opaque> = TypedField::other(
    "resource_subtype",
    ValueType::Json,
    FieldSource::Always("\"custom_field_membership\""),
)
.compact()
.doc("The kind of membership.");
/// The custom field of a custom field membership.
pub const FIELD_PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::CustomField])
    .compact()
    .on_create()
    .doc("The custom field the membership gives access to.");
/// Access level of the member to the custom field.
pub const FIELD_ACCESS_LEVEL: TypedField<str> =
    TypedField::word("access_level", &["user", "editor", "admin"], "\"editor\"")
        .compact()
        .writable()
        .doc("The rights of the member on the field; user allows only setting values.");

/// The declaration of custom field memberships.
pub static CUSTOM_FIELD_MEMBERSHIP: Resource = Resource {
    path: "memberships",
    noun: "membership",
    read_scope: "custom_fields:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        FIELD_SUBTYPE.def,
        FIELD_PARENT.def,
        MEMBER.def,
        FIELD_ACCESS_LEVEL.def,
    ],
    ..Resource::of(Type::CustomFieldMembership, "custom_field_membership")
};

fn write_access(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let level = node.get(ACCESS_LEVEL);
    let full = matches!(level.as_deref(), Some("admin" | "editor"));
    out.extend_from_slice(if full {
        b"\"full_write\""
    } else {
        b"\"comment_only\""
    });
}

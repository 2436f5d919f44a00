//! Tasks: the unit of work.
use super::{GID, PERMALINK, RESOURCE_TYPE, likes};
use crate::model::registry::{
    Direction, FieldDef, FieldSource, Inclusion, LinkMany, LinkOne, MentionRule, NAME_MAX, Opaque,
    Resource, TEXT_MAX, Type, TypedField, ValueType, rel,
};
use crate::model::time::{Date, Time};
use workgraph_richtext::RichTextProfile;

/// Values of `resource_subtype`.
pub const SUBTYPES: &[&str] = &["default_task", "milestone", "approval", "custom"];
/// Values of `approval_status`; all but `pending` complete the task.
pub const APPROVALS: &[&str] = &["pending", "approved", "rejected", "changes_requested"];

/// Maximum number of projects that a task may be in.
pub const PROJECTS_MAX: usize = 20;

/// Display name of the task.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the task.");
/// The kind of task.
pub const SUBTYPE: TypedField<str> =
    TypedField::word("resource_subtype", SUBTYPES, "\"default_task\"")
        .compact()
        .writable()
        .doc("The kind of task: a plain task, a milestone, an approval, or one of a custom type.");
/// User who created the task.
pub const CREATED_BY: TypedField<LinkOne> = TypedField::inline("created_by", &[Type::User])
    .opt_in()
    .reference_only()
    .doc("The user who created the task.");
/// Outcome of the approval.
pub const APPROVAL_STATUS: TypedField<str> = TypedField::word_or_null("approval_status", APPROVALS)
    .if_set()
    .writable()
    .doc("The state of an approval task.");
/// Old word for the part of the assignee's task list that has the task.
pub const ASSIGNEE_STATUS: TypedField<str> = TypedField::word(
    "assignee_status",
    &["today", "upcoming", "later", "new", "inbox"],
    "\"upcoming\"",
)
.writable()
.doc("Deprecated: the part of the assignee's list that holds the task.");
/// User who assigned it.
pub const ASSIGNED_BY: TypedField<LinkOne> = TypedField::inline("assigned_by", &[Type::User])
    .opt_in()
    .doc("The user who assigned the task, or null.");
/// True if the task is completed.
pub const COMPLETED: TypedField<bool> = TypedField::flag("completed")
    .writable()
    .doc("True if the task is completed.");
/// Time at which the task was completed.
pub const COMPLETED_AT: TypedField<Time> =
    TypedField::time("completed_at").doc("Time of completion, in UTC, or null.");
/// User who completed it.
pub const COMPLETED_BY: TypedField<LinkOne> = TypedField::inline("completed_by", &[Type::User])
    .opt_in()
    .doc("The user who completed the task, or null.");
/// Time at which the task was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of creation, in UTC.");
/// Tasks that it waits for.
pub const DEPENDENCIES: TypedField<LinkMany> =
    TypedField::edges("dependencies", &[Type::Task], rel::DEPENDS, Direction::Out)
        .opt_in()
        .reference_only()
        .doc("The tasks that must be completed before this one.");
/// Tasks that wait for it.
pub const DEPENDENTS: TypedField<LinkMany> =
    TypedField::edges("dependents", &[Type::Task], rel::DEPENDS, Direction::In)
        .opt_in()
        .reference_only()
        .doc("The tasks that wait for this one.");
/// The instant it is due.
pub const DUE_AT: TypedField<Time> = TypedField::time("due_at")
    .writable()
    .doc("Time the task is due, in UTC, or null; written instead of due_on.");
/// Day on which the task is due.
pub const DUE_ON: TypedField<Date> = TypedField::date("due_on")
    .writable()
    .doc("The day the task is due, or null.");
/// Data that the requesting app keeps with the task.
pub const EXTERNAL: TypedField<Opaque> = TypedField::per_app("external").if_set().writable().doc(
    "Id and data that the requesting app keeps with the task; null if there are none, and \
             for tokens of no app.",
);
/// Description as rich text.
pub const HTML_NOTES: TypedField<str> = TypedField::html("html_notes")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// True if it is shown as a divider.
pub const IS_SEPARATOR: TypedField<bool> = TypedField::flag("is_rendered_as_separator")
    .opt_in()
    .doc("True if the task is shown as a divider among subtasks.");
/// True if the viewer likes the task.
pub const LIKED: TypedField<bool> =
    likes::liked(rel::LIKES).doc("True if the viewer likes the task.");
/// Old name of `liked`.
pub const HEARTED: TypedField<Opaque> =
    likes::shown_flag("hearted", rel::LIKES).doc("Old name of liked.");
/// Users who like the task.
pub const LIKES: TypedField<LinkMany> =
    likes::list("likes", rel::LIKES).doc("The likes of the task, each with its user.");
/// Old name of `likes`.
pub const HEARTS: TypedField<LinkMany> =
    likes::list("hearts", rel::LIKES).doc("Old name of likes.");
/// Number of users who like the task.
pub const NUM_LIKES: TypedField<Opaque> =
    likes::count("num_likes", rel::LIKES).doc("Number of users who like the task.");
/// Old name of `num_likes`.
pub const NUM_HEARTS: TypedField<Opaque> =
    likes::count("num_hearts", rel::LIKES).doc("Old name of num_likes.");
/// Number of direct subtasks.
pub const NUM_SUBTASKS: TypedField<Opaque> = TypedField::other(
    "num_subtasks",
    ValueType::Int,
    FieldSource::Count(rel::PARENT, Direction::In),
)
.opt_in()
.cost(2)
.doc("Number of direct subtasks; those of subtasks do not count.");
/// Time of the last change of the task.
pub const MODIFIED_AT: TypedField<Time> = TypedField::time("modified_at")
    .doc("Time of the last change, in UTC; moving the task between containers does not count.");
/// Description as plain text.
pub const NOTES: TypedField<str> = TypedField::text("notes", TEXT_MAX)
    .mentions(MentionRule::Links("html_notes"))
    .writable()
    .doc("The description as plain text.");
/// Instant at which work starts.
pub const START_AT: TypedField<Time> = TypedField::time("start_at")
    .writable()
    .doc("Time work starts, in UTC, or null; needs due_at.");
/// Day on which work starts.
pub const START_ON: TypedField<Date> = TypedField::date("start_on")
    .writable()
    .doc("The day work starts, or null; needs due_on or due_at.");
/// Tracked time in minutes: the sum of its time tracking entries, null without any.
pub const ACTUAL_TIME: TypedField<i64> = TypedField::int("actual_time_minutes")
    .default("null")
    .needs(&["time_tracking_entries:read"])
    .doc("Minutes tracked, summed over the time tracking entries of the task; null without any.");
/// User who is responsible.
pub const ASSIGNEE: TypedField<LinkOne> = TypedField::inline("assignee", &[Type::User])
    .writable()
    .doc("The user responsible for the task, or null.");
/// Section of the assignee's task list with the task.
pub const ASSIGNEE_SECTION: TypedField<LinkOne> =
    TypedField::edge("assignee_section", &[Type::Section], rel::MY_TASKS)
        .opt_in()
        .writable()
        .doc(
            "The section of the assignee's task list that holds the task; only the assignee sees \
             it.",
        );
/// Custom fields of the task, with its values.
pub const CUSTOM_FIELDS: TypedField<Opaque> = TypedField::other(
    "custom_fields",
    ValueType::Many(&[Type::CustomField]),
    FieldSource::Values("custom_fields"),
)
.record(Inclusion::Full)
.writable()
.doc("The custom fields of the task with their values; written as a map from gids to values.");
/// Custom type of the task.
pub const CUSTOM_TYPE: TypedField<LinkOne> = TypedField::inline("custom_type", &[Type::CustomType])
    .opt_in()
    .writable()
    .doc("The custom type of a task with the subtype custom, else null.");
/// Status that the task has within its custom type.
pub const CUSTOM_TYPE_STATUS: TypedField<LinkOne> =
    TypedField::inline("custom_type_status_option", &[Type::CustomTypeStatusOption])
        .opt_in()
        .writable()
        .listed_by(rel::CUSTOM_STATUS)
        .doc(
            "The status of the custom type; `completed` follows from it, and it from `completed`.",
        );
/// Users who follow the task.
pub const FOLLOWERS: TypedField<LinkMany> =
    TypedField::edges("followers", &[Type::User], rel::FOLLOWERS, Direction::Out)
        .on_create()
        .doc("The users who are notified of changes.");
/// The parent task.
pub const PARENT: TypedField<LinkOne> = TypedField::edge("parent", &[Type::Task], rel::PARENT)
    .on_create()
    .doc("The parent task, or null.");
/// Direct subtasks of the task.
pub const SUBTASKS: TypedField<LinkMany> =
    TypedField::edges("subtasks", &[Type::Task], rel::PARENT, Direction::In)
        .opt_in()
        .doc("The direct subtasks, in their order.");
/// Projects that the task is in.
pub const PROJECTS: TypedField<LinkMany> = {
    let mut f = TypedField::edges("projects", &[Type::Project], rel::SECTION, Direction::Out)
        .on_create()
        .doc("The projects that hold the task.");
    f.def.source = FieldSource::Aux(rel::SECTION, Direction::Out);
    f
};
/// Tags of the task.
pub const TAGS: TypedField<LinkMany> =
    TypedField::edges("tags", &[Type::Tag], rel::TAGS, Direction::Out)
        .on_create()
        .doc("The tags of the task.");
/// Workspace of the task.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .on_create()
    .doc("The workspace the task belongs to.");

const MEMBERSHIP_PROJECT: TypedField<Opaque> = TypedField::other(
    "project",
    ValueType::One(&[Type::Project]),
    FieldSource::ItemAux,
)
.compact()
.doc("A project that holds the task.");
const MEMBERSHIP_SECTION: TypedField<Opaque> = TypedField::other(
    "section",
    ValueType::One(&[Type::Section]),
    FieldSource::ItemTarget,
)
.compact()
.doc("The section of that project that holds the task.");
const MEMBERSHIP_PARTS: &[FieldDef] = &[MEMBERSHIP_PROJECT.def, MEMBERSHIP_SECTION.def];
/// Projects that the task is in, each with the section.
pub const MEMBERSHIPS: TypedField<LinkMany> =
    TypedField::items("memberships", MEMBERSHIP_PARTS, rel::SECTION)
        .on_create()
        .doc("The projects that hold the task, each with its section.");

/// The address of its page, which names one of its projects.
pub const PERMALINK_URL: TypedField<Opaque> = {
    let mut f = PERMALINK;
    f.def.source = FieldSource::Permalink(Some(rel::SECTION));
    f
};

/// Declaration of tasks.
pub static TASK: Resource = Resource {
    path: "tasks",
    read_scope: "tasks:read",
    flavor: RichTextProfile::Task,
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        SUBTYPE.def,
        CREATED_BY.def,
        APPROVAL_STATUS.def,
        ASSIGNEE_STATUS.def,
        ASSIGNED_BY.def,
        COMPLETED.def,
        COMPLETED_AT.def,
        COMPLETED_BY.def,
        CREATED_AT.def,
        DEPENDENCIES.def,
        DEPENDENTS.def,
        DUE_AT.def,
        DUE_ON.def,
        EXTERNAL.def,
        HTML_NOTES.def,
        HEARTED.def,
        HEARTS.def,
        IS_SEPARATOR.def,
        LIKED.def,
        LIKES.def,
        MEMBERSHIPS.def,
        MODIFIED_AT.def,
        NOTES.def,
        NUM_HEARTS.def,
        NUM_LIKES.def,
        NUM_SUBTASKS.def,
        START_AT.def,
        START_ON.def,
        ACTUAL_TIME.def,
        ASSIGNEE.def,
        ASSIGNEE_SECTION.def,
        CUSTOM_FIELDS.def,
        CUSTOM_TYPE.def,
        CUSTOM_TYPE_STATUS.def,
        FOLLOWERS.def,
        PARENT.def,
        SUBTASKS.def,
        PROJECTS.def,
        TAGS.def,
        WORKSPACE.def,
        PERMALINK_URL.def,
    ],
    ..Resource::of(Type::Task, "task")
};

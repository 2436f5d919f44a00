//! Tasks: the unit of work.
use super::{GID, LIKE_PARTS, PERMALINK, RESOURCE_TYPE};
use crate::registry::{
    Def, Dir, Field, Many, Mentions, NAME_MAX, One, Opaque, Rep, Resource, Shape, Source, TEXT_MAX,
    Type, rel,
};
use crate::rich::Flavor;
use crate::time::{Date, Time};

/// The kinds of task.
pub const SUBTYPES: &[&str] = &["default_task", "milestone", "approval"];
/// The states of an approval; all but `pending` mean completed.
pub const APPROVALS: &[&str] = &["pending", "approved", "rejected", "changes_requested"];

/// The most projects a task may be in.
pub const PROJECTS_MAX: usize = 20;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the task.");
/// The kind of task.
pub const SUBTYPE: Field<str> = Field::word("resource_subtype", SUBTYPES, "\"default_task\"")
    .compact()
    .writable()
    .doc("The kind of task.");
/// Who created it.
pub const CREATED_BY: Field<One> = Field::inline("created_by", &[Type::User])
    .opt_in()
    .bare()
    .doc("Who created it.");
/// The state of an approval.
pub const APPROVAL_STATUS: Field<str> = Field::word_or_null("approval_status", APPROVALS)
    .if_set()
    .writable()
    .doc("The state of an approval task.");
/// Old bucket of the assignee's list.
pub const ASSIGNEE_STATUS: Field<str> = Field::word(
    "assignee_status",
    &["today", "upcoming", "later", "new", "inbox"],
    "\"upcoming\"",
)
.writable()
.doc("Deprecated bucket of the assignee's list.");
/// Who assigned it.
pub const ASSIGNED_BY: Field<One> = Field::inline("assigned_by", &[Type::User])
    .opt_in()
    .doc("Who assigned it.");
/// Done.
pub const COMPLETED: Field<bool> = Field::flag("completed")
    .writable()
    .doc("Whether the task is done.");
/// When it was done.
pub const COMPLETED_AT: Field<Time> =
    Field::time("completed_at").doc("When the task was done, or null.");
/// Who did it.
pub const COMPLETED_BY: Field<One> = Field::inline("completed_by", &[Type::User])
    .opt_in()
    .doc("Who completed it.");
/// When it was created.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When the task was created.");
/// Tasks it waits for.
pub const DEPENDENCIES: Field<Many> =
    Field::edges("dependencies", &[Type::Task], rel::DEPENDS, Dir::Out)
        .opt_in()
        .bare()
        .doc("Tasks this one waits for.");
/// Tasks that wait for it.
pub const DEPENDENTS: Field<Many> =
    Field::edges("dependents", &[Type::Task], rel::DEPENDS, Dir::In)
        .opt_in()
        .bare()
        .doc("Tasks waiting for this one.");
/// The instant it is due.
pub const DUE_AT: Field<Time> = Field::time("due_at")
    .writable()
    .doc("The instant the task is due; exclusive with due_on.");
/// The day it is due.
pub const DUE_ON: Field<Date> = Field::date("due_on")
    .writable()
    .doc("The day the task is due.");
/// Data of an app.
pub const EXTERNAL: Field<Opaque> = Field::per_app("external")
    .if_set()
    .writable()
    .doc("What the app that asks keeps with the task: the id it calls it by, and data. Null where it is named and there is nothing, and for tokens of no app.");
/// Description as rich text.
pub const HTML_NOTES: Field<str> = Field::html("html_notes")
    .opt_in()
    .writable()
    .doc("The description as rich text.");
/// Shown as a divider.
pub const IS_SEPARATOR: Field<bool> = Field::flag("is_rendered_as_separator")
    .opt_in()
    .doc("Whether it is shown as a divider among subtasks.");
/// The viewer likes it.
pub const LIKED: Field<bool> = {
    let mut f = Field::flag("liked")
        .writable()
        .doc("Whether the viewer likes the task.");
    f.def.source = Source::HasViewer(rel::LIKES);
    f
};
/// Old name of `liked`.
pub const HEARTED: Field<Opaque> =
    Field::other("hearted", Shape::Flag, Source::HasViewer(rel::LIKES)).doc("Old name of liked.");
/// Who likes it.
pub const LIKES: Field<Many> =
    Field::items("likes", LIKE_PARTS, rel::LIKES).doc("Who likes the task.");
/// Old name of `likes`.
pub const HEARTS: Field<Many> =
    Field::items("hearts", LIKE_PARTS, rel::LIKES).doc("Old name of likes.");
/// How many like it.
pub const NUM_LIKES: Field<Opaque> =
    Field::other("num_likes", Shape::Int, Source::Count(rel::LIKES, Dir::Out))
        .doc("How many users like the task.");
/// Old name of `num_likes`.
pub const NUM_HEARTS: Field<Opaque> = Field::other(
    "num_hearts",
    Shape::Int,
    Source::Count(rel::LIKES, Dir::Out),
)
.doc("Old name of num_likes.");
/// How many direct subtasks.
pub const NUM_SUBTASKS: Field<Opaque> = Field::other(
    "num_subtasks",
    Shape::Int,
    Source::Count(rel::PARENT, Dir::In),
)
.opt_in()
.cost(2)
.doc("The number of direct subtasks.");
/// When it last changed.
pub const MODIFIED_AT: Field<Time> = Field::time("modified_at")
    .doc("When the task last changed; moving it between containers does not count.");
/// Description as plain text.
pub const NOTES: Field<str> = Field::text("notes", TEXT_MAX)
    .mentions(Mentions::Links("html_notes"))
    .writable()
    .doc("The description as plain text.");
/// The instant work starts.
pub const START_AT: Field<Time> = Field::time("start_at")
    .writable()
    .doc("The instant work starts; needs due_at.");
/// The day work starts.
pub const START_ON: Field<Date> = Field::date("start_on")
    .writable()
    .doc("The day work starts; needs due_on or due_at.");
/// Minutes tracked.
pub const ACTUAL_TIME: Field<Opaque> =
    Field::other("actual_time_minutes", Shape::Int, Source::Always("null"))
        .needs(&["time_tracking_entries:read"])
        .doc("Minutes tracked, summed over the task's time entries.");
/// Who is responsible.
pub const ASSIGNEE: Field<One> = Field::inline("assignee", &[Type::User])
    .writable()
    .doc("The user responsible.");
/// Where it is in the assignee's list.
pub const ASSIGNEE_SECTION: Field<One> =
    Field::edge("assignee_section", &[Type::Section], rel::MY_TASKS)
        .opt_in()
        .writable()
        .doc("The section of the assignee's task list; only the assignee sees it.");
/// Custom field values.
pub const CUSTOM_FIELDS: Field<Opaque> = Field::other(
    "custom_fields",
    Shape::Many(&[Type::CustomField]),
    Source::Values("custom_fields"),
)
.record(Rep::Full)
.writable()
.doc("Its custom fields with their values; written as a map from gids to values.");
/// Custom type.
pub const CUSTOM_TYPE: Field<Opaque> =
    Field::other("custom_type", Shape::Json, Source::Always("null"))
        .opt_in()
        .constant()
        .doc("The custom type, or null.");
/// Status of the custom type.
pub const CUSTOM_TYPE_STATUS: Field<Opaque> = Field::other(
    "custom_type_status_option",
    Shape::Json,
    Source::Always("null"),
)
.opt_in()
.constant()
.doc("The status of the custom type, or null.");
/// Who follows it.
pub const FOLLOWERS: Field<Many> =
    Field::edges("followers", &[Type::User], rel::FOLLOWERS, Dir::Out)
        .on_create()
        .doc("Users following the task.");
/// The parent task.
pub const PARENT: Field<One> = Field::edge("parent", &[Type::Task], rel::PARENT)
    .on_create()
    .doc("The parent task, or null.");
/// Projects holding it.
pub const PROJECTS: Field<Many> = {
    let mut f = Field::edges("projects", &[Type::Project], rel::SECTION, Dir::Out)
        .on_create()
        .doc("Projects holding the task.");
    f.def.source = Source::Aux(rel::SECTION, Dir::Out);
    f
};
/// Its tags.
pub const TAGS: Field<Many> = Field::edges("tags", &[Type::Tag], rel::TAGS, Dir::Out)
    .on_create()
    .doc("Its tags.");
/// The workspace it belongs to.
pub const WORKSPACE: Field<One> = Field::home("workspace")
    .on_create()
    .doc("The workspace it belongs to.");

const MEMBERSHIP_PROJECT: Field<Opaque> =
    Field::other("project", Shape::One(&[Type::Project]), Source::ItemAux)
        .compact()
        .doc("The project.");
const MEMBERSHIP_SECTION: Field<Opaque> =
    Field::other("section", Shape::One(&[Type::Section]), Source::ItemTarget)
        .compact()
        .doc("The section of that project.");
const MEMBERSHIP_PARTS: &[Def] = &[MEMBERSHIP_PROJECT.def, MEMBERSHIP_SECTION.def];
/// Projects holding it, each with the section.
pub const MEMBERSHIPS: Field<Many> = Field::items("memberships", MEMBERSHIP_PARTS, rel::SECTION)
    .on_create()
    .doc("Projects holding the task, each with its section.");

/// The declaration.
pub static TASK: Resource = Resource {
    path: "tasks",
    read_scope: "tasks:read",
    flavor: Flavor::Task,
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
        PROJECTS.def,
        TAGS.def,
        WORKSPACE.def,
        PERMALINK.def,
    ],
    ..Resource::of(Type::Task, "task")
};

//! Tracked time: entries of minutes that users spent on tasks, and the categories of such entries.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    Direction, LinkMany, LinkOne, NAME_MAX, Resource, TEXT_MAX, Type, TypedField, rel,
};
use crate::model::time::{Date, Time};

/// Display colours of categories.
pub const CATEGORY_COLORS: &[&str] = &[
    "none",
    "red",
    "orange",
    "yellow-orange",
    "yellow",
    "yellow-green",
    "green",
    "blue-green",
    "aqua",
    "blue",
    "indigo",
    "purple",
    "magenta",
    "hot-pink",
    "pink",
    "cool-gray",
];

/// Display name of a category.
pub const CATEGORY_NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the category.");
/// Display colour of a category.
pub const CATEGORY_COLOR: TypedField<str> = TypedField::word("color", CATEGORY_COLORS, "\"none\"")
    .compact()
    .writable()
    .doc("The display colour.");
/// True if new entries cannot get the category.
pub const CATEGORY_IS_ARCHIVED: TypedField<bool> = TypedField::flag("is_archived")
    .writable()
    .doc("True if new entries cannot get the category.");

/// Declaration of time tracking categories.
pub static TIME_TRACKING_CATEGORY: Resource = Resource {
    path: "time_tracking_categories",
    noun: "time tracking category",
    read_scope: "time_tracking_categories:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        CATEGORY_NAME.def,
        CATEGORY_COLOR.def,
        CATEGORY_IS_ARCHIVED.def,
    ],
    ..Resource::of(Type::TimeTrackingCategory, "time_tracking_category")
};

/// States of the approval of tracked time.
pub const APPROVAL_STATES: &[&str] = &["DRAFT", "SUBMITTED", "APPROVED", "REJECTED"];
/// State of the approval of new entries, as JSON.
pub const DRAFT: &str = "\"DRAFT\"";
/// Words that say whether a client pays for the time.
pub const BILLABLE_STATES: &[&str] = &["billable", "nonBillable", "notApplicable"];
/// Maximum number of minutes of one entry: the minutes of a leap year.
pub const MINUTES_MAX: i64 = 366 * 24 * 60;

/// Time that was spent, in minutes.
pub const DURATION: TypedField<i64> = TypedField::int("duration_minutes")
    .compact()
    .writable()
    .doc("The minutes spent: from 1 to those of a leap year.");
/// Day on which the time was spent.
pub const ENTERED_ON: TypedField<Date> = TypedField::date("entered_on")
    .compact()
    .writable()
    .doc("The day the time was spent; by default the present day in UTC.");
/// Project to which the time is attributed.
pub const ATTRIBUTABLE_TO: TypedField<LinkOne> = TypedField::inline(
    "attributable_to",
    &[Type::Project],
)
.compact()
.writable()
.listed_by(rel::TIME_ON_PROJECT)
.doc("The project whose budget the time counts to; by default the first project of the task.");
/// User who spent the time.
pub const CREATED_BY: TypedField<LinkOne> = TypedField::inline("created_by", &[Type::User])
    .compact()
    .listed_by(rel::TIME_OF_USER)
    .doc("The user who spent the time.");
/// Categories of the entry.
pub const CATEGORIES: TypedField<LinkMany> = TypedField::edges(
    "categories",
    &[Type::TimeTrackingCategory],
    rel::TIME_CATEGORIES,
    Direction::Out,
)
.compact()
.writable()
.doc("The categories of the time.");
/// The task on which the time was spent.
pub const TASK: TypedField<LinkOne> = TypedField::inline("task", &[Type::Task])
    .listed_by(rel::TIME_ON_TASK)
    .doc("The task the time was spent on.");
/// Time at which the entry was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("When the entry was created.");
/// State of the approval of the week in which the time was spent.
pub const APPROVAL_STATUS: TypedField<str> =
    TypedField::word("approval_status", APPROVAL_STATES, DRAFT)
        .doc("The state of the approval of its user's week.");
/// Word that says whether a client pays for the time.
pub const BILLABLE_STATUS: TypedField<str> =
    TypedField::word("billable_status", BILLABLE_STATES, "\"notApplicable\"")
        .writable()
        .doc("The billing of the time: billable, nonBillable or notApplicable.");
/// Description as plain text.
pub const DESCRIPTION: TypedField<str> = TypedField::text("description", TEXT_MAX)
    .writable()
    .doc("The description as plain text.");

/// Declaration of time tracking entries.
pub static TIME_TRACKING_ENTRY: Resource = Resource {
    path: "time_tracking_entries",
    noun: "time tracking entry",
    read_scope: "time_tracking_entries:read",
    title: None,
    container: Some("task"),
    ordered_by: Some("entered_on"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        DURATION.def,
        ENTERED_ON.def,
        ATTRIBUTABLE_TO.def,
        CREATED_BY.def,
        CATEGORIES.def,
        TASK.def,
        CREATED_AT.def,
        APPROVAL_STATUS.def,
        BILLABLE_STATUS.def,
        DESCRIPTION.def,
    ],
    ..Resource::of(Type::TimeTrackingEntry, "time_tracking_entry")
};

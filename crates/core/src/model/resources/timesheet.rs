//! Timesheet approval statuses: the approval of the time that a user tracked in a week.
use super::time_tracking::{APPROVAL_STATES, DRAFT};
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{LinkOne, Resource, Type, TypedField, rel};
use crate::model::time::{Date, Time};

/// Time at which the timesheet approval was created.
pub const CREATED_AT: TypedField<Time> = TypedField::time("created_at")
    .compact()
    .doc("Time of its creation.");
/// User who tracked the time.
pub const USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .compact()
    .on_create()
    .listed_by(rel::WEEK_OF_USER)
    .doc("The user whose time it is.");
/// Workspace in which the time was tracked.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .compact()
    .doc("The workspace in which the time was tracked.");
/// Monday of the week.
pub const START_DATE: TypedField<Date> = TypedField::date("start_date")
    .compact()
    .on_create()
    .doc("The Monday of the week.");
/// Sunday of the week.
pub const END_DATE: TypedField<Date> = TypedField::date("end_date")
    .compact()
    .on_create()
    .doc("The Sunday of the week.");
/// State of the approval.
pub const APPROVAL_STATUS: TypedField<str> =
    TypedField::word("approval_status", APPROVAL_STATES, DRAFT)
        .compact()
        .doc("The state of the approval.");

/// Declaration of timesheet approval statuses.
pub static TIMESHEET_APPROVAL_STATUS: Resource = Resource {
    path: "timesheet_approval_statuses",
    noun: "timesheet approval status",
    read_scope: "timesheet_approval_statuses:read",
    title: None,
    ordered_by: Some("start_date"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        CREATED_AT.def,
        USER.def,
        WORKSPACE.def,
        START_DATE.def,
        END_DATE.def,
        APPROVAL_STATUS.def,
    ],
    ..Resource::of(Type::TimesheetApprovalStatus, "timesheet_approval_status")
};

//! The date rules of tasks and projects: dates that a request may change, and the dates that follow from them.
//!
//! A due or start instant also sets its UTC day; a day alone has no instant. If one of the two inputs for the start or the
//! due is `null` and the other has a value, the value counts. Clearing: `due_on: null` clears the due date and time;
//! `due_at: null` does so if there was a time, and else changes nothing; the same for the start. Without a due date there is
//! no start.

use crate::model::time::{Date, Time};
use thiserror::Error;

/// Start and due of a task. `start_on` and `due_on` are the days of `start_at` and `due_at` if these are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The day work starts.
    pub start_on: Option<Date>,
    /// The instant work starts.
    pub start_at: Option<Time>,
    /// The day the task is due.
    pub due_on: Option<Date>,
    /// The instant the task is due.
    pub due_at: Option<Time>,
}

/// Change of one field by a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The request does not have the field.
    #[default]
    Absent,
    /// The request clears the field: `null`.
    Null,
    /// The request sets this value.
    Set(T),
}

/// Changes of the dates of a task by a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulePatch {
    /// The day work starts.
    pub start_on: Patch<Date>,
    /// The instant work starts.
    pub start_at: Patch<Time>,
    /// The day the task is due.
    pub due_on: Patch<Date>,
    /// The instant the task is due.
    pub due_at: Patch<Time>,
}

/// Start and due of a project: days only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectDates {
    /// The day work starts.
    pub start_on: Option<Date>,
    /// The day the project is due.
    pub due_on: Option<Date>,
}

/// Changes of the dates of a project by a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectDatesPatch {
    /// The day work starts.
    pub start_on: Patch<Date>,
    /// The day the project is due.
    pub due_on: Patch<Date>,
}

/// Reason why dates were refused. The text is the whole message, field names included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// Both `due_on` and `due_at` have a value.
    #[error("You may only provide one of due_on or due_at!")]
    TwoDues,
    /// Both `start_on` and `start_at` have a value.
    #[error("You may only provide one of start_on or start_at!")]
    TwoStarts,
    /// A start for a milestone.
    #[error("A milestone has no start: leave out start_on and start_at, or send null")]
    MilestoneStart,
    /// `start_on` without `due_on` or `due_at` in the request.
    #[error("start_on: Needs due_on or due_at in the same request")]
    StartOnNeedsDue,
    /// `start_at` without `due_at` in the request.
    #[error("start_at: Needs due_at in the same request")]
    StartAtNeedsDueAt,
    /// The `start_on` of a project without `due_on` in the request.
    #[error("start_on: Needs due_on in the same request")]
    ProjectStartNeedsDueOn,
    /// The start would be after the due date or time.
    #[error("The start must not be after the due date")]
    StartAfterDue,
    /// The start and due day of a project would be the same.
    #[error("start_on: Must differ from due_on")]
    ProjectSameDay,
}

impl<T> Patch<T> {
    const fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }
}

/// Returns the dates of a task after a change. The result has no start for a milestone.
///
/// # Errors
/// Returns an error if the request breaks a rule, or the start would be after the due date or time.
pub fn apply_schedule(
    current: Schedule,
    change: SchedulePatch,
    milestone: bool,
) -> Result<Schedule, ScheduleError> {
    if change.due_on.is_set() && change.due_at.is_set() {
        return Err(ScheduleError::TwoDues);
    }
    if change.start_on.is_set() && change.start_at.is_set() {
        return Err(ScheduleError::TwoStarts);
    }
    if milestone && (change.start_on.is_set() || change.start_at.is_set()) {
        return Err(ScheduleError::MilestoneStart);
    }
    if change.start_on.is_set() && !change.due_on.is_set() && !change.due_at.is_set() {
        return Err(ScheduleError::StartOnNeedsDue);
    }
    if change.start_at.is_set() && !change.due_at.is_set() {
        return Err(ScheduleError::StartAtNeedsDueAt);
    }
    let (due_on, due_at) = end(
        (current.due_on, current.due_at),
        change.due_on,
        change.due_at,
    );
    let (start_on, mut start_at) = end(
        (current.start_on, current.start_at),
        change.start_on,
        change.start_at,
    );
    if milestone || due_on.is_none() {
        return Ok(Schedule {
            due_on,
            due_at,
            ..Schedule::default()
        });
    }
    if due_at.is_none() {
        // A due day without a time: the start keeps its day only.
        start_at = None;
    }
    let late = match (start_at, due_at) {
        (Some(start), Some(due)) => start > due,
        _ => start_on > due_on, // no start is before every due day
    };
    if late {
        return Err(ScheduleError::StartAfterDue);
    }
    Ok(Schedule {
        start_on,
        start_at,
        due_on,
        due_at,
    })
}

/// Returns one end (start or due) after a change: its day, and its instant if it has one.
fn end(
    current: (Option<Date>, Option<Time>),
    on: Patch<Date>,
    at: Patch<Time>,
) -> (Option<Date>, Option<Time>) {
    match (on, at) {
        (_, Patch::Set(time)) => (Some(Date::of(time)), Some(time)),
        (Patch::Set(day), _) => (Some(day), None),
        (Patch::Null, _) => (None, None),
        (Patch::Absent, Patch::Null) if current.1.is_some() => (None, None),
        (Patch::Absent, _) => current,
    }
}

/// Returns the dates of a project after a change.
///
/// # Errors
/// Returns an error if the request breaks a rule, or the start would not be before the due day.
pub fn apply_project_dates(
    current: ProjectDates,
    change: ProjectDatesPatch,
) -> Result<ProjectDates, ScheduleError> {
    if change.start_on.is_set() && !change.due_on.is_set() {
        return Err(ScheduleError::ProjectStartNeedsDueOn);
    }
    let day = |now, change| match change {
        Patch::Absent => now,
        Patch::Null => None,
        Patch::Set(day) => Some(day),
    };
    let Some(due) = day(current.due_on, change.due_on) else {
        return Ok(ProjectDates::default());
    };
    let start_on = day(current.start_on, change.start_on);
    match start_on {
        Some(start) if start > due => Err(ScheduleError::StartAfterDue),
        Some(start) if start == due => Err(ScheduleError::ProjectSameDay),
        _ => Ok(ProjectDates {
            start_on,
            due_on: Some(due),
        }),
    }
}

#[cfg(test)]
mod tests;

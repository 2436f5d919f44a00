//! Inputs of the operations that copy tasks and projects.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::table::template_copies::TEAM;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::date_shift::DateAnchor;
use workgraph_core::jobs::duplication::CopyOptions;
use workgraph_core::model::registry::NAME_MAX;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{flag, object, string};

const TASK_PARTS: Input<Vec<&'static str>> = Input::words(
    "include",
    &CopyOptions::NAMES,
    "The parts of the task that the copy has besides its name.",
);
const PROJECT_PARTS: Input<Vec<&'static str>> = Input::words(
    "include",
    &[
        "allocations",
        "forms",
        "members",
        "notes",
        "permissions",
        "task_assignee",
        "task_attachments",
        "task_dates",
        "task_dependencies",
        "task_followers",
        "task_notes",
        "task_projects",
        "task_subtasks",
        "task_tags",
        "task_templates",
        "task_type_default",
    ],
    "The parts of the project, and of its tasks, that the copy has besides sections and names of tasks.",
);
const TASK_NAME: Input<String> = Input::text(
    "name",
    NAME_MAX,
    "The name of the copy; `Duplicate of` and the name of the task without it.",
);
const PROJECT_NAME: Input<String> =
    Input::text("name", NAME_MAX, "The name of the copy.").required();
const SCHEDULE: Input<Deferred<Schedule>> = Input::parsed(
    InputPlace::Body,
    "schedule_dates",
    InputType::Structure,
    read_schedule,
    "The new dates of the tasks, with `task_dates` in `include`: an object with `should_skip_weekends`, and with \
     `start_on` or `due_on`, the day at which they begin or end.",
);

/// New dates of copied tasks.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// The day on which they begin or end.
    pub(super) anchor: DateAnchor,
    pub(super) skip_weekends: bool,
}

fn read_schedule(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Deferred<Schedule>>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    if object(value).is_none() {
        return Err(DomainError::field(
            input.name,
            "Value is not a JSON object; it is {should_skip_weekends, start_on or due_on}",
        ));
    }
    Ok(Some(Deferred::new(parse_schedule(input, value))))
}

fn parse_schedule(input: &InputDef, value: &Value) -> Result<Schedule, DomainError> {
    let part = |name: &str| value.get(name).filter(|v| !v.is_null());
    let day = |name: &str| -> Result<Option<i32>, DomainError> {
        let field = format!("{}: {name}", input.name);
        let day = |v| match Date::parse(string(&field, v)?) {
            Ok(day) => Ok(day.days()),
            Err(e) => Err(DomainError::field(&field, e)),
        };
        part(name).map(day).transpose()
    };
    let skips = format!("{}: should_skip_weekends", input.name);
    let skip = part("should_skip_weekends").ok_or_else(|| DomainError::missing(&skips))?;
    let skip_weekends = flag(&skips, skip)?;
    let anchor = match (day("start_on")?, day("due_on")?) {
        (Some(day), None) => DateAnchor::Start(day),
        (None, Some(day)) => DateAnchor::Due(day),
        (None, None) => {
            let field = format!("{}: start_on", input.name);
            return Err(DomainError::missing(&field));
        }
        (Some(_), Some(_)) => {
            return Err(DomainError::field(
                input.name,
                "You may only provide one of start_on or due_on!",
            ));
        }
    };
    Ok(Schedule {
        anchor,
        skip_weekends,
    })
}

/// A task, and the properties of its copy.
pub(super) struct DuplicateTask {
    pub(super) task: Named<Gid>,
    pub(super) parts: Deferred<Vec<&'static str>>,
    pub(super) name: Deferred<Option<String>>,
}

impl OperationInput for DuplicateTask {
    const INPUTS: &'static [&'static InputDef] =
        &[&path::TASK.def, &TASK_NAME.def, &TASK_PARTS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            parts: Deferred::new(inputs.or_default(&TASK_PARTS)),
            name: inputs.deferred_optional(&TASK_NAME),
        })
    }
}

/// A project, and the properties of its copy.
pub(super) struct DuplicateProject {
    pub(super) project: Named<Gid>,
    pub(super) team: Option<Named<Gid>>,
    pub(super) parts: Deferred<Vec<&'static str>>,
    schedule: Deferred<Option<Deferred<Schedule>>>,
    pub(super) name: Deferred<String>,
}

impl OperationInput for DuplicateProject {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PROJECT.def,
        &PROJECT_NAME.def,
        &TEAM.def,
        &PROJECT_PARTS.def,
        &SCHEDULE.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT)?,
            team: inputs.optional(&TEAM)?,
            parts: Deferred::new(inputs.or_default(&PROJECT_PARTS)),
            schedule: inputs.deferred_optional(&SCHEDULE),
            name: inputs.deferred(&PROJECT_NAME),
        })
    }
}

impl DuplicateProject {
    /// Returns the new dates of the tasks, which may be given only if the copy has dates.
    pub(super) fn schedule(&self, has_dates: bool) -> Result<Option<Schedule>, DomainError> {
        match self.schedule.get()? {
            None => Ok(None),
            Some(_) if !has_dates => Err(DomainError::field(
                SCHEDULE.def.name,
                "Needs task_dates in include",
            )),
            Some(schedule) => schedule.get().copied().map(Some),
        }
    }
}

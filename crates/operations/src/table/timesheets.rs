//! Approval of the time that users tracked, week by week.
use super::list_filters::day_filter;
use super::record_family::{RecordChange, RecordFamily, RecordRefs, Rows, workspace_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, one_of, path,
};
use crate::operation::rows::update;
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{TEXT_MAX, Type};
use workgraph_core::model::resources::timesheet;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue, split};
use workgraph_core::rules::timesheet_rules::{self, WeekRef, monday_of};
use workgraph_core::storage::{ReadQuery, ReadView, RowFilter};

/// Operations on timesheet approval statuses: a part of [`TABLES`](super::TABLES).
pub static TIMESHEETS: &[Operation] = &[
    Lists::<Weeks>::list("getTimesheetApprovalStatuses", LIST)
        .filtered_by(&[&FROM_DATE, &TO_DATE, &STATES])
        .scope("timesheet_approval_statuses:read"),
    Rows::<Weeks>::create("createTimesheetApprovalStatus", LIST)
        .scope("timesheet_approval_statuses:write")
        .paid_only(PREMIUM),
    Rows::<Weeks>::get("getTimesheetApprovalStatus", RECORD)
        .scope("timesheet_approval_statuses:read"),
    update(
        "updateTimesheetApprovalStatus",
        RECORD,
        Type::TimesheetApprovalStatus,
        &Steps::new(update_needs, change_state),
    )
    .scope("timesheet_approval_statuses:write")
    .paid_only(PREMIUM),
];

const LIST: &str = "/timesheet_approval_statuses";
const RECORD: &str = "/timesheet_approval_statuses/{timesheet_approval_status_gid}";
const PREMIUM: &str = "Timesheets are not available for free users.";

/// The family of weeks; it is also their list.
struct Weeks;

impl RecordFamily for Weeks {
    const TYPE: Type = Type::TimesheetApprovalStatus;
    const PATH: &'static Input<Named<Gid>> = &path::TIMESHEET_APPROVAL_STATUS;
    const PARENT: &'static Input<Named<Gid>> =
        &workspace_parent("The workspace in which the time was tracked.");
    const PARENT_LEVEL: Level = Level::Viewer;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["user", "start_date", "end_date"],
        "The user, and the Monday and the Sunday of the week.",
    );

    fn needs(
        call: &RequestContext<'_>,
        at: &RecordRefs,
        fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        match fields.and_then(|fields| week(call, at, fields)) {
            Some(week) => week.needs(query),
            None => query,
        }
    }

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        let (call, view, draft) = (change.call, change.view, &mut change.draft);
        let first = draft.get(timesheet::START_DATE);
        let first = first.ok_or_else(|| DomainError::missing("start_date"))?;
        if monday_of(first) != Some(first) {
            let reason = format_args!("{first} is not a Monday");
            return Err(DomainError::field("start_date", reason));
        }
        let last = draft.get(timesheet::END_DATE);
        if last.is_none() || last != first.add_days(6) {
            let reason = format_args!("It is not the Sunday of the week of {first}");
            return Err(DomainError::field("end_date", reason));
        }
        let workspace = change.parent.map(|workspace| workspace.gid);
        let may = draft.get(timesheet::USER) == Some(call.user_gid())
            || workspace.is_some_and(|workspace| view.level(workspace) >= Level::Admin);
        if !may {
            return Err(DomainError::forbidden(
                "You do not have permission to keep the timesheets of this user.",
            ));
        }
        draft.set(timesheet::CREATED_AT, call.now);
        let at = change.at.as_ref();
        if let Some(week) = at.and_then(|at| week(call, at, fields)) {
            if let Some(other) = week.read(view) {
                let reason = format_args!("The week has an approval status already: {}", other.gid);
                return Err(DomainError::field("start_date", reason));
            }
            week.enlist(&mut change.work, view, draft.gid);
        }
        Ok(())
    }
}

/// Returns the week that a body names.
fn week(call: &RequestContext<'_>, at: &RecordRefs, fields: &CheckedInputs) -> Option<WeekRef> {
    let (Some(InputValue::Ref(user)), Some(InputValue::Stored(day))) =
        (fields.get("user"), fields.get("start_date"))
    else {
        return None;
    };
    let user = call.parse_user_ref("user", user).ok()?;
    let day = Date::parse(day.trim_matches('"')).ok()?;
    WeekRef::of(user, at.parent.clone(), day)
}

/// Inputs of a change of the state of a week.
struct ChangeState {
    week: Named<Gid>,
    state: &'static str,
}

impl OperationInput for ChangeState {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::TIMESHEET_APPROVAL_STATUS.def,
        &STATE.def,
        &MESSAGE.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        inputs.optional(&MESSAGE)?;
        Ok(Self {
            week: inputs.required(&path::TIMESHEET_APPROVAL_STATUS)?,
            state: inputs.required(&STATE)?,
        })
    }
}

/// States as clients write them.
const WRITTEN_STATES: &[&str] = &["submitted", "draft", "approved", "rejected"];
const STATE: Input<&'static str> = Input::word(
    InputPlace::Body,
    "approval_status",
    WRITTEN_STATES,
    "The new state of the approval.",
)
.required();
const MESSAGE: Input<String> = Input::text(
    "message",
    TEXT_MAX,
    "A message to the user. Records have none, and nothing is sent.",
);

fn update_needs(call: &RequestContext<'_>, input: &ChangeState) -> Result<ReadQuery, DomainError> {
    let week = input.week.node_ref();
    let query = call.read_query().node(week.clone());
    Ok(timesheet_rules::entries_needs(&week, query))
}

fn change_state(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ChangeState,
) -> Result<Decision, DomainError> {
    let week = call.named_node(view, &input.week, Level::Editor)?;
    let mut work = call.change_builder();
    timesheet_rules::change_state(&mut work, view, week, &input.state.to_ascii_uppercase())?;
    Ok(Decision::about(work.changes, week.gid))
}

impl RecordList for Weeks {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            timesheet::USER,
            "user",
            &[Type::User],
            "Only weeks of this user.",
        ),
        ListAnchor::workspace("The workspace whose weeks are listed.").required(),
    ];
}

const FROM_DATE: Input<RowFilter> = day_filter!(
    "from_date",
    DayFrom,
    timesheet::END_DATE,
    "Only weeks that end on this day or later."
);
const TO_DATE: Input<RowFilter> = day_filter!(
    "to_date",
    DayUntil,
    timesheet::START_DATE,
    "Only weeks that begin on this day or earlier."
);
const STATES: Input<RowFilter> = Input::filter(
    "approval_statuses",
    InputType::Words(WRITTEN_STATES),
    |input, inputs| {
        let Some(text) = inputs.query_text(input)? else {
            return Ok(None);
        };
        let state = |word: String| {
            let state = one_of(input, &word.to_ascii_lowercase())?;
            Ok(format!("\"{}\"", state.to_ascii_uppercase()))
        };
        let values: Result<Vec<String>, DomainError> = split(text).into_iter().map(state).collect();
        let def = &timesheet::APPROVAL_STATUS.def;
        Ok(Some(RowFilter::OneOf {
            key: def.name,
            default: def.default,
            values: values?,
        }))
    },
    "Only weeks in one of these states, separated by commas.",
);

#[cfg(test)]
mod tests;

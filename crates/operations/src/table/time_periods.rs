//! Time periods, which every workspace has.
use crate::operation::inputs::{Input, InputDef, InputPlace, InputReader, Named, OperationInput};
use crate::operation::rows::computed_list;
use crate::operation::steps::Description;
use crate::operation::{ListRequest, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::time_period;
use workgraph_core::model::time::Date;
use workgraph_core::storage::{ListSource, PageQuery, RowFilter};

/// Operations on time periods: a part of [`TABLES`](super::TABLES).
pub static TIME_PERIODS: &[Operation] = &[
    computed_list(
        "getTimePeriods",
        "/time_periods",
        Type::TimePeriod,
        &Description::new(time_periods),
    ),
    get(
        "getTimePeriod",
        "/time_periods/{time_period_gid}",
        Type::TimePeriod,
    ),
];

const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "The workspace whose time periods are listed.",
)
.required();
const START_ON: Input<Date> = Input::day(
    "start_on",
    "Only periods that start on this day or later; by default from the year before the present one.",
);
const END_ON: Input<Date> = Input::day(
    "end_on",
    "Only periods that end on this day or earlier; by default to the year after the present one.",
);

/// Inputs of a list of time periods.
struct ListPeriods {
    workspace: Named<Gid>,
    start_on: Option<Date>,
    end_on: Option<Date>,
}

impl OperationInput for ListPeriods {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def, &START_ON.def, &END_ON.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&WORKSPACE)?,
            start_on: inputs.optional(&START_ON)?,
            end_on: inputs.optional(&END_ON)?,
        })
    }
}

fn time_periods(
    call: &RequestContext<'_>,
    input: &ListPeriods,
) -> Result<ListRequest, DomainError> {
    let year = |day: Date| day.year_month_day().0;
    let present = year(Date::of(call.now));
    let (start, end) = (input.start_on.map(year), input.end_on.map(year));
    let first_year = start.unwrap_or_else(|| end.map_or(present, |end| end.min(present)) - 1);
    let last_year = end.unwrap_or_else(|| first_year.max(present) + 1);
    let mut query = call.read_query();
    let source = ListSource::TimePeriods {
        anchor: query.add_ref(input.workspace.node),
        first_year,
        last_year,
    };
    let mut page = PageQuery::of(source, true, 0);
    let from = |day| RowFilter::DayFrom(time_period::START_ON.def.name, day);
    let until = |day| RowFilter::DayUntil(time_period::END_ON.def.name, day);
    page.filters.extend(input.start_on.map(from));
    page.filters.extend(input.end_on.map(until));
    Ok(ListRequest {
        query,
        page,
        computed: false,
        anchor: WORKSPACE.def.name,
        anchor_types: WORKSPACE.def.types(),
        referenced: Vec::new(),
    })
}

#[cfg(test)]
mod tests;

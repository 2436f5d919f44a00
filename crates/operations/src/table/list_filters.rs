//! Filters of lists shared by several operations.
use crate::operation::inputs::{Input, InputType};
use workgraph_core::storage::RowFilter;

/// Filter by the time of completion.
pub(super) const COMPLETED_SINCE: Input<RowFilter> = Input::filter(
    "completed_since",
    InputType::Instant,
    |input, inputs| Ok(inputs.query_time(input)?.map(RowFilter::CompletedSince)),
    "Only tasks that are incomplete, or were completed at this time or later. `now` is accepted.",
);

/// Filter by the time of the last change.
pub(super) const MODIFIED_SINCE: Input<RowFilter> = Input::filter(
    "modified_since",
    InputType::Instant,
    |input, inputs| Ok(inputs.query_time(input)?.map(RowFilter::ModifiedSince)),
    "Only tasks that were changed at this time or later. `now` is accepted.",
);

/// Filter by the time of creation.
pub(super) const CREATED_SINCE: Input<RowFilter> = Input::filter(
    "created_since",
    InputType::Instant,
    |input, inputs| Ok(inputs.query_time(input)?.map(RowFilter::CreatedSince)),
    "Only objects that were created at this time or later. `now` is accepted.",
);

/// Filter by the flag of archived projects.
pub(super) const ARCHIVED: Input<RowFilter> = flag_filter(
    "archived",
    "Only projects that are archived, or only those that are not.",
);

/// Returns a filter by the flag whose field has the same name as the parameter.
pub(super) const fn flag_filter(name: &'static str, doc: &'static str) -> Input<RowFilter> {
    Input::filter(
        name,
        InputType::Flag,
        |input, inputs| {
            let wanted = inputs.query_flag(input)?;
            Ok(wanted.map(|on| RowFilter::Flag(input.name, on)))
        },
        doc,
    )
}

/// Returns a filter by the first day of the rows, which is stored under the key of the field.
macro_rules! day_filter {
    ($name:literal, $filter:ident, $field:expr, $doc:literal) => {
        $crate::operation::inputs::Input::filter(
            $name,
            $crate::operation::inputs::InputType::Day,
            |input, inputs| {
                let day = inputs.query_day(input)?;
                Ok(
                    day.map(|day| {
                        workgraph_core::storage::RowFilter::$filter($field.def.name, day)
                    }),
                )
            },
            $doc,
        )
    };
}
pub(super) use day_filter;

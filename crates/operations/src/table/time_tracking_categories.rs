//! Categories of tracked time, which the admins of a workspace manage, and the entries in them.
use super::list_filters::{day_filter, flag_filter};
use super::record_family::{RecordChange, RecordFamily, Rows, workspace_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use crate::operation::{ListDefinition, Operation, list};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::time_tracking::{
    CATEGORY_IS_ARCHIVED, CATEGORY_NAME, ENTERED_ON,
};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::{EdgeEnd, RowFilter};

/// Operations on time tracking categories: a part of [`TABLES`](super::TABLES).
pub static TIME_TRACKING_CATEGORIES: &[Operation] = &[
    Lists::<Categories>::list("getTimeTrackingCategories", "/time_tracking_categories")
        .filtered_by(&[&IS_ARCHIVED])
        .scope("time_tracking_categories:read"),
    Rows::<Categories>::create("createTimeTrackingCategory", "/time_tracking_categories")
        .scope("time_tracking_categories:write"),
    Rows::<Categories>::get("getTimeTrackingCategory", RECORD)
        .scope("time_tracking_categories:read"),
    Rows::<Categories>::update("updateTimeTrackingCategory", RECORD)
        .scope("time_tracking_categories:write"),
    Rows::<Categories>::delete("deleteTimeTrackingCategory", RECORD)
        .scope("time_tracking_categories:delete"),
    list(
        "getTimeTrackingEntriesForTimeTrackingCategory",
        "/time_tracking_categories/{time_tracking_category_gid}/time_tracking_entries",
        Type::TimeTrackingEntry,
        ListDefinition::Edges {
            rel: rel::TIME_CATEGORIES,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
            open: false,
        },
    )
    .filtered_by(&[&START_DATE, &END_DATE])
    .scope("time_tracking_categories:read"),
];

const RECORD: &str = "/time_tracking_categories/{time_tracking_category_gid}";

/// The family of categories; it is also the list of a workspace.
struct Categories;

impl RecordFamily for Categories {
    const TYPE: Type = Type::TimeTrackingCategory;
    const PATH: &'static Input<Named<Gid>> = &path::TIME_TRACKING_CATEGORY;
    const PARENT: &'static Input<Named<Gid>> =
        &workspace_parent("The workspace of the category; its admins keep the categories.");
    const PARENT_LEVEL: Level = Level::Admin;
    const NEW: &'static Input<CheckedInputs> =
        &Input::new_record(Self::TYPE, &["name"], "The fields of the new category.");
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the category to change.");

    fn complete(change: &mut RecordChange<'_>, _fields: &CheckedInputs) -> Result<(), DomainError> {
        let name = change.draft.get(CATEGORY_NAME);
        if name.is_none_or(|name| name.trim().is_empty()) {
            return Err(DomainError::field(
                CATEGORY_NAME.def.name,
                "Cannot be empty",
            ));
        }
        Ok(())
    }
}

impl RecordList for Categories {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] =
        &[ListAnchor::workspace("The workspace whose categories are listed.").required()];
}

const IS_ARCHIVED: Input<RowFilter> = flag_filter(
    CATEGORY_IS_ARCHIVED.def.name,
    "Only categories that are archived, or only those that are not.",
);
const START_DATE: Input<RowFilter> = day_filter!(
    "start_date",
    DayFrom,
    ENTERED_ON,
    "Only entries of this day or a later one."
);
const END_DATE: Input<RowFilter> = day_filter!(
    "end_date",
    DayUntil,
    ENTERED_ON,
    "Only entries of this day or an earlier one."
);

#[cfg(test)]
mod tests;

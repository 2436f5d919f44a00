//! Entries of tracked time: minutes that users spent on tasks.
use super::list_filters::day_filter;
use super::record_family::{RecordChange, RecordFamily, Rows};
use super::record_list::{ListAnchor, Lists, RecordList, list_anchor};
use crate::operation::inputs::{Input, InputDef, InputType, Named, RecordUpdate, one_of, path};
use crate::operation::{ListDefinition, Operation, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::time_tracking;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::time_tracking_rules::add_minutes;
use workgraph_core::storage::{EdgeEnd, NodeRef, ReadQuery, RowFilter};

/// Operations on time tracking entries.
pub static TIME_TRACKING_ENTRIES: &[Operation] = &[
    list(
        "getTimeTrackingEntriesForTask",
        OF_TASK,
        Type::TimeTrackingEntry,
        ListDefinition::Edges {
            rel: rel::TIME_ON_TASK,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
            open: false,
        },
    )
    .scope("time_tracking_entries:read"),
    Rows::<Entries>::create("createTimeTrackingEntry", OF_TASK),
    Lists::<Entries>::list("getTimeTrackingEntries", "/time_tracking_entries")
        .filtered_by(&[&FIRST_DAY, &LAST_DAY, &APPROVAL])
        .scope("time_tracking_entries:read")
        .paid_only("Time Tracking is not available for free users."),
    Rows::<Entries>::get("getTimeTrackingEntry", RECORD).scope("time_tracking_entries:read"),
    Rows::<Entries>::update("updateTimeTrackingEntry", RECORD),
    Rows::<Entries>::delete("deleteTimeTrackingEntry", RECORD),
];

const OF_TASK: &str = "/tasks/{task_gid}/time_tracking_entries";
const RECORD: &str = "/time_tracking_entries/{time_tracking_entry_gid}";

/// The family of entries, which is the list of entries, too.
struct Entries;

impl RecordFamily for Entries {
    const TYPE: Type = Type::TimeTrackingEntry;
    const PATH: &'static Input<Named<Gid>> = &path::TIME_TRACKING_ENTRY;
    const PARENT: &'static Input<Named<Gid>> = &path::TASK;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["duration_minutes"],
        "The fields of the new entry.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the entry to change.");

    fn needs(
        _call: &RequestContext<'_>,
        task: &NodeRef,
        _fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        query.edges(task.clone(), rel::SECTION)
    }

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        let task = change.parent()?;
        let (call, view, draft) = (change.call, change.view, &mut change.draft);
        let minutes = draft.get(time_tracking::DURATION);
        if !(1..=time_tracking::MINUTES_MAX).contains(&minutes) {
            let most = time_tracking::MINUTES_MAX;
            let reason = format_args!("Out of range: {minutes}; it is from 1 to {most}");
            return Err(DomainError::field("duration_minutes", reason));
        }
        for gid in named_categories(fields) {
            let category = view.node(gid);
            if category.is_some_and(|node| node.get(time_tracking::CATEGORY_IS_ARCHIVED))
                && view.link(draft.gid, rel::TIME_CATEGORIES, gid).is_none()
            {
                let reason = format_args!("Archived time tracking category: {gid}");
                return Err(DomainError::field("categories", reason));
            }
        }
        if draft.get(time_tracking::ENTERED_ON).is_none() {
            draft.set(time_tracking::ENTERED_ON, Some(Date::of(call.now)));
        }
        let before = if draft.is_new() {
            draft.set(time_tracking::CREATED_BY, call.user_gid());
            draft.set(time_tracking::CREATED_AT, call.now);
            if !fields.has("attributable_to") {
                let project = view.links(task.gid, rel::SECTION).first();
                draft.set(
                    time_tracking::ATTRIBUTABLE_TO,
                    project.and_then(|edge| edge.aux),
                );
            }
            0
        } else {
            draft.before(time_tracking::DURATION)
        };
        add_minutes(&mut change.work, task, minutes - before);
        Ok(())
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        let minutes = change.draft.get(time_tracking::DURATION);
        let task = change.parent()?;
        add_minutes(&mut change.work, task, -minutes);
        Ok(())
    }
}

/// Returns the gids of the categories in a body.
fn named_categories(fields: &CheckedInputs) -> impl Iterator<Item = Gid> {
    let texts = match fields.get("categories") {
        Some(InputValue::Refs(texts)) => texts.as_slice(),
        _ => &[],
    };
    texts.iter().filter_map(|text| Gid::parse(text))
}

const TASK: Input<Named<NodeRef>> =
    list_anchor("task", &[Type::Task], "Only entries of this task.");
const PROJECT: Input<Named<NodeRef>> = list_anchor(
    "attributable_to",
    &[Type::Project],
    "Only entries that are attributed to this project.",
);
const USER: Input<Named<NodeRef>> =
    list_anchor("user", &[Type::User], "Only entries of this user.");
const WORKSPACE: Input<Named<NodeRef>> = list_anchor(
    "workspace",
    &[Type::Workspace],
    "Only entries in this workspace.",
);

impl RecordList for Entries {
    const LISTED: Type = Self::TYPE;
    // The parameter `portfolio` gets its place here, before the user, when there are portfolios.
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor {
            input: &TASK,
            field: Some(time_tracking::TASK),
        },
        ListAnchor {
            input: &PROJECT,
            field: Some(time_tracking::ATTRIBUTABLE_TO),
        },
        ListAnchor {
            input: &USER,
            field: Some(time_tracking::CREATED_BY),
        },
        ListAnchor {
            input: &WORKSPACE,
            field: None,
        },
    ];
    const INPUTS: &'static [&'static InputDef] =
        &[&TASK.def, &PROJECT.def, &USER.def, &WORKSPACE.def];
}

const FIRST_DAY: Input<RowFilter> = day_filter!(
    "entered_on_start_date",
    DayFrom,
    time_tracking::ENTERED_ON,
    "Only entries of this day or a later one."
);
const LAST_DAY: Input<RowFilter> = day_filter!(
    "entered_on_end_date",
    DayUntil,
    time_tracking::ENTERED_ON,
    "Only entries of this day or an earlier one."
);
const APPROVAL: Input<RowFilter> = Input::filter(
    "timesheet_approval_status",
    InputType::Word(time_tracking::APPROVAL_STATES),
    |input, inputs| {
        let word = inputs.query_text(input)?;
        let word = word.map(|word| one_of(input, word)).transpose()?;
        let def = &time_tracking::APPROVAL_STATUS.def;
        Ok(word.map(|word| RowFilter::OneOf {
            key: def.name,
            default: def.default,
            values: vec![format!("\"{word}\"")],
        }))
    },
    "Only entries in weeks with this state of approval.",
);

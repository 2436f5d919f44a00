//! Entries of tracked time: minutes that users spent on tasks.
use super::list_filters::day_filter;
use super::record_family::{RecordChange, RecordFamily, RecordRefs, Rows};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::inputs::{Input, InputType, Named, RecordUpdate, one_of, path};
use crate::operation::{ListDefinition, Operation, list};
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{section, time_tracking, timesheet};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::budget_rules::{self, CountedMinutes, MinutesKind};
use workgraph_core::rules::time_tracking_rules::add_minutes;
use workgraph_core::rules::timesheet_rules::{self, WeekRef};
use workgraph_core::storage::{EdgeEnd, LinkSelector, NodeRef, ReadQuery, RowFilter};

/// Operations on time tracking entries: a part of [`TABLES`](super::TABLES).
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

/// The family of entries; it is also their list.
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
        call: &RequestContext<'_>,
        at: &RecordRefs,
        fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        let query = query.edges(at.parent.clone(), rel::SECTION);
        let project = LinkSelector::Key(time_tracking::ATTRIBUTABLE_TO.def.name);
        let before = at.record.as_ref().map(|record| record.clone().of(project));
        let by_default = || {
            let section = at.parent.clone().of(LinkSelector::FirstEdge(rel::SECTION));
            section.of(LinkSelector::Key(section::PROJECT.def.name))
        };
        let now = match fields.and_then(|fields| fields.gid("attributable_to")) {
            Some(project) => Some(NodeRef::Gid(project)),
            None => before.is_none().then(by_default),
        };
        let query = match week(call, Some(at), entered_on(call, at, fields)) {
            Some(week) => week.needs(query),
            None => query,
        };
        let projects = before.iter().chain(&now);
        projects.fold(query, |query, project| budget_rules::needs(project, query))
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
                && (draft.is_new() || view.link(draft.gid, rel::TIME_CATEGORIES, gid).is_none())
            {
                let reason = format_args!("Archived time tracking category: {gid}");
                return Err(DomainError::field("categories", reason));
            }
        }
        require_open(draft)?;
        if draft.get(time_tracking::ENTERED_ON).is_none() {
            draft.set(time_tracking::ENTERED_ON, Some(Date::of(call.now)));
        }
        if draft.changed(time_tracking::ENTERED_ON)
            && let Some(week) = week(
                call,
                change.at.as_ref(),
                draft.get(time_tracking::ENTERED_ON),
            )
        {
            let state = week.read(view);
            let state = state.and_then(|week| week.get(timesheet::APPROVAL_STATUS));
            draft.set(
                time_tracking::APPROVAL_STATUS,
                state.as_deref().unwrap_or("DRAFT"),
            );
            require_open(draft)?;
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
        if draft.changed(time_tracking::ATTRIBUTABLE_TO)
            && let Some(project) = draft.get(time_tracking::ATTRIBUTABLE_TO)
            && let Some(project) = view.node(project)
        {
            let sections = view.links(task.gid, rel::SECTION).iter();
            // Time counts towards the task's projects, and other projects that the caller may change, since it changes their
            // budgets.
            if !sections
                .filter_map(|edge| edge.aux)
                .any(|of| of == project.gid)
            {
                require_level(view, project, Level::Editor)?;
            }
        }
        let (work, now) = (&mut change.work, counted(draft));
        add_minutes(work, task, minutes - before);
        let before = draft.previous().as_ref().and_then(counted);
        budget_rules::replace_minutes(work, view, before, now);
        Ok(())
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        require_open(&change.draft)?;
        let minutes = change.draft.get(time_tracking::DURATION);
        let task = change.parent()?;
        add_minutes(&mut change.work, task, -minutes);
        let before = counted(&change.draft);
        budget_rules::replace_minutes(&mut change.work, change.view, before, None);
        Ok(())
    }
}

/// Checks that an entry is not in an approved week.
///
/// # Errors
/// Fails if it is.
fn require_open(entry: &Draft) -> Result<(), DomainError> {
    let state = entry.get(time_tracking::APPROVAL_STATUS);
    if state.as_deref() == Some(timesheet_rules::APPROVED) {
        return Err(DomainError::forbidden(
            "The timesheet of this week is approved. Its entries change once an admin of the workspace reopened it.",
        ));
    }
    Ok(())
}

/// Returns the day that an entry gets from a body; `None` if it keeps its day.
fn entered_on(
    call: &RequestContext<'_>,
    at: &RecordRefs,
    fields: Option<&CheckedInputs>,
) -> Option<Date> {
    let by_default = Some(Date::of(call.now));
    match fields.and_then(|fields| fields.get(time_tracking::ENTERED_ON.def.name)) {
        Some(InputValue::Stored(day)) => Date::parse(day.trim_matches('"')).ok(),
        Some(_) => by_default,
        None => by_default.filter(|_| at.record.is_none()),
    }
}

/// Returns the week, around a day, of the user who spent the time.
fn week(call: &RequestContext<'_>, at: Option<&RecordRefs>, day: Option<Date>) -> Option<WeekRef> {
    let (user, within) = match at? {
        RecordRefs {
            record: Some(record),
            ..
        } => {
            let user = LinkSelector::Key(time_tracking::CREATED_BY.def.name);
            (record.clone().of(user), record.clone())
        }
        RecordRefs { parent, .. } => (NodeRef::Gid(call.user_gid()), parent.clone()),
    };
    WeekRef::of(user, within, day?)
}

/// Returns the minutes of an entry that count towards a project.
fn counted(entry: &Draft) -> Option<CountedMinutes> {
    let billing = entry.get(time_tracking::BILLABLE_STATUS);
    Some(CountedMinutes {
        project: entry.get(time_tracking::ATTRIBUTABLE_TO)?,
        user: entry.get(time_tracking::CREATED_BY)?,
        kind: MinutesKind::of_billing(billing.as_deref()),
        minutes: entry.get(time_tracking::DURATION),
    })
}

/// Returns the gids of the categories in a body.
fn named_categories(fields: &CheckedInputs) -> impl Iterator<Item = Gid> {
    let texts = match fields.get("categories") {
        Some(InputValue::Refs(texts)) => texts.as_slice(),
        _ => &[],
    };
    texts.iter().filter_map(|text| Gid::parse(text))
}

impl RecordList for Entries {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            time_tracking::TASK,
            "task",
            &[Type::Task],
            "Only entries of this task.",
        ),
        ListAnchor::of(
            time_tracking::ATTRIBUTABLE_TO,
            "attributable_to",
            &[Type::Project],
            "Only entries that are attributed to this project.",
        ),
        ListAnchor::of(
            time_tracking::ATTRIBUTABLE_TO,
            "portfolio",
            &[Type::Portfolio],
            "Only entries that are attributed to a project in this portfolio.",
        )
        .through(rel::ITEM_OF),
        ListAnchor::of(
            time_tracking::CREATED_BY,
            "user",
            &[Type::User],
            "Only entries of this user.",
        ),
        ListAnchor::workspace("Only entries in this workspace."),
    ];
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

#[cfg(test)]
mod tests;

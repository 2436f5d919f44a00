//! Weeks of tracked time: the state of a week's approval, which its entries share.
//!
//! A week is listed in the task list of its user, with its Monday as rank. So it can be found from the user, any node of the
//! workspace, and a day.
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{TypedField, rel};
use crate::model::resources::{time_tracking, timesheet};
use crate::model::time::Date;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView};

/// Maximum number of a user's entries, from the Monday of a week on, that are read to change the state of the week.
const ENTRIES_MAX: usize = 1_000;

/// Returns the Monday of the week of a day.
#[must_use]
pub fn monday_of(day: Date) -> Option<Date> {
    // Day 0 was a Thursday.
    let weekday = day.days().saturating_add(3).rem_euclid(7);
    day.add_days(-weekday)
}

/// The week of a user around a day.
#[derive(Clone, Debug)]
pub struct WeekRef {
    list: NodeRef,
    monday: Date,
}

impl WeekRef {
    /// Returns the week of a user around a day, in the workspace that a node belongs to.
    #[must_use]
    pub fn of(user: NodeRef, within: NodeRef, day: Date) -> Option<Self> {
        let list = NodeRef::TaskList {
            user: Box::new(user),
            within_workspace_of: Box::new(within),
        };
        let monday = monday_of(day)?;
        Some(Self { list, monday })
    }

    fn week(&self) -> NodeRef {
        let monday = i64::from(self.monday.days());
        let by = LinkSelector::Rank(rel::WEEK_IN_LIST, monday);
        self.list.clone().of(by)
    }

    /// Adds the week to a read query.
    #[must_use]
    pub fn needs(&self, query: ReadQuery) -> ReadQuery {
        let query = query.node(self.list.clone()).node(self.week());
        query.count(self.list.clone(), rel::WEEK_IN_LIST)
    }

    /// Returns the week, if its approval has begun.
    #[must_use]
    pub fn read<'v>(&self, view: &'v ReadView) -> Option<&'v Node> {
        view.resolve(&self.week()).and_then(|gid| view.node(gid))
    }

    /// Puts a new week into the task list of its user.
    pub fn enlist(&self, work: &mut ChangeBuilder<'_>, view: &ReadView, week: Gid) {
        if let Some(list) = view.resolve(&self.list) {
            let monday = ListPosition::Rank(self.monday.days().into());
            work.link(week, rel::WEEK_IN_LIST, list, monday, None);
        }
    }
}

/// The state of a week whose entries can't change.
pub const APPROVED: &str = "APPROVED";

/// Changes of the state of a week: the state before, the state after, and true if only an admin may make the change.
const CHANGES: &[(&str, &str, bool)] = &[
    ("DRAFT", "SUBMITTED", false),
    ("SUBMITTED", "DRAFT", false),
    ("SUBMITTED", APPROVED, true),
    ("SUBMITTED", "REJECTED", true),
    ("REJECTED", "DRAFT", false),
    ("REJECTED", "SUBMITTED", false),
    (APPROVED, "DRAFT", true),
];

/// Adds the entries in a week to a read query.
#[must_use]
pub fn entries_needs(week: &NodeRef, query: ReadQuery) -> ReadQuery {
    let user = LinkSelector::Key(timesheet::USER.def.name);
    let days = [timesheet::START_DATE, timesheet::END_DATE].map(|day| day.def.name);
    query.on_days(
        week.clone().of(user),
        rel::TIME_OF_USER,
        (week.clone(), days),
        ENTRIES_MAX + 1,
    )
}

/// Changes the state of a week, and of the entries in it.
///
/// # Errors
/// Fails if the new state may not follow the current one, the change needs an admin, or the week has too many entries.
pub fn change_state(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    week: &Node,
    state: &str,
) -> Result<(), DomainError> {
    let before = week.get(timesheet::APPROVAL_STATUS).unwrap_or_default();
    let next = CHANGES.iter().filter(|(from, ..)| *from == before);
    let Some((.., by_admin)) = next.clone().find(|(_, to, _)| *to == state) else {
        let next: Vec<String> = next.map(|(_, to, _)| to.to_ascii_lowercase()).collect();
        let (before, state) = (before.to_ascii_lowercase(), state.to_ascii_lowercase());
        let reason = format_args!(
            "A week that is {before} does not become {state}; next is {}",
            next.join(" or ")
        );
        return Err(DomainError::field("approval_status", reason));
    };
    if *by_admin && view.level(week.gid) < Level::Admin {
        let message =
            "Only admins of the workspace approve and reject timesheets, and reopen approved ones.";
        return Err(DomainError::forbidden(message));
    }
    set(work, week, timesheet::APPROVAL_STATUS, state);
    let Some(user) = week.get(timesheet::USER) else {
        return Ok(());
    };
    let days = [timesheet::START_DATE, timesheet::END_DATE].map(|day| week.get(day));
    let [Some(first), Some(last)] = days else {
        return Ok(());
    };
    let within = view.sources_on_days(user, rel::TIME_OF_USER, [first, last]);
    if within.len() > ENTRIES_MAX {
        let message = format!("The week has more than {ENTRIES_MAX} entries of tracked time");
        return Err(DomainError::invalid(message));
    }
    for entry in within.iter().filter_map(|edge| view.node(edge.src)) {
        if entry.workspace == week.workspace {
            set(work, entry, time_tracking::APPROVAL_STATUS, state);
        }
    }
    Ok(())
}

fn set(work: &mut ChangeBuilder<'_>, node: &Node, field: TypedField<str>, state: &str) {
    let mut draft = Draft::edit(node);
    draft.set(field, state);
    work.save(&draft);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays() {
        let day = |text| Date::parse(text).unwrap();
        for (within, monday) in [
            ("2026-03-02", "2026-03-02"),
            ("2026-03-08", "2026-03-02"),
            ("1970-01-01", "1969-12-29"),
            ("1969-12-28", "1969-12-22"),
        ] {
            assert_eq!(monday_of(day(within)), Some(day(monday)));
        }
    }
}

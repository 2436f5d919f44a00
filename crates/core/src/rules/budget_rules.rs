//! Figures of budgets, from the totals that a project stores for each of its users.
//!
//! Each entry of tracked time, allocation and rate updates the totals and the figures of the budgets in the same commit, so
//! reading a budget reads no entries. A commit fails if the totals have changed since they were read, so no change is lost.
use crate::model::decimal::Decimal;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::group_members::GroupMembers;
use crate::model::node::Node;
use crate::model::registry::{FieldDef, LinkOne, Opaque, Type, TypedField, rel};
use crate::model::resources::{END_DATE, START_DATE, budget, capacity};
use crate::model::time::Date;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{LinkSelector, ListPosition, NodeRef, NodeWrite, ReadQuery, ReadView};

/// Hours of a working week of five days.
const WEEK_HOURS: i64 = 40;
/// Maximum number of minutes of one allocation; a longer one is cut to this.
const PLANNED_MAX: i64 = 1_000_000_000_000;

/// Kinds of minutes that are stored for each user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinutesKind {
    /// Tracked, and a client pays for them.
    Billable,
    /// Tracked, and no client pays for them.
    NonBillable,
    /// Tracked, without billing.
    NotApplicable,
    /// Planned by allocations.
    Planned,
}

impl MinutesKind {
    /// Returns the kind of tracked minutes with this billing.
    #[must_use]
    pub fn of_billing(billing: Option<&str>) -> Self {
        match billing {
            Some("billable") => Self::Billable,
            Some("nonBillable") => Self::NonBillable,
            _ => Self::NotApplicable,
        }
    }
    /// Returns the kinds of tracked minutes that a filter keeps.
    fn within(filter: Option<&str>) -> &'static [Self] {
        match filter {
            Some("billable") => &[Self::Billable],
            Some("non_billable") => &[Self::NonBillable],
            _ => &[Self::Billable, Self::NonBillable, Self::NotApplicable],
        }
    }
}

/// Minutes of a user that count towards a project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedMinutes {
    /// Project in which the time was spent.
    pub project: Gid,
    /// User who spent the time.
    pub user: Gid,
    /// Kind of the minutes.
    pub kind: MinutesKind,
    /// Difference in minutes.
    pub minutes: i64,
}

/// Totals of one user: the minutes by [`MinutesKind`], and the hourly rate.
type UserTotals = (String, [i64; 4], Option<Decimal>);

/// Adds the totals of a project and its budgets to a read query.
#[must_use]
pub fn needs(project: &NodeRef, query: ReadQuery) -> ReadQuery {
    let totals = project
        .clone()
        .of(LinkSelector::FirstEdge(rel::PROJECT_TOTALS));
    let of_kind = |key: &TypedField<LinkOne>| LinkSelector::Key(key.def.name);
    let time = totals.clone().of(of_kind(&budget::TIME_BUDGET));
    let cost = totals.clone().of(of_kind(&budget::COST_BUDGET));
    query
        .node(project.clone())
        .node(totals)
        .node(time)
        .node(cost)
}

/// Subtracts minutes from the totals of their project, adds other minutes, and writes the budgets. Deleted projects no
/// longer have totals.
pub fn replace_minutes(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    before: Option<CountedMinutes>,
    after: Option<CountedMinutes>,
) {
    if before == after {
        return;
    }
    let mut projects: Vec<Gid> = before.iter().chain(&after).map(|c| c.project).collect();
    projects.dedup();
    for project in projects.into_iter().filter_map(|gid| view.node(gid)) {
        let mut totals = ProjectTotals::read(work, view, project);
        totals.replace_minutes(before, after);
        totals.save(work, view);
    }
}

/// The totals of a project.
pub struct ProjectTotals {
    project: Gid,
    draft: Draft,
    users: Vec<UserTotals>,
    /// New budget, if there is one.
    added: Option<Gid>,
}

impl ProjectTotals {
    /// Reads the totals of a project from a view.
    #[must_use]
    pub fn read(work: &ChangeBuilder<'_>, view: &ReadView, project: &Node) -> Self {
        let edge = view.links(project.gid, rel::PROJECT_TOTALS).first();
        let node = edge.and_then(|edge| view.node(edge.dst));
        let draft = match node {
            Some(node) => Draft::edit(node),
            None => work.draft(Type::ProjectTotals, project.workspace),
        };
        // A body has only what `save` wrote.
        let users = serde_json::from_str(draft.get(budget::USER_TOTALS)).unwrap_or_default();
        Self {
            project: project.gid,
            draft,
            users,
            added: None,
        }
    }

    fn user(&mut self, user: Gid) -> Option<&mut UserTotals> {
        let key = user.to_string();
        let at = self.users.partition_point(|(user, ..)| *user < key);
        if self.users.get(at).is_none_or(|(user, ..)| *user != key) {
            self.users.insert(at, (key, [0; 4], None));
        }
        self.users.get_mut(at)
    }

    fn add(&mut self, user: Gid, kind: MinutesKind, minutes: i64) {
        let sums = self.user(user).map(|(_, sums, _)| sums);
        if let Some(sum) = sums.and_then(|sums| sums.get_mut(kind as usize)) {
            *sum = sum.saturating_add(minutes).max(0);
        }
    }

    /// Subtracts minutes of the project from the totals, and adds other minutes.
    pub fn replace_minutes(
        &mut self,
        before: Option<CountedMinutes>,
        after: Option<CountedMinutes>,
    ) {
        for (counted, sign) in [(before, -1), (after, 1)] {
            if let Some(counted) = counted.filter(|counted| counted.project == self.project) {
                self.add(counted.user, counted.kind, sign * counted.minutes);
            }
        }
    }

    /// Sets or removes the hourly rate of a user.
    pub fn set_rate(&mut self, user: Gid, rate: Option<Decimal>) {
        if let Some((.., kept)) = self.user(user) {
            *kept = rate;
        }
    }

    /// Returns the budget of a type.
    #[must_use]
    pub fn budget(&self, of: BudgetType) -> Option<Gid> {
        self.draft.get(of.link())
    }

    /// Sets a new budget of a type, or removes it.
    pub fn set_budget(&mut self, of: BudgetType, budget: Option<Gid>) {
        self.draft.set(of.link(), budget);
        self.added = budget;
    }

    /// Writes the totals, and the figures of the budgets in the view.
    pub fn save(mut self, work: &mut ChangeBuilder<'_>, view: &ReadView) {
        self.users
            .retain(|(_, sums, rate)| rate.is_some() || sums.iter().any(|sum| *sum != 0));
        // A number with all of its digits fits only into text.
        let users = serde_json::to_string(&self.users);
        let users = users.unwrap_or_else(|_| budget::USER_TOTALS.def.default.to_owned());
        self.draft.set(budget::USER_TOTALS, users);
        if self.draft.is_new() {
            let node = self.draft.finish();
            work.changes.node_writes.push(NodeWrite { node });
            let (totals, first) = (self.draft.gid, ListPosition::Rank(0));
            work.link(self.project, rel::PROJECT_TOTALS, totals, first, None);
        } else {
            work.save_unrecorded(&self.draft);
        }
        for of in [BudgetType::Time, BudgetType::Cost] {
            let stored = self.budget(of).filter(|gid| Some(*gid) != self.added);
            if let Some(node) = stored.and_then(|gid| view.node(gid)) {
                let mut draft = Draft::edit(node);
                self.write_figures(&mut draft);
                work.save_unrecorded(&draft);
            }
        }
    }

    /// Writes the figures of a budget, and defaults for its missing parts.
    pub fn write_figures(&self, draft: &mut Draft) {
        let of = BudgetType::of(draft);
        let units = match of {
            BudgetType::Time => "\"minutes\"",
            BudgetType::Cost => "null",
        };
        let estimate = members(draft, budget::ESTIMATE);
        let planned: &[MinutesKind] = match word(&estimate, budget::SOURCE) {
            Some("capacity_plans") => &[MinutesKind::Planned],
            // Tasks have no estimated time.
            _ => &[],
        };
        let planned = self.figure(planned, of);
        let value = Some(planned);
        set(
            draft,
            budget::ESTIMATE,
            budget::ESTIMATE_PARTS,
            estimate,
            units,
            value,
        );
        let actual = members(draft, budget::ACTUAL);
        let filter = word(&actual, budget::BILLABLE_FILTER);
        let value = Some(self.figure(MinutesKind::within(filter), of));
        set(
            draft,
            budget::ACTUAL,
            budget::ACTUAL_PARTS,
            actual,
            units,
            value,
        );
        let total = members(draft, budget::TOTAL);
        set(
            draft,
            budget::TOTAL,
            budget::TOTAL_PARTS,
            total,
            units,
            None,
        );
    }

    /// Returns the sum of the minutes of some kinds, or of their cost.
    fn figure(&self, kinds: &[MinutesKind], of: BudgetType) -> String {
        let minutes = |sums: &[i64; 4]| {
            let sums = kinds.iter().filter_map(|kind| sums.get(*kind as usize));
            sums.fold(0_i64, |all, sum| all.saturating_add(*sum))
        };
        if of == BudgetType::Time {
            let all = self.users.iter().map(|(_, sums, _)| minutes(sums));
            return all.fold(0_i64, i64::saturating_add).to_string();
        }
        let costs = self.users.iter().filter_map(|(_, sums, rate)| {
            let minutes = Decimal::from(minutes(sums));
            Some(minutes.times(rate.as_ref()?))
        });
        let all = costs.fold(Decimal::default(), |all, cost| all.plus(&cost));
        all.divided(60, 2).to_string()
    }
}

/// Unit in which a budget counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetType {
    /// Minutes.
    Time,
    /// Money.
    Cost,
}

impl BudgetType {
    /// Returns the type of a budget.
    #[must_use]
    pub fn of(draft: &Draft) -> Self {
        match draft.get(budget::BUDGET_TYPE).as_deref() {
            Some("cost") => Self::Cost,
            _ => Self::Time,
        }
    }

    /// Returns the word for the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cost => "cost",
        }
    }

    const fn link(self) -> TypedField<LinkOne> {
        match self {
            Self::Time => budget::TIME_BUDGET,
            Self::Cost => budget::COST_BUDGET,
        }
    }
}

/// Returns the members of a group of a draft.
#[must_use]
pub fn members(draft: &Draft, group: TypedField<Opaque>) -> GroupMembers {
    GroupMembers::parse(draft.get(group))
}

fn word(members: &GroupMembers, field: TypedField<str>) -> Option<&str> {
    Some(members.get(field.def.name)?.trim_matches('"'))
}

fn set(
    draft: &mut Draft,
    group: TypedField<Opaque>,
    parts: &[FieldDef],
    mut members: GroupMembers,
    units: &str,
    value: Option<String>,
) {
    for part in parts {
        if members.get(part.name).is_none() {
            members.set(part.name, part.default.to_owned());
        }
    }
    members.set(budget::UNITS.def.name, units.to_owned());
    if let Some(value) = value {
        members.set("value", value);
    }
    draft.set(group, members.to_string());
}

/// Returns the minutes of an allocation that count towards its project.
#[must_use]
pub fn planned(allocation: &Draft) -> Option<CountedMinutes> {
    let days = (allocation.get(START_DATE), allocation.get(END_DATE));
    Some(CountedMinutes {
        project: allocation.get(capacity::PARENT)?,
        user: allocation.get(capacity::ASSIGNEE)?,
        kind: MinutesKind::Planned,
        minutes: planned_minutes(days, allocation.get(capacity::EFFORT)),
    })
}

/// Returns the price of an hour from a rate.
#[must_use]
pub fn hourly_rate(rate: &Draft) -> Option<Decimal> {
    Decimal::parse(rate.get(capacity::RATE_VALUE))
}

/// Returns the minutes of an allocation: its hours, or its part of 40 hours, for each week from Monday to Friday.
fn planned_minutes(days: (Option<Date>, Option<Date>), effort: &str) -> i64 {
    let (Some(first), Some(last)) = days else {
        return 0;
    };
    let effort = GroupMembers::parse(effort);
    let value = effort.get("value").and_then(Decimal::parse);
    // Minutes of a week, times a hundred.
    let factor = match effort.get("type") {
        Some("\"hours\"") => 60 * 100,
        Some("\"percent\"") => 60 * WEEK_HOURS,
        _ => 0,
    };
    // Day 0 was a Thursday.
    let working_days = |before: i32| {
        let days = i64::from(before) + 3;
        days.div_euclid(7) * 5 + days.rem_euclid(7).min(5)
    };
    let days = working_days(last.days().saturating_add(1)) - working_days(first.days());
    let minutes = value
        .unwrap_or_default()
        .times(&Decimal::from(factor * days));
    minutes
        .divided(5 * 100, 0)
        .nearest_i64()
        .clamp(0, PLANNED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_counts_its_working_days() {
        let day = |text| Date::parse(text).ok();
        let minutes = |first, last, effort| planned_minutes((day(first), day(last)), effort);
        let (hours, half) = (
            r#"{"type":"hours","value":10}"#,
            r#"{"type":"percent","value":50}"#,
        );
        // A Monday to a Sunday, a Saturday to a Sunday, and a Friday to a Monday.
        assert_eq!(minutes("2026-03-02", "2026-03-08", hours), 600);
        assert_eq!(minutes("2026-03-02", "2026-03-08", half), 1_200);
        assert_eq!(minutes("2026-03-07", "2026-03-08", hours), 0);
        assert_eq!(minutes("2026-03-06", "2026-03-09", hours), 240);
        assert_eq!(minutes("1969-12-29", "1970-01-04", hours), 600);
        assert_eq!(minutes("2026-03-06", "2026-03-09", "null"), 0);
    }
}

//! Budgets of projects: the time or cost that they may take, with the planned and spent amounts.
use super::record_family::{RecordChange, RecordFamily, RecordRefs, Rows, project_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::budget;
use workgraph_core::model::validate::{CheckedInputs, InputValue, merge_group};
use workgraph_core::rules::budget_rules::{self, BudgetType, ProjectTotals};
use workgraph_core::storage::ReadQuery;

/// Operations on budgets: a part of [`TABLES`](super::TABLES).
pub static BUDGETS: &[Operation] = &[
    Lists::<Budgets>::list("getBudgets", "/budgets").paid_only(PREMIUM),
    Rows::<Budgets>::create("createBudget", "/budgets").paid_only(PREMIUM),
    Rows::<Budgets>::get("getBudget", RECORD).paid_only(PREMIUM),
    Rows::<Budgets>::update("updateBudget", RECORD).paid_only(PREMIUM),
    Rows::<Budgets>::delete("deleteBudget", RECORD).paid_only(PREMIUM),
];

const RECORD: &str = "/budgets/{budget_gid}";
const PREMIUM: &str = "Budgets are not available for free users.";

/// The family of budgets; it is also their list.
struct Budgets;

impl RecordFamily for Budgets {
    const TYPE: Type = Type::Budget;
    const PATH: &'static Input<Named<Gid>> = &path::BUDGET;
    const PARENT: &'static Input<Named<Gid>> =
        &project_parent("The project; its admins see and keep its budgets.");
    const PARENT_LEVEL: Level = Level::Admin;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["budget_type"],
        "The fields of the new budget.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the budget to change.");

    fn needs(
        _call: &RequestContext<'_>,
        at: &RecordRefs,
        _fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        budget_rules::needs(&at.parent, query)
    }

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        for group in [budget::ESTIMATE, budget::ACTUAL, budget::TOTAL] {
            if let Some(InputValue::Json(value)) = fields.get(group.def.name) {
                let mut members = budget_rules::members(&change.draft, group);
                merge_group(&group.def, value, &mut members)?;
                change.draft.set(group, members.to_string());
            }
        }
        let total = budget_rules::members(&change.draft, budget::TOTAL);
        let value = total.get("value").and_then(Decimal::parse);
        if value.is_some_and(|value| value.is_negative()) {
            return Err(DomainError::field("total.value", "It is negative"));
        }
        let project = change.parent()?;
        let mut totals = ProjectTotals::read(&change.work, change.view, project);
        totals.write_figures(&mut change.draft);
        if !change.draft.is_new() {
            return Ok(());
        }
        let of = BudgetType::of(&change.draft);
        if let Some(other) = totals.budget(of) {
            let reason = format_args!("The project has a budget of {} already: {other}", of.name());
            return Err(DomainError::field("budget_type", reason));
        }
        totals.set_budget(of, Some(change.draft.gid));
        totals.save(&mut change.work, change.view);
        Ok(())
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        let project = change.parent()?;
        let mut totals = ProjectTotals::read(&change.work, change.view, project);
        totals.set_budget(BudgetType::of(&change.draft), None);
        totals.save(&mut change.work, change.view);
        Ok(())
    }
}

impl RecordList for Budgets {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[ListAnchor::of(
        budget::PARENT,
        "parent",
        &[Type::Project],
        "The project whose budgets are listed.",
    )
    .required()];
}

#[cfg(test)]
mod tests;

//! Budgets of projects, and the totals of users from which the figures of budgets are computed.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    FieldDef, FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType, rel,
};

/// Values of `budget_type`.
pub const BUDGET_TYPES: &[&str] = &["cost", "time"];
/// Filters on the billing of time.
pub const BILLABLE_FILTERS: &[&str] = &["billable", "non_billable", "any"];
/// Values of `source`.
pub const ESTIMATE_SOURCES: &[&str] = &["none", "tasks", "capacity_plans"];

/// Unit of the budget: cost or time.
pub const BUDGET_TYPE: TypedField<str> = TypedField::word("budget_type", BUDGET_TYPES, "\"time\"")
    .compact()
    .on_create()
    .doc("The unit of the budget: cost or time.");
/// Project of a budget.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Project])
    .on_create()
    .listed_by(rel::BUDGET_OF)
    .doc("The project the budget is for.");

/// Filter of an aggregated figure.
pub const BILLABLE_FILTER: TypedField<str> =
    TypedField::word("billable_status_filter", BILLABLE_FILTERS, "\"any\"")
        .writable()
        .doc("The time that counts: billable, non_billable or any.");
/// Source of the estimate, one of [`ESTIMATE_SOURCES`].
pub const SOURCE: TypedField<str> = TypedField::word("source", ESTIMATE_SOURCES, "\"none\"")
    .writable()
    .doc("The source of the estimate: none, tasks or capacity_plans.");
/// True for a figure that is used.
pub const ENABLED: TypedField<bool> = TypedField::flag("enabled")
    .writable()
    .doc("True if the figure is used.");
/// Unit of the figure, such as minutes.
pub const UNITS: TypedField<str> = TypedField::text_or_null("units", 16)
    .doc("The unit: minutes, or the code of a currency; null where the workspace has no currency.");
const SUM: TypedField<Opaque> = TypedField::number("value").doc("The sum.");
const TARGET: TypedField<Opaque> = TypedField::number("value").writable().doc("The target.");

/// Fields of [`ESTIMATE`].
pub const ESTIMATE_PARTS: &[FieldDef] = &[
    BILLABLE_FILTER.def,
    SOURCE.def,
    ENABLED.def,
    UNITS.def,
    SUM.def,
];
/// Fields of the actual figure.
pub const ACTUAL_PARTS: &[FieldDef] = &[BILLABLE_FILTER.def, SUM.def, UNITS.def];
/// Fields of [`TOTAL`].
pub const TOTAL_PARTS: &[FieldDef] = &[ENABLED.def, TARGET.def, UNITS.def];

const fn group(name: &'static str, parts: &'static [FieldDef]) -> TypedField<Opaque> {
    TypedField::other(name, ValueType::Group(parts), FieldSource::Stored(name)).writable()
}

/// Estimated figure of the budget.
pub const ESTIMATE: TypedField<Opaque> =
    group("estimate", ESTIMATE_PARTS).doc("The estimate, from the allocations of the project.");
/// Actual figure of a budget.
pub const ACTUAL: TypedField<Opaque> = group("actual", ACTUAL_PARTS)
    .doc("The sum of the time tracked for the project, or of its cost.");
/// Target of the budget, in minutes or money.
pub const TOTAL: TypedField<Opaque> = group("total", TOTAL_PARTS).doc("The target.");

/// Declaration of budgets.
pub static BUDGET: Resource = Resource {
    path: "budgets",
    read_scope: "default",
    title: None,
    container: Some("parent"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        BUDGET_TYPE.def,
        ESTIMATE.def,
        ACTUAL.def,
        TOTAL.def,
        PARENT.def,
    ],
    ..Resource::of(Type::Budget, "budget")
};

/// Minutes and rates of a project's users, as [`crate::rules::budget_rules`] reads them.
pub const USER_TOTALS: TypedField<Opaque> = TypedField::json("user_totals");
/// Budget that limits the tracked time of a project.
pub const TIME_BUDGET: TypedField<LinkOne> = TypedField::inline("time_budget", &[Type::Budget]);
/// Budget that limits the cost of a project.
pub const COST_BUDGET: TypedField<LinkOne> = TypedField::inline("cost_budget", &[Type::Budget]);

/// Declaration of the totals of projects, which are never sent.
pub static PROJECT_TOTALS: Resource = Resource {
    path: "project_totals",
    noun: "totals of a project",
    read_scope: "default",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        USER_TOTALS.def,
        TIME_BUDGET.def,
        COST_BUDGET.def,
    ],
    ..Resource::of(Type::ProjectTotals, "project_totals")
};

//! Rates: the price of an hour of a user's time on a project.
use super::record_family::{RecordChange, RecordFamily, RecordRefs, Rows, project_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::capacity;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, InputValue, shown};
use workgraph_core::rules::budget_rules::{self, ProjectTotals};
use workgraph_core::storage::{ReadQuery, alias};

/// Operations on rates: a part of [`TABLES`](super::TABLES).
pub static RATES: &[Operation] = &[
    Lists::<Rates>::list("getRates", "/rates").paid_only(PREMIUM),
    Rows::<Rates>::create("createRate", "/rates").paid_only(PREMIUM),
    Rows::<Rates>::get("getRate", RECORD).paid_only(PREMIUM),
    Rows::<Rates>::update("updateRate", RECORD).paid_only(PREMIUM),
    Rows::<Rates>::delete("deleteRate", RECORD).paid_only(PREMIUM),
];

const RECORD: &str = "/rates/{rate_gid}";
const PREMIUM: &str = "Rates are not available for free users.";

/// The family of rates; it is also their list.
struct Rates;

impl RecordFamily for Rates {
    const TYPE: Type = Type::Rate;
    const PATH: &'static Input<Named<Gid>> = &path::RATE;
    const PARENT: &'static Input<Named<Gid>> =
        &project_parent("The project; its admins see and keep the rates.");
    const PARENT_LEVEL: Level = Level::Admin;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["resource", "rate"],
        "The fields of the new rate.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the rate to change: its value.");

    fn needs(
        _call: &RequestContext<'_>,
        at: &RecordRefs,
        _fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        budget_rules::needs(&at.parent, query)
    }

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        let draft = &mut change.draft;
        if let Some(rate) = fields.get("rate") {
            draft.set(capacity::RATE_VALUE, checked(rate)?);
        }
        if draft.is_new() {
            draft.set(capacity::RATE_CREATED_BY, change.call.user_gid());
            let unique = alias_of(draft).map(|alias| (alias, draft.gid));
            change.work.changes.add_aliases.extend(unique);
        }
        let rate = budget_rules::hourly_rate(&change.draft);
        set_rate(change, rate)
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        let unique = alias_of(&change.draft).map(|alias| (alias, change.draft.gid));
        change.work.changes.remove_aliases.extend(unique);
        set_rate(change, None)
    }
}

/// Sets the rate of a user in the totals of the project.
fn set_rate(change: &mut RecordChange<'_>, rate: Option<Decimal>) -> Result<(), DomainError> {
    let project = change.parent()?;
    let mut totals = ProjectTotals::read(&change.work, change.view, project);
    if let Some(user) = change.draft.get(capacity::RATE_RESOURCE) {
        totals.set_rate(user, rate);
    }
    totals.save(&mut change.work, change.view);
    Ok(())
}

/// Returns the alias that makes a rate unique for its user and project.
fn alias_of(draft: &Draft) -> Option<String> {
    let user = draft.get(capacity::RATE_RESOURCE)?;
    Some(alias::rate(draft.get(capacity::RATE_PARENT)?, user))
}

/// Returns a rate in its stored form.
fn checked(rate: &InputValue) -> Result<String, DomainError> {
    let InputValue::Json(given) = rate else {
        return Err(DomainError::missing("rate"));
    };
    let number = validate::decimal(given).filter(|number| !number.is_negative());
    number.map(|number| number.to_string()).ok_or_else(|| {
        let reason = format_args!("Not a number that is not negative: {}", shown(given));
        DomainError::field("rate", reason)
    })
}

impl RecordList for Rates {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            capacity::RATE_PARENT,
            "parent",
            &[Type::Project],
            "Only rates of this project.",
        ),
        ListAnchor::of(
            capacity::RATE_RESOURCE,
            "resource",
            &[Type::User],
            "Only rates of this user.",
        ),
    ];
}

#[cfg(test)]
mod tests;

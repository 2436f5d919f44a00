//! Allocations: users who work on a project for some days, with their effort.
use super::record_family::{
    RecordChange, RecordFamily, RecordRefs, Rows, check_days, project_parent,
};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::capacity;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, InputValue, shown};
use workgraph_core::rules::budget_rules;
use workgraph_core::storage::{NodeRef, ReadQuery};

/// Operations on allocations: a part of [`TABLES`](super::TABLES).
pub static ALLOCATIONS: &[Operation] = &[
    Lists::<Allocations>::list("getAllocations", "/allocations").paid_only(PREMIUM),
    Rows::<Allocations>::create("createAllocation", "/allocations").paid_only(PREMIUM),
    Rows::<Allocations>::get("getAllocation", RECORD).paid_only(PREMIUM),
    Rows::<Allocations>::update("updateAllocation", RECORD),
    Rows::<Allocations>::delete("deleteAllocation", RECORD).paid_only(PREMIUM),
];

const RECORD: &str = "/allocations/{allocation_gid}";
const PREMIUM: &str = "Allocations are not available for free users.";

/// The family of allocations; it is also their list.
struct Allocations;

impl RecordFamily for Allocations {
    const TYPE: Type = Type::Allocation;
    const PATH: &'static Input<Named<Gid>> = &path::ALLOCATION;
    const PARENT: &'static Input<Named<Gid>> =
        &project_parent("The project to which the user is allocated.");
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["assignee", "start_date", "end_date"],
        "The fields of the new allocation.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the allocation to change.");

    fn needs(
        _call: &RequestContext<'_>,
        at: &RecordRefs,
        fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        let query = budget_rules::needs(&at.parent, query);
        match fields.and_then(|fields| fields.gid("parent")) {
            Some(project) => budget_rules::needs(&NodeRef::Gid(project), query),
            None => query,
        }
    }

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        let draft = &mut change.draft;
        check_days(draft)?;
        for field in [capacity::ASSIGNEE, capacity::PARENT] {
            if draft.get(field).is_none() {
                return Err(DomainError::missing(field.def.name));
            }
        }
        match fields.get("effort") {
            Some(InputValue::Json(effort)) => draft.set(capacity::EFFORT, checked(effort)?),
            Some(_) => draft.clear(capacity::EFFORT),
            None => {}
        }
        if draft.is_new() {
            draft.set(capacity::CREATED_BY, change.call.user_gid());
        }
        change.require_new_parent(capacity::PARENT)?;
        let (draft, view) = (&change.draft, change.view);
        let before = draft.previous().as_ref().and_then(budget_rules::planned);
        budget_rules::replace_minutes(&mut change.work, view, before, budget_rules::planned(draft));
        Ok(())
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        let before = budget_rules::planned(&change.draft);
        budget_rules::replace_minutes(&mut change.work, change.view, before, None);
        Ok(())
    }
}

/// Returns an effort in its stored form.
fn checked(effort: &Value) -> Result<String, DomainError> {
    let kind = effort.get("type").and_then(Value::as_str);
    let kind = kind.filter(|kind| capacity::EFFORT_TYPES.contains(kind));
    let value = effort.get("value").and_then(validate::decimal);
    let value = value.filter(|number| !number.is_negative());
    match (kind, value) {
        (Some(kind), Some(value)) => Ok(format!(r#"{{"type":"{kind}","value":{value}}}"#)),
        _ => {
            let reason = format_args!(
                "Not an effort: {}; it has a type ({}) and a value that is not negative",
                shown(effort),
                capacity::EFFORT_TYPES.join(" or ")
            );
            Err(DomainError::field("effort", reason))
        }
    }
}

impl RecordList for Allocations {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            capacity::PARENT,
            "parent",
            &[Type::Project],
            "Only allocations to this project.",
        ),
        ListAnchor::of(
            capacity::ASSIGNEE,
            "assignee",
            &[Type::User],
            "Only allocations of this user.",
        ),
        ListAnchor::workspace("Only allocations in this workspace."),
    ];
}

#[cfg(test)]
mod tests;

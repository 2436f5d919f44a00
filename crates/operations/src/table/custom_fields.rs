//! Custom fields: definitions and the options of enum fields.
mod inputs;

pub(super) use self::inputs::FieldDefinition;
use self::inputs::{CreateCustomField, FieldValues, UpdateCustomField};
use super::enum_options::{
    change_option, change_option_needs, create_option, insert_needs, insert_option, option_needs,
    unchanged_options,
};
use crate::access_gate;
use crate::operation::rows::{action, create, update};
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, delete, get, list};
use crate::request_context::{RequestContext, require_level};
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::custom_field::{OPTIONS_MAX, PRECISION_MAX, RESTRICTIONS};
use workgraph_core::model::resources::{custom_field, enum_option};
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, InputValue, shown, split};
use workgraph_core::rules::{auto_id_rules, custom_field_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, ReadQuery, ReadView};

/// Operations on custom fields: a part of [`TABLES`](super::TABLES).
pub static CUSTOM_FIELDS: &[Operation] = &[
    create(
        "createCustomField",
        "/custom_fields",
        Type::CustomField,
        &Steps::new(create_needs, create_field),
    )
    .scope("custom_fields:write")
    .paid_only(PREMIUM)
    .no_guests(),
    get(
        "getCustomField",
        "/custom_fields/{custom_field_gid}",
        Type::CustomField,
    )
    .scope("custom_fields:read")
    .paid_only(PREMIUM)
    .no_guests(),
    update(
        "updateCustomField",
        "/custom_fields/{custom_field_gid}",
        Type::CustomField,
        &Steps::new(needs, change),
    )
    .scope("custom_fields:write")
    .paid_only(PREMIUM)
    .no_guests(),
    delete(
        "deleteCustomField",
        "/custom_fields/{custom_field_gid}",
        Level::Admin,
    )
    .paid_only(PREMIUM)
    .no_guests(),
    create(
        "createEnumOptionForCustomField",
        "/custom_fields/{custom_field_gid}/enum_options",
        Type::EnumOption,
        &Steps::new(option_needs, create_option),
    )
    .scope("custom_fields:write")
    .paid_only(PREMIUM)
    .no_guests(),
    action(
        "insertEnumOptionForCustomField",
        "/custom_fields/{custom_field_gid}/enum_options/insert",
        &Steps::new(insert_needs, insert_option),
    )
    .scope("custom_fields:write")
    .responds_with(Type::EnumOption)
    .paid_only(PREMIUM)
    .no_guests(),
    update(
        "updateEnumOption",
        "/enum_options/{enum_option_gid}",
        Type::EnumOption,
        &Steps::new(change_option_needs, change_option),
    )
    .scope("custom_fields:write")
    .paid_only(PREMIUM)
    .no_guests(),
    list(
        "getCustomFieldsForWorkspace",
        "/workspaces/{workspace_gid}/custom_fields",
        Type::CustomField,
        ListDefinition::InWorkspace(Type::CustomField),
    )
    .full()
    .scope("custom_fields:read")
    .paid_only(PREMIUM)
    .no_guests(),
];

/// Message for free workspaces and guests.
pub(super) const PREMIUM: &str = "Custom Fields are not available for free users or guests.";

fn create_needs(
    call: &RequestContext<'_>,
    input: &CreateCustomField,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.workspace.node))
}

fn create_field(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateCustomField,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Viewer)?;
    call.require_plan(view, workspace)?;
    require_level(view, workspace, Level::Editor)?;
    let mut work = call.change_builder();
    let gid = define(call, &mut work, &input.definition, workspace.gid, true)?;
    Ok(Decision::about(work.changes, gid))
}

/// Adds a new custom field from its definition, with its options.
pub(super) fn define(
    call: &RequestContext<'_>,
    work: &mut ChangeBuilder<'_>,
    definition: &FieldDefinition,
    workspace: Gid,
    global: bool,
) -> Result<Gid, DomainError> {
    let values = definition.values.get()?;
    if !values.checked.has("resource_subtype") {
        return Err(DomainError::missing("resource_subtype"));
    }
    let mut draft = work.draft(Type::CustomField, Some(workspace));
    draft.set(custom_field::CREATED_BY, call.user_gid());
    draft.set(custom_field::IS_GLOBAL, global);
    write(&mut draft, values, definition.is_owned_by_app)?;
    if draft.get(custom_field::NAME).is_none_or(|n| n.is_empty()) {
        return Err(DomainError::missing("name"));
    }
    let kind = kind(&draft);
    if kind == CustomFieldType::Reference && !values.checked.has("input_restrictions") {
        return Err(DomainError::missing("input_restrictions"));
    }
    let gid = custom_field_rules::create_custom_field(work, &draft, workspace);
    let options = definition.options.get()?.as_ref();
    let options = options.map(|options| options.of_type(kind)).transpose()?;
    for option in options.into_iter().flatten() {
        custom_field_rules::add_option(work, gid, workspace, ListPosition::Last, |draft| {
            option.fill(&enum_option::ENUM_OPTION, draft);
        });
    }
    Ok(gid)
}

fn kind(draft: &Draft) -> CustomFieldType {
    let word = draft.get(custom_field::SUBTYPE);
    word.and_then(|w| CustomFieldType::parse(&w))
        .unwrap_or(CustomFieldType::Text)
}

/// Writes a body's fields into a draft; contradictory fields are refused.
fn write(
    draft: &mut Draft,
    values: &FieldValues,
    is_owned_by_app: bool,
) -> Result<(), DomainError> {
    let inputs = &values.checked;
    inputs.fill(&custom_field::CUSTOM_FIELD, draft);
    if let Some(name) = values.name.get()? {
        draft.set(custom_field::NAME, name.as_str());
    }
    if is_owned_by_app {
        return Err(DomainError::forbidden(
            "owned_by_app: This app may not own custom fields.",
        ));
    }
    if let Some(prefix) = draft.get(custom_field::ID_PREFIX) {
        auto_id_rules::checked(&prefix)?;
        if kind(draft) != CustomFieldType::Text || draft.get(custom_field::IS_FORMULA) {
            return Err(DomainError::field("id_prefix", "Only text fields have one"));
        }
    }
    let number = kind(draft) == CustomFieldType::Number;
    let precision = draft.get(custom_field::PRECISION);
    if !(0..=PRECISION_MAX).contains(&precision) {
        return Err(DomainError::field(
            "precision",
            format_args!("Must be between 0 and {PRECISION_MAX}, not: {precision}"),
        ));
    }
    let format = draft
        .get(custom_field::FORMAT)
        .unwrap_or_default()
        .into_owned();
    if !number && (precision != 0 || format != "none") {
        let field = if precision == 0 {
            "format"
        } else {
            "precision"
        };
        return Err(DomainError::field(field, "Only number fields have one"));
    }
    if format == "identifier" {
        if inputs.has("precision") && precision != 0 {
            let reason = "Identifiers are whole numbers; leave it out, or give 0";
            return Err(DomainError::field("precision", reason));
        }
        draft.set(custom_field::PRECISION, 0);
    }
    for (field, needed) in [
        (custom_field::CURRENCY, "currency"),
        (custom_field::LABEL, "custom"),
        (custom_field::LABEL_POSITION, "custom"),
    ] {
        let name = field.def.name;
        if inputs.has(name) && draft.get(field).is_some() && format != needed {
            let reason = format_args!("Only fields with format {needed} have one");
            return Err(DomainError::field(name, reason));
        }
    }
    currency(draft, &format)?;
    label(draft, &format)?;
    restrict(draft, inputs)
}

/// Checks that a currency is given if and only if the format is currency.
fn currency(draft: &mut Draft, format: &str) -> Result<(), DomainError> {
    if format != "currency" {
        draft.set(custom_field::CURRENCY, None);
        return Ok(());
    }
    let code = draft.get(custom_field::CURRENCY);
    let code = code.ok_or_else(|| DomainError::missing("currency_code"))?;
    if code.len() != 3 || !code.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(DomainError::field(
            "currency_code",
            format_args!(
                "Not an ISO 4217 code such as EUR: {}",
                validate::clip(&code)
            ),
        ));
    }
    Ok(())
}

/// Checks that a label is given if and only if the format is custom. The label follows the number, unless the body says
/// otherwise.
fn label(draft: &mut Draft, format: &str) -> Result<(), DomainError> {
    if format != "custom" {
        draft.set(custom_field::LABEL, None);
        draft.set(custom_field::LABEL_POSITION, None);
        return Ok(());
    }
    if draft.get(custom_field::LABEL).is_none_or(|l| l.is_empty()) {
        return Err(DomainError::missing("custom_label"));
    }
    if draft.get(custom_field::LABEL_POSITION).is_none() {
        draft.set(custom_field::LABEL_POSITION, "suffix");
    }
    Ok(())
}

/// Checks the types that a reference field accepts: at least one.
fn restrict(draft: &mut Draft, inputs: &CheckedInputs) -> Result<(), DomainError> {
    let Some(InputValue::Json(value)) = inputs.get("input_restrictions") else {
        return Ok(());
    };
    let field = "input_restrictions";
    if kind(draft) != CustomFieldType::Reference {
        return Err(DomainError::field(field, "Only reference fields have them"));
    }
    let words = match value {
        Value::String(text) => Some(split(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    let words = words
        .filter(|words| !words.is_empty() && words.iter().all(|w| RESTRICTIONS.contains(&&**w)));
    let Some(words) = words else {
        return Err(DomainError::field(
            field,
            format_args!(
                "Must be a list of at least one of {}, not: {}",
                RESTRICTIONS.join(", "),
                shown(value)
            ),
        ));
    };
    draft.set(
        custom_field::INPUT_RESTRICTIONS,
        Value::from(words).to_string(),
    );
    Ok(())
}

fn needs(call: &RequestContext<'_>, input: &UpdateCustomField) -> Result<ReadQuery, DomainError> {
    let field = input.field.node_ref();
    let want = call.read_query().node(field.clone());
    Ok(if input.options.is_some() {
        want.incoming_edges(field, rel::OPTION_OF, OPTIONS_MAX)
    } else {
        want
    })
}

fn change(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateCustomField,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.field, Level::Editor)?;
    let workspace = node.workspace.unwrap_or(node.gid);
    // A body may repeat the values that never change.
    input.check_workspace(workspace)?;
    input.changed.check_subtype(node)?;
    if let Some(options) = &input.options {
        unchanged_options(view, node.gid, options)?;
    }
    input.changed.check_constants(node)?;
    let values = input.changed.values.get()?;
    let mut draft = Draft::edit(node);
    write(&mut draft, values, input.is_owned_by_app)?;
    access_gate::may_change_settings(view, node, &draft)?;
    let mut work = call.change_builder();
    let (before, after) = (
        custom_field_rules::library_alias(workspace, &Draft::edit(node)),
        custom_field_rules::library_alias(workspace, &draft),
    );
    if before != after {
        let named = |name: Option<String>| name.map(|name| (name, node.gid));
        work.changes.remove_aliases.extend(named(before));
        work.changes.add_aliases.extend(named(after));
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;

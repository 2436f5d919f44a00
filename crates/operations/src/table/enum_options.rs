//! The options of enum and multi_enum custom fields.
mod inputs;

pub(super) use self::inputs::{
    CURRENT_OPTIONS, CreateOption, InsertOption, NewOptions, OPTIONS, UpdateOption,
};
use self::inputs::{MOVED, too_many_options};
use super::list_position::{InsertPosition, RequestedPosition};
use crate::operation::Decision;
use crate::operation::inputs::Named;
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::custom_field::OPTIONS_MAX;
use workgraph_core::model::resources::{custom_field, enum_option};
use workgraph_core::model::validate;
use workgraph_core::model::validate::shown;
use workgraph_core::rules::custom_field_rules;
use workgraph_core::storage::{Edge, LinkSelector, ListPosition, ReadQuery, ReadView};

pub(super) fn option_needs(
    call: &RequestContext<'_>,
    input: &CreateOption,
) -> Result<ReadQuery, DomainError> {
    let field = input.field.node_ref();
    let mut want = call
        .read_query()
        .incoming_edges(field.clone(), rel::OPTION_OF, OPTIONS_MAX + 1);
    if let Some(neighbour) = input.position.position.neighbour() {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

fn with_options<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    field: &Named<Gid>,
) -> Result<&'v Node, DomainError> {
    let field = call.named_node(view, field, Level::Editor)?;
    match custom_field::kind(field) {
        CustomFieldType::Enum | CustomFieldType::MultiEnum => Ok(field),
        kind => Err(DomainError::field(
            "custom_field",
            format_args!("A {} field has no options", kind.name()),
        )),
    }
}

/// Checks that the neighbour is an option of the same field.
fn check_neighbour(
    view: &ReadView,
    anchor: RequestedPosition,
    field: Gid,
) -> Result<(), DomainError> {
    match anchor.position.neighbour() {
        Some(gid) if view.link(gid, rel::OPTION_OF, field).is_none() => {
            Err(DomainError::reference_not_found(anchor.field, gid))
        }
        _ => Ok(()),
    }
}

pub(super) fn create_option(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateOption,
) -> Result<Decision, DomainError> {
    let field = with_options(call, view, &input.field)?;
    input.option.name.get()?;
    check_neighbour(view, input.position, field.gid)?;
    if view.sources(field.gid, rel::OPTION_OF).len() >= OPTIONS_MAX {
        return Err(too_many_options());
    }
    let inputs = input.option.fields.get()?;
    let mut work = call.change_builder();
    let workspace = field.workspace.unwrap_or(field.gid);
    let position = input.position.position.list_position(ListPosition::Last);
    let gid = custom_field_rules::add_option(&mut work, field.gid, workspace, position, |draft| {
        inputs.fill(&enum_option::ENUM_OPTION, draft);
    });
    work.record_added(field.gid, Type::CustomField, "enum_options", gid);
    Ok(Decision::about(work.changes, gid))
}

pub(super) fn insert_needs(
    call: &RequestContext<'_>,
    input: &InsertOption,
) -> Result<ReadQuery, DomainError> {
    let field = input.field.node_ref();
    let mut want = call.read_query().node(field.clone()).edge(
        input.option.node,
        rel::OPTION_OF,
        field.clone(),
    );
    if let Some(neighbour) = input.position.position.neighbour() {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

pub(super) fn insert_option(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &InsertOption,
) -> Result<Decision, DomainError> {
    let field = with_options(call, view, &input.field)?;
    let moved = input.option.node;
    if view.link(moved, rel::OPTION_OF, field.gid).is_none() {
        return Err(DomainError::reference_not_found(MOVED.def.name, moved));
    }
    let anchor = input.position.position;
    if anchor == InsertPosition::None {
        return Err(DomainError::invalid(
            "You must specify one of before_enum_option or after_enum_option",
        ));
    }
    check_neighbour(view, input.position, field.gid)?;
    let mut work = call.change_builder();
    if anchor.neighbour() != Some(moved) {
        let position = anchor.list_position(ListPosition::Last);
        work.link(moved, rel::OPTION_OF, field.gid, position, None);
        work.record_added(field.gid, Type::CustomField, "enum_options", moved);
    }
    Ok(Decision::about(work.changes, moved))
}

pub(super) fn change_option_needs(
    call: &RequestContext<'_>,
    input: &UpdateOption,
) -> Result<ReadQuery, DomainError> {
    let option = input.option.node_ref();
    let field = option.clone().of(LinkSelector::Key("custom_field"));
    Ok(call
        .read_query()
        .node(option)
        .incoming_edges(field, rel::OPTION_OF, OPTIONS_MAX))
}

pub(super) fn change_option(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateOption,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.option, Level::Editor)?;
    let mut draft = Draft::edit(node);
    input
        .fields
        .get()?
        .fill(&enum_option::ENUM_OPTION, &mut draft);
    let mut work = call.change_builder();
    let field = node.get(enum_option::CUSTOM_FIELD);
    if let Some(field) = field.filter(|_| draft.changed(enum_option::ENABLED))
        && !draft.get(enum_option::ENABLED)
    {
        let others = view.sources(field, rel::OPTION_OF).iter();
        let on = others
            .filter(|e| e.src != node.gid)
            .filter_map(|e| view.head(e.src))
            .any(|n| !n.head.contains("\"enabled\":false"));
        if !on {
            return Err(DomainError::field(
                "enabled",
                "The last enabled option of a custom field cannot be disabled",
            ));
        }
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

/// Checks that the options in an update of a field are its current ones, in their order. Only other operations write them.
///
/// # Errors
/// Fails if the options differ; the text names the operations.
pub(super) fn unchanged_options(
    view: &ReadView,
    field: Gid,
    given: &Value,
) -> Result<(), DomainError> {
    let items = match given {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        other => {
            let reason = format_args!("Value is not an array: {}", shown(other));
            return Err(DomainError::field("enum_options", reason));
        }
    };
    let now = view.sources(field, rel::OPTION_OF);
    let is_same = |(item, edge): (&Value, &Edge)| {
        let head = view.head(edge.src).map(|option| &*option.head);
        let shown = head.and_then(|head| serde_json::from_str::<Value>(head).ok());
        let gid = validate::reference("enum_options", item);
        gid.is_ok_and(|gid| gid == edge.src.to_string())
            && item.as_object().into_iter().flatten().all(|(name, value)| {
                let part = shown.as_ref().and_then(|shown| shown.get(name));
                part.is_none_or(|part| part == value)
            })
    };
    if items.len() == now.len() && items.iter().zip(now).all(is_same) {
        return Ok(());
    }
    Err(DomainError::field(
        "enum_options",
        format_args!(
            "Cannot write this property; add options with POST /custom_fields/{field}/enum_options, move them with POST /custom_fields/{field}/enum_options/insert, and change or disable them with PUT /enum_options/{{enum_option_gid}}"
        ),
    ))
}

#[cfg(test)]
mod tests;

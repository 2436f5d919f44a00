//! The options of enum and multi_enum custom fields.
use super::list_position::InsertPosition;
use crate::operation::Decision;
use crate::request_context::RequestContext;
use serde_json::{Map, Value};
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
use workgraph_core::storage::{
    Edge, Guard, LinkSelector, ListPosition, NodeWrite, ReadQuery, ReadView,
};

/// Returns the options of a new field: objects with a name, at least one of them enabled.
pub(super) fn options(
    data: &Map<String, Value>,
    kind: CustomFieldType,
) -> Result<Vec<Map<String, Value>>, DomainError> {
    let field = "enum_options";
    let Some(value) = data.get(field).filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let Value::Array(items) = value else {
        return Err(DomainError::field(
            field,
            format_args!("Value is not an array: {}", shown(value)),
        ));
    };
    if !matches!(kind, CustomFieldType::Enum | CustomFieldType::MultiEnum) {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        return Err(DomainError::field(
            field,
            "Only enum and multi_enum fields have options",
        ));
    }
    if items.len() > OPTIONS_MAX {
        return Err(too_many_options());
    }
    let mut options = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let Value::Object(option) = item else {
            return Err(DomainError::field(
                field,
                format_args!("[{at}]: Not an object with a name: {}", shown(item)),
            ));
        };
        named_option(option, &format!("{field}: [{at}]: name"))?;
        options.push(option.clone());
    }
    let off = |o: &Map<String, Value>| o.get("enabled") == Some(&Value::Bool(false));
    if options.iter().all(off) {
        return Err(DomainError::field(
            field,
            "At least one option must be enabled",
        ));
    }
    Ok(options)
}

fn too_many_options() -> DomainError {
    DomainError::field(
        "enum_options",
        format_args!("Too many: a custom field has at most {OPTIONS_MAX}, disabled ones included"),
    )
}

/// Checks that an option has a name that is not empty.
fn named_option(data: &Map<String, Value>, field: &str) -> Result<(), DomainError> {
    let name = data.get("name").filter(|v| !v.is_null());
    let name = name.ok_or_else(|| DomainError::missing(field))?;
    if validate::string(field, name)?.trim().is_empty() {
        return Err(DomainError::field(field, "Cannot be empty"));
    }
    Ok(())
}

pub(super) fn option_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let field = call.path_ref("custom_field_gid")?;
    let mut want = call
        .read_query()
        .into(field.clone(), rel::OPTION_OF, OPTIONS_MAX + 1);
    if let Some(neighbour) =
        InsertPosition::read(call, "insert_before", "insert_after")?.neighbour()
    {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

/// Returns a field, if it has options.
fn with_options<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
) -> Result<&'v Node, DomainError> {
    let field = call.path_node(view, "custom_field_gid", Level::Editor)?;
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
    name: &str,
    anchor: InsertPosition,
    field: Gid,
) -> Result<(), DomainError> {
    match anchor.neighbour() {
        Some(gid) if view.link(gid, rel::OPTION_OF, field).is_none() => {
            Err(DomainError::reference_not_found(name, gid))
        }
        _ => Ok(()),
    }
}

pub(super) fn create_option(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let field = with_options(call, view)?;
    named_option(&call.data, "name")?;
    let anchor = InsertPosition::read(call, "insert_before", "insert_after")?;
    let name = InsertPosition::field_name(call, "insert_before", "insert_after");
    check_neighbour(view, name, anchor, field.gid)?;
    if view.sources(field.gid, rel::OPTION_OF).len() >= OPTIONS_MAX {
        return Err(too_many_options());
    }
    let inputs = call.inputs(Type::EnumOption, true)?;
    let mut work = call.change_builder();
    work.require_live(field.gid);
    let room = Guard::AtMost(field.gid, rel::OPTION_OF, OPTIONS_MAX as u64 - 1);
    work.changes.guards.push(room);
    let home = field.workspace.unwrap_or(field.gid);
    let place = anchor.list_position(ListPosition::Last);
    let gid = custom_field_rules::add_option(&mut work, field.gid, home, place, |draft| {
        inputs.fill(&enum_option::ENUM_OPTION, draft);
    });
    work.record_added(field.gid, Type::CustomField, "enum_options", gid);
    Ok(Decision::about(work.changes, gid))
}

pub(super) fn insert_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let field = call.path_ref("custom_field_gid")?;
    let moved = call.required_gid("enum_option")?;
    let mut want = call
        .read_query()
        .node(field.clone())
        .edge(moved, rel::OPTION_OF, field.clone());
    let anchor = InsertPosition::read(call, "before_enum_option", "after_enum_option")?;
    if let Some(neighbour) = anchor.neighbour() {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

pub(super) fn insert_option(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let field = with_options(call, view)?;
    let moved = call.required_gid("enum_option")?;
    if view.link(moved, rel::OPTION_OF, field.gid).is_none() {
        return Err(DomainError::reference_not_found("enum_option", moved));
    }
    let anchor = InsertPosition::read(call, "before_enum_option", "after_enum_option")?;
    if anchor == InsertPosition::None {
        return Err(DomainError::invalid(
            "You must specify one of before_enum_option or after_enum_option",
        ));
    }
    let name = InsertPosition::field_name(call, "before_enum_option", "after_enum_option");
    check_neighbour(view, name, anchor, field.gid)?;
    let mut work = call.change_builder();
    if anchor.neighbour() != Some(moved) {
        let place = anchor.list_position(ListPosition::Last);
        work.link(moved, rel::OPTION_OF, field.gid, place, None);
        work.record_added(field.gid, Type::CustomField, "enum_options", moved);
    }
    Ok(Decision::about(work.changes, moved))
}

pub(super) fn change_option_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let option = call.path_ref("enum_option_gid")?;
    let field = option.clone().of(LinkSelector::Key("custom_field"));
    Ok(call
        .read_query()
        .node(option)
        .into(field, rel::OPTION_OF, OPTIONS_MAX))
}

pub(super) fn change_option(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "enum_option_gid", Level::Editor)?;
    if call.has_field("name") {
        named_option(&call.data, "name")?;
    }
    let mut draft = Draft::edit(node);
    let inputs = call.inputs(Type::EnumOption, false)?;
    inputs.fill(&enum_option::ENUM_OPTION, &mut draft);
    let mut work = call.change_builder();
    let field = node.get(enum_option::CUSTOM_FIELD);
    if let Some(field) = field.filter(|_| draft.changed(enum_option::ENABLED))
        && !draft.get(enum_option::ENABLED)
    {
        let others = view.sources(field, rel::OPTION_OF).iter();
        let on = others
            .filter(|e| e.src != node.gid)
            .filter_map(|e| view.node(e.src))
            .any(|n| !n.head.contains("\"enabled\":false"));
        if !on {
            return Err(DomainError::field(
                "enabled",
                "The last enabled option of a custom field cannot be disabled",
            ));
        }
        // Two requests that disable one option each must not both count on the option of the other.
        work.changes
            .node_writes
            .extend(view.node(field).map(|field| {
                let next = Draft::edit(field).finish();
                let seen = Guard::Version(field.gid, field.version);
                work.changes.guards.push(seen);
                NodeWrite { node: next }
            }));
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

/// Checks that the options in an update of a field are its current ones, in their order. Other operations write them.
///
/// # Errors
/// Fails when the options differ; the text names the operations.
pub(super) fn unchanged_options(
    view: &ReadView,
    field: Gid,
    given: &Value,
) -> Result<(), DomainError> {
    let items = match given {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        other => {
            let why = format_args!("Value is not an array: {}", shown(other));
            return Err(DomainError::field("enum_options", why));
        }
    };
    let now = view.sources(field, rel::OPTION_OF);
    let is_same = |(item, edge): (&Value, &Edge)| {
        let head = view.node(edge.src).map(|option| &*option.head);
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

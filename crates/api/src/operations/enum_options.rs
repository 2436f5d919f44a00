//! The options of enum and multi_enum custom fields.
use super::placing::Anchor;
use crate::call::Call;
use crate::operation::Decision;
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{self, shown};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Edge, Guard, Place, Put, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Kind, Type, rel};
use workgraph_core::resources::custom_field::OPTIONS_MAX;
use workgraph_core::resources::{custom_field, enum_option};
use workgraph_core::rules::fields;

/// Options of a new field: objects with a name, at least one of them enabled.
pub(super) fn options(
    data: &Map<String, Value>,
    kind: Kind,
) -> Result<Vec<Map<String, Value>>, Fault> {
    let field = "enum_options";
    let Some(value) = data.get(field).filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let Value::Array(items) = value else {
        return Err(Fault::field(
            field,
            format_args!("Value is not an array: {}", shown(value)),
        ));
    };
    if !matches!(kind, Kind::Enum | Kind::MultiEnum) {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        return Err(Fault::field(
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
            return Err(Fault::field(
                field,
                format_args!("[{at}]: Not an object with a name: {}", shown(item)),
            ));
        };
        named_option(option, &format!("{field}: [{at}]: name"))?;
        options.push(option.clone());
    }
    let off = |o: &Map<String, Value>| o.get("enabled") == Some(&Value::Bool(false));
    if options.iter().all(off) {
        return Err(Fault::field(field, "At least one option must be enabled"));
    }
    Ok(options)
}

fn too_many_options() -> Fault {
    Fault::field(
        "enum_options",
        format_args!("Too many: a custom field has at most {OPTIONS_MAX}, disabled ones included"),
    )
}

/// An option has a name that is not empty.
fn named_option(data: &Map<String, Value>, field: &str) -> Result<(), Fault> {
    let name = data.get("name").filter(|v| !v.is_null());
    let name = name.ok_or_else(|| Fault::missing(field))?;
    if check::string(field, name)?.trim().is_empty() {
        return Err(Fault::field(field, "Cannot be empty"));
    }
    Ok(())
}

pub(super) fn option_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let field = call.path("custom_field_gid")?;
    let mut want = call
        .want()
        .into(field.clone(), rel::OPTION_OF, OPTIONS_MAX + 1);
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

/// A field that has options.
fn with_options<'v>(call: &Call<'_>, view: &'v View) -> Result<&'v Node, Fault> {
    let field = call.target(view, "custom_field_gid", Level::Editor)?;
    match custom_field::kind(field) {
        Kind::Enum | Kind::MultiEnum => Ok(field),
        kind => Err(Fault::field(
            "custom_field",
            format_args!("A {} field has no options", kind.word()),
        )),
    }
}

/// The neighbour must be an option of the same field.
fn beside(view: &View, name: &str, anchor: Anchor, field: Gid) -> Result<(), Fault> {
    match anchor.neighbour() {
        Some(gid) if view.link(gid, rel::OPTION_OF, field).is_none() => {
            Err(Fault::unknown_ref(name, gid))
        }
        _ => Ok(()),
    }
}

pub(super) fn create_option(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let field = with_options(call, view)?;
    named_option(&call.data, "name")?;
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let name = Anchor::given(call, "insert_before", "insert_after");
    beside(view, name, anchor, field.gid)?;
    if view.sources(field.gid, rel::OPTION_OF).len() >= OPTIONS_MAX {
        return Err(too_many_options());
    }
    let inputs = call.inputs(Type::EnumOption, true)?;
    let mut work = call.work();
    work.needs_live(field.gid);
    let room = Guard::AtMost(field.gid, rel::OPTION_OF, OPTIONS_MAX as u64 - 1);
    work.changes.guards.push(room);
    let home = field.home.unwrap_or(field.gid);
    let place = anchor.place(Place::Last);
    let gid = fields::add_option(&mut work, field.gid, home, place, |draft| {
        inputs.fill(&enum_option::ENUM_OPTION, draft);
    });
    work.gained(field.gid, Type::CustomField, "enum_options", gid);
    Ok(Decision::about(work.changes, gid))
}

pub(super) fn insert_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let field = call.path("custom_field_gid")?;
    let moved = call.required_gid("enum_option")?;
    let mut want = call
        .want()
        .node(field.clone())
        .edge(moved, rel::OPTION_OF, field.clone());
    let anchor = Anchor::read(call, "before_enum_option", "after_enum_option")?;
    if let Some(neighbour) = anchor.neighbour() {
        want = want.edge(neighbour, rel::OPTION_OF, field);
    }
    Ok(want)
}

pub(super) fn insert_option(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let field = with_options(call, view)?;
    let moved = call.required_gid("enum_option")?;
    if view.link(moved, rel::OPTION_OF, field.gid).is_none() {
        return Err(Fault::unknown_ref("enum_option", moved));
    }
    let anchor = Anchor::read(call, "before_enum_option", "after_enum_option")?;
    if anchor == Anchor::None {
        return Err(Fault::invalid(
            "You must specify one of before_enum_option or after_enum_option",
        ));
    }
    let name = Anchor::given(call, "before_enum_option", "after_enum_option");
    beside(view, name, anchor, field.gid)?;
    let mut work = call.work();
    if anchor.neighbour() != Some(moved) {
        let place = anchor.place(Place::Last);
        work.link(moved, rel::OPTION_OF, field.gid, place, None);
        work.gained(field.gid, Type::CustomField, "enum_options", moved);
    }
    Ok(Decision::about(work.changes, moved))
}

pub(super) fn change_option_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let option = call.path("enum_option_gid")?;
    let field = option.clone().of(By::Key("custom_field"));
    Ok(call
        .want()
        .node(option)
        .into(field, rel::OPTION_OF, OPTIONS_MAX))
}

pub(super) fn change_option(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "enum_option_gid", Level::Editor)?;
    if call.has("name") {
        named_option(&call.data, "name")?;
    }
    let mut draft = Draft::edit(node);
    let inputs = call.inputs(Type::EnumOption, false)?;
    inputs.fill(&enum_option::ENUM_OPTION, &mut draft);
    let mut work = call.work();
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
            return Err(Fault::field(
                "enabled",
                "The last enabled option of a custom field cannot be disabled",
            ));
        }
        // Two that disable one option each must not both count on the other's.
        work.changes.puts.extend(view.node(field).map(|field| {
            let next = Draft::edit(field).finish();
            let seen = Guard::Version(field.gid, field.version);
            work.changes.guards.push(seen);
            Put { node: next }
        }));
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

/// Checks that the options in an update of a field are those it has, in their order: they are written by operations of
/// their own.
///
/// # Errors
/// When they say anything else; the text names the operations.
pub(super) fn unchanged_options(view: &View, field: Gid, given: &Value) -> Result<(), Fault> {
    let items = match given {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        other => {
            let why = format_args!("Value is not an array: {}", shown(other));
            return Err(Fault::field("enum_options", why));
        }
    };
    let now = view.sources(field, rel::OPTION_OF);
    let is_same = |(item, edge): (&Value, &Edge)| {
        let head = view.node(edge.src).map(|option| &*option.head);
        let shown = head.and_then(|head| serde_json::from_str::<Value>(head).ok());
        let gid = check::reference("enum_options", item);
        gid.is_ok_and(|gid| gid == edge.src.to_string())
            && item.as_object().into_iter().flatten().all(|(name, value)| {
                let part = shown.as_ref().and_then(|shown| shown.get(name));
                part.is_none_or(|part| part == value)
            })
    };
    if items.len() == now.len() && items.iter().zip(now).all(is_same) {
        return Ok(());
    }
    Err(Fault::field(
        "enum_options",
        format_args!(
            "Cannot write this property; add options with POST /custom_fields/{field}/enum_options, move them with POST /custom_fields/{field}/enum_options/insert, and change or disable them with PUT /enum_options/{{enum_option_gid}}"
        ),
    ))
}

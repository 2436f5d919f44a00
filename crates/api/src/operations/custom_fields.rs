//! Custom fields: definitions and the options of enum fields.
use super::enum_options::{
    change_option, change_option_needs, create_option, insert_needs, insert_option, option_needs,
    options, unchanged_options,
};
use crate::call::Call;
use crate::operation::{
    Decision, Lists, Operation, act, create, delete, get, page as list, update,
};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{self, Given, Inputs, shown, split};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Place, Ref, View, Want};
use workgraph_core::registry::{Kind, Type, rel};
use workgraph_core::resources::custom_field::{OPTIONS_MAX, PRECISION_MAX, RESTRICTIONS};
use workgraph_core::resources::{custom_field, enum_option};
use workgraph_core::rules::{fields, ids};
use workgraph_core::work::Work;

/// The rows.
pub static CUSTOM_FIELDS: &[Operation] = &[
    create(
        "createCustomField",
        "/custom_fields",
        Type::CustomField,
        create_needs,
        create_field,
    )
    .scope("custom_fields:write")
    .body(&["workspace", "resource_subtype"])
    .premium(PREMIUM)
    .no_guests(),
    get(
        "getCustomField",
        "/custom_fields/{custom_field_gid}",
        Type::CustomField,
    )
    .scope("custom_fields:read")
    .premium(PREMIUM)
    .no_guests(),
    update(
        "updateCustomField",
        "/custom_fields/{custom_field_gid}",
        Type::CustomField,
        needs,
        change,
    )
    .scope("custom_fields:write")
    .premium(PREMIUM)
    .no_guests(),
    delete(
        "deleteCustomField",
        "/custom_fields/{custom_field_gid}",
        Level::Admin,
    )
    .premium(PREMIUM)
    .no_guests(),
    create(
        "createEnumOptionForCustomField",
        "/custom_fields/{custom_field_gid}/enum_options",
        Type::EnumOption,
        option_needs,
        create_option,
    )
    .scope("custom_fields:write")
    .premium(PREMIUM)
    .no_guests(),
    act(
        "insertEnumOptionForCustomField",
        "/custom_fields/{custom_field_gid}/enum_options/insert",
        insert_needs,
        insert_option,
    )
    .scope("custom_fields:write")
    .body(&["enum_option"])
    .answers(Type::EnumOption)
    .premium(PREMIUM)
    .no_guests(),
    update(
        "updateEnumOption",
        "/enum_options/{enum_option_gid}",
        Type::EnumOption,
        change_option_needs,
        change_option,
    )
    .scope("custom_fields:write")
    .premium(PREMIUM)
    .no_guests(),
    list(
        "getCustomFieldsForWorkspace",
        "/workspaces/{workspace_gid}/custom_fields",
        Type::CustomField,
        Lists::Home(Type::CustomField),
    )
    .full()
    .scope("custom_fields:read")
    .premium(PREMIUM)
    .no_guests(),
];

/// What free workspaces and guests are told.
pub(super) const PREMIUM: &str = "Custom Fields are not available for free users or guests.";

/// Names of properties that tasks have anyway.
const BUILT_IN: &[&str] = &[
    "assignee",
    "collaborators",
    "completed at",
    "completed on",
    "created at",
    "created by",
    "created on",
    "creator",
    "dependencies",
    "description",
    "due date",
    "due on",
    "followers",
    "last modified on",
    "name",
    "notes",
    "parent task",
    "projects",
    "section",
    "section/column",
    "start date",
    "start on",
    "tags",
    "task id",
    "task name",
];

fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call.want().node(call.required_gid("workspace")?))
}

/// The name in a body.
fn name_of(data: &Map<String, Value>) -> Result<Option<String>, Fault> {
    let Some(value) = data.get("name") else {
        return Ok(None);
    };
    let name = check::text("name", value, workgraph_core::registry::NAME_MAX)?;
    let name = name.trim();
    if name.is_empty() {
        return Err(Fault::field("name", "Cannot be empty"));
    }
    if BUILT_IN.contains(&name.to_lowercase().as_str()) {
        return Err(Fault::field(
            "name",
            format_args!("{name} is the name of a built-in field; choose another"),
        ));
    }
    Ok(Some(name.to_owned()))
}

fn create_field(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let workspace = Ref::Gid(call.required_gid("workspace")?);
    let types = &[Type::Workspace];
    let home = call.named(view, "workspace", &workspace, types, Level::Viewer)?;
    call.premium(view, home)?;
    crate::call::allowed(view, home, Level::Editor)?;
    let mut work = call.work();
    let gid = define(call, &mut work, &call.data, home.gid, true)?;
    Ok(Decision::about(work.changes, gid))
}

/// A new custom field from its definition, with its options.
pub(super) fn define(
    call: &Call<'_>,
    work: &mut Work<'_>,
    data: &Map<String, Value>,
    home: Gid,
    global: bool,
) -> Result<Gid, Fault> {
    let inputs = check::inputs(&custom_field::CUSTOM_FIELD, data, true)?;
    if !inputs.has("resource_subtype") {
        return Err(Fault::missing("resource_subtype"));
    }
    let mut draft = work.draft(Type::CustomField, Some(home));
    draft.set(custom_field::CREATED_BY, call.me());
    draft.set(custom_field::IS_GLOBAL, global);
    write(&mut draft, data, &inputs)?;
    if draft.get(custom_field::NAME).is_none_or(|n| n.is_empty()) {
        return Err(Fault::missing("name"));
    }
    let kind = kind(&draft);
    if kind == Kind::Reference && !inputs.has("input_restrictions") {
        return Err(Fault::missing("input_restrictions"));
    }
    let gid = fields::found_field(work, &draft, home);
    let options = options(data, kind)?;
    for option in options {
        let inputs = check::inputs(&enum_option::ENUM_OPTION, &option, true)?;
        fields::add_option(work, gid, home, Place::Last, |draft| {
            inputs.fill(&enum_option::ENUM_OPTION, draft);
        });
    }
    Ok(gid)
}

fn kind(draft: &Draft) -> Kind {
    let word = draft.get(custom_field::SUBTYPE);
    word.and_then(|w| Kind::parse(&w)).unwrap_or(Kind::Text)
}

/// Writes a body's fields into a draft; what does not go together is refused.
fn write(draft: &mut Draft, data: &Map<String, Value>, inputs: &Inputs) -> Result<(), Fault> {
    inputs.fill(&custom_field::CUSTOM_FIELD, draft);
    if let Some(name) = name_of(data)? {
        draft.set(custom_field::NAME, name.as_str());
    }
    if data
        .get("owned_by_app")
        .is_some_and(|v| *v == Value::Bool(true))
    {
        return Err(Fault::forbidden(
            "owned_by_app: This app may not own custom fields.",
        ));
    }
    if let Some(prefix) = draft.get(custom_field::ID_PREFIX) {
        ids::checked(&prefix)?;
        if kind(draft) != Kind::Text || draft.get(custom_field::IS_FORMULA) {
            return Err(Fault::field("id_prefix", "Only text fields have one"));
        }
    }
    let number = kind(draft) == Kind::Number;
    let precision = draft.get(custom_field::PRECISION);
    if !(0..=PRECISION_MAX).contains(&precision) {
        return Err(Fault::field(
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
        return Err(Fault::field(field, "Only number fields have one"));
    }
    if format == "identifier" {
        draft.set(custom_field::PRECISION, 0);
    }
    currency(draft, &format)?;
    label(draft, &format)?;
    restrict(draft, inputs)
}

/// A currency is given exactly where the format is currency.
fn currency(draft: &mut Draft, format: &str) -> Result<(), Fault> {
    if format != "currency" {
        draft.set(custom_field::CURRENCY, None);
        return Ok(());
    }
    let code = draft.get(custom_field::CURRENCY);
    let code = code.ok_or_else(|| Fault::missing("currency_code"))?;
    if code.len() != 3 || !code.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(Fault::field(
            "currency_code",
            format_args!("Not an ISO 4217 code such as EUR: {}", check::clip(&code)),
        ));
    }
    Ok(())
}

/// A label is given exactly where the format is custom; it stands behind, unless said otherwise.
fn label(draft: &mut Draft, format: &str) -> Result<(), Fault> {
    if format != "custom" {
        draft.set(custom_field::LABEL, None);
        draft.set(custom_field::LABEL_POSITION, None);
        return Ok(());
    }
    if draft.get(custom_field::LABEL).is_none_or(|l| l.is_empty()) {
        return Err(Fault::missing("custom_label"));
    }
    if draft.get(custom_field::LABEL_POSITION).is_none() {
        draft.set(custom_field::LABEL_POSITION, "suffix");
    }
    Ok(())
}

/// What a reference field takes: at least one type.
fn restrict(draft: &mut Draft, inputs: &Inputs) -> Result<(), Fault> {
    let Some(Given::Json(value)) = inputs.get("input_restrictions") else {
        return Ok(());
    };
    let field = "input_restrictions";
    if kind(draft) != Kind::Reference {
        return Err(Fault::field(field, "Only reference fields have them"));
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
        return Err(Fault::field(
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

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let field = call.path("custom_field_gid")?;
    let want = call.want().node(field.clone());
    Ok(if call.has("enum_options") {
        want.into(field, rel::OPTION_OF, OPTIONS_MAX)
    } else {
        want
    })
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "custom_field_gid", Level::Editor)?;
    let mut data = call.data.clone();
    // What never changes may be said again.
    let same = |data: &Map<String, Value>, name: &str, now: &str| match data.get(name) {
        Some(value) if check::reference(name, value)? != now => Err(Fault::unwritable(name)),
        _ => Ok(()),
    };
    let home = node.home.unwrap_or(node.gid);
    same(&data, "workspace", &home.to_string())?;
    let formula = node.get(custom_field::IS_FORMULA);
    for name in ["resource_subtype", "type"] {
        same(&data, name, custom_field::kind(node).word())?;
        data.remove(name);
    }
    if data.get("is_formula_field") == Some(&Value::Bool(formula)) {
        data.remove("is_formula_field");
    }
    let prefix = ids::prefix(node).map_or(Value::Null, Value::String);
    if data.get("id_prefix") == Some(&prefix) {
        data.remove("id_prefix");
    }
    if let Some(options) = data.remove("enum_options") {
        unchanged_options(view, node.gid, &options)?;
    }
    let inputs = check::inputs(&custom_field::CUSTOM_FIELD, &data, false)?;
    let mut draft = Draft::edit(node);
    write(&mut draft, &data, &inputs)?;
    let sharing =
        draft.changed(custom_field::PRIVACY) || draft.changed(custom_field::DEFAULT_ACCESS);
    if sharing {
        crate::call::allowed(view, node, Level::Admin)?;
    }
    let mut work = call.work();
    let (before, after) = (
        fields::taken(home, &Draft::edit(node)),
        fields::taken(home, &draft),
    );
    if before != after {
        let named = |name: Option<String>| name.map(|name| (name, node.gid));
        work.changes.unnamed.extend(named(before));
        work.changes.aliases.extend(named(after));
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

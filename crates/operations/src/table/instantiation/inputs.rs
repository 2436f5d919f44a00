//! Inputs of the operations that instantiate a template.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::table::template_copies::TEAM;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::NAME_MAX;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{reference, string};
use workgraph_core::storage::NodeRef;

const PROJECT_NAME: Input<String> =
    Input::text("name", NAME_MAX, "The name of the new project.").required();
const TASK_NAME: Input<String> = Input::text(
    "name",
    NAME_MAX,
    "The name of the new task; that of the template without it.",
);
const PRIVACY: Input<&'static str> = Input::word(
    InputPlace::Body,
    "privacy_setting",
    &["public_to_workspace", "private_to_team", "private"],
    "The privacy setting of the new project; `public_to_workspace` without it.",
);
const PUBLIC: Input<bool> = Input::flag(
    InputPlace::Body,
    "public",
    "Without `privacy_setting`: false for a private project.",
);
const IS_STRICT: Input<bool> = Input::flag(
    InputPlace::Body,
    "is_strict",
    "True if a request without a date that the template asks for is refused; otherwise it is today.",
);
const DATES: Input<Vec<RequestedDate>> = Input::parsed(
    InputPlace::Body,
    "requested_dates",
    InputType::Structure,
    read_dates,
    "The days for dates that the template asks for, as an array of objects with `gid` and `value`.",
);
const ROLES: Input<Vec<RequestedRole>> = Input::parsed(
    InputPlace::Body,
    "requested_roles",
    InputType::Structure,
    read_roles,
    "The users for roles of the template, as an array of objects with `gid` and `value`.",
);

/// Day for a date that a template requests.
pub(super) struct RequestedDate {
    pub(super) gid: String,
    /// The name of the item, for errors.
    pub(super) field: String,
    pub(super) day: Deferred<Date>,
}

/// User for a role of a template.
pub(super) struct RequestedRole {
    pub(super) gid: String,
    /// The name of the item, for errors.
    pub(super) field: String,
    pub(super) user: NodeRef,
}

/// An item of a list in the body.
struct Item<'v> {
    gid: String,
    field: String,
    value: &'v Value,
}

/// Returns the items `{gid, value}` of a list in the body.
fn items<'v>(
    input: &InputDef,
    inputs: &InputReader<'v>,
) -> Result<Option<Vec<Item<'v>>>, DomainError> {
    let name = input.name;
    let list = match inputs.body_value(input) {
        None => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(DomainError::field(
                name,
                "Value is not an array; it must be an array of {gid, value}",
            ));
        }
    };
    let mut items = Vec::with_capacity(list.len());
    for (i, item) in list.iter().enumerate() {
        let field = format!("{name}: [{i}]");
        let part = |part: &str| item.get(part).filter(|v| !v.is_null());
        let missing = |part: &str| DomainError::missing(&format!("{field}: {part}"));
        let gid = part("gid").ok_or_else(|| missing("gid"))?;
        let gid = reference(format_args!("{field}: gid"), gid)?;
        let value = part("value").ok_or_else(|| missing("value"))?;
        items.push(Item { gid, field, value });
    }
    Ok(Some(items))
}

fn read_dates(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<RequestedDate>>, DomainError> {
    let date = |item: Item<'_>| {
        let field = format!("{}: value", item.field);
        // The value is a day, or an instant of which only the day is used.
        let day = string(&field, item.value);
        let day = day.and_then(|text| Date::parse(text).map_err(|e| DomainError::field(&field, e)));
        RequestedDate {
            gid: item.gid,
            field: item.field,
            day: Deferred::new(day),
        }
    };
    let items = items(input, inputs)?;
    Ok(items.map(|items| items.into_iter().map(date).collect()))
}

fn read_roles(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<RequestedRole>>, DomainError> {
    let role = |item: Item<'_>| {
        let field = format!("{}: value", item.field);
        Ok(RequestedRole {
            gid: item.gid,
            user: inputs.user(&field, &reference(&field, item.value)?)?,
            field: item.field,
        })
    };
    let items = items(input, inputs)?.unwrap_or_default();
    items
        .into_iter()
        .map(role)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Reads the privacy setting of a new project.
fn privacy(inputs: &InputReader<'_>) -> Result<&'static str, DomainError> {
    let (setting, public) = (inputs.optional(&PRIVACY), inputs.optional(&PUBLIC));
    match setting? {
        Some(setting) => Ok(setting),
        None if public? == Some(false) => Ok("private"),
        None => Ok("public_to_workspace"),
    }
}

/// A project template, and the properties of the new project.
pub(in crate::table) struct InstantiateProject {
    pub(super) template: Named<Gid>,
    pub(super) team: Option<Named<Gid>>,
    pub(super) roles: Vec<RequestedRole>,
    pub(super) name: Deferred<String>,
    pub(super) is_strict: Deferred<bool>,
    pub(super) dates: Deferred<Vec<RequestedDate>>,
    pub(super) privacy: Deferred<&'static str>,
}

impl OperationInput for InstantiateProject {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PROJECT_TEMPLATE.def,
        &PROJECT_NAME.def,
        &TEAM.def,
        &PRIVACY.def,
        &PUBLIC.def,
        &IS_STRICT.def,
        &DATES.def,
        &ROLES.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            template: inputs.required(&path::PROJECT_TEMPLATE)?,
            team: inputs.optional(&TEAM)?,
            roles: inputs.or_default(&ROLES)?,
            name: inputs.deferred(&PROJECT_NAME),
            is_strict: Deferred::new(inputs.or_default(&IS_STRICT)),
            dates: Deferred::new(inputs.or_default(&DATES)),
            privacy: Deferred::new(privacy(inputs)),
        })
    }
}

/// A task template, and the name of the new task.
pub(in crate::table) struct InstantiateTask {
    pub(super) template: Named<Gid>,
    pub(super) name: Deferred<Option<String>>,
}

impl OperationInput for InstantiateTask {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK_TEMPLATE.def, &TASK_NAME.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            template: inputs.required(&path::TASK_TEMPLATE)?,
            name: inputs.deferred_optional(&TASK_NAME),
        })
    }
}

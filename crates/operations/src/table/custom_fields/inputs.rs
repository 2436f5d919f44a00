//! Inputs of the operations on custom fields.
use super::super::enum_options::{CURRENT_OPTIONS, NewOptions, OPTIONS};
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput,
    RecordFields, path,
};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{FieldSource, NAME_MAX, Type, ValuePart};
use workgraph_core::model::resources::custom_field;
use workgraph_core::model::validate;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::auto_id_rules;

const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the custom field.",
)
.required();
const CURRENT_WORKSPACE: Input<String> = Input::parsed(
    InputPlace::Body,
    "workspace",
    InputType::Node(&[Type::Workspace]),
    |input, inputs| repeated(inputs.data(), input.name),
    "The workspace of the custom field; it never changes.",
)
.nullable();
const NEW: Input<FieldValues> = Input::parsed(
    InputPlace::Body,
    "data",
    InputType::Record(RecordFields {
        ty: Type::CustomField,
        creating: true,
        required: &["resource_subtype"],
    }),
    |_, inputs| FieldValues::read(inputs.data(), true).map(Some),
    "The fields of the new custom field. It must have a name.",
);
const CHANGED: Input<ChangedField> = Input::parsed(
    InputPlace::Body,
    "data",
    InputType::Record(RecordFields {
        ty: Type::CustomField,
        creating: false,
        required: &[],
    }),
    |_, inputs| Ok(Some(ChangedField::read(inputs.data()))),
    "The fields of the custom field to change. Those that never change may repeat their value.",
);
const OWNED_BY_APP: Input<bool> = Input::parsed(
    InputPlace::Body,
    "owned_by_app",
    InputType::Flag,
    |input, inputs| Ok(Some(is_true(inputs.data(), input.name))),
    "True asks that the app of the token own the field, which is refused.",
);

/// Names of properties that every task has.
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

fn is_true(data: &Map<String, Value>, name: &str) -> bool {
    data.get(name) == Some(&Value::Bool(true))
}

/// Returns the value that a body repeats, as text.
fn repeated(data: &Map<String, Value>, name: &str) -> Result<Option<String>, DomainError> {
    let value = data.get(name);
    let text = value.map(|value| validate::reference(name, value));
    text.transpose()
}

/// Returns the name in the fields of a custom field.
fn read_name(data: &Map<String, Value>) -> Result<Option<String>, DomainError> {
    let Some(value) = data.get("name") else {
        return Ok(None);
    };
    let name = validate::text("name", value, NAME_MAX)?;
    let name = name.trim();
    if name.is_empty() {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    if BUILT_IN.contains(&name.to_lowercase().as_str()) {
        return Err(DomainError::field(
            "name",
            format_args!("{name} is the name of a built-in field; choose another"),
        ));
    }
    Ok(Some(name.to_owned()))
}

/// Checks that a definition has no value: tasks, projects and goals have values, and a field has no default.
fn no_values(data: &Map<String, Value>) -> Result<(), DomainError> {
    for def in custom_field::CUSTOM_FIELD.fields {
        let FieldSource::Value(ValuePart::Plain(_) | ValuePart::Linked(_)) = def.source else {
            continue;
        };
        let is_empty =
            |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if data.get(def.name).is_some_and(|value| !is_empty(value)) {
            return Err(DomainError::unwritable(def.name));
        }
    }
    Ok(())
}

/// Values of the fields of a custom field.
pub(super) struct FieldValues {
    /// All fields of the body.
    pub(super) checked: CheckedInputs,
    /// The name, if it is given.
    pub(super) name: Deferred<Option<String>>,
}

impl FieldValues {
    fn read(data: &Map<String, Value>, creating: bool) -> Result<Self, DomainError> {
        no_values(data)?;
        Ok(Self {
            checked: validate::check_inputs(&custom_field::CUSTOM_FIELD, data, creating)?,
            name: Deferred::new(read_name(data)),
        })
    }
}

/// The definition of a new custom field.
pub(in crate::table) struct FieldDefinition {
    pub(super) values: Deferred<FieldValues>,
    pub(super) is_owned_by_app: bool,
    pub(super) options: Deferred<Option<NewOptions>>,
}

impl FieldDefinition {
    /// Reads the definition in an object of a body.
    pub(in crate::table) fn of(data: &Map<String, Value>) -> Self {
        let options = data.get(OPTIONS.def.name).filter(|value| !value.is_null());
        Self {
            values: Deferred::new(FieldValues::read(data, true)),
            is_owned_by_app: is_true(data, OWNED_BY_APP.def.name),
            options: Deferred::new(options.map(NewOptions::read).transpose()),
        }
    }
}

/// A workspace, and a new custom field in it.
pub(super) struct CreateCustomField {
    pub(super) workspace: Named<Gid>,
    pub(super) definition: FieldDefinition,
}

impl OperationInput for CreateCustomField {
    const INPUTS: &'static [&'static InputDef] =
        &[&WORKSPACE.def, &NEW.def, &OWNED_BY_APP.def, &OPTIONS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&WORKSPACE)?,
            definition: FieldDefinition {
                values: inputs.deferred(&NEW),
                is_owned_by_app: inputs.or_default(&OWNED_BY_APP)?,
                options: inputs.deferred_optional(&OPTIONS),
            },
        })
    }
}

/// Changed fields of a custom field, and fields that may only repeat their value.
pub(super) struct ChangedField {
    subtype: Deferred<Option<String>>,
    old_subtype: Deferred<Option<String>>,
    is_formula: Option<Value>,
    id_prefix: Option<Value>,
    /// The fields to write.
    pub(super) values: Deferred<FieldValues>,
}

/// The names of the type of a custom field: the current one and the old one.
const SUBTYPES: [&str; 2] = [custom_field::SUBTYPE.def.name, custom_field::TYPE.def.name];

impl ChangedField {
    fn read(data: &Map<String, Value>) -> Self {
        let mut written = data.clone();
        let [subtype, old_subtype] = SUBTYPES.map(|name| {
            let given = Deferred::new(repeated(data, name));
            written.remove(name);
            given
        });
        Self {
            subtype,
            old_subtype,
            is_formula: written.remove(custom_field::IS_FORMULA.def.name),
            id_prefix: written.remove(custom_field::ID_PREFIX.def.name),
            values: Deferred::new(FieldValues::read(&written, false)),
        }
    }

    /// Checks that the type in the body, if any, is the current one.
    ///
    /// # Errors
    /// Fails if it is another one.
    pub(super) fn check_subtype(&self, field: &Node) -> Result<(), DomainError> {
        let now = custom_field::kind(field).name();
        check_repeated(&self.subtype, SUBTYPES[0], now)?;
        check_repeated(&self.old_subtype, SUBTYPES[1], now)
    }

    /// Checks that the body's values for fields that never change, if any, are the current ones.
    ///
    /// # Errors
    /// Fails if a value is another one.
    pub(super) fn check_constants(&self, field: &Node) -> Result<(), DomainError> {
        let is_formula = Value::Bool(field.get(custom_field::IS_FORMULA));
        let prefix = auto_id_rules::prefix(field).map_or(Value::Null, Value::String);
        for (given, now, name) in [
            (&self.id_prefix, prefix, custom_field::ID_PREFIX.def.name),
            (
                &self.is_formula,
                is_formula,
                custom_field::IS_FORMULA.def.name,
            ),
        ] {
            if given.as_ref().is_some_and(|given| *given != now) {
                return Err(DomainError::unwritable(name));
            }
        }
        Ok(())
    }
}

/// Checks that a value in the body, if any, is the current one.
fn check_repeated(
    given: &Deferred<Option<String>>,
    name: &str,
    now: &str,
) -> Result<(), DomainError> {
    match given.get()? {
        Some(given) if given != now => Err(DomainError::unwritable(name)),
        _ => Ok(()),
    }
}

/// A custom field, and the fields to change.
pub(super) struct UpdateCustomField {
    pub(super) field: Named<Gid>,
    workspace: Deferred<Option<String>>,
    pub(super) changed: ChangedField,
    pub(super) is_owned_by_app: bool,
    pub(super) options: Option<Value>,
}

impl OperationInput for UpdateCustomField {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::CUSTOM_FIELD.def,
        &CURRENT_WORKSPACE.def,
        &CHANGED.def,
        &OWNED_BY_APP.def,
        &CURRENT_OPTIONS.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            field: inputs.required(&path::CUSTOM_FIELD)?,
            workspace: inputs.deferred_optional(&CURRENT_WORKSPACE),
            changed: inputs.required(&CHANGED)?,
            is_owned_by_app: inputs.or_default(&OWNED_BY_APP)?,
            options: inputs.optional(&CURRENT_OPTIONS)?,
        })
    }
}

impl UpdateCustomField {
    /// Checks that the workspace in the body, if any, is the current one.
    ///
    /// # Errors
    /// Fails if it is another one.
    pub(super) fn check_workspace(&self, workspace: Gid) -> Result<(), DomainError> {
        let name = CURRENT_WORKSPACE.def.name;
        check_repeated(&self.workspace, name, &workspace.to_string())
    }
}

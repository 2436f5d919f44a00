//! Inputs of the operations on the options of custom fields.
use super::super::list_position::{InsertInputs, RequestedPosition, insert_beside};
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput,
    RecordFields, path,
};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{CustomFieldType, Type};
use workgraph_core::model::resources::custom_field::OPTIONS_MAX;
use workgraph_core::model::resources::enum_option;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, InputValue, shown};

const NEW: Input<NewOption> = Input::parsed(
    InputPlace::Body,
    "data",
    record(true),
    |_, inputs| Ok(Some(NewOption::read(inputs.data(), NAME))),
    "The fields of the new option. It must have a name.",
);
const CHANGED: Input<CheckedInputs> = Input::parsed(
    InputPlace::Body,
    "data",
    record(false),
    |_, inputs| read_changed(inputs.data()).map(Some),
    "The fields of the option to change.",
);
const BESIDE: InsertInputs = insert_beside(&[Type::EnumOption]);
/// The option that is moved.
pub(super) const MOVED: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "enum_option",
    &[Type::EnumOption],
    "The option to move, one of the custom field.",
)
.required();
const MOVED_BESIDE: InsertInputs = InsertInputs {
    before: Input::gid(
        InputPlace::Body,
        "before_enum_option",
        &[Type::EnumOption],
        "The option before which it is moved; null for the end of the list.",
    )
    .nullable(),
    after: Input::gid(
        InputPlace::Body,
        "after_enum_option",
        &[Type::EnumOption],
        "The option after which it is moved; null for the start of the list.",
    )
    .nullable(),
};
/// The options of a new field.
pub(in crate::table) const OPTIONS: Input<NewOptions> = Input::parsed(
    InputPlace::Body,
    "enum_options",
    InputType::Structure,
    |input, inputs| inputs.body_value(input).map(NewOptions::read).transpose(),
    "The options of a field of type enum or multi_enum, in their order: objects with `name`, and if wanted `color` and `enabled`. At least one is enabled.",
);
/// The options in an update of a field.
pub(in crate::table) const CURRENT_OPTIONS: Input<Value> = Input::parsed(
    InputPlace::Body,
    "enum_options",
    InputType::Structure,
    |input, inputs| Ok(inputs.data().get(input.name).cloned()),
    "The current options in their order; other operations change them.",
)
.nullable();

/// The name of an option.
const NAME: &str = "name";

const fn record(creating: bool) -> InputType {
    InputType::Record(RecordFields {
        ty: Type::EnumOption,
        creating,
        required: &[],
    })
}

/// Checks that an option has a name that is not empty.
fn check_name(data: &Map<String, Value>, field: &str) -> Result<(), DomainError> {
    let name = data.get(NAME).filter(|v| !v.is_null());
    let name = name.ok_or_else(|| DomainError::missing(field))?;
    if validate::string(field, name)?.trim().is_empty() {
        return Err(DomainError::field(field, "Cannot be empty"));
    }
    Ok(())
}

fn read_changed(data: &Map<String, Value>) -> Result<CheckedInputs, DomainError> {
    if data.contains_key(NAME) {
        check_name(data, NAME)?;
    }
    validate::check_inputs(&enum_option::ENUM_OPTION, data, false)
}

/// Option to create.
pub(super) struct NewOption {
    /// Result of the check of the name.
    pub(super) name: Deferred<()>,
    pub(super) fields: Deferred<CheckedInputs>,
}

impl NewOption {
    /// Reads an option. `name` is the field of its name, for errors.
    fn read(data: &Map<String, Value>, name: &str) -> Self {
        let fields = validate::check_inputs(&enum_option::ENUM_OPTION, data, true);
        Self {
            name: Deferred::new(check_name(data, name)),
            fields: Deferred::new(fields),
        }
    }
}

/// The options of a new field whose type is not known yet.
pub(in crate::table) struct NewOptions {
    count: usize,
    options: Deferred<Vec<CheckedInputs>>,
}

impl NewOptions {
    /// Reads the options of a new field: objects with a name, at least one of them enabled.
    ///
    /// # Errors
    /// Fails if the value is not an array.
    pub(in crate::table) fn read(value: &Value) -> Result<Self, DomainError> {
        let Value::Array(items) = value else {
            return Err(DomainError::field(
                OPTIONS.def.name,
                format_args!("Value is not an array: {}", shown(value)),
            ));
        };
        Ok(Self {
            count: items.len(),
            options: Deferred::new(read_items(items)),
        })
    }

    /// Returns the options of a field of this type.
    ///
    /// # Errors
    /// Fails if fields of this type have no options, or the options are malformed.
    pub(in crate::table) fn of_type(
        &self,
        kind: CustomFieldType,
    ) -> Result<&[CheckedInputs], DomainError> {
        if matches!(kind, CustomFieldType::Enum | CustomFieldType::MultiEnum) {
            return Ok(self.options.get()?);
        }
        if self.count == 0 {
            return Ok(&[]);
        }
        Err(DomainError::field(
            OPTIONS.def.name,
            "Only enum and multi_enum fields have options",
        ))
    }
}

fn read_items(items: &[Value]) -> Result<Vec<CheckedInputs>, DomainError> {
    let field = OPTIONS.def.name;
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
        check_name(option, &format!("{field}: [{at}]: {NAME}"))?;
        options.push(option);
    }
    let options = options.into_iter();
    let checked =
        options.map(|option| validate::check_inputs(&enum_option::ENUM_OPTION, option, true));
    let checked: Vec<CheckedInputs> = checked.collect::<Result<_, _>>()?;
    // Forms send a flag as text, which the check has read.
    let is_off = |option: &CheckedInputs| matches!(option.get("enabled"), Some(InputValue::Stored(raw)) if raw == "false");
    if checked.iter().all(is_off) {
        return Err(DomainError::field(
            field,
            "At least one option must be enabled",
        ));
    }
    Ok(checked)
}

/// Returns the error of a field with too many options.
pub(super) fn too_many_options() -> DomainError {
    DomainError::field(
        OPTIONS.def.name,
        format_args!("Too many: a custom field has at most {OPTIONS_MAX}, disabled ones included"),
    )
}

/// A custom field, and a new option of it.
pub(in crate::table) struct CreateOption {
    pub(super) field: Named<Gid>,
    pub(super) position: RequestedPosition,
    pub(super) option: NewOption,
}

impl OperationInput for CreateOption {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::CUSTOM_FIELD.def,
        &NEW.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            field: inputs.required(&path::CUSTOM_FIELD)?,
            position: BESIDE.read(inputs)?,
            option: inputs.required(&NEW)?,
        })
    }
}

/// A custom field, and the move of one of its options.
pub(in crate::table) struct InsertOption {
    pub(super) field: Named<Gid>,
    pub(super) option: Named<Gid>,
    pub(super) position: RequestedPosition,
}

impl OperationInput for InsertOption {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::CUSTOM_FIELD.def,
        &MOVED.def,
        &MOVED_BESIDE.before.def,
        &MOVED_BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            field: inputs.required(&path::CUSTOM_FIELD)?,
            option: inputs.required(&MOVED)?,
            position: MOVED_BESIDE.read(inputs)?,
        })
    }
}

/// An option, and the fields to change.
pub(in crate::table) struct UpdateOption {
    pub(super) option: Named<Gid>,
    pub(super) fields: Deferred<CheckedInputs>,
}

impl OperationInput for UpdateOption {
    const INPUTS: &'static [&'static InputDef] = &[&path::ENUM_OPTION.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            option: inputs.required(&path::ENUM_OPTION)?,
            fields: inputs.deferred(&CHANGED),
        })
    }
}

//! Checks of request bodies: JSON values are converted to the stored form of their fields.
use crate::domain_error::DomainError;
use crate::model::decimal::Decimal;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::group_members::GroupMembers;
use crate::model::node::json_string;
use crate::model::registry::{FieldDef, FieldSource, Resource, ValueType, Writability};
use crate::model::time::{Date, Time};
use serde_json::{Map, Number, Value};
use std::fmt;
use std::sync::LazyLock;
use workgraph_richtext::clean_text;

/// Input of a client for a field. An absent field is not in [`CheckedInputs`] at all.
#[derive(Clone, PartialEq, Debug)]
pub enum InputValue {
    /// The JSON value null.
    Null,
    /// A value in its stored form.
    Stored(String),
    /// Rich text as it was sent; the caller normalises it.
    Html(String),
    /// A reference as it was sent: a gid, and for users also `me` or an e-mail address.
    Ref(String),
    /// References as they were sent.
    Refs(Vec<String>),
    /// JSON that the caller reads.
    Json(Value),
}

/// The checked fields of a request body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckedInputs {
    entries: Vec<(&'static str, InputValue)>,
}

impl CheckedInputs {
    /// Returns the input for a field, if the body has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&InputValue> {
        self.entries
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, g)| g)
    }
    /// Returns the gid given for a link.
    #[must_use]
    pub fn gid(&self, name: &str) -> Option<Gid> {
        match self.get(name) {
            Some(InputValue::Ref(text)) => Gid::parse(text),
            _ => None,
        }
    }
    /// Returns true if there is any input for a field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
    /// Returns the names of the fields with input.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(n, _)| *n)
    }
    /// Puts every stored value into a draft; the caller handles links and rich text.
    pub fn fill(&self, resource: &Resource, draft: &mut Draft) {
        for (name, given) in &self.entries {
            let Some(def) = resource.field(name) else {
                continue;
            };
            let (FieldSource::Stored(key), InputValue::Stored(_) | InputValue::Null) =
                (def.source, given)
            else {
                continue;
            };
            let raw = match given {
                InputValue::Stored(raw) => raw.clone(),
                _ => def.default.to_owned(),
            };
            draft.set_raw(key, def.default, raw);
        }
    }
}

/// Checks the `data` of a create or update against a resource. Unknown names and fields that the
/// server sets are ignored, so a record that was read can be sent back.
///
/// # Errors
/// Returns an error if the field does not take the value, or only another operation may write the field.
pub fn check_inputs(
    resource: &Resource,
    data: &Map<String, Value>,
    creating: bool,
) -> Result<CheckedInputs, DomainError> {
    let mut entries = Vec::with_capacity(data.len());
    for (name, value) in data {
        let Some(def) = resource.field(name) else {
            continue;
        };
        match def.write {
            Writability::Never => continue,
            Writability::Refused => return Err(DomainError::unwritable(name)),
            Writability::Constant | Writability::NoCustomFields => {
                unchanged(def, value)?;
                continue;
            }
            Writability::ValueMap if value.is_array() => continue,
            Writability::ValueMap => {}
            Writability::NewRecord if is_new_record(value) => {}
            // An update has compared other values with the current link.
            Writability::Current | Writability::NewRecord if value.is_null() => {
                continue;
            }
            Writability::Current | Writability::NewRecord => {
                return Err(DomainError::unwritable(name));
            }
            Writability::OnCreate if !creating => return Err(DomainError::unwritable(name)),
            Writability::OnCreate | Writability::Always => {}
        }
        if creating && is_null(def, value) && !nullable(def) {
            // Clients that send every property send null for one without a value.
            continue;
        }
        let input = match def.write {
            Writability::NewRecord => InputValue::Json(value.clone()),
            _ => value_of(def, value)?,
        };
        entries.push((def.name, input));
    }
    Ok(CheckedInputs { entries })
}

/// Returns the members of an object. An empty array is read as an empty object, because PHP writes both alike.
#[must_use]
pub fn object(value: &Value) -> Option<&Map<String, Value>> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    match value {
        Value::Object(map) => Some(map),
        Value::Array(items) if items.is_empty() => Some(&EMPTY),
        _ => None,
    }
}

/// Returns true if the value of a link is a record to be created.
#[must_use]
pub fn is_new_record(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|record| !record.contains_key("gid"))
}

/// Returns true if a value means "none". Except for fields of text, this includes an empty text, since forms have no null.
fn is_null(def: &FieldDef, value: &Value) -> bool {
    let text = matches!(
        def.value_type,
        ValueType::Text(_) | ValueType::Html | ValueType::Json
    );
    value.is_null() || (!text && value.as_str() == Some(""))
}

const fn nullable(def: &FieldDef) -> bool {
    !matches!(
        def.value_type,
        ValueType::Flag | ValueType::Int | ValueType::Word(_)
    )
}

/// Checks that a value is null or the value of a constant field.
fn unchanged(def: &FieldDef, value: &Value) -> Result<(), DomainError> {
    match value {
        Value::Null => Ok(()),
        Value::Array(items) if items.is_empty() => Ok(()),
        Value::Object(map) if def.write == Writability::NoCustomFields => {
            let named = map.keys().next();
            named.map_or(Ok(()), |field| {
                Err(DomainError::field_not_on_object(clip(field)))
            })
        }
        _ if def.write == Writability::NoCustomFields => Err(not_an_object(def.name, value)),
        _ if serde_json::from_str::<Value>(def.default).is_ok_and(|only| only == *value) => Ok(()),
        _ => Err(DomainError::unwritable(def.name)),
    }
}

fn not_an_object(name: &str, value: &Value) -> DomainError {
    DomainError::field(
        name,
        format_args!("Value is not a JSON object: {}", shown(value)),
    )
}

fn value_of(def: &FieldDef, value: &Value) -> Result<InputValue, DomainError> {
    if is_null(def, value) {
        if nullable(def) {
            return Ok(InputValue::Null);
        }
        return Err(DomainError::field(
            def.name,
            "Cannot be null; leave the property out to keep it",
        ));
    }
    if let FieldSource::Values(_) | FieldSource::PerApp(_) = def.source {
        return match object(value) {
            Some(map) => Ok(InputValue::Json(Value::Object(map.clone()))),
            None => Err(not_an_object(def.name, value)),
        };
    }
    match def.value_type {
        ValueType::Text(max) => {
            text(def.name, value, max).map(|t| InputValue::Stored(json_string(&t)))
        }
        ValueType::Html => string(def.name, value).map(|s| InputValue::Html(s.to_owned())),
        ValueType::Flag => flag(def.name, value).map(|f| InputValue::Stored(f.to_string())),
        ValueType::Int => match integer(value) {
            Some(n) => Ok(InputValue::Stored(n.to_string())),
            None => Err(DomainError::field(
                def.name,
                format_args!("Not an integer: {}", shown(value)),
            )),
        },
        ValueType::Number => match decimal(value) {
            Some(number) => Ok(InputValue::Stored(number.to_string())),
            None => Err(DomainError::field(
                def.name,
                format_args!("Not a number: {}", shown(value)),
            )),
        },
        ValueType::Time => {
            let t = Time::parse(string(def.name, value)?)
                .map_err(|e| DomainError::field(def.name, e))?;
            Ok(InputValue::Stored(format!("\"{t}\"")))
        }
        ValueType::Date => {
            let d = Date::parse(string(def.name, value)?)
                .map_err(|e| DomainError::field(def.name, e))?;
            Ok(InputValue::Stored(format!("\"{d}\"")))
        }
        ValueType::Word(words) | ValueType::WordOrNull(words) => {
            let word = string(def.name, value)?;
            if words.contains(&word) {
                Ok(InputValue::Stored(json_string(word)))
            } else {
                Err(DomainError::field(
                    def.name,
                    format_args!(
                        "Not a recognized value: {}; it is one of {}",
                        shown(value),
                        words.join(", ")
                    ),
                ))
            }
        }
        ValueType::One(_) => reference(def.name, value).map(InputValue::Ref),
        ValueType::Many(_) => references(def.name, value).map(InputValue::Refs),
        ValueType::Group(_) | ValueType::Items(_) | ValueType::Json => {
            Ok(InputValue::Json(value.clone()))
        }
    }
}

/// Reads an integer, as JSON or as form text.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads a number with all of its digits, as JSON or as form text.
#[must_use]
pub fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Decimal::parse(&number.to_string()),
        Value::String(text) => {
            let number: Result<Number, _> = serde_json::from_str(text);
            number.ok().and_then(|_| Decimal::parse(text.trim()))
        }
        _ => None,
    }
}

/// Merges the parts of a group from a client into the stored object.
///
/// # Errors
/// Returns an error if the value is not an object, or one of its members does not fit its part.
pub fn merge_group(
    group: &FieldDef,
    value: &Value,
    stored: &mut GroupMembers,
) -> Result<(), DomainError> {
    let ValueType::Group(parts) = group.value_type else {
        return Ok(());
    };
    let given = object(value).ok_or_else(|| not_an_object(group.name, value))?;
    for part in parts.iter().filter(|d| d.write == Writability::Always) {
        let Some(value) = given.get(part.name) else {
            continue;
        };
        let named = |error: DomainError| error.within(group.name);
        let raw = match value_of(part, value).map_err(named)? {
            InputValue::Stored(raw) => raw,
            _ => part.default.to_owned(),
        };
        stored.set(part.name, raw);
    }
    Ok(())
}

/// Reads a string.
///
/// # Errors
/// Returns an error if the value is not a string.
pub fn string<'v>(name: &str, value: &'v Value) -> Result<&'v str, DomainError> {
    value
        .as_str()
        .ok_or_else(|| DomainError::field(name, format_args!("Not a string: {}", shown(value))))
}

/// Reads a plain text without control characters, at most `max` characters long.
///
/// # Errors
/// Returns an error if the text is not a string, too long, or has control characters.
pub fn text(name: &str, value: &Value, max: u32) -> Result<String, DomainError> {
    let raw = string(name, value)?;
    let clean = clean_text(raw).map_err(|e| DomainError::field(name, e))?;
    let length = clean.chars().count();
    if length > max as usize {
        return Err(DomainError::field(
            name,
            format_args!("Too long: {length} characters; at most {max} are kept"),
        ));
    }
    Ok(clean.to_string())
}

/// Reads a flag: a JSON boolean, 1 or 0, or a text that [`boolean`] reads.
///
/// # Errors
/// Returns an error if the value is none of these.
pub fn flag(name: &str, value: &Value) -> Result<bool, DomainError> {
    let read = match value {
        Value::Bool(b) => Some(*b),
        Value::String(text) => boolean(text),
        Value::Number(n) => match n.as_u64() {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
        _ => None,
    };
    read.ok_or_else(|| DomainError::field(name, format_args!("Not a boolean: {}", shown(value))))
}

/// Reads a boolean as text: `true`, `yes` or `1`, `false`, `no` or `0`, in any case.
#[must_use]
pub fn boolean(text: &str) -> Option<bool> {
    let is = |word: &&str| text.eq_ignore_ascii_case(word);
    if ["true", "yes", "1"].iter().any(is) {
        return Some(true);
    }
    ["false", "no", "0"].iter().any(is).then_some(false)
}

/// Reads a reference: a text, an integer (as old clients send gids), or an object with a gid.
///
/// # Errors
/// Returns an error if the value is of another type.
pub fn reference(name: impl fmt::Display, value: &Value) -> Result<String, DomainError> {
    match value {
        Value::String(s) => Ok(s.clone()),
        Value::Number(n) if n.is_u64() => Ok(n.to_string()),
        Value::Object(map) => match map.get("gid") {
            Some(Value::String(s)) => Ok(s.clone()),
            _ => Err(DomainError::field(
                &name.to_string(),
                "Not a valid GID type: object",
            )),
        },
        other => Err(DomainError::field(
            &name.to_string(),
            format_args!("Not a valid GID type: {}", type_name(other)),
        )),
    }
}

/// Reads references: an array, or text separated by commas.
///
/// # Errors
/// Returns an error if the value is neither, has too many items, or an item is not a reference.
pub fn references(name: &str, value: &Value) -> Result<Vec<String>, DomainError> {
    let few = |count: usize| {
        if count <= REFS_MAX {
            return Ok(());
        }
        Err(DomainError::field(
            name,
            format_args!("Too many: {count}; at most {REFS_MAX} may be given at once"),
        ))
    };
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) => {
            let texts = split(text);
            return few(texts.len()).map(|()| texts);
        }
        _ => {
            return Err(DomainError::field(
                name,
                format_args!(
                    "Value is not an array: {}; it must be an array of gids",
                    shown(value)
                ),
            ));
        }
    };
    few(items.len())?;
    items
        .iter()
        .enumerate()
        .map(|(i, v)| reference(format_args!("{name}: [{i}]"), v))
        .collect()
}

/// Splits text at its commas; empty items are left out.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Maximum number of references that one list may have.
pub const REFS_MAX: usize = 200;

/// Returns a value for an error message: shortened, with control characters escaped.
#[must_use]
pub fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    };
    clip(&text)
}

/// Returns text for an error message: shortened, with control characters escaped.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(64)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() {
                c.escape_unicode().collect()
            } else {
                vec![c]
            };
            escaped
        })
        .collect();
    if text.chars().nth(64).is_some() {
        out.push('…');
    }
    out
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;

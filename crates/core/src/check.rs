//! Checking request bodies: JSON values become the form in which fields are stored.
use crate::draft::Draft;
use crate::fault::Fault;
use crate::node::quoted;
use crate::registry::{Def, Resource, Shape, Source, Write};
use crate::rich::clean_text;
use crate::time::{Date, Time};
use serde_json::{Map, Value};
use std::fmt;

/// What a client gave for a field. An absent field is not in [`Inputs`] at all.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    /// null.
    Null,
    /// A value in the form it is stored.
    Stored(String),
    /// Rich text as it was sent; the caller normalises it.
    Html(String),
    /// A reference as it was sent: a gid, and for users also `me` or an e-mail address.
    Ref(String),
    /// References as they were sent.
    Refs(Vec<String>),
    /// JSON the caller reads.
    Json(Value),
}

/// The checked fields of a request body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inputs {
    entries: Vec<(&'static str, Given)>,
}

impl Inputs {
    /// What was given for a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Given> {
        self.entries
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, g)| g)
    }
    /// Whether anything was given for a field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
    /// The names of the given fields.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(n, _)| *n)
    }
    /// Puts every stored value into a draft; links and rich text are the caller's.
    pub fn fill(&self, resource: &Resource, draft: &mut Draft) {
        for (name, given) in &self.entries {
            let Some(def) = resource.field(name) else {
                continue;
            };
            let (Source::Stored(key), Given::Stored(_) | Given::Null) = (def.source, given) else {
                continue;
            };
            let raw = match given {
                Given::Stored(raw) => raw.clone(),
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
/// When a value is not one the field takes, or the field is written by another operation.
pub fn inputs(
    resource: &Resource,
    data: &Map<String, Value>,
    creating: bool,
) -> Result<Inputs, Fault> {
    let mut entries = Vec::with_capacity(data.len());
    for (name, value) in data {
        let Some(def) = resource.field(name) else {
            continue;
        };
        match def.write {
            Write::Never => continue,
            Write::Refused => return Err(Fault::unwritable(name)),
            Write::Constant | Write::NoCustomFields => {
                unchanged(def, value)?;
                continue;
            }
            Write::OnCreate if !creating => return Err(Fault::unwritable(name)),
            Write::OnCreate | Write::Always => {}
        }
        if creating && is_null(def, value) && !nullable(def) {
            // Clients that send every property say so that they have no value for this one.
            continue;
        }
        entries.push((def.name, value_of(def, value)?));
    }
    Ok(Inputs { entries })
}

/// Tells whether a value says that there is none. An empty text does so too, but where a text is due: forms
/// have no null.
fn is_null(def: &Def, value: &Value) -> bool {
    let text = matches!(def.shape, Shape::Text(_) | Shape::Html | Shape::Json);
    value.is_null() || (!text && value.as_str() == Some(""))
}

const fn nullable(def: &Def) -> bool {
    !matches!(def.shape, Shape::Flag | Shape::Int | Shape::Word(_))
}

/// Checks that a value is the one that a constant field has, or no value.
fn unchanged(def: &Def, value: &Value) -> Result<(), Fault> {
    match value {
        Value::Null => Ok(()),
        Value::Array(items) if items.is_empty() => Ok(()),
        Value::Object(map) if def.write == Write::NoCustomFields => {
            let named = map.keys().next();
            named.map_or(Ok(()), |field| Err(Fault::not_on(clip(field))))
        }
        _ if def.write == Write::NoCustomFields => Err(not_an_object(def.name, value)),
        _ => Err(Fault::unwritable(def.name)),
    }
}

fn not_an_object(name: &str, value: &Value) -> Fault {
    Fault::field(
        name,
        format_args!("Value is not a JSON object: {}", shown(value)),
    )
}

fn value_of(def: &Def, value: &Value) -> Result<Given, Fault> {
    if is_null(def, value) {
        if nullable(def) {
            return Ok(Given::Null);
        }
        return Err(Fault::field(
            def.name,
            "Cannot be null; leave the property out to keep it",
        ));
    }
    if let Source::Values(_) = def.source {
        if value.is_object() {
            return Ok(Given::Json(value.clone()));
        }
        return Err(not_an_object(def.name, value));
    }
    match def.shape {
        Shape::Text(max) => text(def.name, value, max).map(|t| Given::Stored(quoted(&t))),
        Shape::Html => string(def.name, value).map(|s| Given::Html(s.to_owned())),
        Shape::Flag => flag(def.name, value).map(|f| Given::Stored(f.to_string())),
        Shape::Int => match integer(value) {
            Some(n) => Ok(Given::Stored(n.to_string())),
            None => Err(Fault::field(
                def.name,
                format_args!("Not an integer: {}", shown(value)),
            )),
        },
        Shape::Time => {
            let t = Time::parse(string(def.name, value)?).map_err(|e| Fault::field(def.name, e))?;
            Ok(Given::Stored(format!("\"{t}\"")))
        }
        Shape::Date => {
            let d = Date::parse(string(def.name, value)?).map_err(|e| Fault::field(def.name, e))?;
            Ok(Given::Stored(format!("\"{d}\"")))
        }
        Shape::Word(words) | Shape::WordOrNull(words) => {
            let word = string(def.name, value)?;
            if words.contains(&word) {
                Ok(Given::Stored(quoted(word)))
            } else {
                Err(Fault::field(
                    def.name,
                    format_args!(
                        "Not a recognized value: {}; it is one of {}",
                        shown(value),
                        words.join(", ")
                    ),
                ))
            }
        }
        Shape::One(_) => reference(def.name, value).map(Given::Ref),
        Shape::Many(_) => references(def.name, value).map(Given::Refs),
        Shape::Group(_) | Shape::Items(_) | Shape::Json => Ok(Given::Json(value.clone())),
    }
}

/// Reads an integer, as JSON or as form text.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// A string.
///
/// # Errors
/// When the value is not a string.
pub fn string<'v>(name: &str, value: &'v Value) -> Result<&'v str, Fault> {
    value
        .as_str()
        .ok_or_else(|| Fault::field(name, format_args!("Not a string: {}", shown(value))))
}

/// A plain text without control characters, at most `max` characters long.
///
/// # Errors
/// When it is not a string, too long, or has control characters.
pub fn text(name: &str, value: &Value, max: u32) -> Result<String, Fault> {
    let raw = string(name, value)?;
    let clean = clean_text(raw).map_err(|e| Fault::field(name, e))?;
    let length = clean.chars().count();
    if length > max as usize {
        return Err(Fault::field(
            name,
            format_args!("Too long: {length} characters; at most {max} are kept"),
        ));
    }
    Ok(clean.to_string())
}

/// Reads a flag: a JSON boolean, 1 or 0, or a text that [`boolean`] reads.
///
/// # Errors
/// When it is none of these.
pub fn flag(name: &str, value: &Value) -> Result<bool, Fault> {
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
    read.ok_or_else(|| Fault::field(name, format_args!("Not a boolean: {}", shown(value))))
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

/// A reference: text, or an integer as old clients send gids, or an object with a gid.
///
/// # Errors
/// When the value is of another type.
pub fn reference(name: impl fmt::Display, value: &Value) -> Result<String, Fault> {
    match value {
        Value::String(s) => Ok(s.clone()),
        Value::Number(n) if n.is_u64() => Ok(n.to_string()),
        Value::Object(map) => match map.get("gid") {
            Some(Value::String(s)) => Ok(s.clone()),
            _ => Err(Fault::field(
                &name.to_string(),
                "Not a valid GID type: object",
            )),
        },
        other => Err(Fault::field(
            &name.to_string(),
            format_args!("Not a valid GID type: {}", type_name(other)),
        )),
    }
}

/// Reads references: an array, or text separated by commas.
///
/// # Errors
/// When the value is neither, has too many items, or an item is not a reference.
pub fn references(name: &str, value: &Value) -> Result<Vec<String>, Fault> {
    let few = |count: usize| {
        if count <= REFS_MAX {
            return Ok(());
        }
        Err(Fault::field(
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
            return Err(Fault::field(
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

/// The most references one list may have.
pub const REFS_MAX: usize = 200;

/// A value as errors show it: cut short, control characters escaped.
#[must_use]
pub fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    };
    clip(&text)
}

/// Text as errors show it.
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

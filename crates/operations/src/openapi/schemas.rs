//! Schemas of records, of writable fields, and of inputs.
use crate::operation::inputs::{InputDef, InputType, RecordFields};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_core::model::registry::{FieldDef, FieldSource, Type, ValueType, Writability};
use workgraph_core::model::resources::resource;

/// The schemas that the document refers to, by name.
#[derive(Debug, Default)]
pub(super) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Returns the reference to the schema of a record, after adding it with everything that it links to.
    pub(super) fn record(&mut self, ty: Type) -> Value {
        let name = type_name(ty);
        if !self.0.contains_key(&name) {
            // Records link to each other in circles.
            self.0.insert(name.clone(), Value::Null);
            let schema = self.object(resource(ty).fields);
            self.0.insert(name.clone(), schema);
        }
        reference(&name)
    }

    /// Returns the reference to the schema of the fields that a body may write, after adding it.
    pub(super) fn written(&mut self, fields: RecordFields) -> Value {
        let suffix = if fields.creating { "Create" } else { "Update" };
        let name = format!("{}{suffix}", type_name(fields.ty));
        let all = resource(fields.ty).fields.iter();
        let properties: Map<String, Value> = all
            .filter(|def| is_written(def, fields.creating))
            .map(|def| (def.name.to_owned(), described(written_value(def), def)))
            .collect();
        let schema = json!({ "type": "object", "properties": properties });
        self.0.insert(name.clone(), schema);
        reference(&name)
    }

    /// Returns all schemas, including the schemas of errors.
    pub(super) fn into_components(self) -> Value {
        let mut all: Map<String, Value> = self.0.into_iter().collect();
        all.insert(
            "Errors".to_owned(),
            json!({
                "type": "object",
                "required": ["errors"],
                "properties": {
                    "errors": { "type": "array", "items": { "$ref": "#/components/schemas/Error" } },
                    "sync": { "type": "string" },
                },
            }),
        );
        all.insert(
            "Error".to_owned(),
            json!({
                "type": "object",
                "required": ["message"],
                "properties": {
                    "message": { "type": "string", "description": "The error, for a developer." },
                    "help": { "type": "string", "description": "An address or text that helps." },
                    "phrase": { "type": "string", "description": "With a 500: the text that finds it in the log." },
                },
            }),
        );
        Value::Object(all)
    }

    fn object(&mut self, fields: &'static [FieldDef]) -> Value {
        let properties: Map<String, Value> = fields
            .iter()
            .map(|def| (def.name.to_owned(), described(self.sent_value(def), def)))
            .collect();
        let mut out = json!({ "type": "object", "properties": properties });
        if let (Value::Object(out), true) = (&mut out, fields.iter().any(|def| def.name == "gid")) {
            out.insert("required".to_owned(), json!(["gid"]));
            out.insert("additionalProperties".to_owned(), json!(false));
        }
        out
    }

    /// Returns the schema of a field's value in a record.
    fn sent_value(&mut self, def: &FieldDef) -> Value {
        let value = match def.value_type {
            ValueType::One(types) => {
                let mut all: Vec<Value> = types.iter().map(|ty| self.record(*ty)).collect();
                all.push(json!({ "type": "null" }));
                return json!({ "anyOf": all });
            }
            ValueType::Many(types) => {
                let all: Vec<Value> = types.iter().map(|ty| self.record(*ty)).collect();
                json!({ "type": "array", "items": { "anyOf": all } })
            }
            ValueType::Group(fields) => self.object(fields),
            ValueType::Items(fields) => json!({ "type": "array", "items": self.object(fields) }),
            _ => plain_value(def, false),
        };
        or_null(value, may_be_null(def))
    }
}

/// Returns the name of a type's schema: `project_membership` is `ProjectMembership`.
fn type_name(ty: Type) -> String {
    let words = resource(ty).name.split('_');
    let capital = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    };
    let name: String = words.map(capital).collect();
    // Two types of exports and of memberships have their own names, but clients see the same name for both.
    let shares = |other: &&Type| **other != ty && resource(**other).name == resource(ty).name;
    match Type::ALL.iter().find(shares) {
        Some(_) => format!("{ty:?}"),
        None => name,
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Adds the documentation of a field to its schema.
fn described(mut schema: Value, def: &FieldDef) -> Value {
    if let Value::Object(out) = &mut schema {
        if !def.doc.is_empty() {
            out.insert("description".to_owned(), json!(def.doc));
        }
        if !def.required_scopes.is_empty() {
            out.insert("x-scopes".to_owned(), json!(def.required_scopes));
        }
        if def.deprecated.is_some() {
            out.insert("deprecated".to_owned(), json!(true));
        }
    }
    schema
}

/// Returns the schema of a value that is not a link.
fn plain_value(def: &FieldDef, written: bool) -> Value {
    match def.value_type {
        ValueType::Text(max) if written => json!({ "type": "string", "maxLength": max }),
        ValueType::Text(_) | ValueType::Html => json!({ "type": "string" }),
        ValueType::Flag => json!({ "type": "boolean" }),
        ValueType::Int => json!({ "type": "integer" }),
        ValueType::Number => json!({ "type": "number" }),
        ValueType::Time => json!({ "type": "string", "format": "date-time" }),
        ValueType::Date => json!({ "type": "string", "format": "date" }),
        ValueType::Word(words) | ValueType::WordOrNull(words) => {
            json!({ "type": "string", "enum": words })
        }
        _ => json!({}),
    }
}

fn may_be_null(def: &FieldDef) -> bool {
    def.default == "null"
        || matches!(def.value_type, ValueType::WordOrNull(_))
        || matches!(
            def.source,
            FieldSource::Computed(_) | FieldSource::WithProgress(_) | FieldSource::Always("null")
        )
}

/// Allows null in addition to the values of a schema.
fn or_null(mut schema: Value, nullable: bool) -> Value {
    let Value::Object(out) = &mut schema else {
        return schema;
    };
    if !nullable {
        return schema;
    }
    if let Some(ty) = out.get("type").cloned() {
        out.insert("type".to_owned(), json!([ty, "null"]));
    }
    if let Some(Value::Array(words)) = out.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

fn is_written(def: &FieldDef, creating: bool) -> bool {
    match def.write {
        Writability::Always | Writability::NewRecord | Writability::ValueMap => true,
        Writability::OnCreate => creating,
        _ => false,
    }
}

/// Returns the names of the fields that a body may write.
pub(super) fn written_fields(fields: RecordFields) -> impl Iterator<Item = &'static str> {
    let all = resource(fields.ty).fields.iter();
    let written = all.filter(move |def| is_written(def, fields.creating));
    written.map(|def| def.name)
}

/// Returns the schema of a field's value in a body.
fn written_value(def: &FieldDef) -> Value {
    let gid = json!({ "type": "string" });
    if let FieldSource::Values(_) = def.source {
        // A map from custom fields to values.
        return json!({ "type": ["object", "null"] });
    }
    let value = match def.value_type {
        ValueType::One(_) if def.write == Writability::NewRecord => {
            return json!({ "type": ["string", "object", "null"] });
        }
        ValueType::One(_) => return json!({ "type": ["string", "null"] }),
        ValueType::Many(_) => json!({ "type": "array", "items": gid }),
        ValueType::Group(_) => return json!({ "type": ["object", "null"] }),
        ValueType::Items(_) => json!({ "type": "array", "items": { "type": "object" } }),
        _ => plain_value(def, true),
    };
    or_null(value, may_be_null(def))
}

pub(super) fn input_schema(input: &InputDef) -> Value {
    let schema = match input.ty {
        InputType::Node(_) | InputType::Token => json!({ "type": "string" }),
        InputType::Nodes(_) => json!({ "type": "array", "items": { "type": "string" } }),
        InputType::Text(max) => json!({ "type": "string", "maxLength": max }),
        InputType::Terms(_) => json!({ "type": "string" }),
        InputType::Word(words) => json!({ "type": "string", "enum": words }),
        InputType::Words(words) => {
            json!({ "type": "array", "items": { "type": "string", "enum": words } })
        }
        InputType::Flag => json!({ "type": "boolean" }),
        InputType::Number(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        InputType::Decimal(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        InputType::Day => json!({ "type": "string", "format": "date" }),
        InputType::Instant => json!({ "type": "string", "format": "date-time" }),
        InputType::File => json!({ "type": "string", "format": "binary" }),
        InputType::Structure | InputType::Record(_) => json!({}),
    };
    or_null(schema, input.nullable)
}

//! Reading a request's query and body.
use crate::fault::Failure;
use crate::operation::{Answer, Operation};
use crate::request::{Method, Request};
use crate::settings::Settings;
use serde_json::{Map, Value};
use workgraph_core::fault::Fault;
use workgraph_core::registry::{Def, Shape, Write};
use workgraph_core::resources::{ALL, resource, task};
use workgraph_wire::batch::Action;
use workgraph_wire::form::{self, Form};
use workgraph_wire::json::{self, Limits};
use workgraph_wire::{Body, Options, Query, QueryError};

/// What an operation is given: by a request, or by an action of a batch.
#[derive(Clone, Copy)]
pub(crate) enum Sent<'r> {
    Request(&'r Request),
    Action(&'r Action),
}

impl<'r> Sent<'r> {
    pub(crate) fn path(self) -> &'r str {
        match self {
            Self::Request(request) => &request.path,
            Self::Action(action) => &action.path,
        }
    }
    pub(crate) fn query(self) -> &'r str {
        match self {
            Self::Request(request) => &request.query,
            Self::Action(action) => &action.query,
        }
    }
    /// Returns the body; none if there is none where one is due.
    fn body(self, operation: &Operation, settings: &Settings) -> Result<Option<Body>, Failure> {
        match self {
            Self::Request(request) => body(request, operation, settings),
            Self::Action(action) => Ok(action.body.clone().or_else(|| empty(operation))),
        }
    }
}

/// Reads the query, the `data` of the body, and the output options of both.
pub(crate) fn read(
    sent: Sent<'_>,
    operation: &Operation,
    settings: &Settings,
) -> Result<(Query, Map<String, Value>, Options), Failure> {
    let invalid = |e: QueryError| Fault::invalid(e.to_string());
    let query = Query::of_request(sent.query()).map_err(invalid)?;
    // Bodies of GET and DELETE are ignored: SDKs send `{}` with a DELETE.
    if matches!(operation.method, Method::Get | Method::Delete) {
        let query = query.with_lists();
        let options = query.options().map_err(invalid)?;
        required(operation, &query)?;
        return Ok((query, Map::new(), options));
    }
    let mut options = query.options().map_err(invalid)?;
    required(operation, &query)?;
    let inputs = query_inputs(&query, operation).map_err(invalid)?;
    let mut body = match sent.body(operation, settings)? {
        Some(body) => body,
        None if inputs.is_empty() => return Err(Fault::missing("data").into()),
        None => Body::default(),
    };
    options = body.options.or(options);
    for (name, value) in inputs {
        body.data.entry(name).or_insert(value);
    }
    for name in operation.body {
        // A null counts as given where the contract gives it a meaning: setParent takes no parent.
        let nullable = *name == "parent";
        if !body
            .data
            .get(*name)
            .is_some_and(|v| nullable || !v.is_null())
        {
            return Err(Fault::missing(name).into());
        }
    }
    Ok((query, body.data, options))
}

/// Checks that the query has the parameters that the operation cannot do without.
fn required(operation: &Operation, query: &Query) -> Result<(), Fault> {
    for name in operation.query {
        let value = query.get(name).map_err(|e| Fault::invalid(e.to_string()))?;
        if value.is_none() {
            return Err(Fault::missing(name));
        }
    }
    Ok(())
}

/// Returns the inputs of a write that stand in its query, where some clients put what belongs into the body.
fn query_inputs(query: &Query, operation: &Operation) -> Result<Map<String, Value>, QueryError> {
    let input = |(name, _): &(&str, &str)| {
        let field = form::field_of(name);
        let own = name.starts_with("opt_") || matches!(field, "limit" | "offset" | "access_token");
        let known = |names: &[&str]| names.contains(&field);
        !own && !known(operation.query) && !known(operation.filters) && is_input(operation, field)
    };
    if !query.iter().any(|pair| input(&pair)) {
        return Ok(Map::new());
    }
    let mut inputs = form::nested(query.iter().filter(input), by_gid)?;
    normalize_nulls(&mut inputs, operation);
    Ok(inputs)
}

/// Tells whether a body field may be an input: all may, but fields of the record that the operation does not write.
fn is_input(operation: &Operation, name: &str) -> bool {
    let of_record = operation.record().and_then(|ty| resource(ty).field(name));
    operation.body.contains(&name)
        || of_record.is_none_or(|def| match def.write {
            Write::Always | Write::Constant | Write::NoCustomFields => true,
            Write::OnCreate => operation.method == Method::Post,
            Write::Refused | Write::Never => false,
        })
}

fn body(
    request: &Request,
    operation: &Operation,
    settings: &Settings,
) -> Result<Option<Body>, Failure> {
    let kind = request.content_type.as_deref().unwrap_or("");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        _ if request.body.is_empty() => Ok(empty(operation)),
        "application/json" | "" => {
            let limits = Limits {
                bytes: settings.body_max,
                depth: settings.depth_max,
            };
            let read = json::body_within(&request.body, limits);
            read.map(Some).map_err(|e| match e.status() {
                413 => Failure::TooLarge,
                _ => Fault::invalid(e.to_string()).into(),
            })
        }
        "application/x-www-form-urlencoded" => {
            let read = Form::parse(&request.body, form::FORM_BYTES)
                .and_then(|form| form.into_body(by_gid));
            let mut body = read.map_err(|e| match e.status() {
                413 => Failure::TooLarge,
                _ => Fault::invalid(e.to_string()).into(),
            })?;
            normalize_nulls(&mut body.data, operation);
            Ok(Some(body))
        }
        _ => Err(Failure::MediaType),
    }
}

/// Returns the body of a request without one: there is one where nothing is required, as for actions without input.
fn empty(operation: &Operation) -> Option<Body> {
    let none = operation.body.is_empty() && matches!(operation.answer, Answer::Empty);
    none.then(Body::default)
}

/// Tells whether brackets after a field hold gids of custom fields, not numbers of items.
fn by_gid(field: &str) -> bool {
    field == task::CUSTOM_FIELDS.def.name
}

/// Puts null for `null` and for an empty value where no text is due: forms and queries have no other.
fn normalize_nulls(data: &mut Map<String, Value>, operation: &Operation) {
    for (name, value) in data.iter_mut() {
        let none = matches!(value.as_str(), Some("" | "null"));
        if none && !is_text(name, operation) {
            *value = Value::Null;
        }
    }
}

/// Tells whether a body field is a text: by the record that the operation is about, or else by any record.
fn is_text(name: &str, operation: &Operation) -> bool {
    let text = |def: &Def| matches!(def.shape, Shape::Text(_) | Shape::Html);
    match operation.record().and_then(|ty| resource(ty).field(name)) {
        Some(def) => text(def),
        None => ALL.iter().any(|r| r.field(name).is_some_and(text)),
    }
}

//! Reading a request's query and body.
use crate::fault::Failure;
use crate::operation::Operation;
use crate::request::{Method, Request};
use crate::settings::Settings;
use serde_json::{Map, Value};
use workgraph_core::fault::Fault;
use workgraph_core::registry::Shape;
use workgraph_core::resources::resource;
use workgraph_wire::batch::Action;
use workgraph_wire::form::Form;
use workgraph_wire::json::{self, Limits};
use workgraph_wire::{Body, Options, Query};

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
    fn body(self, operation: &Operation, settings: &Settings) -> Result<Body, Failure> {
        match self {
            Self::Request(request) => body(request, operation, settings),
            Self::Action(action) => action.body.clone().map_or_else(|| empty(operation), Ok),
        }
    }
}

/// The query, the `data` of the body, and the output options of both.
pub(crate) fn read(
    sent: Sent<'_>,
    operation: &Operation,
    settings: &Settings,
) -> Result<(Query, Map<String, Value>, Options), Failure> {
    let mut query = Query::of_request(sent.query()).map_err(|e| Fault::invalid(e.to_string()))?;
    if matches!(operation.method, Method::Get | Method::Delete) {
        query = query.with_lists();
    }
    let mut options = query.options().map_err(|e| Fault::invalid(e.to_string()))?;
    for name in operation.query {
        let value = query.get(name).map_err(|e| Fault::invalid(e.to_string()))?;
        if value.is_none() {
            return Err(Fault::missing(name).into());
        }
    }
    // Bodies of GET and DELETE are ignored: SDKs send `{}` with a DELETE.
    if matches!(operation.method, Method::Get | Method::Delete) {
        return Ok((query, Map::new(), options));
    }
    let body = sent.body(operation, settings)?;
    options = body.options.or(options);
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

fn body(request: &Request, operation: &Operation, settings: &Settings) -> Result<Body, Failure> {
    let kind = request.content_type.as_deref().unwrap_or("");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        _ if request.body.is_empty() => empty(operation),
        "application/json" | "" => {
            let limits = Limits {
                bytes: settings.body_max,
                depth: settings.depth_max,
            };
            json::body_within(&request.body, limits).map_err(|e| match e.status() {
                413 => Failure::TooLarge,
                _ => Fault::invalid(e.to_string()).into(),
            })
        }
        "application/x-www-form-urlencoded" => {
            let read = Form::parse(&request.body, workgraph_wire::form::FORM_BYTES)
                .and_then(Form::into_body);
            let mut body = read.map_err(|e| match e.status() {
                413 => Failure::TooLarge,
                _ => Fault::invalid(e.to_string()).into(),
            })?;
            spread(&mut body.data, operation);
            Ok(body)
        }
        _ => Err(Failure::MediaType),
    }
}

/// No body at all: fine where nothing is required, as for actions without input.
fn empty(operation: &Operation) -> Result<Body, Failure> {
    if operation.body.is_empty() && matches!(operation.answer, crate::operation::Answer::Empty) {
        return Ok(Body::default());
    }
    Err(Fault::missing("data").into())
}

/// Form fields have no arrays: lists are separated by commas, and nothing is null.
fn spread(data: &mut Map<String, Value>, operation: &Operation) {
    let Some(ty) = operation.record() else { return };
    for (name, value) in data.iter_mut() {
        let many = resource(ty)
            .field(name)
            .is_some_and(|d| matches!(d.shape, Shape::Many(_)));
        if let (true, Value::String(text)) = (many, &*value) {
            *value = crate::call::split(text).into();
        }
    }
}

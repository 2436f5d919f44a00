//! Reads the query and the body of a request.
use crate::error::ApiError;
use crate::features::attachments::ReceivedUpload;
use crate::request::{ApiRequest, Method};
use serde_json::{Map, Value};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{FieldDef, ValueType, Writability};
use workgraph_core::model::resources::{ALL, resource, task};
use workgraph_operations::ApiSettings;
use workgraph_operations::operation::inputs::{PathParameters, UploadedFile};
use workgraph_operations::operation::{Operation, ResponseKind};
use workgraph_wire::batch_actions::BatchAction;
use workgraph_wire::form_body::FormBody;
use workgraph_wire::json_body::JsonLimits;
use workgraph_wire::{JsonBody, QueryError, QueryParams, RequestOptions, form_body, json_body};

/// The inputs of an operation, from a request or from a batch action.
#[derive(Clone, Copy)]
pub(crate) enum OperationInput<'r> {
    /// A request with its JSON body.
    Request(&'r ApiRequest, &'r [u8]),
    Upload(&'r ApiRequest, &'r ReceivedUpload),
    Action(&'r BatchAction),
}

impl<'r> OperationInput<'r> {
    pub(crate) fn path(self) -> &'r str {
        match self {
            Self::Request(request, _) | Self::Upload(request, _) => &request.path,
            Self::Action(action) => &action.path,
        }
    }
    pub(crate) fn query(self) -> &'r str {
        match self {
            Self::Request(request, _) | Self::Upload(request, _) => &request.query,
            Self::Action(action) => &action.query,
        }
    }
    /// Returns the uploaded file, if the body has one.
    pub(crate) fn file(self) -> Option<&'r UploadedFile> {
        match self {
            Self::Upload(_, upload) => upload.file.as_ref(),
            Self::Request(..) | Self::Action(_) => None,
        }
    }
    /// Returns the body, or `None` if the operation needs one and the request has none.
    fn body(
        self,
        operation: &Operation,
        settings: &ApiSettings,
    ) -> Result<Option<JsonBody>, ApiError> {
        match self {
            Self::Request(request, bytes) => body(request, bytes, operation, settings),
            Self::Upload(_, upload) => {
                let mut data = upload.fields.clone();
                normalize_nulls(&mut data, operation);
                Ok(Some(JsonBody {
                    data,
                    ..JsonBody::default()
                }))
            }
            Self::Action(action) => Ok(action.body.clone().or_else(|| empty(operation))),
        }
    }
}

/// Reads the query, the `data` of the body, and the output options of both.
pub(crate) fn parse_inputs(
    sent: OperationInput<'_>,
    operation: &Operation,
    parameters: &PathParameters,
    settings: &ApiSettings,
) -> Result<(QueryParams, Map<String, Value>, RequestOptions), ApiError> {
    let invalid = |e: QueryError| DomainError::invalid(e.to_string());
    let query = QueryParams::of_request(sent.query()).map_err(invalid)?;
    // Bodies of GET and DELETE are ignored: SDKs send `{}` with a DELETE.
    if matches!(operation.method, Method::Get | Method::Delete) {
        let query = query.with_lists();
        let options = query.options().map_err(invalid)?;
        required(operation, parameters, &query)?;
        return Ok((query, Map::new(), options));
    }
    let mut options = query.options().map_err(invalid)?;
    required(operation, parameters, &query)?;
    let inputs = query_inputs(&query, operation).map_err(invalid)?;
    let mut body = match sent.body(operation, settings)? {
        Some(body) => body,
        None if inputs.is_empty() => return Err(DomainError::missing("data").into()),
        None => JsonBody::default(),
    };
    options = body.options.merged_with(options);
    for (name, value) in inputs {
        body.data.entry(name).or_insert(value);
    }
    for (name, nullable) in operation.required_body() {
        if !body
            .data
            .get(name)
            .is_some_and(|v| nullable || !v.is_null())
        {
            return Err(DomainError::missing(name).into());
        }
    }
    Ok((query, body.data, options))
}

/// Checks that the query has the operation's required parameters. A path parameter may replace one.
fn required(
    operation: &Operation,
    parameters: &PathParameters,
    query: &QueryParams,
) -> Result<(), DomainError> {
    let in_path = |name: &str| {
        let mut inputs = operation.inputs.iter().filter(|input| input.name == name);
        let instead = inputs.find_map(|input| input.path_alternative);
        instead.is_some_and(|path| parameters.iter().any(|(given, _)| *given == path.name))
    };
    for name in operation.required_query().filter(|name| !in_path(name)) {
        let value = query
            .get(name)
            .map_err(|e| DomainError::invalid(e.to_string()))?;
        if value.is_none() {
            return Err(DomainError::missing(name));
        }
    }
    Ok(())
}

/// Returns the inputs of a write that are in its query; some clients put body fields there.
fn query_inputs(
    query: &QueryParams,
    operation: &Operation,
) -> Result<Map<String, Value>, QueryError> {
    let input = |(name, _): &(&str, &str)| {
        let field = form_body::field_of(name);
        let own = name.starts_with("opt_") || matches!(field, "limit" | "offset" | "access_token");
        let mut known = operation.required_query().chain(operation.optional_query());
        !own && !known.any(|name| name == field) && is_input(operation, field)
    };
    if !query.iter().any(|pair| input(&pair)) {
        return Ok(Map::new());
    }
    let mut inputs = form_body::nested(query.iter().filter(input), by_gid)?;
    normalize_nulls(&mut inputs, operation);
    Ok(inputs)
}

/// Returns true if a body field may be an input: any field except fields of the record that the operation does not write.
fn is_input(operation: &Operation, name: &str) -> bool {
    let of_record = operation.record().and_then(|ty| resource(ty).field(name));
    requires(operation, name)
        || of_record.is_none_or(|def| match def.write {
            Writability::Always
            | Writability::Constant
            | Writability::NoCustomFields
            | Writability::ValueMap
            | Writability::Current
            | Writability::NewRecord => true,
            Writability::OnCreate => operation.method == Method::Post,
            Writability::Refused | Writability::Never => false,
        })
}

/// Returns true if a request of the operation must have this body field.
fn requires(operation: &Operation, field: &str) -> bool {
    operation.required_body().any(|(name, _)| name == field)
}

fn body(
    request: &ApiRequest,
    bytes: &[u8],
    operation: &Operation,
    settings: &ApiSettings,
) -> Result<Option<JsonBody>, ApiError> {
    let kind = request.content_type.as_deref().unwrap_or("");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        _ if bytes.is_empty() => Ok(empty(operation)),
        "application/json" | "" => {
            let limits = JsonLimits {
                bytes: settings.body_max,
                depth: settings.depth_max,
            };
            let read = json_body::read_body_within(bytes, limits);
            read.map(Some).map_err(|e| match e.status() {
                413 => ApiError::TooLarge,
                _ => DomainError::invalid(e.to_string()).into(),
            })
        }
        "application/x-www-form-urlencoded" => {
            let read = FormBody::parse(bytes, form_body::FORM_BYTES)
                .and_then(|form| form.into_body(by_gid));
            let mut body = read.map_err(|e| match e.status() {
                413 => ApiError::TooLarge,
                _ => DomainError::invalid(e.to_string()).into(),
            })?;
            normalize_nulls(&mut body.data, operation);
            Ok(Some(body))
        }
        _ => Err(ApiError::MediaType),
    }
}

/// Returns the body of a request without one: an empty body if nothing is required, as for actions without input.
fn empty(operation: &Operation) -> Option<JsonBody> {
    let none = operation.required_body().next().is_none()
        && matches!(operation.response, ResponseKind::Empty);
    none.then(JsonBody::default)
}

/// Returns true if the brackets after a field contain gids of custom fields instead of item numbers.
fn by_gid(field: &str) -> bool {
    field == task::CUSTOM_FIELDS.def.name
}

/// Replaces `null` and empty values with null where the field is not a text: forms and queries cannot express null.
fn normalize_nulls(data: &mut Map<String, Value>, operation: &Operation) {
    for (name, value) in data.iter_mut() {
        let none = matches!(value.as_str(), Some("" | "null"));
        if none && !is_text(name, operation) {
            *value = Value::Null;
        }
    }
}

/// Returns true if a body field is a text in the record of the operation, or else in any record.
fn is_text(name: &str, operation: &Operation) -> bool {
    let text = |def: &FieldDef| matches!(def.value_type, ValueType::Text(_) | ValueType::Html);
    match operation.record().and_then(|ty| resource(ty).field(name)) {
        Some(def) => text(def),
        None => ALL.iter().any(|r| r.field(name).is_some_and(text)),
    }
}

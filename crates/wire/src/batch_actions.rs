//! Batches: the actions of `POST /batch`, and their results.

use std::fmt;

use serde_json::{Map, Value};

use crate::json_body::{JsonBody, JsonError};
use crate::messages::{clip, missing_input};
use crate::percent;
use crate::request_options::RequestOptions;

/// Maximum number of actions in one batch.
pub const ACTIONS_MAX: usize = 10;

/// One action of a batch: a request without its own headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchAction {
    /// The method as HTTP writes it.
    pub method: &'static str,
    /// The path below the API base; it starts with one `/`.
    pub path: String,
    /// The `data` of a GET, as a query.
    pub query: String,
    /// The body of any other method; `None` if the action has no `data`.
    pub body: Option<JsonBody>,
    /// The output options.
    pub options: RequestOptions,
}

/// Reason why a batch or one of its actions is refused. `Display` is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchActionError {
    /// This part is missing.
    Missing(&'static str),
    /// More than [`ACTIONS_MAX`] actions.
    TooMany,
    /// An action is not an object.
    NotAnObject,
    /// This part should have this type.
    Type(&'static str, &'static str),
    /// The method, cut and escaped, is not an HTTP method.
    Method(String),
    /// The path breaks this rule; cut and escaped.
    Path(&'static str, String),
    /// The input with this name, cut and escaped, can't be written in a query.
    Data(String),
    /// The output options can't be read.
    Options(JsonError),
}

impl From<JsonError> for BatchActionError {
    fn from(error: JsonError) -> Self {
        Self::Options(error)
    }
}

impl fmt::Display for BatchActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(part) => f.write_str(&missing_input(part)),
            Self::TooMany => write!(f, "actions: at most {ACTIONS_MAX}"),
            Self::NotAnObject => {
                f.write_str("actions: each must be an object with relative_path and method")
            }
            Self::Type(part, kind) => write!(f, "{part}: must be {kind}"),
            Self::Method(method) => write!(
                f,
                "method: must be one of get, post, put, delete, patch, head, not: {method}"
            ),
            Self::Path(rule, path) => write!(f, "relative_path: {rule}: {path}"),
            Self::Data(name) => write!(
                f,
                "data: {name}: must be a string, a number, true, false or a list of these"
            ),
            Self::Options(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BatchActionError {}

/// Returns the actions of a batch. Each one may still be malformed.
///
/// # Errors
/// Fails if there is no list of 1 to [`ACTIONS_MAX`] actions.
pub fn actions(data: &Map<String, Value>) -> Result<&[Value], BatchActionError> {
    match data.get("actions") {
        Some(Value::Array(list)) if list.len() > ACTIONS_MAX => Err(BatchActionError::TooMany),
        Some(Value::Array(list)) if !list.is_empty() => Ok(list),
        _ => Err(BatchActionError::Missing("actions")),
    }
}

impl BatchAction {
    /// Reads one action.
    ///
    /// # Errors
    /// Fails if the value is not an action.
    pub fn read(value: &Value) -> Result<Self, BatchActionError> {
        use BatchActionError::{Missing, Type};
        let Value::Object(action) = value else {
            return Err(BatchActionError::NotAnObject);
        };
        let part = |name: &str| action.get(name).filter(|v| !v.is_null());
        let path = match part("relative_path") {
            Some(Value::String(path)) => path,
            Some(_) => return Err(Type("relative_path", "a string")),
            None => return Err(Missing("relative_path")),
        };
        let method = match part("method") {
            Some(Value::String(method)) => verb(method)?,
            Some(_) => return Err(Type("method", "a string")),
            None => return Err(Missing("method")),
        };
        let path = below(path)?;
        let options = part("options").unwrap_or(&Value::Null);
        let options = RequestOptions::from_json(options)?;
        // Only the whole batch is indented.
        let options = RequestOptions {
            pretty: false,
            ..options
        };
        let none = Map::new();
        let data = match part("data") {
            None => None,
            Some(Value::Object(map)) => Some(map),
            // PHP writes an empty object as an empty array.
            Some(Value::Array(items)) if items.is_empty() => Some(&none),
            Some(_) => return Err(Type("data", "an object")),
        };
        let (mut query, mut body) = (String::new(), None);
        let mut options = options;
        if method == "GET" {
            query = ask(data, &options)?;
        } else if let Some(data) = data {
            let mut data = data.clone();
            options = options.take_from(&mut data)?;
            options.pretty = false;
            body = Some(JsonBody {
                data,
                options: options.clone(),
            });
        }
        Ok(Self {
            method,
            path,
            query,
            body,
            options,
        })
    }
}

/// Returns the HTTP method with this name; the contract writes methods in lower case.
fn verb(name: &str) -> Result<&'static str, BatchActionError> {
    Ok(match name {
        "get" => "GET",
        "post" => "POST",
        "put" => "PUT",
        "delete" => "DELETE",
        "patch" => "PATCH",
        "head" => "HEAD",
        _ => return Err(BatchActionError::Method(clip(name))),
    })
}

/// Returns the path below the API base; the first slash may be missing in the input.
fn below(path: &str) -> Result<String, BatchActionError> {
    let wrong = if path.is_empty() || path.starts_with("//") || path.contains("://") {
        "must be a path below the base of the API, with one / in front"
    } else if path.contains('?') {
        "must not have a query; send its parameters as data"
    } else {
        let path = path.strip_prefix('/').unwrap_or(path);
        if path != "-" && !path.starts_with("-/") {
            return Ok(["/", path].concat());
        }
        "not allowed in a batch"
    };
    Err(BatchActionError::Path(wrong, clip(path)))
}

/// Returns the query of a GET: its data, then its options.
fn ask(
    data: Option<&Map<String, Value>>,
    options: &RequestOptions,
) -> Result<String, BatchActionError> {
    let mut out = String::new();
    let mut add = |name: &str, value: &str| {
        if !out.is_empty() {
            out.push('&');
        }
        percent::encode(&mut out, name);
        out.push('=');
        percent::encode(&mut out, value);
    };
    for (name, value) in data.into_iter().flatten() {
        if let Some(text) = scalar(name, value, true)? {
            add(name, &text);
        }
    }
    if let Some(limit) = options.limit {
        add("limit", &limit.to_string());
    }
    if let Some(offset) = &options.offset {
        add("offset", offset);
    }
    for (name, paths) in [
        ("opt_fields", &options.fields),
        ("opt_expand", &options.expand),
    ] {
        if let Some(paths) = paths {
            add(name, &paths.join(","));
        }
    }
    Ok(out)
}

/// Returns a value as text for a query; null is absent, and a list is separated by commas.
fn scalar(name: &str, value: &Value, list: bool) -> Result<Option<String>, BatchActionError> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) if list => {
            let parts = items.iter().map(|item| scalar(name, item, false));
            let parts: Result<Vec<_>, _> = parts.collect();
            parts?.into_iter().flatten().collect::<Vec<_>>().join(",")
        }
        Value::Array(_) | Value::Object(_) => {
            return Err(BatchActionError::Data(clip(name)));
        }
    }))
}

/// Result of one action. The body is JSON.
#[derive(Debug, Clone, Copy)]
pub struct ActionOutcome<'r> {
    /// Status code of the action.
    pub status: u16,
    /// Headers of this result; names in lower case.
    pub headers: &'r [(String, String)],
    /// The envelope with the result.
    pub body: &'r [u8],
}

/// Writes the parts of an outcome for which `wanted` returns true, given their names.
pub fn write_outcome(out: &mut Vec<u8>, outcome: ActionOutcome<'_>, wanted: impl Fn(&str) -> bool) {
    use crate::envelope::string;
    let start = out.len();
    let part = |out: &mut Vec<u8>, name: &str| {
        let is_wanted = wanted(name);
        if is_wanted {
            out.push(if out.len() == start { b'{' } else { b',' });
            string(out, name);
            out.push(b':');
        }
        is_wanted
    };
    if part(out, "status_code") {
        out.extend_from_slice(outcome.status.to_string().as_bytes());
    }
    if part(out, "headers") {
        out.push(b'{');
        for (i, (name, value)) in outcome.headers.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            string(out, name);
            out.push(b':');
            string(out, value);
        }
        out.push(b'}');
    }
    if part(out, "body") {
        out.extend_from_slice(outcome.body);
    }
    out.extend_from_slice(if out.len() == start { b"{}" } else { b"}" });
}

#[cfg(test)]
mod tests;

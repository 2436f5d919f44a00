//! Batches: the actions of `POST /batch`, and the results they are answered with.

use serde_json::{Map, Value};

use crate::error::clip;
use crate::json::Body;
use crate::message::missing_input;
use crate::options::Options;
use crate::percent;

/// The most actions of one batch.
pub const ACTIONS_MAX: usize = 10;

/// One action: a request without its own headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The method as HTTP writes it.
    pub method: &'static str,
    /// The path below the API base; it starts with one `/`.
    pub path: String,
    /// What a GET asks for, as a query.
    pub query: String,
    /// What any other method brings; none if it brings no `data`.
    pub body: Option<Body>,
    /// The output options.
    pub options: Options,
}

/// The actions of a batch, each of which may be malformed for itself.
///
/// # Errors
/// When there is no list of 1 to [`ACTIONS_MAX`] actions; the text is the message.
pub fn actions(data: &Map<String, Value>) -> Result<&[Value], String> {
    match data.get("actions") {
        Some(Value::Array(list)) if list.len() > ACTIONS_MAX => {
            Err(format!("actions: at most {ACTIONS_MAX}"))
        }
        Some(Value::Array(list)) if !list.is_empty() => Ok(list),
        _ => Err(missing_input("actions")),
    }
}

impl Action {
    /// Reads one action.
    ///
    /// # Errors
    /// When it is not one; the text is the message.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(action) = value else {
            return Err("actions: each must be an object with relative_path and method".to_owned());
        };
        let part = |name: &str| action.get(name).filter(|v| !v.is_null());
        let path = match part("relative_path") {
            Some(Value::String(path)) => path,
            Some(_) => return Err("relative_path: must be a string".to_owned()),
            None => return Err(missing_input("relative_path")),
        };
        let method = match part("method") {
            Some(Value::String(method)) => verb(method)?,
            Some(_) => return Err("method: must be a string".to_owned()),
            None => return Err(missing_input("method")),
        };
        let path = below(path)?;
        let options = part("options").unwrap_or(&Value::Null);
        let options = Options::from_json(options).map_err(|e| e.to_string())?;
        // Only the batch as a whole is indented.
        let options = Options {
            pretty: false,
            ..options
        };
        let data = match part("data") {
            None => None,
            Some(Value::Object(map)) => Some(map),
            Some(_) => return Err("data: must be an object".to_owned()),
        };
        let (mut query, mut body) = (String::new(), None);
        let mut options = options;
        if method == "GET" {
            query = ask(data, &options)?;
        } else if let Some(data) = data {
            let mut data = data.clone();
            options = options.take_from(&mut data).map_err(|e| e.to_string())?;
            options.pretty = false;
            body = Some(Body {
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

/// A method of the contract, which writes them in lower case.
fn verb(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "get" => "GET",
        "post" => "POST",
        "put" => "PUT",
        "delete" => "DELETE",
        "patch" => "PATCH",
        "head" => "HEAD",
        _ => {
            return Err(format!(
                "method: must be one of get, post, put, delete, patch, head, not: {}",
                clip(name)
            ));
        }
    })
}

/// The path below the API base; it may come without its first slash.
fn below(path: &str) -> Result<String, String> {
    let wrong = if path.is_empty() || path.starts_with("//") || path.contains("://") {
        "must be a path below the base of the API, with one / in front"
    } else if path.contains('?') {
        "must not have a query; send its parameters as data"
    } else {
        let path = path.strip_prefix('/').unwrap_or(path);
        if path != "-" && !path.starts_with("-/") {
            return Ok(format!("/{path}"));
        }
        "not allowed in a batch"
    };
    Err(format!("relative_path: {wrong}: {}", clip(path)))
}

/// The query of a GET: its data, then its options.
fn ask(data: Option<&Map<String, Value>>, options: &Options) -> Result<String, String> {
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

/// A value as it stands in a query; null is absent, and a list is separated by commas.
fn scalar(name: &str, value: &Value, list: bool) -> Result<Option<String>, String> {
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
            return Err(format!(
                "data: {}: must be a string, a number, true, false or a list of these",
                clip(name)
            ));
        }
    }))
}

/// What became of one action. The body is JSON.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'r> {
    /// The status code.
    pub status: u16,
    /// Headers of its own, names in lower case.
    pub headers: &'r [(String, String)],
    /// The envelope it is answered with.
    pub body: &'r [u8],
}

/// Writes the parts of an outcome that `wanted` names.
pub fn outcome(out: &mut Vec<u8>, outcome: Outcome<'_>, wanted: impl Fn(&str) -> bool) {
    use crate::envelope::string;
    let start = out.len();
    let part = |out: &mut Vec<u8>, name: &str| {
        let asked = wanted(name);
        if asked {
            out.push(if out.len() == start { b'{' } else { b',' });
            string(out, name);
            out.push(b':');
        }
        asked
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

//! Output and paging options, sent in a query, a form or a JSON body.

use serde_json::{Map, Value};

use crate::json_error::JsonError;

/// Maximum page size of a request; the minimum is 1.
pub const LIMIT_MAX: u16 = 100;

/// Output and paging options of one request. Field paths are kept as sent; the response planner parses them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestOptions {
    /// Field paths to return, such as `assignee.email`; `None` if not given.
    pub fields: Option<Vec<String>>,
    /// Field paths to expand from compact to full; `None` if not given.
    pub expand: Option<Vec<String>>,
    /// True if the answer is indented.
    pub pretty: bool,
    /// The page size, 1 to 100.
    pub limit: Option<u16>,
    /// The page token, not yet opened.
    pub offset: Option<String>,
}

impl RequestOptions {
    /// Fills missing options from `other`: a body's options take precedence over those of the
    /// query.
    #[must_use]
    pub fn merged_with(self, other: Self) -> Self {
        Self {
            fields: self.fields.or(other.fields),
            expand: self.expand.or(other.expand),
            pretty: self.pretty || other.pretty,
            limit: self.limit.or(other.limit),
            offset: self.offset.or(other.offset),
        }
    }

    /// Parses the `options` object of a JSON body. Unknown names are ignored and null means absent. Output
    /// options may use their query names, such as `opt_fields` for `fields`; lists under both
    /// names are joined.
    ///
    /// # Errors
    /// Fails if `value` isn't an object, or an option has the wrong type.
    pub fn from_json(value: &Value) -> Result<Self, JsonError> {
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            // PHP writes an empty object as an empty array.
            Value::Array(items) if items.is_empty() => return Ok(Self::default()),
            _ => return Err(JsonError::Option("options", "must be an object")),
        };
        let mut options = Self::default();
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            if options.output(name.strip_prefix("opt_").unwrap_or(name), value)? {
                continue;
            }
            match name.as_str() {
                "limit" => {
                    let limit = value.as_u64().and_then(|n| u16::try_from(n).ok());
                    let limit = limit.filter(|n| (1..=LIMIT_MAX).contains(n));
                    options.limit =
                        Some(limit.ok_or(JsonError::Option("options.limit", "must be 1 to 100"))?);
                }
                "offset" => {
                    let offset = value.as_str();
                    let offset =
                        offset.ok_or(JsonError::Option("options.offset", "must be a string"))?;
                    options.offset = Some(offset.to_owned());
                }
                _ => {}
            }
        }
        Ok(options)
    }
}

impl RequestOptions {
    /// Removes the output options from the `data` of a JSON body and returns them merged with these. Some
    /// clients put them there under their query names. The options of the `options` object
    /// take precedence.
    ///
    /// # Errors
    /// Fails if an option has the wrong type.
    pub(crate) fn take_from(self, data: &mut Map<String, Value>) -> Result<Self, JsonError> {
        let mut misplaced = Self::default();
        for (sent, name) in [
            ("opt_fields", "fields"),
            ("opt_expand", "expand"),
            ("opt_pretty", "pretty"),
        ] {
            let value = data.remove(sent);
            if let Some(value) = value.filter(|value| !value.is_null()) {
                misplaced.output(name, &value)?;
            }
        }
        Ok(self.merged_with(misplaced))
    }

    /// Parses an output option; returns false if there is none with this name.
    fn output(&mut self, name: &str, value: &Value) -> Result<bool, JsonError> {
        let list = |known: &mut Option<Vec<String>>, name| {
            let more = paths(value, name)?;
            let all = known.take().into_iter().flatten().chain(more);
            *known = some(all);
            Ok(true)
        };
        match name {
            "fields" => list(&mut self.fields, "options.fields"),
            "expand" => list(&mut self.expand, "options.expand"),
            "pretty" => {
                let flag = value.as_bool();
                self.pretty =
                    flag.ok_or(JsonError::Option("options.pretty", "must be true or false"))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Parses an array of strings, or one string with commas.
fn paths(value: &Value, name: &'static str) -> Result<Vec<String>, JsonError> {
    const RULE: &str = "must be an array of strings";
    match value {
        Value::String(text) => Ok(terms(text).collect()),
        Value::Array(list) => list
            .iter()
            .map(|item| {
                item.as_str()
                    .map(str::to_owned)
                    .ok_or(JsonError::Option(name, RULE))
            })
            .collect(),
        _ => Err(JsonError::Option(name, RULE)),
    }
}

/// Splits text at commas; empty or blank pieces are left out.
pub(crate) fn terms(text: &str) -> impl Iterator<Item = String> {
    let items = text.split(',').filter(|term| !term.trim().is_empty());
    items.map(str::to_owned)
}

/// Returns the terms of a list; `None` if there are none, since an empty list requests
/// nothing.
pub(crate) fn some(terms: impl Iterator<Item = String>) -> Option<Vec<String>> {
    let terms: Vec<String> = terms.filter(|term| !term.trim().is_empty()).collect();
    (!terms.is_empty()).then_some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_options_read_arrays_and_comma_lists() {
        let options = RequestOptions::from_json(&json!({
            "fields": ["name", "assignee.email"], "expand": "this,followers", "pretty": true, "limit": 20,
            "offset": "abc", "client_name": "x", "item_limit": 3
        }));
        let expected = RequestOptions {
            fields: Some(vec!["name".into(), "assignee.email".into()]),
            expand: Some(vec!["this".into(), "followers".into()]),
            pretty: true,
            limit: Some(20),
            offset: Some("abc".into()),
        };
        assert_eq!(options, Ok(expected));
        assert_eq!(
            RequestOptions::from_json(&json!(null)),
            Ok(RequestOptions::default())
        );
        assert_eq!(
            RequestOptions::from_json(&json!({"fields": null})),
            Ok(RequestOptions::default())
        );
    }

    /// S126.
    #[test]
    fn options_are_read_by_the_names_that_they_have_in_a_query() {
        let options =
            json!({"fields": ["name", ""], "opt_fields": "gid,,notes", "opt_pretty": true});
        let options = RequestOptions::from_json(&options).unwrap();
        assert_eq!(options.fields.as_deref().unwrap(), ["name", "gid", "notes"]);
        assert!(options.pretty);
        let mut data = json!({"name": "x", "opt_fields": ["name"], "opt_expand": null});
        let data = data.as_object_mut().unwrap();
        let taken = RequestOptions::default().take_from(data).unwrap();
        assert_eq!(taken.fields.unwrap(), ["name"]);
        assert_eq!(Value::Object(data.clone()), json!({"name": "x"}));
        data.insert("opt_fields".to_owned(), json!(1));
        let wrong = RequestOptions::default().take_from(data).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "options.fields: must be an array of strings"
        );
        let none = RequestOptions::from_json(&json!({"fields": [], "expand": ","}));
        assert_eq!(none, Ok(RequestOptions::default()));
    }

    #[test]
    fn wrong_types_are_named() {
        for (value, message) in [
            (json!([1]), "options: must be an object"),
            (
                json!({"fields": 1}),
                "options.fields: must be an array of strings",
            ),
            (
                json!({"fields": ["a", 1]}),
                "options.fields: must be an array of strings",
            ),
            (
                json!({"pretty": "maybe"}),
                "options.pretty: must be true or false",
            ),
            (json!({"limit": 0}), "options.limit: must be 1 to 100"),
            (json!({"limit": 101}), "options.limit: must be 1 to 100"),
            (json!({"limit": 1.5}), "options.limit: must be 1 to 100"),
            (json!({"offset": 1}), "options.offset: must be a string"),
        ] {
            assert_eq!(
                RequestOptions::from_json(&value).unwrap_err().to_string(),
                message
            );
        }
    }

    #[test]
    fn the_first_source_wins() {
        let body = RequestOptions {
            limit: Some(1),
            ..RequestOptions::default()
        };
        let query = RequestOptions {
            limit: Some(2),
            pretty: true,
            fields: some(terms("a,, ,b")),
            ..RequestOptions::default()
        };
        let both = body.merged_with(query);
        assert_eq!((both.limit, both.pretty), (Some(1), true));
        assert_eq!(both.fields.unwrap(), ["a", "b"]);
        assert_eq!(some(terms(",")), None);
    }
}

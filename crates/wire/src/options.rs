//! Output and paging options, which a client may send in a query, a form or a JSON body.

use serde_json::Value;

use crate::json::JsonError;
use crate::query::LIMIT_MAX;

/// Options of one request. Field paths are kept as sent; whoever plans the answer parses them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Field paths to return, such as `assignee.email`; `None` when not given.
    pub fields: Option<Vec<String>>,
    /// Field paths to expand from compact to full; `None` when not given.
    pub expand: Option<Vec<String>>,
    /// Whether the answer is indented.
    pub pretty: bool,
    /// The page size, 1 to 100.
    pub limit: Option<u16>,
    /// The page token, not yet opened.
    pub offset: Option<String>,
}

impl Options {
    /// Takes from `other` what isn't given here: a body's options win over those of the query.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            fields: self.fields.or(other.fields),
            expand: self.expand.or(other.expand),
            pretty: self.pretty || other.pretty,
            limit: self.limit.or(other.limit),
            offset: self.offset.or(other.offset),
        }
    }

    /// Reads the `options` object of a JSON body. Unknown names are ignored and null is absent.
    ///
    /// # Errors
    /// When `value` isn't an object, or an option has the wrong type.
    pub fn from_json(value: &Value) -> Result<Self, JsonError> {
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            _ => return Err(JsonError::Option("options", "must be an object")),
        };
        let mut options = Self::default();
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            match name.as_str() {
                "fields" => options.fields = Some(paths(value, "options.fields")?),
                "expand" => options.expand = Some(paths(value, "options.expand")?),
                "pretty" => {
                    let flag = value.as_bool();
                    options.pretty =
                        flag.ok_or(JsonError::Option("options.pretty", "must be true or false"))?;
                }
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

/// An array of strings, or one string with commas.
fn paths(value: &Value, name: &'static str) -> Result<Vec<String>, JsonError> {
    const RULE: &str = "must be an array of strings";
    match value {
        Value::String(text) => Ok(terms(text)),
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

/// Splits at commas. An empty text has no terms; an empty term between commas is kept, so that it can
/// be refused.
pub(crate) fn terms(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_options_read_arrays_and_comma_lists() {
        let options = Options::from_json(&json!({
            "fields": ["name", "assignee.email"], "expand": "this,followers", "pretty": true, "limit": 20,
            "offset": "abc", "client_name": "x", "item_limit": 3
        }));
        let expected = Options {
            fields: Some(vec!["name".into(), "assignee.email".into()]),
            expand: Some(vec!["this".into(), "followers".into()]),
            pretty: true,
            limit: Some(20),
            offset: Some("abc".into()),
        };
        assert_eq!(options, Ok(expected));
        assert_eq!(Options::from_json(&json!(null)), Ok(Options::default()));
        assert_eq!(
            Options::from_json(&json!({"fields": null})),
            Ok(Options::default())
        );
    }

    #[test]
    fn wrong_types_are_named() {
        for (value, message) in [
            (json!([]), "options: must be an object"),
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
            assert_eq!(Options::from_json(&value).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_first_source_wins() {
        let body = Options {
            limit: Some(1),
            ..Options::default()
        };
        let query = Options {
            limit: Some(2),
            pretty: true,
            fields: Some(terms("a,,b")),
            ..Options::default()
        };
        let both = body.or(query);
        assert_eq!((both.limit, both.pretty), (Some(1), true));
        assert_eq!(both.fields.unwrap(), ["a", "", "b"]);
        assert!(terms("").is_empty());
    }
}

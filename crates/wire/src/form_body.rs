//! Form-encoded bodies (`application/x-www-form-urlencoded`), for OAuth endpoints and API bodies.

use std::fmt;

pub use crate::bracket_fields::{BRACKETS_MAX, field_of, nested};
use crate::json_body::JsonBody;
use crate::messages;
use crate::query_params::{QueryError, QueryParams};
use crate::request_options::RequestOptions;

/// Default limit of a form body, in bytes.
pub const FORM_BYTES: usize = 64 * 1024;

/// Error of a form that can't be read. `Display` is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormError {
    /// The form is over the limit: status 413.
    TooLarge,
    /// A field that can't be read: status 400.
    Field(QueryError),
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str(messages::BODY_TOO_LARGE),
            Self::Field(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FormError {}

impl FormError {
    /// Returns the status code of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLarge => 413,
            Self::Field(_) => 400,
        }
    }
}

impl From<QueryError> for FormError {
    fn from(error: QueryError) -> Self {
        Self::Field(error)
    }
}

/// Decoded form: its fields, without the `opt_*` options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormBody {
    /// The fields in the order they were sent, decoded like a query.
    pub fields: QueryParams,
    /// The options from the `opt_*` keys.
    pub options: RequestOptions,
}

impl FormBody {
    /// Decodes a form of at most `cap` bytes with the rules of [`QueryParams::parse`].
    ///
    /// # Errors
    /// Fails if the form is too large, can't be decoded, or an option is repeated or malformed.
    pub fn parse(body: &[u8], cap: usize) -> Result<Self, FormError> {
        if body.len() > cap {
            return Err(FormError::TooLarge);
        }
        let all = QueryParams::from_bytes(body)?;
        let options = all.output_options()?;
        let fields = all
            .into_pairs()
            .into_iter()
            .filter(|(name, _)| !name.starts_with("opt_"))
            .collect();
        Ok(Self {
            fields: QueryParams::from_pairs(fields),
            options,
        })
    }

    /// Returns the value of a field, or `None` if it wasn't sent.
    ///
    /// # Errors
    /// Fails if it was sent twice.
    pub fn get(&self, name: &str) -> Result<Option<&str>, QueryError> {
        self.fields.get(name)
    }

    /// Converts the form to a JSON body of the same request: every field becomes a string in `data`, or an array or object of
    /// strings according to [`nested`]. If all fields are parts of a field `data`, that outer name is left out.
    ///
    /// # Errors
    /// Fails if a field was sent twice, or brackets in its name can't be read.
    pub fn into_body(self, keyed: impl Fn(&str) -> bool) -> Result<JsonBody, FormError> {
        let wrapped = |name: &str| {
            let rest = name.strip_prefix("data[")?;
            let (name, rest) = rest.split_once(']')?;
            Some(format!("{name}{rest}"))
        };
        let bare: Option<Vec<_>> = self.fields.iter().map(|(n, _)| wrapped(n)).collect();
        let values = self.fields.iter().map(|(_, value)| value);
        let data = match &bare {
            Some(names) => nested(names.iter().map(String::as_str).zip(values), keyed)?,
            None => nested(self.fields.iter(), keyed)?,
        };
        Ok(JsonBody {
            data,
            options: self.options,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn form(body: &str) -> FormBody {
        FormBody::parse(body.as_bytes(), FORM_BYTES).unwrap()
    }

    #[test]
    fn options_are_kept_apart_from_fields() {
        let f = form(
            "resource=12&target=https%3A%2F%2Fexample.com%2Fhook&opt_fields=active&opt_pretty=1&limit=3",
        );
        assert_eq!(f.get("resource"), Ok(Some("12")));
        assert_eq!(f.get("opt_fields"), Ok(None));
        assert_eq!(
            f.options.fields.as_deref(),
            Some(&["active".to_owned()][..])
        );
        assert!(f.options.pretty && f.options.limit.is_none());
        let body = f.into_body(|_| false).unwrap();
        let expected = serde_json::json!({"resource": "12", "target": "https://example.com/hook", "limit": "3"});
        assert_eq!(Value::Object(body.data), expected);
    }

    /// S131.
    #[test]
    fn brackets_make_lists_and_objects() {
        let all = form(
            "data%5Bname%5D=x&data[tags][]=1&data[tags][]=2&opt_fields[]=name&opt_fields[]=gid",
        );
        assert_eq!(all.options.fields.as_ref().unwrap().len(), 2);
        for f in [all, form("name=x&tags[0]=1&tags[1]=2")] {
            let body = f.into_body(|_| false).unwrap();
            assert_eq!(
                Value::Object(body.data),
                serde_json::json!({"name": "x", "tags": ["1", "2"]})
            );
        }
    }

    #[test]
    fn a_form_over_its_cap_is_413() {
        let error = FormBody::parse(&[b'a'; 11], 10).unwrap_err();
        assert_eq!((error.status(), error), (413, FormError::TooLarge));
        assert!(FormBody::parse(&[b'a'; 10], 10).is_ok());
    }

    #[test]
    fn bad_fields_are_400_and_named() {
        for (body, message) in [
            (&b"code=%zz"[..], "code: not valid percent-encoding"),
            (b"code=%00", "code: must not contain NUL"),
            (b"code=\xff", "code: not valid UTF-8"),
            (b"opt_pretty=1&opt_pretty=1", "opt_pretty: given twice"),
        ] {
            let error = FormBody::parse(body, FORM_BYTES).unwrap_err();
            assert_eq!((error.status(), error.to_string().as_str()), (400, message));
        }
        assert_eq!(
            form("a=1&a=2")
                .into_body(|_| false)
                .unwrap_err()
                .to_string(),
            "a: given twice"
        );
        let open = form("a%5B=1").into_body(|_| false).unwrap_err();
        assert!(open.to_string().starts_with("a[: brackets must be"));
        assert_eq!(
            form("a=1&a=2").get("a").unwrap_err().to_string(),
            "a: given twice"
        );
    }
}

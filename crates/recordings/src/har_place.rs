//! Places in a HAR, and the errors that name them.

use serde_json::Value;
use thiserror::Error;

/// Reason why a recording can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The text is not JSON.
    #[error("the HAR is no JSON: {0}")]
    NotJson(String),
    /// A field of the HAR is missing, or not as HAR 1.2 requires.
    #[error("{place}: {problem}")]
    Field {
        /// Place of the field, such as `log.entries[3].request.method`.
        place: String,
        /// Problem with the field, and a correct form.
        problem: String,
    },
    /// The given base path of the API is not valid.
    #[error("base path: `{0}` is none; it begins with `/` and has a name, such as `/api/1.0`")]
    BasePath(String),
}

/// Value of a HAR, with its place in the file.
pub(crate) struct HarPlace<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> HarPlace<'a> {
    /// Makes the place of the whole file.
    pub(crate) const fn root(value: &'a Value) -> Self {
        let place = String::new();
        Self { value, place }
    }

    /// Returns an error about this place.
    pub(crate) fn error(&self, problem: impl Into<String>) -> RecordingError {
        RecordingError::Field {
            place: self.place.clone(),
            problem: problem.into(),
        }
    }

    fn wants(&self, wanted: &str) -> RecordingError {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(format!("is {found}; it must be {wanted}"))
    }

    fn named(&self, name: &str, value: &'a Value) -> Self {
        let dot = if self.place.is_empty() { "" } else { "." };
        let place = format!("{}{dot}{name}", self.place);
        Self { value, place }
    }

    /// Returns a field that may be absent; null counts as absent.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<Self>, RecordingError> {
        let object = self.value.as_object();
        let object = object.ok_or_else(|| self.wants("an object"))?;
        let value = object.get(name).filter(|value| !value.is_null());
        Ok(value.map(|value| self.named(name, value)))
    }

    /// Returns a field, or an error if it is missing.
    pub(crate) fn field(&self, name: &str) -> Result<Self, RecordingError> {
        let found = self.optional(name)?;
        found.ok_or_else(|| self.named(name, &Value::Null).error("is missing"))
    }

    /// Returns the members of a list.
    pub(crate) fn members(&self) -> Result<Vec<Self>, RecordingError> {
        let list = self.value.as_array();
        let list = list.ok_or_else(|| self.wants("a list"))?;
        let member = |(index, value): (usize, &'a Value)| Self {
            value,
            place: format!("{}[{index}]", self.place),
        };
        Ok(list.iter().enumerate().map(member).collect())
    }

    /// Returns the value, which must be a text.
    pub(crate) fn text(&self) -> Result<&'a str, RecordingError> {
        self.value.as_str().ok_or_else(|| self.wants("a text"))
    }

    /// Returns a status, or 0 if there was none.
    pub(crate) fn status(&self) -> Result<u16, RecordingError> {
        let number = self.value.as_u64().filter(|number| *number < 1_000);
        let status = number.and_then(|number| u16::try_from(number).ok());
        status.ok_or_else(|| self.wants("a status: 100 to 999, or 0 if no reply came"))
    }

    /// Returns true if this is the number 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.value.as_i64() == Some(0)
    }
}

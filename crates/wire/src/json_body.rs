//! JSON request bodies: a strict parser, and the top level with `data` and `options`.
//!
//! Beyond RFC 8259, it refuses duplicate keys, nesting past a limit, and numbers outside the range of a double. A byte
//! order mark before a request body is skipped. A number whose digits a [`Number`] can't keep is returned as text.

use std::cell::RefCell;
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub use crate::json_error::JsonError;

use crate::json_numbers::exact_numbers;
use crate::messages::clip;
use crate::request_options::RequestOptions;

/// Limits on the size and the nesting of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Maximum bytes of text.
    pub bytes: usize,
    /// Maximum depth of arrays and objects; the outermost counts as one. Values above 127 have no effect.
    pub depth: usize,
}

impl Default for JsonLimits {
    /// Returns limits of 1 MiB and 32 levels.
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            depth: 32,
        }
    }
}

/// Parses one JSON value.
///
/// # Errors
/// Fails if `bytes` break the limits or the rules of this module.
pub fn parse(bytes: &[u8], limits: JsonLimits) -> Result<Value, JsonError> {
    if bytes.len() > limits.bytes {
        return Err(JsonError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?;
    let fault = RefCell::new(None);
    let seed = StrictJson {
        limit: limits.depth,
        left: limits.depth,
        fault: &fault,
    };
    let text = exact_numbers(text);
    let mut input = serde_json::Deserializer::from_str(&text);
    let value = seed
        .deserialize(&mut input)
        .and_then(|value| input.end().map(|()| value));
    value.map_err(|error| {
        fault
            .take()
            .unwrap_or_else(|| classify(&error, limits.depth))
    })
}

/// Finds the kind of an error that serde_json only reports as text.
fn classify(error: &serde_json::Error, depth: usize) -> JsonError {
    let text = error.to_string();
    if text.starts_with("number out of range") {
        JsonError::Number
    } else if text.starts_with("lone leading surrogate")
        || text.starts_with("unexpected end of hex escape")
    {
        JsonError::NotUtf8
    } else if text.starts_with("recursion limit exceeded") {
        JsonError::Depth(depth)
    } else {
        JsonError::Syntax
    }
}

/// Visitor that builds a value and refuses duplicate keys and deep nesting. `Value`'s own
/// visitor would keep the last duplicate, and re-reads text behind a private raw-value key.
#[derive(Clone, Copy)]
struct StrictJson<'f> {
    limit: usize,
    left: usize,
    fault: &'f RefCell<Option<JsonError>>,
}

impl StrictJson<'_> {
    fn refuse<E: serde_core::de::Error>(&self, fault: JsonError) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("refused")
    }

    fn inner<E: serde_core::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, ..self }),
            None => Err(self.refuse(JsonError::Depth(self.limit))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for StrictJson<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJson<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde_core::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| self.refuse(JsonError::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let inner = self.inner::<A::Error>()?;
        let mut list = Vec::new();
        while let Some(value) = input.next_element_seed(inner)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let inner = self.inner::<A::Error>()?;
        let mut map = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(self.refuse(JsonError::DuplicateKey(clip(&key))));
            }
            let value = input.next_value_seed(inner)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Request body in the API's format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonBody {
    /// The fields. Absent, null and present values stay distinct.
    pub data: Map<String, Value>,
    /// The output options sent with the body.
    pub options: RequestOptions,
}

/// Parses a JSON body with the default [`JsonLimits`].
///
/// # Errors
/// See [`read_body_within`].
pub fn read_body(bytes: &[u8]) -> Result<JsonBody, JsonError> {
    read_body_within(bytes, JsonLimits::default())
}

/// Parses a JSON body: an object with `data` (an object), optional `options`, and nothing else.
///
/// # Errors
/// Fails if [`parse`] refuses the text or the top level has another form. A body of only white space
/// is [`JsonError::MissingData`]; for GET and DELETE, whose bodies are ignored, don't call this.
pub fn read_body_within(bytes: &[u8], limits: JsonLimits) -> Result<JsonBody, JsonError> {
    let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
    let bytes = unmarked
        .filter(|_| bytes.len() <= limits.bytes)
        .unwrap_or(bytes);
    if bytes.len() <= limits.bytes && bytes.trim_ascii().is_empty() {
        return Err(JsonError::MissingData);
    }
    let Value::Object(top) = parse(bytes, limits)? else {
        return Err(JsonError::NotAnObject);
    };
    let mut data = Value::Null;
    let mut options = RequestOptions::default();
    for (key, value) in top {
        match key.as_str() {
            "data" => data = value,
            "options" => options = RequestOptions::from_json(&value)?,
            _ => return Err(JsonError::Unrecognized(clip(&key))),
        }
    }
    if data.as_array().is_some_and(Vec::is_empty) {
        // PHP writes an empty object as an empty array.
        data = Value::Object(Map::new());
    }
    match data {
        Value::Object(mut data) => {
            let options = options.take_from(&mut data)?;
            Ok(JsonBody { data, options })
        }
        Value::Null => Err(JsonError::MissingData),
        _ => Err(JsonError::DataNotAnObject),
    }
}

#[cfg(test)]
mod tests;

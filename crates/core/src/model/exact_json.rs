//! JSON reader that keeps the digits of numbers.
use crate::model::decimal::Decimal;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use std::fmt;

/// Members of a JSON object in their order, with their values as they are written.
#[derive(Debug)]
pub(crate) struct RawMembers<'t>(pub(crate) Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Reads JSON. A number becomes a text if [`Number`] cannot hold all of its digits.
///
/// # Errors
/// Fails if the text is not JSON.
pub(crate) fn read(text: &str) -> serde_json::Result<Value> {
    read_raw(serde_json::from_str(text)?)
}

fn read_raw(raw: &RawValue) -> serde_json::Result<Value> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: RawMembers<'_> = serde_json::from_str(text)?;
            let read = |(name, value)| Ok((name, read_raw(value)?));
            members.0.into_iter().map(read).collect()
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            items.into_iter().map(read_raw).collect()
        }
        Some(b'-' | b'0'..=b'9') => {
            let exact = Decimal::parse(text);
            let exact = exact.ok_or_else(|| serde_json::Error::custom("number out of range"))?;
            let kept: Option<Number> = serde_json::from_str(text).ok();
            let kept = kept.filter(|kept| Decimal::parse(&kept.to_string()) == Some(exact));
            Ok(kept.map_or_else(|| Value::String(text.to_owned()), Value::Number))
        }
        _ => serde_json::from_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_keep_their_digits_and_all_else_is_as_it_was() {
        let plain = json!({"b": [1, -2.5, null, "1.5", {"a": true}], "a": 0.1, "": 18_446_744_073_709_551_615u64});
        assert_eq!(read(&plain.to_string()).unwrap(), plain);
        let names: Vec<String> = plain.as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["b", "a", ""], "in their order");
        for exact in [
            "12345678901234567.5",
            "0.1000000000000000055511151231257827",
            "18446744073709551616",
        ] {
            let read = read(&format!(r#"{{"a":[{exact}, 1.0e1]}}"#)).unwrap();
            assert_eq!(read, json!({"a": [exact, 10.0]}));
        }
        for wrong in ["", "{", "[1,]", "{\"a\":01}", "1e999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

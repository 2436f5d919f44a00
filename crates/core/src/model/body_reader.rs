//! Reading of the members of an object by their keys.
use crate::model::body::Body;
use crate::model::json_members::member;
use crate::model::readable::Readable;
use crate::model::registry::TypedField;

/// Reader of the members of an object. It is fastest if they are read in stored order.
pub(crate) struct BodyReader<'n> {
    object: ReadObject<'n>,
    /// Most likely number of the next member.
    at: usize,
}

enum ReadObject<'n> {
    /// Body, whose members are found by their positions.
    Body(&'n Body),
    /// Small object that is read once, such as a head: it is scanned for each member.
    Text(&'n str),
}

impl<'n> BodyReader<'n> {
    /// Returns the reader of a body.
    #[inline]
    pub(crate) fn new(body: &'n Body) -> Self {
        let object = ReadObject::Body(body);
        Self { object, at: 0 }
    }

    /// Returns the reader of a small object that is read once.
    #[inline]
    pub(crate) fn of_text(text: &'n str) -> Self {
        let object = ReadObject::Text(text);
        Self { object, at: 0 }
    }

    /// Returns the typed value of a field, or its default, as [`Node::get`](crate::model::node::Node::get) does.
    pub(crate) fn get<K: Readable + ?Sized>(&mut self, field: TypedField<K>) -> K::Value<'n> {
        K::read(
            self.find(field.def.stored_key())
                .unwrap_or(field.def.default),
        )
    }

    /// Returns the raw value under a key, if any.
    #[inline]
    pub(crate) fn find(&mut self, key: &str) -> Option<&'n str> {
        match self.object {
            ReadObject::Text(text) => member(text, key),
            ReadObject::Body(body) => {
                let (at, value) = body.find_near(key, self.at)?;
                self.at = at + 1;
                Some(value)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::body::INLINE;
    use crate::model::json_members::members;
    use proptest::prelude::*;

    /// Returns an object whose members have these keys, each with its quoted key as value.
    fn object(keys: &[String]) -> Body {
        let members: Vec<String> = keys.iter().map(|k| format!("\"{k}\":\"{k}\"")).collect();
        format!("{{{}}}", members.join(",")).into()
    }

    #[test]
    fn members_are_found_in_any_order_and_beyond_those_noted_inline() {
        let keys: Vec<String> = (0..3 * INLINE).map(|n| format!("k{n}")).collect();
        let body = object(&keys);
        for step in [1, 5, 7, keys.len() - 1] {
            for mut reader in [BodyReader::new(&body), BodyReader::of_text(&body)] {
                for at in 0..keys.len() {
                    let key = &keys[at * step % keys.len()];
                    assert_eq!(reader.find(key), Some(format!("\"{key}\"").as_str()));
                    assert_eq!(reader.find("none"), None);
                }
            }
        }
    }

    #[test]
    fn an_object_with_a_long_key_is_read_without_an_index() {
        let keys = ["a".to_owned(), "b".repeat(70_000), "c".to_owned()];
        let body = object(&keys);
        assert_eq!(BodyReader::new(&body).find("c"), Some("\"c\""));
        assert_eq!(body.find(&keys[1]).map(str::len), Some(70_002));
    }

    #[test]
    fn a_body_is_its_text() {
        let (read, unread): (Body, Body) = ("{\"a\":1}".into(), "{\"a\":1}".into());
        assert_eq!(BodyReader::new(&read).find("a"), Some("1"));
        assert_eq!((&read, read.clone().find("a")), (&unread, Some("1")));
        assert_eq!(format!("{read:?}"), format!("{:?}", &*unread));
        for empty in ["", "{}"] {
            assert_eq!(BodyReader::new(&empty.into()).find("a"), None);
        }
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_scan_finds(
            keys in proptest::collection::vec("[a-c]{1,3}|[a-z_]{1,12}", 0..40),
            values in proptest::collection::vec(any::<String>(), 40),
            asked in proptest::collection::vec("[a-c]{1,3}|[a-z_]{1,12}", 0..40),
        ) {
            let mut object = serde_json::Map::new();
            for (at, (key, value)) in keys.iter().zip(&values).enumerate() {
                let value = match at % 3 {
                    0 => serde_json::json!(value),
                    1 => serde_json::json!({"n": [value, at]}),
                    _ => serde_json::json!(at),
                };
                object.insert(key.clone(), value);
            }
            let text = serde_json::Value::from(object).to_string();
            let body = Body::from(text.clone());
            for mut reader in [BodyReader::new(&body), BodyReader::of_text(&text)] {
                for key in keys.iter().chain(&asked) {
                    let scanned = member(&text, key);
                    prop_assert_eq!(reader.find(key), scanned);
                    prop_assert_eq!(body.find(key), scanned);
                }
            }
        }

        #[test]
        fn the_index_of_any_text_finds_what_a_scan_finds(text in ".{0,60}|[{\"a:,1}\\[\\]]{0,40}") {
            let body = Body::from(text.clone());
            let mut reader = BodyReader::new(&body);
            for (key, value) in members(&text) {
                let first = member(&text, key);
                prop_assert!(reader.find(key) == first || reader.find(key) == Some(value));
            }
        }
    }
}

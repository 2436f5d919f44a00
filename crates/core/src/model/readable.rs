//! Typed reading of the fields of a node.
use crate::model::gid::Gid;
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::{LinkOne, Opaque, TypedField};
use crate::model::time::{Date, Time};
use std::borrow::Cow;

impl Node {
    /// Returns the typed value of a field, or its default.
    #[must_use]
    pub fn get<K: Readable + ?Sized>(&self, field: TypedField<K>) -> K::Value<'_> {
        let raw = self.raw(field.def.stored_key());
        K::read(raw.unwrap_or(field.def.default))
    }
}

/// Reading of raw JSON by a typed key.
pub trait Readable {
    /// Type of the value for rules.
    type Value<'a>;
    /// Reads normalised JSON.
    fn read(raw: &str) -> Self::Value<'_>;
}

impl Readable for str {
    type Value<'a> = Option<Cow<'a, str>>;
    fn read(raw: &str) -> Self::Value<'_> {
        raw.starts_with('"').then(|| decode_json_string(raw))
    }
}
impl Readable for Opaque {
    type Value<'a> = &'a str;
    fn read(raw: &str) -> Self::Value<'_> {
        raw
    }
}
impl Readable for bool {
    type Value<'a> = Self;
    fn read(raw: &str) -> Self {
        raw == "true"
    }
}
impl Readable for i64 {
    type Value<'a> = Self;
    fn read(raw: &str) -> Self {
        raw.parse().unwrap_or(0)
    }
}
impl Readable for Time {
    type Value<'a> = Option<Self>;
    fn read(raw: &str) -> Self::Value<'_> {
        Self::parse(raw.trim_matches('"')).ok()
    }
}
impl Readable for Date {
    type Value<'a> = Option<Self>;
    fn read(raw: &str) -> Self::Value<'_> {
        Self::parse(raw.trim_matches('"')).ok()
    }
}
impl Readable for LinkOne {
    type Value<'a> = Option<Gid>;
    fn read(raw: &str) -> Self::Value<'_> {
        Gid::parse(raw.trim_matches('"'))
    }
}

//! Reading a stored body in one pass.
use crate::model::node::{Members, members};
use crate::model::readable::Readable;
use crate::model::registry::TypedField;
use smallvec::SmallVec;

/// Number of a body's members noted without a heap allocation; most bodies have fewer.
const INLINE: usize = 16;

/// Reader of a body. It takes one pass if the fields are read in stored order, as they usually are, and reads no further
/// than the last field that is needed.
pub(crate) struct BodyReader<'n> {
    /// Members read so far.
    pairs: SmallVec<[(&'n str, &'n str); INLINE]>,
    /// Most likely index of the next field.
    at: usize,
    rest: Members<'n>,
}

impl<'n> BodyReader<'n> {
    #[inline]
    pub(crate) fn new(body: &'n str) -> Self {
        Self {
            pairs: SmallVec::new(),
            at: 0,
            rest: members(body),
        }
    }

    /// Returns the typed value of a field, or its default, as [`Node::get`](crate::model::node::Node::get) does.
    pub(crate) fn get<K: Readable + ?Sized>(&mut self, field: TypedField<K>) -> K::Value<'n> {
        K::read(
            self.find(field.def.stored_key())
                .unwrap_or(field.def.default),
        )
    }

    /// Returns the raw value under a key, if any.
    pub(crate) fn find(&mut self, key: &str) -> Option<&'n str> {
        let (before, after) = self.pairs.split_at_checked(self.at)?;
        let known = after
            .iter()
            .chain(before)
            .position(|(name, _)| *name == key);
        if let Some(step) = known {
            let at = (self.at + step) % self.pairs.len();
            self.at = at + 1;
            return self.pairs.get(at).map(|(_, value)| *value);
        }
        for (name, value) in self.rest.by_ref() {
            self.pairs.push((name, value));
            if name == key {
                self.at = self.pairs.len();
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_order_and_beyond_those_noted_inline() {
        let keys: Vec<String> = (0..3 * INLINE).map(|n| format!("k{n}")).collect();
        let body: Vec<String> = keys.iter().map(|k| format!("\"{k}\":\"{k}\"")).collect();
        let body = format!("{{{}}}", body.join(","));
        for step in [1, 5, 7, keys.len() - 1] {
            let mut reader = BodyReader::new(&body);
            for at in 0..keys.len() {
                let key = &keys[at * step % keys.len()];
                assert_eq!(reader.find(key), Some(format!("\"{key}\"").as_str()));
                assert_eq!(reader.find("none"), None);
            }
        }
    }
}

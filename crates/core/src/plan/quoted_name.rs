//! Names of fields as they are written in records, prepared with the plan.

/// Room for a name with a comma, quotes and a colon.
const ROOM: usize = 64;

/// The name of a field in a JSON object, after another member: `,"name":`.
#[derive(Clone, Copy)]
pub(crate) struct QuotedName {
    bytes: [u8; ROOM],
    len: usize,
}

impl QuotedName {
    /// Quotes a name, which needs no escapes. The result is empty for a name of more than 60 bytes, which has no room.
    pub(crate) const fn new(name: &str) -> Self {
        let mut bytes = [0; ROOM];
        let mut len = 0;
        if let Some((text, _)) = bytes.split_at_mut_checked(name.len() + 4)
            && let Some((open, rest)) = text.split_at_mut_checked(2)
            && let Some((middle, close)) = rest.split_at_mut_checked(name.len())
        {
            open.copy_from_slice(b",\"");
            middle.copy_from_slice(name.as_bytes());
            close.copy_from_slice(b"\":");
            len = name.len() + 4;
        }
        Self { bytes, len }
    }

    /// Returns the name after another member: with a comma.
    #[inline]
    pub(crate) fn following(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Returns the name of the first member: without a comma.
    #[inline]
    pub(crate) fn first(&self) -> &[u8] {
        self.bytes.get(1..self.len).unwrap_or_default()
    }
}

impl std::fmt::Debug for QuotedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.first()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::{FieldDef, Type, ValueType};
    use crate::model::resources::resource;

    fn check(fields: &[FieldDef]) {
        for def in fields {
            let (want, name) = (format!(",\"{}\":", def.name), QuotedName::new(def.name));
            assert_eq!(name.following(), want.as_bytes());
            assert_eq!(Some(name.first()), want.as_bytes().get(1..));
            if let ValueType::Group(inner) | ValueType::Items(inner) = def.value_type {
                check(inner);
            }
        }
    }

    #[test]
    fn there_is_room_for_the_name_of_every_field() {
        for ty in Type::ALL {
            check(resource(*ty).fields);
        }
    }

    #[test]
    fn a_name_without_room_comes_out_empty() {
        assert_eq!(QuotedName::new(&"x".repeat(60)).following().len(), 64);
        assert_eq!(QuotedName::new(&"x".repeat(61)).following(), b"");
        assert_eq!(QuotedName::new(&"x".repeat(61)).first(), b"");
    }
}

//! Reading a stored body in one pass.
use crate::model::node::{Members, members};

/// Upper bound of the number of stored fields of any type.
const STORED_MAX: usize = 48;

/// Reader of a body in one pass, if its fields are read in stored order, which they usually are. It reads no further
/// than the last field needed.
pub(super) struct BodyReader<'n> {
    pairs: [(&'n str, &'n str); STORED_MAX],
    /// Number of members read.
    len: usize,
    /// Index at which the next field most likely stands.
    at: usize,
    rest: Members<'n>,
}

impl<'n> BodyReader<'n> {
    pub(super) fn new(body: &'n str) -> Self {
        Self {
            pairs: [("", ""); STORED_MAX],
            len: 0,
            at: 0,
            rest: members(body),
        }
    }

    pub(super) fn find(&mut self, key: &str) -> Option<&'n str> {
        let (before, after) = self.pairs.get(..self.len)?.split_at_checked(self.at)?;
        let known = after
            .iter()
            .chain(before)
            .position(|(name, _)| *name == key);
        if let Some(step) = known {
            let at = (self.at + step) % self.len;
            self.at = at + 1;
            return self.pairs.get(at).map(|(_, value)| *value);
        }
        while let Some(slot) = self.pairs.get_mut(self.len) {
            *slot = self.rest.next()?;
            self.len += 1;
            if slot.0 == key {
                self.at = self.len;
                return Some(slot.1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::{FieldSource, Type};
    use crate::model::resources::resource;
    use std::collections::BTreeSet;

    #[test]
    fn a_body_has_room_for_the_stored_fields_of_every_type() {
        for ty in Type::ALL {
            let keys = resource(*ty)
                .fields
                .iter()
                .filter_map(|def| match def.source {
                    FieldSource::Stored(key) | FieldSource::Inline(key) => Some(key),
                    FieldSource::Gids(key)
                    | FieldSource::Values(key)
                    | FieldSource::PerApp(key) => Some(key),
                    _ => None,
                });
            let stored = keys.collect::<BTreeSet<_>>().len();
            assert!(stored <= STORED_MAX, "{ty:?}: {stored}");
        }
    }
}

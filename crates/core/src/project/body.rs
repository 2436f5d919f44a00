//! Reading a stored body in one pass.
use crate::node::{Entries, entries};

/// At least as many stored fields as any type has.
const STORED_MAX: usize = 48;

/// Reads a body in one pass, and no further than asked, when fields are asked for in stored order,
/// which they usually are.
pub(super) struct Body<'n> {
    pairs: [(&'n str, &'n str); STORED_MAX],
    /// How many were read.
    len: usize,
    /// Where the next one asked for most likely stands.
    at: usize,
    rest: Entries<'n>,
}

impl<'n> Body<'n> {
    pub(super) fn new(body: &'n str) -> Self {
        Self {
            pairs: [("", ""); STORED_MAX],
            len: 0,
            at: 0,
            rest: entries(body),
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
    use crate::registry::{Source, Type};
    use crate::resources::resource;
    use std::collections::BTreeSet;

    #[test]
    fn a_body_has_room_for_the_stored_fields_of_every_type() {
        for ty in Type::ALL {
            let keys = resource(*ty)
                .fields
                .iter()
                .filter_map(|def| match def.source {
                    Source::Stored(key) | Source::Inline(key) => Some(key),
                    Source::Gids(key) | Source::Values(key) | Source::PerApp(key) => Some(key),
                    _ => None,
                });
            let stored = keys.collect::<BTreeSet<_>>().len();
            assert!(stored <= STORED_MAX, "{ty:?}: {stored}");
        }
    }
}

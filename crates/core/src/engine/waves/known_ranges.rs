//! Known parts of an ordered list.

/// Known parts of a list, each without gaps. Rows are in the order of their keys.
#[derive(Clone, Debug)]
pub(super) struct KnownRanges<K, V>(Vec<KnownRange<K, V>>);

/// Rows of a list after a key, or from its beginning.
#[derive(Clone, Debug)]
struct KnownRange<K, V> {
    after: Option<K>,
    rows: Vec<(K, V)>,
    /// True if the list has no rows after these.
    is_end: bool,
}

impl<K, V> Default for KnownRanges<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> KnownRange<K, V> {
    /// Returns true if every row after the key, up to the last known one, is known.
    fn covers(&self, after: Option<&K>) -> bool {
        self.after.as_ref() <= after
            && (self.is_end || self.rows.last().map(|(key, _)| key) >= after)
    }
}

impl<K: Ord, V> KnownRanges<K, V> {
    /// Returns the rows after a key, at most `limit`; `None` if some of them are not known.
    pub(super) fn rows(&self, after: Option<&K>, limit: usize) -> Option<&[(K, V)]> {
        if limit == 0 {
            return Some(&[]);
        }
        self.0.iter().find_map(|range| {
            if !range.covers(after) {
                return None;
            }
            let start = range.rows.partition_point(|(key, _)| Some(key) <= after);
            let rest = range.rows.get(start..)?;
            match rest.get(..limit) {
                Some(rows) => Some(rows),
                None => range.is_end.then_some(rest),
            }
        })
    }

    /// Returns the number of rows in the longest known range that covers a key, or 0 if none does.
    pub(super) fn known_to(&self, after: Option<&K>) -> usize {
        let reaching = self.0.iter().filter(|range| range.covers(after));
        reaching.map(|range| range.rows.len()).max().unwrap_or(0)
    }

    /// Adds rows after a key: all up to the last of them, or to the end of the list.
    pub(super) fn insert(&mut self, after: Option<K>, rows: Vec<(K, V)>, is_end: bool) {
        let touching = self.0.iter_mut().find(|range| range.covers(after.as_ref()));
        let Some(range) = touching else {
            self.0.push(KnownRange {
                after,
                rows,
                is_end,
            });
            return;
        };
        if range.is_end {
            return;
        }
        let fresh = match range.rows.last() {
            Some((last, _)) => rows.partition_point(|(key, _)| key <= last),
            None => 0,
        };
        range.rows.extend(rows.into_iter().skip(fresh));
        range.is_end = is_end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows_of(list: &[u8], after: Option<u8>, limit: usize) -> Vec<(u8, ())> {
        let rest = list.iter().filter(|key| Some(**key) > after);
        rest.take(limit).map(|key| (*key, ())).collect()
    }

    proptest! {
        /// Checks that answers equal the list, whichever of its parts were read, and that every part that was read is known.
        #[test]
        fn known_parts_answer_as_the_list_does(
            list in prop::collection::btree_set(0..40u8, 0..20),
            reads in prop::collection::vec((prop::option::of(0..40u8), 1..9usize), 0..8),
            after in prop::option::of(0..40u8),
            limit in 0..12usize,
        ) {
            let list: Vec<u8> = list.into_iter().collect();
            let mut known = KnownRanges::default();
            for (after, limit) in &reads {
                let rows = rows_of(&list, *after, *limit);
                let is_end = rows.len() < *limit;
                known.insert(*after, rows, is_end);
            }
            for (after, limit) in &reads {
                prop_assert_eq!(known.rows(after.as_ref(), *limit), Some(&*rows_of(&list, *after, *limit)));
            }
            if let Some(rows) = known.rows(after.as_ref(), limit) {
                prop_assert_eq!(rows, rows_of(&list, after, limit));
            }
        }
    }
}

//! Values of fields that number tasks: they stand in edges, not in the index of values.
use super::Finder;
use super::gather::Basket;
use crate::gid::Gid;
use crate::graph::{Edge, StoreError};
use crate::index::Key;
use crate::registry::rel;
use crate::rules::ids;
use crate::search::{Around, Test};
use crate::snapshot::Depth;

impl Finder<'_, '_> {
    /// The prefix of a field that numbers tasks.
    pub(super) fn prefix(&mut self, field: Gid) -> Result<Option<String>, StoreError> {
        let field = self.node(field)?;
        Ok(field.and_then(|field| ids::prefix(&field)))
    }

    /// The key of a task's number, if it has one.
    pub(super) fn number(
        &mut self,
        task: Gid,
        field: Gid,
        prefix: &str,
    ) -> Result<Vec<Key>, StoreError> {
        let edge = self.loader.snap.linked(task, rel::NUMBERED, field)?;
        Ok(edge.map(|e| ids::key(prefix, e.rank)).into_iter().collect())
    }

    /// Reads tasks whose numbers pass a test.
    pub(super) fn pour_numbers(
        &mut self,
        (field, prefix): (Gid, &str),
        test: &Test,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let (mut read, most) = (0, basket.tests());
        for (from, to) in test.numbers(prefix) {
            let mut last = (from - 1, i64::MAX);
            while last.0 < to && basket.fits() && read <= most {
                let wide = usize::try_from(to.saturating_sub(last.0)).unwrap_or(usize::MAX);
                let limit = wide.min(basket.room() + 1);
                let (start, after) = (read, last);
                let each = &mut |edge: Edge, _| {
                    read += 1;
                    last = (edge.rank, edge.src.as_i64());
                    if edge.rank <= to && test.holds(&[ids::key(prefix, edge.rank)]) {
                        basket.push(edge.src);
                    }
                };
                self.loader
                    .snap
                    .scan_in(field, rel::NUMBERED, after, limit, Depth::Edge, each)?;
                if read - start < limit {
                    break;
                }
            }
        }
        self.read = self.read.saturating_add(read as u64);
        Ok(basket.fits() && read <= most)
    }
}

impl Test {
    /// Ranges of the numbers that may pass.
    fn numbers(&self, prefix: &str) -> Vec<(i64, i64)> {
        let exact = match self {
            Self::Within(ranges) => ranges.iter().all(|(from, to)| from == to),
            _ => false,
        };
        match self {
            Self::Within(ranges) if exact => {
                let numbers = ranges
                    .iter()
                    .filter_map(|(key, _)| ids::number_of(prefix, key));
                numbers.map(|number| (number, number)).collect()
            }
            _ => vec![(0, i64::MAX)],
        }
    }
}

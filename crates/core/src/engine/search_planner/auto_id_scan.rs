//! Values of fields that number tasks: they are stored in edges, not in the value index.
use super::SearchEngine;
use super::candidates::CandidateBuffer;
use crate::graph_store_error::GraphStoreError;
use crate::model::auto_id;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::registry::rel;
use crate::search::{EvalContext, ValuePredicate};
use crate::storage::snapshot::Depth;

impl SearchEngine<'_, '_> {
    /// Returns the prefix of a field, if it numbers tasks.
    pub(super) fn prefix(&mut self, field: Gid) -> Result<Option<String>, GraphStoreError> {
        let field = self.node(field)?;
        Ok(field.and_then(|field| auto_id::prefix(&field)))
    }

    /// Returns the key of a task's number, if it has one.
    pub(super) fn number(
        &mut self,
        task: Gid,
        field: Gid,
        prefix: &str,
    ) -> Result<Vec<IndexKey>, GraphStoreError> {
        let edge = self.loader.snap.edge_between(task, rel::NUMBERED, field)?;
        Ok(edge
            .map(|e| auto_id::key(prefix, e.rank))
            .into_iter()
            .collect())
    }

    /// Reads tasks whose numbers meet a predicate.
    pub(super) fn pour_numbers(
        &mut self,
        (field, prefix): (Gid, &str),
        test: &ValuePredicate,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let (mut read, most) = (0, buffer.tests());
        for (from, to) in test.numbers(prefix) {
            let mut last = (from - 1, i64::MAX);
            while last.0 < to && buffer.fits() && read <= most {
                let wide = usize::try_from(to.saturating_sub(last.0)).unwrap_or(usize::MAX);
                let limit = wide.min(buffer.free() + 1);
                let (start, after) = (read, last);
                let each = &mut |edge: Edge, _| {
                    read += 1;
                    last = (edge.rank, edge.src.as_i64());
                    if edge.rank <= to && test.holds(&[auto_id::key(prefix, edge.rank)]) {
                        buffer.push(edge.src);
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
        self.count_rows(read)?;
        Ok(buffer.fits() && read <= most)
    }
}

impl ValuePredicate {
    /// Returns ranges of the numbers that may meet the predicate.
    fn numbers(&self, prefix: &str) -> Vec<(i64, i64)> {
        let exact = match self {
            Self::Within(ranges) | Self::Number(_, ranges) => {
                ranges.iter().all(|(from, to)| from == to)
            }
            _ => false,
        };
        match self {
            Self::Within(ranges) | Self::Number(_, ranges) if exact => {
                let numbers = ranges
                    .iter()
                    .filter_map(|(key, _)| auto_id::number_of(prefix, key));
                numbers.map(|number| (number, number)).collect()
            }
            _ => vec![(0, i64::MAX)],
        }
    }
}

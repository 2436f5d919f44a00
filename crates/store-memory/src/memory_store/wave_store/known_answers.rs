//! The law of fact keys, checked on the last reads: only an answer with a touched key changes.
use crate::memory_store::memory_graph::MemoryGraph;
use std::collections::{BTreeSet, VecDeque};
use workgraph_core::engine::TrackedSnapshot;
use workgraph_core::engine::waves::{Facts, GraphAnswer, GraphRead};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{FactKey, GraphStoreError};

/// Answers to reads before a commit.
pub(super) struct KnownAnswers {
    facts: Facts,
    answers: Vec<(GraphRead, GraphAnswer)>,
}

impl KnownAnswers {
    pub(super) fn of(
        reads: &VecDeque<GraphRead>,
        graph: &mut MemoryGraph,
    ) -> Result<Self, GraphStoreError> {
        let mut facts = Facts::at(graph.seq()?);
        let mut answers = Vec::with_capacity(reads.len());
        for read in reads {
            let answer = read.run_in(graph)?;
            facts.insert(read, answer.clone())?;
            answers.push((read.clone(), answer));
        }
        Ok(Self { facts, answers })
    }

    /// Returns a read whose answer is different now, although none of its keys was touched.
    pub(super) fn changed_untouched(
        &self,
        touched: &BTreeSet<FactKey>,
        graph: &mut MemoryGraph,
    ) -> Result<Option<String>, GraphStoreError> {
        for (read, before) in &self.answers {
            let mut is_touched = false;
            self.facts
                .keys_of(read, &mut |key| is_touched |= touched.contains(&key));
            let now = read.run_in(graph)?;
            if !is_touched && now != *before {
                return Ok(Some(format!("{read:?}: {before:?}, now {now:?}")));
            }
        }
        Ok(None)
    }
}

/// Describes a read if a tracked snapshot records different keys for it than the keys that its answer depends on.
pub(super) fn read_otherwise_tracked(
    read: &GraphRead,
    answer: &GraphAnswer,
    graph: &mut MemoryGraph,
) -> Result<Option<String>, GraphStoreError> {
    if matches!(read, GraphRead::AppName(_)) {
        return Ok(None);
    }
    let mut keys = BTreeSet::new();
    read.keys(answer, &mut |key| {
        keys.insert(key);
    });
    let mut tracked = TrackedSnapshot::over(graph);
    read.run(&mut tracked)?;
    let noted: BTreeSet<FactKey> = tracked.into_keys().into_iter().collect();
    let is_other = noted != keys;
    Ok(is_other.then(|| format!("{read:?}: tracked as {noted:?}, depends on {keys:?}")))
}

//! State of the graph after commits, as known to the store that made them.
use super::answer_weight::{ENTRY_BYTES, weight_of};
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use super::graph_writes::GraphWrites;
use super::overlay::{ChangedLists, Overlay};
use crate::model::edge::Seq;
use crate::storage::DecisionReads;
use crate::storage::FactKey;
use crate::storage::snapshot::Depth;
use rustc_hash::FxHashSet;

/// Maximum number of attempts at a read; each attempt gets the answers that the last one lacked.
const ATTEMPTS_MAX: usize = 4;
/// Bytes that an outdated key takes.
const OUTDATED: usize = 2 * size_of::<FactKey>();

/// Facts of the state before some commits, with the writes of the commits. Together they answer the reads that the commits
/// made, and reads of the written data. Later commits outdate answers by the keys that they touch.
#[derive(Debug)]
pub(super) struct CommittedState {
    facts: Facts,
    writes: GraphWrites,
    changed_lists: ChangedLists,
    /// Keys that later commits touched.
    outdated: FxHashSet<FactKey>,
    /// Number of bytes of the writes.
    written: usize,
}

impl CommittedState {
    pub(super) fn new(facts: Facts, writes: GraphWrites) -> Self {
        let touched = writes.touched.len() * ENTRY_BYTES;
        let written = writes
            .nodes
            .values()
            .map(|written| weight_of(&written.node));
        Self {
            written: touched + written.sum::<usize>(),
            changed_lists: ChangedLists::of(&writes),
            facts,
            writes,
            outdated: FxHashSet::default(),
        }
    }

    /// Returns the last commit before these commits.
    pub(super) const fn base(&self) -> Seq {
        self.writes.base
    }

    /// Returns the last of these commits.
    pub(super) fn last_seq(&self) -> Seq {
        self.writes.last_seq()
    }

    /// Returns the keys that the commits touch.
    pub(super) fn touched(&self) -> impl Iterator<Item = FactKey> {
        self.writes.touched.iter().copied()
    }

    /// Returns true if the commits touch a key.
    pub(super) fn touches(&self, key: FactKey) -> bool {
        self.writes.touched.contains(&key)
    }

    /// Returns true if the commits touch none of the reads of a decision, or if the decision saw all of the commits.
    pub(super) fn holds(&self, reads: &DecisionReads) -> bool {
        reads.seq >= self.last_seq() || !reads.keys.iter().any(|key| self.touches(*key))
    }

    /// Returns true if the facts of the state before the commits are still kept.
    pub(super) const fn has_its_facts(&self) -> bool {
        self.facts.seq() == self.writes.base
    }

    /// Returns the bytes that it takes, as far as they are counted.
    pub(super) fn bytes(&self) -> usize {
        self.written + self.facts.bytes() + self.outdated.len() * OUTDATED
    }

    /// Returns the reads of both ends of the lists that the commits changed, except lists of new nodes: the ends place the next
    /// edge in a list.
    pub(super) fn list_ends(&self) -> Vec<GraphRead> {
        let is_new = |gid| self.writes.nodes.get(&gid).is_some_and(|node| node.is_new);
        let lists = self.changed_lists.keys().filter(|(dst, _)| !is_new(*dst));
        let ends = lists.map(|(dst, rel)| {
            let first = GraphRead::ScanIn {
                dst,
                rel,
                after: (i64::MIN, i64::MIN),
                limit: 1,
                depth: Depth::Edge,
            };
            let before = (i64::MAX, i64::MAX);
            [first, GraphRead::LastEdgeBefore { dst, rel, before }]
        });
        ends.flatten().collect()
    }

    /// Outdates the answers that depend on a key.
    pub(super) fn outdate(&mut self, key: FactKey) {
        self.outdated.insert(key);
    }

    /// Returns the answer to a read of data that the commits touched, if it is known and not outdated. `kept` has answers that
    /// are valid now.
    pub(super) fn answer(
        &mut self,
        read: &GraphRead,
        kept: &mut dyn FnMut(&GraphRead) -> Option<GraphAnswer>,
    ) -> Option<GraphAnswer> {
        if !self.may_answer(read) {
            return None;
        }
        for _ in 0..ATTEMPTS_MAX {
            let lacking = match self.attempt(read) {
                Ok(answer) => {
                    let answer = answer?;
                    let is_outdated = depends(read, &answer, |key| self.outdated.contains(&key));
                    return (!is_outdated).then_some(answer);
                }
                Err(lacking) => lacking,
            };
            for read in lacking {
                if self.touches_read(&read) {
                    return None;
                }
                let answer = kept(&read)?;
                let is_changed =
                    |key| self.writes.touched.contains(&key) || self.outdated.contains(&key);
                // Otherwise the answer was the same before.
                if depends(&read, &answer, is_changed) {
                    return None;
                }
                self.facts.insert(&read, answer).ok()?;
            }
        }
        None
    }

    /// Returns true if the commits touched the data of a read: answers to other reads are still in the cache that kept them.
    fn may_answer(&self, read: &GraphRead) -> bool {
        if matches!(read, GraphRead::AppName(_)) {
            return false;
        }
        let written = read.subject().and_then(|gid| self.writes.nodes.get(&gid));
        written.is_some_and(|written| written.is_new) || self.touches_read(read)
    }

    /// Returns true if the commits touch a key that the read has for any answer.
    pub(super) fn touches_read(&self, read: &GraphRead) -> bool {
        depends(read, &GraphAnswer::Gid(None), |key| self.touches(key))
    }

    /// Makes a read. On failure returns the reads that it lacks.
    fn attempt(&mut self, read: &GraphRead) -> Result<Option<GraphAnswer>, Vec<GraphRead>> {
        let (writes, lists) = (
            std::mem::take(&mut self.writes),
            std::mem::take(&mut self.changed_lists),
        );
        let mut overlay = Overlay::with_writes(&self.facts, writes, lists);
        // A read that overlays do not answer fails.
        let answer = read.run_in(&mut overlay).ok();
        let lacking = overlay.is_lacking();
        let (reads, writes, lists) = overlay.into_parts();
        (self.writes, self.changed_lists) = (writes, lists);
        if lacking { Err(reads) } else { Ok(answer) }
    }
}

/// Returns true if one of the keys of a read with this answer passes the test.
pub(super) fn depends(
    read: &GraphRead,
    answer: &GraphAnswer,
    is_such: impl Fn(FactKey) -> bool,
) -> bool {
    let mut depends = false;
    read.keys(answer, &mut |key| depends |= is_such(key));
    depends
}

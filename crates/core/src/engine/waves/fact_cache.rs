//! Cache of answers between requests, exact at one commit.
use super::answer_weight::{ENTRY_BYTES, weight};
use super::committed_state::CommittedState;
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use super::graph_writes::GraphWrites;
use super::viewer_cache::ViewerCache;
use crate::access::Viewer;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Seq;
use crate::model::node::Node;
use crate::storage::snapshot::Depth;
use crate::storage::{DecisionReads, FactKey, TouchLog, ViewerKey};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of rows of an answer whose nodes are also kept on their own.
const ALONG_MAX: usize = 256;
/// Maximum number of groups of commits whose states are kept.
const COMMITTED_MAX: usize = 16;

/// Half of the cache: answers, with the reads that depend on each key.
#[derive(Debug, Default)]
struct AnswerGeneration {
    answers: FxHashMap<Arc<GraphRead>, (GraphAnswer, usize)>,
    /// Reads that depend on a key. Some may have been removed.
    by_key: FxHashMap<FactKey, Vec<Arc<GraphRead>>>,
    bytes: usize,
}

impl AnswerGeneration {
    fn forget(&mut self, key: FactKey) {
        for read in self.by_key.remove(&key).into_iter().flatten() {
            if let Some((answer, bytes)) = self.answers.remove(&read) {
                // The other keys of the read still have it.
                let mut left = ENTRY_BYTES / 2;
                read.keys(&answer, &mut |_| left += size_of::<Arc<GraphRead>>());
                self.bytes -= bytes - left.min(bytes);
            }
        }
    }
}

/// Reads with their answers, all true of the state after one commit, [`FactCache::seq`].
///
/// Three rules keep it exact:
///
/// - Before a store takes anything from the cache for a request, it reads the number of the last commit and the
///   [keys](super::GraphWrites::touched) that the commits since the cache's state have touched, and
///   [invalidates](FactCache::invalidate_to) the answers that depend on these keys.
/// - The store adds each answer together with the commit of the state that the answer was read from.
/// - It takes answers only for facts of the cache's state.
///
/// Half the cache is dropped at once: the answers that were not used for longest.
///
/// The states after the store's own last [commits](FactCache::commit) are kept beside the answers.
#[derive(Debug)]
pub struct FactCache {
    seq: Seq,
    young: AnswerGeneration,
    old: AnswerGeneration,
    viewers: ViewerCache,
    /// States after the last commits, oldest first.
    committed: VecDeque<CommittedState>,
    /// Keys that the commits up to its state touched.
    touched: TouchLog,
    /// Maximum total size in bytes.
    bytes_max: usize,
    /// Maximum size in bytes of a generation.
    generation_bytes_max: usize,
}

impl FactCache {
    /// Returns an empty cache with a maximum size of about `bytes_max` bytes, at the state after a commit.
    #[must_use]
    pub fn new(bytes_max: usize, seq: Seq) -> Self {
        Self {
            seq,
            young: AnswerGeneration::default(),
            old: AnswerGeneration::default(),
            viewers: ViewerCache::default(),
            committed: VecDeque::new(),
            touched: TouchLog::starting_at(seq),
            bytes_max,
            // A tenth is left for viewers, and another tenth for the states after commits.
            generation_bytes_max: bytes_max / 5 * 2,
        }
    }

    /// Returns the last commit of the state that the answers are true of.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns true if no commit up to the state of the cache has touched the reads of a decision; false if that is not
    /// known.
    #[must_use]
    pub fn holds(&self, reads: &DecisionReads) -> bool {
        self.touched.holds(reads)
    }

    /// Returns true if answers can be kept.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.generation_bytes_max > 0
    }

    /// Returns the number of bytes that the answers take, as far as they are counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes + self.viewers.bytes() + self.committed_bytes()
    }

    /// Forgets everything, and continues at the state after a commit.
    pub fn clear(&mut self, seq: Seq) {
        *self = Self::new(self.bytes_max, seq);
    }

    /// Invalidates everything touched by the commits up to `seq`, of this node or another, and moves on to the state after them.
    /// `touched` are the keys that the commits after `since` touched. A cache at a state before `since` forgets everything; one
    /// at a state after `seq` stays there.
    pub fn invalidate_to(
        &mut self,
        since: Seq,
        seq: Seq,
        touched: impl IntoIterator<Item = FactKey>,
    ) {
        if seq <= self.seq {
            return;
        }
        if since > self.seq {
            self.clear(seq);
            return;
        }
        for key in touched {
            self.touched.record(seq, [key]);
            self.young.forget(key);
            self.old.forget(key);
            self.viewers.forget(key);
            self.committed
                .iter_mut()
                .for_each(|state| state.outdate(key));
        }
        self.seq = seq;
        self.drop_committed();
    }

    /// Moves on to the state after durable commits, and keeps their writes. `facts` are the facts from which the writes were
    /// computed, true of the state to which the writes were applied.
    pub fn commit(&mut self, facts: Facts, writes: GraphWrites) {
        self.commit_state(CommittedState::new(facts, writes));
    }

    /// Moves on to the state after durable commits, and keeps it.
    pub(super) fn commit_state(&mut self, state: CommittedState) {
        let (since, seq) = (state.base(), state.last_seq());
        self.invalidate_to(since, seq, state.touched());
        if self.seq != seq || !state.has_its_facts() {
            return;
        }
        self.committed.push_back(state);
        self.drop_committed();
    }

    /// Drops the oldest states after commits as long as they are too many or too large. The ends of the lists that they changed
    /// stay known.
    fn drop_committed(&mut self) {
        while self.committed.len() > COMMITTED_MAX || self.committed_bytes() > self.bytes_max / 10 {
            let Some(mut state) = self.committed.pop_front() else {
                return;
            };
            for read in state.list_ends() {
                if let Some(answer) = state.answer(&read, &mut |read| self.kept(read)) {
                    self.keep(self.seq, &read, &answer);
                }
            }
        }
    }

    fn committed_bytes(&self) -> usize {
        self.committed.iter().map(CommittedState::bytes).sum()
    }

    /// Keeps an answer that was read from the state after the commit `seq`, if the cache is at that state.
    pub fn keep(&mut self, seq: Seq, read: &GraphRead, answer: &GraphAnswer) {
        // Names of apps are not part of the graph, so no commit touches them.
        if seq != self.seq || matches!(read, GraphRead::AppName(_)) {
            return;
        }
        let bytes = ENTRY_BYTES + weight(answer);
        // One answer must not push out all others.
        if bytes <= self.generation_bytes_max / 4 {
            self.insert(Arc::new(read.clone()), answer.clone(), bytes);
        }
        // Nodes that were read along also answer reads of their own: other edges lead to them, too.
        match answer {
            GraphAnswer::Edges(edges) if edges.len() <= ALONG_MAX => {
                edges
                    .iter()
                    .for_each(|(_, node)| self.keep_node(node.as_ref()));
            }
            GraphAnswer::Rows(rows) if rows.len() <= ALONG_MAX => {
                rows.iter()
                    .for_each(|(_, node, _)| self.keep_node(Some(node)));
            }
            _ => {}
        }
    }

    fn keep_node(&mut self, node: Option<&Arc<Node>>) {
        let Some(node) = node else { return };
        let depth = if node.is_head() {
            Depth::Head
        } else {
            Depth::Full
        };
        let gid = node.gid;
        if self.kept(&GraphRead::Node { gid, depth }).is_some() {
            return;
        }
        let answer = GraphAnswer::Node(Some(Arc::clone(node)));
        let bytes = ENTRY_BYTES + weight(&answer);
        if bytes <= self.generation_bytes_max / 4 {
            self.insert(Arc::new(GraphRead::Node { gid, depth }), answer, bytes);
        }
    }

    fn insert(&mut self, read: Arc<GraphRead>, answer: GraphAnswer, bytes: usize) {
        if self.young.answers.contains_key(&read) {
            return;
        }
        if self.young.bytes + bytes > self.generation_bytes_max {
            self.old = std::mem::take(&mut self.young);
        }
        let by_key = &mut self.young.by_key;
        read.keys(&answer, &mut |key| {
            by_key.entry(key).or_default().push(Arc::clone(&read));
        });
        self.young.bytes += bytes;
        self.young.answers.insert(read, (answer, bytes));
    }

    /// Returns a viewer, if it is kept.
    #[must_use]
    pub fn viewer(&self, key: ViewerKey) -> Option<Arc<Viewer>> {
        self.viewers.get(key)
    }

    /// Keeps a viewer that was computed from the state after the commit `seq`, if the cache is at that state. It stays valid as
    /// long as none of these keys is touched.
    pub fn keep_viewer(
        &mut self,
        seq: Seq,
        key: ViewerKey,
        viewer: &Arc<Viewer>,
        depends_on: Vec<FactKey>,
    ) {
        if seq == self.seq {
            let viewer = Arc::clone(viewer);
            self.viewers
                .keep(key, viewer, depends_on, self.bytes_max / 10);
        }
    }

    /// Returns the answer to a read, if it is kept.
    pub fn get(&mut self, read: &GraphRead) -> Option<GraphAnswer> {
        if let Some(answer) = self.kept(read) {
            return Some(answer);
        }
        let mut committed = std::mem::take(&mut self.committed);
        let mut states = committed.iter_mut().rev();
        let answer = states.find_map(|state| state.answer(read, &mut |read| self.kept(read)));
        self.committed = committed;
        if let Some(answer) = &answer {
            self.keep(self.seq, read, answer);
        }
        answer
    }

    fn kept(&mut self, read: &GraphRead) -> Option<GraphAnswer> {
        if let Some((answer, _)) = self.young.answers.get(read) {
            return Some(answer.clone());
        }
        let Some((read, (answer, bytes))) = self.old.answers.remove_entry(read) else {
            // A full node also answers a read of its head.
            let GraphRead::Node { gid, depth } = *read else {
                return None;
            };
            let whole = GraphRead::Node {
                gid,
                depth: Depth::Full,
            };
            return (depth < Depth::Full).then(|| self.kept(&whole)).flatten();
        };
        self.old.bytes -= bytes;
        self.insert(read, answer.clone(), bytes);
        Some(answer)
    }

    /// Adds kept answers to facts, and returns the reads without an answer. Facts of another state get no answers.
    ///
    /// # Errors
    /// Fails if a kept answer does not fit its read.
    pub fn fill(
        &mut self,
        facts: &mut Facts,
        reads: Vec<GraphRead>,
    ) -> Result<Vec<GraphRead>, GraphStoreError> {
        if facts.seq() != self.seq {
            return Ok(reads);
        }
        let mut others = Vec::new();
        for read in reads {
            match self.get(&read) {
                Some(answer) => facts.insert(&read, answer)?,
                None => others.push(read),
            }
        }
        Ok(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gid::Gid;
    use crate::model::index_key::IndexKey;
    use crate::model::registry::rel;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    /// Step of a reader, a writer or the cache.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A commit changes a list.
        Commit(u64),
        /// A request reads the state of the graph, and a cache that must be at it.
        Begin(usize),
        /// A request adds its reads of a list to the cache, some of them long after it made them.
        Keep(usize, u64),
        /// The cache invalidates the answers that commits have touched.
        Invalidate,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (1..4u64).prop_map(Step::Commit),
            2 => (0..3usize).prop_map(Step::Begin),
            4 => (0..3usize, 1..4u64).prop_map(|(reader, list)| Step::Keep(reader, list)),
            2 => Just(Step::Invalidate),
        ];
        prop::collection::vec(step, 1..40)
    }

    fn of(list: u64) -> (GraphRead, FactKey) {
        let dst = Gid::new(list).unwrap();
        let rel = rel::SECTION;
        (GraphRead::CountIn { dst, rel }, FactKey::list(dst, rel))
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Fault {
        None,
        /// The cache accepts an outdated answer as a current one.
        LateAnswers,
        /// The cache moves to a later state without invalidating anything.
        NoInvalidation,
    }

    fn run(steps: &[Step], bytes: usize, fault: Fault) -> Result<(), String> {
        let mut counts = [0_u64; 4];
        let mut log: Vec<FactKey> = Vec::new();
        let mut readers = [(0, counts); 3];
        let mut cache = FactCache::new(bytes, 0);
        for step in steps {
            match *step {
                Step::Commit(list) => {
                    counts[list as usize] += 1;
                    log.push(of(list).1);
                }
                Step::Begin(reader) => readers[reader] = (log.len() as Seq, counts),
                Step::Keep(reader, list) => {
                    let (seq, counts) = readers[reader];
                    let seq = match fault {
                        Fault::LateAnswers => cache.seq(),
                        _ => seq,
                    };
                    cache.keep(seq, &of(list).0, &GraphAnswer::Count(counts[list as usize]));
                }
                Step::Invalidate => {
                    let since = cache.seq();
                    let touched = match fault {
                        Fault::NoInvalidation => &[],
                        _ => &log[since as usize..],
                    };
                    cache.invalidate_to(since, log.len() as Seq, touched.iter().copied());
                    for list in 1..4 {
                        let count = GraphAnswer::Count(counts[list as usize]);
                        let kept = cache.get(&of(list).0);
                        if kept.as_ref().is_some_and(|kept| *kept != count) {
                            return Err(format!("{list}: {kept:?}, not {count:?}"));
                        }
                    }
                }
            }
            if cache.bytes() > bytes {
                return Err(format!("{} bytes of {bytes}", cache.bytes()));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn what_is_kept_is_true_and_within_its_room(steps in steps(), bytes in 0..9_000usize) {
            let done = run(&steps, bytes, Fault::None);
            prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        }
    }

    #[test]
    fn late_answers_and_a_cache_that_does_not_invalidate_are_noticed() {
        for fault in [Fault::LateAnswers, Fault::NoInvalidation] {
            let mut runner = TestRunner::deterministic();
            let noticed = runner.run(&steps(), |steps| {
                run(&steps, 100_000, fault).map_err(TestCaseError::fail)
            });
            assert!(noticed.is_err(), "{fault:?}");
        }
    }

    /// Checks a list of many nodes that is read again after each change of one of the nodes.
    #[test]
    fn reads_that_are_forgotten_again_and_again_leave_no_trace() {
        let node = |number| Gid::new(number).unwrap();
        let read = GraphRead::ScanValues {
            field: node(1),
            from: IndexKey::Number(0.0),
            to: IndexKey::Number(99.0),
            after: None,
            limit: 20,
        };
        let values = (2..20).map(|number| (IndexKey::Number(7.0), node(number)));
        let answer = GraphAnswer::Values(values.collect());
        let bytes = 100 * ENTRY_BYTES;
        let mut cache = FactCache::new(bytes, 0);
        for seq in 0..10_000 {
            cache.keep(seq, &read, &answer);
            assert!(cache.get(&read).is_some());
            cache.invalidate_to(seq, seq + 1, [FactKey::node(node(2))]);
            let kept =
                [&cache.young, &cache.old].map(|one| one.by_key.values().map(Vec::len).sum());
            assert!(kept.iter().sum::<usize>() * size_of::<Arc<GraphRead>>() <= bytes);
        }
    }

    #[test]
    fn what_is_used_stays_and_a_gap_clears() {
        let mut cache = FactCache::new(5 * 4 * ENTRY_BYTES, 0);
        let answer = GraphAnswer::Count(1);
        cache.keep(0, &of(1).0, &answer);
        for list in 2..40 {
            cache.keep(0, &of(list).0, &answer);
            assert_eq!(cache.get(&of(1).0), Some(answer.clone()));
        }
        assert_eq!(cache.get(&of(2).0), None, "it was not used for long");
        // The keys that the commits between 0 and 5 touched are unknown.
        cache.invalidate_to(5, 7, []);
        assert_eq!((cache.get(&of(1).0), cache.seq()), (None, 7));
        cache.invalidate_to(0, 3, [of(1).1]);
        assert_eq!(cache.seq(), 7);
    }
}

//! Store in memory that loads in waves and commits through overlays: each wave represents one trip to a database.
mod cache_of_attempt;
mod known_answers;

use self::cache_of_attempt::CacheOfAttempt;
use self::known_answers::{KnownAnswers, read_otherwise_tracked};
use super::MemoryStore;
use super::memory_graph::MemoryGraph;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use workgraph_core::engine::load;
use workgraph_core::engine::waves::{
    Applied, AppliedChanges, Attempt, FactCache, Facts, FactsSnapshot, GraphAnswer, GraphRead,
    GraphWrites, PendingCommits, WAVES_MAX, apply_attempt_with, commit_guesses, load_attempt_with,
    load_guesses,
};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{
    Changes, CommitReceipt, FactKey, GraphStore, GraphStoreError, GraphStoreWrapper, ReadQuery,
    ReadView, Seq, TouchLog,
};
use workgraph_core::{Viewer, engine};

/// Guesses that begin a load or commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaveGuesses {
    /// The guesses of the engine.
    #[default]
    Usual,
    /// No guesses: the first attempt has no facts.
    None,
    /// Reads of earlier loads and commits, on any subject.
    Useless,
}

/// Fault of a wave store, which tests must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveFault {
    /// Lists lose their last row on the way.
    LostRows,
    /// The first attempt counts, even if reads had no answer.
    Credulous,
    /// The writes lack edges.
    LostEdges,
    /// Writes that were computed from old facts are made although commits have touched these facts since.
    NotValidated,
    /// The touched keys lack the keys of lists, aliases and indexes.
    UntouchedLists,
    /// The cache does not learn which keys were touched.
    StaleCache,
    /// The cache learns the writes of commits, except their edges.
    CacheWithoutEdges,
    /// Answers from pending commits lack their edges.
    PendingWithoutEdges,
}

/// Options of a wave store.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaveOptions {
    /// Guesses that begin a load or commit.
    pub guesses: WaveGuesses,
    /// Number of commits by which the facts of a commit may be outdated; 0 for none.
    pub lag: usize,
    /// Bytes of the cache of answers; 0 for none.
    pub cache_bytes: usize,
    /// Number of commits that stay pending before the cache learns of them, as if each became durable only after that many
    /// further commits.
    pub pending: usize,
    /// Fault, if any.
    pub fault: Option<WaveFault>,
}

/// Work done in waves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveWork {
    /// A load of a read query.
    Load,
    /// A commit of change sets.
    Commit,
}

/// Number of waves of a load or commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveCount {
    /// Kind of the work.
    pub work: WaveWork,
    /// Number of waves; more than [`WAVES_MAX`] if the work was given up and done without waves.
    pub waves: usize,
    /// Number of reads in all waves.
    pub reads: usize,
}

/// Maximum number of reads that are kept to compare their answers before and after a commit.
const KEPT_READS: usize = 120;

#[derive(Debug, Default)]
struct WaveState {
    counts: Vec<WaveCount>,
    /// The last reads.
    reads: VecDeque<GraphRead>,
    /// Old state of the graph, and everything that commits have touched since.
    past: Option<(MemoryGraph, Vec<FactKey>, usize)>,
    broken_law: Option<String>,
    cache: Option<FactCache>,
    /// Commits that the cache has not learned of.
    pending: PendingCommits,
    /// The last commit of each group of pending commits.
    pending_groups: VecDeque<Seq>,
    /// Size of the cache in bytes, if it differs from the options.
    cache_bytes: Option<usize>,
    /// Keys that commits touched and the cache has not learned of.
    unlearned: Vec<FactKey>,
    /// Keys that commits touched.
    touched: Option<TouchLog>,
}

/// A [`MemoryStore`] behind waves and overlays. It also checks the law of fact keys on each commit, that the answer to a read
/// changes only if one of its keys was touched, and that a tracked snapshot notes those keys.
#[derive(Debug, Default)]
pub struct WaveStore {
    store: Arc<MemoryStore>,
    options: WaveOptions,
    state: Mutex<WaveState>,
}

impl WaveStore {
    /// Creates a store over another one.
    #[must_use]
    pub fn over(store: Arc<MemoryStore>, options: WaveOptions) -> Self {
        Self {
            store,
            options,
            state: Mutex::default(),
        }
    }

    /// Returns the memory store that holds the data.
    #[must_use]
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// Returns the number of waves of each load and commit since the last call.
    #[must_use]
    pub fn take_counts(&self) -> Vec<WaveCount> {
        std::mem::take(&mut self.state.lock().counts)
    }

    /// Replaces the cache of answers by an empty one of this many bytes, or by none.
    pub fn set_cache(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.cache = None;
        state.cache_bytes = Some(bytes);
    }

    /// Returns a read whose answer a commit changed without touching its keys, if there was one.
    #[must_use]
    pub fn broken_law(&self) -> Option<String> {
        self.state.lock().broken_law.clone()
    }

    /// Commits change sets together, each applied to the state after those before it.
    ///
    /// # Errors
    /// Fails if the store fails, or if a commit lacks answers.
    pub fn commit_group(
        &self,
        sets: &[Changes],
    ) -> Result<Vec<Result<CommitReceipt, GraphStoreError>>, GraphStoreError> {
        let mut state = self.state.lock();
        let mut sets = sets.to_vec();
        let mut clock = self.store.clock.lock();
        sets.iter_mut().for_each(|changes| clock.stamp(changes));
        drop(clock);
        let sets: Vec<&Changes> = sets.iter().collect();
        let graph = &mut *self.store.state();
        let (facts, mut applied) = match &mut state.past {
            Some((past, touched, _)) => {
                let (mut past, touched) = (past.clone(), touched.clone());
                let (facts, applied) = self.applied(&mut past, &sets, &mut state)?;
                let is_outdated = applied.writes.is_outdated(touched);
                if is_outdated && self.options.fault != Some(WaveFault::NotValidated) {
                    self.applied(graph, &sets, &mut state)?
                } else {
                    (facts, applied)
                }
            }
            None => self.applied(graph, &sets, &mut state)?,
        };
        let old = applied.writes.base;
        let now = graph.seq()?;
        applied.writes.move_to(now);
        for receipt in applied.outcomes.iter_mut().flatten() {
            receipt.seq = receipt.seq - old + now;
        }
        self.flush((facts, applied), graph, &mut state)
    }

    /// Applies change sets to a state of the graph, in waves.
    fn applied(
        &self,
        graph: &mut MemoryGraph,
        sets: &[&Changes],
        state: &mut WaveState,
    ) -> Result<(Facts, AppliedChanges), GraphStoreError> {
        let guesses = sets.iter().flat_map(|changes| commit_guesses(changes));
        let mut wave = self.guesses(guesses.collect(), state);
        let mut facts = Facts::at(graph.seq()?);
        let (mut waves, mut reads) = (0, 0);
        while waves <= WAVES_MAX {
            if !wave.is_empty() {
                (waves, reads) = (waves + 1, reads + wave.len());
                self.fetch(&mut facts, wave, graph, state)?;
            }
            let log = || TouchLog::starting_at(facts.seq());
            let kept = CacheOfAttempt::before_commit(
                facts.seq(),
                state.cache.as_mut(),
                &mut state.pending,
                state.touched.get_or_insert_with(log),
            );
            match apply_attempt_with(&mut facts, &kept, sets) {
                Applied::Ready(applied) => {
                    state.counts.push(WaveCount {
                        work: WaveWork::Commit,
                        waves,
                        reads,
                    });
                    return Ok((facts, *applied));
                }
                Applied::Lacks(reads) => wave = reads,
            }
        }
        let message = "a commit took too many waves";
        Err(GraphStoreError::Failed(message.into()))
    }

    fn flush(
        &self,
        (facts, applied): (Facts, AppliedChanges),
        graph: &mut MemoryGraph,
        state: &mut WaveState,
    ) -> Result<Vec<Result<CommitReceipt, GraphStoreError>>, GraphStoreError> {
        let AppliedChanges {
            mut writes,
            outcomes,
        } = applied;
        if writes.is_empty() {
            return Ok(outcomes);
        }
        match self.options.fault {
            Some(WaveFault::LostEdges) => writes.edges.clear(),
            Some(WaveFault::UntouchedLists) => writes.touched.retain(|key| key.number() > 0),
            _ => {}
        }
        if let Some(gid) = writes.nodes.iter().find(|(gid, written)| {
            written.is_new && (graph.nodes.contains_key(gid) || graph.has_edges(**gid))
        }) {
            let message = format!("a new node is known already: {gid:?}");
            return Err(GraphStoreError::Failed(message));
        }
        let before = KnownAnswers::of(&state.reads, graph)?;
        writes.flush(graph)?;
        graph.undo.clear();
        if let Some(log) = &mut state.touched {
            log.record(writes.last_seq(), writes.touched.iter().copied());
        }
        if let Some(read) = before.changed_untouched(&writes.touched, graph)? {
            state.broken_law.get_or_insert(read);
        }
        if self.options.lag > 0 {
            let (.., touched, commits) = state
                .past
                .get_or_insert_with(|| (graph.clone(), Vec::new(), 0));
            touched.extend(&writes.touched);
            *commits += 1;
            if *commits > self.options.lag {
                state.past = Some((graph.clone(), Vec::new(), 0));
            }
        }
        self.keep_commit(facts, writes, state);
        Ok(outcomes)
    }

    /// Gives the written data to the cache. A database does this when the commit is durable.
    fn keep_commit(&self, facts: Facts, mut writes: GraphWrites, state: &mut WaveState) {
        if self.options.pending > 0 {
            self.keep_pending(facts, writes, state);
            return;
        }
        if state.cache.is_none() {
            return;
        }
        if self.options.fault == Some(WaveFault::StaleCache) {
            state.unlearned.extend(&writes.touched);
            return;
        }
        self.invalidate_cache(writes.base, state);
        if self.options.fault == Some(WaveFault::CacheWithoutEdges) {
            writes.edges.clear();
        }
        if let Some(cache) = &mut state.cache {
            cache.commit(facts, writes);
        }
    }

    /// Makes writes pending, and gives the cache the oldest ones once there are too many. Loads in between learn which keys they
    /// touch.
    fn keep_pending(&self, facts: Facts, mut writes: GraphWrites, state: &mut WaveState) {
        let last = writes.last_seq();
        state.unlearned.extend(&writes.touched);
        if facts.seq() != writes.base {
            // They were computed from older facts, so nothing can be applied to the state after them.
            state.pending.clear();
            state.pending_groups.clear();
            return;
        }
        if self.options.fault == Some(WaveFault::PendingWithoutEdges) {
            writes.edges.clear();
        }
        let (bytes, base) = (self.options.cache_bytes, facts.seq());
        state
            .cache
            .get_or_insert_with(|| FactCache::new(bytes, base));
        state.pending.push(facts, writes);
        state.pending_groups.push_back(last);
        if state.pending_groups.len() > self.options.pending
            && let Some(durable) = state.pending_groups.pop_front()
            && let Some(cache) = &mut state.cache
        {
            state.pending.settle(durable, cache);
        }
    }

    fn guesses(&self, usual: Vec<GraphRead>, state: &WaveState) -> Vec<GraphRead> {
        match self.options.guesses {
            WaveGuesses::Usual => usual,
            WaveGuesses::None => Vec::new(),
            WaveGuesses::Useless => state.reads.iter().step_by(3).cloned().collect(),
        }
    }

    fn fetch(
        &self,
        facts: &mut Facts,
        wave: Vec<GraphRead>,
        graph: &mut MemoryGraph,
        state: &mut WaveState,
    ) -> Result<(), GraphStoreError> {
        for read in wave {
            let mut answer = read.run_in(graph)?;
            if let Some(read) = read_otherwise_tracked(&read, &answer, graph)? {
                state.broken_law.get_or_insert(read);
            }
            if self.options.fault == Some(WaveFault::LostRows)
                && let GraphAnswer::Edges(edges) = &mut answer
            {
                edges.pop();
            }
            if let Some(cache) = &mut state.cache {
                cache.keep(facts.seq(), &read, &answer);
            }
            facts.insert(&read, answer)?;
            if state.reads.len() >= KEPT_READS {
                state.reads.pop_front();
            }
            state.reads.push_back(read);
        }
        Ok(())
    }

    /// Invalidates the cached answers that the commits up to `seq` have touched. In a database this is part of the first
    /// wave.
    fn invalidate_cache(&self, seq: Seq, state: &mut WaveState) {
        let bytes = state.cache_bytes.unwrap_or(self.options.cache_bytes);
        if bytes == 0 {
            return;
        }
        let touched = std::mem::take(&mut state.unlearned);
        let cache = state
            .cache
            .get_or_insert_with(|| FactCache::new(bytes, seq));
        let is_stale = self.options.fault == Some(WaveFault::StaleCache);
        cache.invalidate_to(cache.seq(), seq, touched.into_iter().filter(|_| !is_stale));
    }

    fn load_in_waves(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let state = &mut *self.state.lock();
        let graph = &mut *self.store.state();
        let guesses = self.guesses(load_guesses(want, true), state);
        let mut facts = Facts::at(graph.seq()?);
        self.invalidate_cache(facts.seq(), state);
        let mut wave = fill(&mut facts, guesses, state)?;
        let mut count = WaveCount {
            work: WaveWork::Load,
            waves: 0,
            reads: 0,
        };
        while count.waves <= WAVES_MAX {
            if !wave.is_empty() {
                count.waves += 1;
                count.reads += wave.len();
                self.fetch(&mut facts, wave, graph, state)?;
            }
            if self.options.fault == Some(WaveFault::Credulous) {
                let mut snap = FactsSnapshot::of(&facts);
                let viewer = engine::viewer(&mut snap, want.viewer)?;
                return load::load(&mut snap, want, Arc::new(viewer));
            }
            let log = || TouchLog::starting_at(facts.seq());
            let touched = state.touched.get_or_insert_with(log);
            let kept = CacheOfAttempt::at(facts.seq(), state.cache.as_mut(), touched);
            match load_attempt_with(&mut facts, &kept, want) {
                Attempt::Whole(view) => {
                    state.counts.push(count);
                    return view;
                }
                Attempt::Lacks(reads) => wave = fill(&mut facts, reads, state)?,
            }
        }
        state.counts.push(count);
        let viewer: Viewer = engine::viewer(graph, want.viewer)?;
        load::load(graph, want, Arc::new(viewer))
    }
}

#[async_trait]
impl GraphStoreWrapper for WaveStore {
    fn inner(&self) -> &dyn GraphStore {
        &*self.store
    }

    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.load_in_waves(want)
    }

    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let missing = || Err(GraphStoreError::Failed("a commit without outcome".into()));
        let mut outcomes = self.commit_group(&[changes])?;
        outcomes.pop().unwrap_or_else(missing)
    }
}

/// Adds answers from the cache to facts, and returns the reads without a cached answer.
fn fill(
    facts: &mut Facts,
    reads: Vec<GraphRead>,
    state: &mut WaveState,
) -> Result<Vec<GraphRead>, GraphStoreError> {
    match &mut state.cache {
        Some(cache) => cache.fill(facts, reads),
        None => Ok(reads),
    }
}

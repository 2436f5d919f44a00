//! Loads without a transaction: each statement sees the newest state, and the last statement of a wave returns the commits
//! since the state of the facts.
//!
//! ```text
//!  facts at 7 ──► wave: statements, which see 7, 8 or 9, and at last ──► untouched answers, old and new, are true at 9:
//!                 the stamp: now at 9; 8 and 9 touched these keys        they are the facts; the others are lacking
//! ```
//!
//! A key that no commit between two states has touched has the same value in both, and in each state between them. So loads
//! need no snapshot, which would cost each load two more statements, to begin and to end it, and one more trip for its
//! connection.
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::params::{Param, params};
use crate::reader::OpenConnection;
use crate::statement_pipeline::pipeline_all;
use crate::transaction::{PgTransaction, wait_for};
use crate::wave_statements::{JoinedReads, Wave};
use crate::waves::{
    ATTEMPTS_MAX, CacheAt, Stamp, TOUCHED_SINCE, guesses, loaded, touched_since_params,
};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use workgraph_core::engine::waves::{FactCache, Facts, GraphAnswer, GraphRead, WAVES_MAX};
use workgraph_core::storage::{FactKey, GraphStoreError, ReadQuery, ReadView, Seq};
use workgraph_core::{Interrupt, InterruptReason, MaybeInterrupt};

/// Steps that the attempts of one load may take on a thread that also serves other requests.
const STEPS_MAX: u32 = 8_192;

/// Failure of a load, possibly of its connection.
enum LoadError {
    Store(GraphStoreError),
    Database(DatabaseError),
}

impl From<GraphStoreError> for LoadError {
    fn from(error: GraphStoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DatabaseError> for LoadError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

/// Interrupt that stops work after [`STEPS_MAX`] steps, or when the caller's interrupt does.
#[derive(Debug)]
struct StepBudget {
    caller: MaybeInterrupt,
    left: AtomicU32,
}

impl StepBudget {
    fn of(caller: &MaybeInterrupt) -> Arc<dyn Interrupt> {
        Arc::new(Self {
            caller: caller.clone(),
            left: STEPS_MAX.into(),
        })
    }
}

impl Interrupt for StepBudget {
    fn check(&self, steps: u32) -> Result<(), InterruptReason> {
        if let Some(caller) = &self.caller {
            // This work replaces waiting, and the allowance is for the work after it.
            caller.check(0)?;
        }
        // Only one thread checks at a time.
        let left = self.left.load(Ordering::Relaxed).checked_sub(steps);
        self.left.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(drop).ok_or(InterruptReason::AllowanceSpent)
    }
}

/// Facts of the current state of a load.
struct LoadState {
    facts: Facts,
    /// Reads that were made for the facts.
    reads: Vec<GraphRead>,
}

impl LoadState {
    fn at(seq: Seq) -> Self {
        let (facts, reads) = (Facts::at(seq), Vec::new());
        Self { facts, reads }
    }

    /// Adds the answers of a wave, and moves to the state of its stamp, with all answers that are still true there.
    fn add(
        &mut self,
        wave: Vec<GraphRead>,
        answers: Vec<GraphAnswer>,
        stamp: &Stamp,
        cache: &mut FactCache,
    ) -> Result<(), GraphStoreError> {
        let new = wave.into_iter().zip(answers);
        let since = self.facts.seq();
        let known = if stamp.seq() == since {
            new.collect()
        } else {
            let before = std::mem::replace(self, Self::at(stamp.seq()));
            let reads = before.reads.into_iter();
            let old = reads.filter_map(|read| Some((before.facts.answer(&read)?, read)));
            stamp.still_true(since, old.map(|(answer, read)| (read, answer)).chain(new))
        };
        for (read, answer) in known {
            cache.keep(stamp.seq(), &read, &answer);
            self.facts.insert(&read, answer)?;
            self.reads.push(read);
        }
        Ok(())
    }
}

impl Stamp {
    /// Returns the answers that are true of this state. All answers come from this state or an earlier one, back to the
    /// state after the commit `since`.
    fn still_true(
        &self,
        since: Seq,
        answers: impl Iterator<Item = (GraphRead, GraphAnswer)>,
    ) -> Vec<(GraphRead, GraphAnswer)> {
        // If the database has lost commits, or the touched keys are unknown, nothing remains.
        let Some(touched) = self.touched().filter(|_| self.seq() > since) else {
            return Vec::new();
        };
        let touched: HashSet<FactKey> = touched.iter().copied().collect();
        let is_true = |(read, answer): &(GraphRead, GraphAnswer)| {
            let mut is_touched = false;
            read.keys(answer, &mut |key| is_touched |= touched.contains(&key));
            !is_touched
        };
        answers.filter(is_true).collect()
    }
}

impl PgTransaction<'_> {
    /// Notes the statements of reads, and then the statement of a stamp.
    fn noted(mut self, reads: &[GraphRead], since: Seq) -> Wave {
        self.wave = Some(Wave::default());
        for read in reads {
            // Without rows, the results do not count.
            let _ = read.run_in(&mut self);
        }
        drop(self.stamp(since));
        self.wave.unwrap_or_default()
    }

    /// Returns the answers and the stamp from the rows of a wave.
    fn answers_from_rows(
        mut self,
        wave: Wave,
        reads: &[GraphRead],
        since: Seq,
    ) -> Result<(Vec<GraphAnswer>, Stamp), GraphStoreError> {
        self.wave = Some(wave);
        let answers: Result<_, GraphStoreError> =
            reads.iter().map(|read| read.run_in(&mut self)).collect();
        Ok((answers?, self.stamp(since)?))
    }

    fn stamp(&mut self, since: Seq) -> Result<Stamp, DatabaseError> {
        let (from, most) = touched_since_params(since);
        Stamp::read(&self.read(TOUCHED_SINCE, params![from, most])?, since)
    }
}

impl Database {
    /// Answers a query in waves without a transaction, and takes from the cache the answers that no commit has touched since
    /// they were kept. Returns `None` if that takes too many waves, because the state keeps changing, or too many steps,
    /// because the answer is large: then a snapshot must be read, on a thread that may block.
    pub(crate) async fn load_stamped(
        &self,
        query: ReadQuery,
        cache: Arc<Mutex<FactCache>>,
    ) -> Result<Option<ReadView>, GraphStoreError> {
        let own = self.clone();
        self.run(async move {
            let mut open = OpenConnection::new(&own, own.connection().await?);
            let mut trips = 0;
            let connection = open.connected()?;
            let done = own.stamped(connection, query, &cache, &mut trips).await;
            own.count_read(trips);
            if !matches!(&done, Err(LoadError::Database(error)) if error.breaks_connection()) {
                drop(open.take());
            }
            match done {
                Ok(view) => Ok(view),
                Err(LoadError::Store(GraphStoreError::Interrupted(
                    InterruptReason::AllowanceSpent,
                ))) => Ok(None),
                Err(LoadError::Store(error)) => Err(error),
                Err(LoadError::Database(error)) => Err(error.into()),
            }
        })
        .await
    }

    async fn stamped(
        &self,
        connection: &Connection,
        mut query: ReadQuery,
        cache: &Mutex<FactCache>,
        trips: &mut u32,
    ) -> Result<Option<ReadView>, LoadError> {
        let deadline = Deadline::after(self.options().read_timeout);
        let interrupt = query.interrupt.take();
        query.interrupt = Some(StepBudget::of(&interrupt));
        let guesses = guesses(&query, cache);
        let (seq, kept, mut wave) = {
            let mut cache = cache.lock();
            let guesses = guesses.into_iter();
            let (kept, lacking): (Vec<_>, Vec<_>) =
                guesses.partition(|read| cache.get(read).is_some());
            (cache.seq(), kept, lacking)
        };
        let mut state = LoadState::at(seq);
        let mut cache_at = CacheAt::new(cache, seq);
        let mut attempts = 0;
        while *trips < WAVES_MAX as u32 {
            *trips += 1;
            let since = state.facts.seq();
            let made = self.stamped_wave(connection, &wave, since, (deadline, &interrupt));
            let (answers, stamp) = made.await?;
            {
                let mut cache = cache.lock();
                stamp.apply(since, &mut cache);
                state.add(wave, answers, &stamp, &mut cache)?;
                if *trips == 1 || stamp.seq() != since {
                    // A guess also answers narrower reads. Answers that were just touched are read again only if an attempt
                    // lacks them.
                    cache.fill(&mut state.facts, kept.clone())?;
                }
            }
            if stamp.seq() != since {
                cache_at = CacheAt::new(cache, stamp.seq());
            }
            wave = loop {
                if attempts == ATTEMPTS_MAX {
                    return Ok(None);
                }
                attempts += 1;
                let lacking = match loaded(&mut state.facts, &query, &cache_at) {
                    Ok(view) => return Ok(Some(view?)),
                    Err(reads) => reads,
                };
                let wave = cache.lock().fill(&mut state.facts, lacking)?;
                if !wave.is_empty() {
                    break wave;
                }
            };
        }
        Ok(None)
    }

    /// Makes reads in one trip, followed by the statement of a stamp.
    async fn stamped_wave(
        &self,
        connection: &Connection,
        wave: &[GraphRead],
        since: Seq,
        (deadline, interrupt): (Deadline, &MaybeInterrupt),
    ) -> Result<(Vec<GraphAnswer>, Stamp), LoadError> {
        let noting = || PgTransaction::noting(connection, self.runtime());
        let noted = noting().noted(wave, since);
        let joined = JoinedReads::new(&noted.reads);
        let params = joined.reads.iter().map(|read| Param::all(&read.params));
        let params: Vec<_> = params.collect();
        let statements = joined.reads.iter().zip(&params);
        let statements: Vec<_> = statements
            .map(|(read, params)| (read.sql, params.as_slice()))
            .collect();
        let sent = pipeline_all(connection, None, &statements, None);
        let rows = joined.split(wait_for(sent, deadline, interrupt).await??)?;
        Ok(noting().answers_from_rows(Wave { rows, ..noted }, wave, since)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use workgraph_core::model::gid::Gid;
    use workgraph_core::model::registry::rel;

    const LISTS: usize = 3;

    /// Step of a load, or of others at the same time.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A commit changes a list.
        Commit(usize),
        /// A statement of the wave reads a list.
        Read(usize),
        /// The wave ends with its stamp.
        Stamp,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..LISTS).prop_map(Step::Commit),
            (0..LISTS).prop_map(Step::Read),
            Just(Step::Stamp),
        ];
        prop::collection::vec(step, 1..30)
    }

    fn of(list: usize) -> (GraphRead, FactKey) {
        let (dst, rel) = (Gid::new(list as u64 + 1).unwrap(), rel::SECTION);
        (GraphRead::CountIn { dst, rel }, FactKey::list(dst, rel))
    }

    /// Runs a load and compares its facts at each stamp with the true state. Stamps without touched keys are the fault that must
    /// be detected.
    fn run(steps: &[Step], tells_touched: bool) -> Result<(), String> {
        let (mut counts, mut log) = ([0_u64; LISTS], Vec::new());
        let (mut state, mut cache) = (LoadState::at(0), FactCache::new(1 << 16, 0));
        let (mut wave, mut answers) = (Vec::new(), Vec::new());
        for step in steps {
            match *step {
                Step::Commit(list) => {
                    counts[list] += 1;
                    log.push(of(list).1.number());
                }
                Step::Read(list) => {
                    wave.push(of(list).0);
                    answers.push(GraphAnswer::Count(counts[list]));
                }
                Step::Stamp => {
                    let since = state.facts.seq();
                    let commits = log[since as usize..].iter();
                    let told = commits
                        .map(|key| Some(tells_touched.then_some(*key).into_iter().collect()));
                    let stamp = Stamp::of(log.len() as Seq, since, told.collect());
                    stamp.apply(since, &mut cache);
                    let (wave, answers) = (std::mem::take(&mut wave), std::mem::take(&mut answers));
                    let added = state.add(wave, answers, &stamp, &mut cache);
                    added.map_err(|error| error.to_string())?;
                    for (list, count) in counts.iter().enumerate() {
                        let truth = GraphAnswer::Count(*count);
                        for known in [state.facts.answer(&of(list).0), cache.get(&of(list).0)] {
                            if known.as_ref().is_some_and(|known| *known != truth) {
                                return Err(format!("{list}: {known:?}, not {truth:?}"));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn what_a_load_knows_is_true_at_its_last_stamp(steps in steps()) {
            let done = run(&steps, true);
            prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        }
    }

    #[test]
    fn commits_between_the_statements_of_a_load_are_noticed() {
        let found = TestRunner::deterministic().run(&steps(), |steps| {
            run(&steps, false).map_err(TestCaseError::fail)
        });
        assert!(found.is_err());
    }

    #[test]
    fn commits_that_are_lost_or_untold_leave_nothing() {
        for (seq, commits) in [(3, vec![]), (9, vec![None])] {
            let mut state = LoadState::at(5);
            let mut cache = FactCache::new(1 << 16, 5);
            let first = Stamp::of(5, 5, Vec::new());
            let counted = vec![GraphAnswer::Count(1)];
            state
                .add(vec![of(0).0], counted, &first, &mut cache)
                .unwrap();
            let stamp = Stamp::of(seq, 5, commits);
            stamp.apply(5, &mut cache);
            state
                .add(Vec::new(), Vec::new(), &stamp, &mut cache)
                .unwrap();
            assert_eq!(
                (state.facts.answer(&of(0).0), state.facts.seq()),
                (None, seq)
            );
            assert_eq!(cache.get(&of(0).0), None);
        }
    }
}

//! Waves: all reads that a load or a group of commits lacks are made in one trip.
//!
//! The engine says what it lacks ([`workgraph_core::engine::waves`]). The same code that makes a read by itself makes
//! it here, twice: the first time its statements are noted, then all are sent together, and the second time it finds
//! their rows.
use crate::columns::{bound, limit, number};
use crate::database_error::DatabaseError;
use crate::params::{Param, params};
use crate::transaction::PgTransaction;
use crate::wave_statements::{Read, Rows, Wave};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::engine;
use workgraph_core::engine::waves::{
    Applied, AppliedChanges, Attempt, FactCache, FactKey, Facts, GraphAnswer, GraphRead, WAVES_MAX,
    apply_attempt, commit_guesses, load_attempt, load_guesses,
};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{Changes, GraphStoreError, ReadQuery, ReadView, Seq};

/// Most attempts of one load, with facts from trips or from the cache.
const ATTEMPTS_MAX: usize = 8 * WAVES_MAX;
/// Most commits of which the touched keys are read; a cache that is further behind starts anew.
const TOUCHED_COMMITS_MAX: usize = 1_000;
/// The last commit, and the keys that commits after one touched, of one state.
pub(crate) const TOUCHED_SINCE: &str = "SELECT s.seq, j.seq, j.touched FROM store_state s LEFT JOIN \
    (SELECT seq, touched FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2) j ON true ORDER BY j.seq";
const TOUCHED: &str = "SELECT touched FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2";

/// Returns the parameters of [`TOUCHED_SINCE`] a commit.
pub(crate) fn touched_since_params(since: Seq) -> (i64, i64) {
    (bound(since), limit(TOUCHED_COMMITS_MAX))
}

/// Reads that are made beside those of a wave.
#[derive(Clone, Copy, Default)]
struct Beside {
    /// Commit since which the touched keys are read.
    since: Option<Seq>,
    /// True if the state is locked first.
    locks: bool,
}

/// State of the graph, and the way to it.
pub(crate) struct Stamp {
    /// Last commit.
    seq: Seq,
    /// Keys that were touched on the way; `None` if they are not known.
    touched: Option<Vec<FactKey>>,
}

impl Stamp {
    /// Reads the rows of [`TOUCHED_SINCE`] a commit.
    pub(crate) fn read(rows: &[Row], since: Seq) -> Result<Self, DatabaseError> {
        let first = rows.first();
        let first = first.ok_or_else(|| DatabaseError::unreadable("store_state"))?;
        let seq = number(first, 0)?;
        let commits = rows
            .iter()
            .map(|row| match row.try_get::<_, Option<i64>>(1)? {
                Some(_) => Ok(Some(row.try_get(2)?)),
                None => Ok(None),
            });
        let commits: Result<Vec<_>, DatabaseError> = commits.collect();
        Ok(Self::of(
            seq,
            since,
            commits?.into_iter().flatten().collect(),
        ))
    }

    /// Returns the state after the commit `seq`. `commits` are the keys that each commit after `since` touched, as far as
    /// they are known.
    fn of(seq: Seq, since: Seq, commits: Vec<Option<Vec<i64>>>) -> Self {
        // Numbers have no gaps, unless commits were pruned.
        let are_all = commits.len() as u64 == seq.saturating_sub(since);
        let touched: Option<Vec<Vec<i64>>> = commits.into_iter().collect();
        let keys = |touched: Vec<Vec<i64>>| {
            let numbers = touched.into_iter().flatten();
            numbers.map(FactKey::from_number).collect()
        };
        Self {
            seq,
            touched: touched.filter(|_| are_all).map(keys),
        }
    }

    /// Returns the last commit.
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }

    /// Brings a cache to the state. One that knows of later commits than the database, which has lost them, forgets
    /// everything.
    pub(crate) fn apply(self, since: Seq, cache: &mut FactCache) {
        if self.seq < since {
            cache.clear(self.seq);
            return;
        }
        match self.touched {
            Some(touched) => cache.catch_up(since, self.seq, touched),
            None if self.seq > cache.seq() => cache.clear(self.seq),
            None => {}
        }
    }
}

impl PgTransaction<'_> {
    /// Returns the rows of a read of the snapshot: those of the present wave, or else from the database.
    pub(crate) fn read(
        &mut self,
        sql: &'static str,
        params: Vec<Param>,
    ) -> Result<Rows, DatabaseError> {
        match &mut self.wave {
            Some(wave) => Ok(wave.answer(Read { sql, params })),
            None => Ok(self.rows(sql, &Param::all(&params))?.into()),
        }
    }

    /// Returns the rows of two reads, in one trip.
    pub(crate) fn read_two(
        &mut self,
        one: Read,
        other: Read,
    ) -> Result<(Rows, Rows), DatabaseError> {
        if let Some(wave) = &mut self.wave {
            return Ok((wave.answer(one), wave.answer(other)));
        }
        let mut all = self.rows_of_all(&[one, other])?.into_iter().map(Rows::from);
        Ok((
            all.next().unwrap_or_default(),
            all.next().unwrap_or_default(),
        ))
    }

    /// Makes reads in one trip.
    fn answers(
        &mut self,
        reads: &[GraphRead],
        beside: Beside,
    ) -> Result<(Vec<GraphAnswer>, Option<Stamp>), GraphStoreError> {
        self.wave = Some(Wave::default());
        // Without rows, nothing that is made of them counts.
        match beside.locks {
            true => drop(self.lock_state()),
            false => drop(self.seq()),
        }
        let _ = beside.since.map(|since| self.touched(since));
        for read in reads {
            let _ = read.run_in(self);
        }
        let noted = self.wave.take().unwrap_or_default();
        let mut rows = Vec::new();
        if !noted.reads.is_empty() {
            rows = self
                .rows_of_all(&noted.reads)?
                .into_iter()
                .map(Rows::from)
                .collect();
        }
        self.wave = Some(Wave { rows, ..noted });
        let known = self.found(reads, beside);
        self.wave = None;
        known
    }

    /// Returns the answers to reads whose rows were fetched.
    fn found(
        &mut self,
        reads: &[GraphRead],
        beside: Beside,
    ) -> Result<(Vec<GraphAnswer>, Option<Stamp>), GraphStoreError> {
        if beside.locks {
            self.lock_state()?;
        }
        let seq = self.seq()?;
        let stamp = beside.since.map(|since| self.stamp(since, seq));
        let stamp = stamp.transpose()?;
        let answers: Result<_, GraphStoreError> =
            reads.iter().map(|read| read.run_in(self)).collect();
        Ok((answers?, stamp))
    }

    /// Returns the journal's rows with the keys that commits after this one touched.
    fn touched(&mut self, since: Seq) -> Result<Rows, DatabaseError> {
        self.read(TOUCHED, params![bound(since), limit(TOUCHED_COMMITS_MAX)])
    }

    /// Returns what commits after this one touched.
    fn stamp(&mut self, since: Seq, seq: Seq) -> Result<Stamp, GraphStoreError> {
        let rows = self.touched(since)?;
        let commits = rows.iter().map(|row| Ok(row.try_get(0)?));
        let commits: Result<Vec<Option<Vec<i64>>>, DatabaseError> = commits.collect();
        Ok(Stamp::of(seq, since, commits?))
    }

    /// Answers a query in waves, and takes from the cache what no commit has touched since it was kept.
    pub(crate) fn load_in_waves(
        &mut self,
        query: &ReadQuery,
        cache: &Mutex<FactCache>,
    ) -> Result<ReadView, GraphStoreError> {
        let guesses = load_guesses(query, true);
        let attempt = |facts: &Facts| match load_attempt(facts, query, None) {
            Attempt::Whole(view) => Ok(view),
            Attempt::Lacks(reads) => Err(reads),
        };
        match self.in_waves(cache, guesses, attempt)? {
            Some((_, view)) => view,
            None => self.load_directly(query),
        }
    }

    /// Locks the state, and applies change sets to it in waves. Returns them with the facts from which they were applied;
    /// `None` if they take too many waves.
    pub(crate) fn lock_and_apply(
        &mut self,
        sets: &[&Changes],
        cache: &Mutex<FactCache>,
    ) -> Result<Option<(Facts, AppliedChanges)>, GraphStoreError> {
        let guesses = sets.iter().flat_map(|changes| commit_guesses(changes));
        self.in_waves(cache, guesses.collect(), |facts| applied(facts, sets))
    }

    /// Makes attempts at something until one lacks no reads; `None` if they take too many waves. In a transaction that
    /// writes, the first wave locks the state.
    fn in_waves<T>(
        &mut self,
        cache: &Mutex<FactCache>,
        guesses: Vec<GraphRead>,
        attempt: impl Fn(&Facts) -> Result<T, Vec<GraphRead>>,
    ) -> Result<Option<(Facts, T)>, GraphStoreError> {
        // The first trip brings what was touched, and what the cache does not have in any case.
        let (since, mut wave) = {
            let mut cache = cache.lock();
            let lacking = guesses.iter().filter(|read| cache.get(read).is_none());
            let lacking: Vec<GraphRead> = lacking.cloned().collect();
            (cache.seq(), lacking)
        };
        let beside = Beside {
            since: Some(since),
            locks: self.writes(),
        };
        let (mut answers, stamp) = self.answers(&wave, beside)?;
        let seq = self.seq()?;
        let mut facts = Facts::at(seq);
        if let Some(stamp) = stamp {
            stamp.apply(since, &mut cache.lock());
        }
        let mut rest = guesses;
        let mut trips = 1;
        for _ in 0..ATTEMPTS_MAX {
            {
                let mut cache = cache.lock();
                for (read, answer) in wave.iter().zip(answers) {
                    cache.keep(seq, read, &answer);
                    facts.insert(read, answer)?;
                }
                // The first time these are the guesses, of which some were read just now.
                rest.retain(|read| !wave.contains(read));
                wave = cache.fill(&mut facts, rest)?;
            }
            (answers, rest) = (Vec::new(), Vec::new());
            if wave.is_empty() {
                match attempt(&facts) {
                    Ok(done) => return Ok(Some((facts, done))),
                    Err(reads) => rest = reads,
                }
                continue;
            }
            trips += 1;
            if trips > WAVES_MAX {
                break;
            }
            (answers, _) = self.answers(&wave, Beside::default())?;
        }
        Ok(None)
    }

    /// Answers a query with a trip for each read.
    pub(crate) fn load_directly(&mut self, query: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let viewer = Arc::new(engine::viewer(self, query.viewer)?);
        engine::load::load(self, query, viewer)
    }

    /// Applies change sets to the state that this transaction has locked, and may have changed, in waves; `None` if they
    /// take too many.
    pub(crate) fn apply_in_waves(
        &mut self,
        sets: &[&Changes],
    ) -> Result<Option<AppliedChanges>, GraphStoreError> {
        let mut facts = Facts::at(self.seq()?);
        let mut wave: Vec<GraphRead> = sets.iter().flat_map(|set| commit_guesses(set)).collect();
        for _ in 0..WAVES_MAX {
            let (answers, _) = self.answers(&wave, Beside::default())?;
            for (read, answer) in wave.iter().zip(answers) {
                facts.insert(read, answer)?;
            }
            match applied(&facts, sets) {
                Ok(applied) => return Ok(Some(applied)),
                Err(reads) => wave = reads,
            }
        }
        Ok(None)
    }
}

fn applied(facts: &Facts, sets: &[&Changes]) -> Result<AppliedChanges, Vec<GraphRead>> {
    match apply_attempt(facts, sets) {
        Applied::Ready(applied) => Ok(*applied),
        Applied::Lacks(reads) => Err(reads),
    }
}

/// Answers a query from what the cache knows of the state after a commit, or of a later one; `None` if it does not know
/// enough.
pub(crate) fn load_from_cache(
    query: &ReadQuery,
    min_seq: Seq,
    cache: &Mutex<FactCache>,
) -> Result<Option<ReadView>, GraphStoreError> {
    let attempt = |facts: &Facts| match load_attempt(facts, query, None) {
        Attempt::Whole(view) => Ok(view),
        Attempt::Lacks(reads) => Err(reads),
    };
    match attempt_from_cache(load_guesses(query, true), min_seq, cache, attempt)? {
        Some((_, view)) => view.map(Some),
        None => Ok(None),
    }
}

/// Applies change sets to the state that the cache knows; `None` if it does not know enough of it.
pub(crate) fn apply_from_cache(
    sets: &[&Changes],
    cache: &Mutex<FactCache>,
) -> Result<Option<(Facts, AppliedChanges)>, GraphStoreError> {
    let guesses = sets.iter().flat_map(|changes| commit_guesses(changes));
    attempt_from_cache(guesses.collect(), 0, cache, |facts| applied(facts, sets))
}

/// Makes attempts at something as long as the cache has the reads that the last one lacked.
fn attempt_from_cache<T>(
    guesses: Vec<GraphRead>,
    min_seq: Seq,
    cache: &Mutex<FactCache>,
    attempt: impl Fn(&Facts) -> Result<T, Vec<GraphRead>>,
) -> Result<Option<(Facts, T)>, GraphStoreError> {
    let mut facts = Facts::at(cache.lock().seq());
    if facts.seq() < min_seq {
        return Ok(None);
    }
    // A guess that is not known may be useless.
    cache.lock().fill(&mut facts, guesses)?;
    for _ in 0..ATTEMPTS_MAX {
        let lacking = match attempt(&facts) {
            Ok(done) => return Ok(Some((facts, done))),
            Err(reads) => reads,
        };
        if !cache.lock().fill(&mut facts, lacking)?.is_empty() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S931. A database that takes the place of one with later commits has lost them.
    #[test]
    fn a_cache_that_is_ahead_of_the_database_begins_anew() {
        for (seq, touched, expected) in [(3, Some(vec![]), 3), (7, None, 7), (5, Some(vec![]), 5)] {
            let mut cache = FactCache::new(1 << 20, 5);
            Stamp { seq, touched }.apply(5, &mut cache);
            assert_eq!(cache.seq(), expected);
        }
    }
}

//! Waves: all reads that a load or a group of commits lacks are made in one trip.
//!
//! The engine lists the reads that it lacks ([`workgraph_core::engine::waves`]). The same code that makes a single read runs here
//! twice: the first time its statements are noted, then all are sent together, and the second time it finds their rows.
use crate::columns::{bound, limit, number};
use crate::database_error::DatabaseError;
use crate::params::{Param, params};
use crate::transaction::PgTransaction;
use crate::wave_statements::{JoinedReads, Read, Rows, Wave};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::Viewer;
use workgraph_core::engine;
use workgraph_core::engine::waves::{
    Applied, AppliedChanges, Attempt, AttemptCache, FactCache, Facts, GraphAnswer, GraphRead,
    WAVES_MAX, apply_attempt_with, commit_guesses, load_attempt_with, load_guesses,
};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{
    Changes, DecisionReads, FactKey, GraphStoreError, ReadQuery, ReadView, Seq, TouchLog, ViewerKey,
};

/// Maximum number of attempts of one load, with facts from trips or from the cache.
pub(crate) const ATTEMPTS_MAX: usize = 8 * WAVES_MAX;
/// Maximum number of commits whose touched keys are read; a cache that is further behind starts again empty.
const TOUCHED_COMMITS_MAX: usize = 1_000;
/// The last commit, and the keys that commits after a given one touched, all of one state.
pub(crate) const TOUCHED_SINCE: &str = "SELECT s.seq, j.seq, j.touched FROM store_state s LEFT JOIN \
    (SELECT seq, touched FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2) j ON true ORDER BY j.seq";
const TOUCHED: &str = "SELECT touched FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2";

/// Returns the parameters of [`TOUCHED_SINCE`] for a commit.
pub(crate) fn touched_since_params(since: Seq) -> (i64, i64) {
    (bound(since), limit(TOUCHED_COMMITS_MAX))
}

fn touched_params(since: Seq) -> Vec<Param> {
    let (from, most) = touched_since_params(since);
    params![from, most]
}

/// Returns the keys of each row of [`TOUCHED`].
fn touched_by_commits(rows: &[Row]) -> Result<Vec<Option<Vec<i64>>>, DatabaseError> {
    let keys = rows.iter().map(|row| Ok(row.try_get(0)?));
    keys.collect()
}

/// Additional reads of a wave.
#[derive(Clone, Copy, Default)]
struct Beside {
    /// Commit since which the touched keys are read.
    since: Option<Seq>,
    /// True if the state is locked first, unless it is already.
    locks: bool,
}

/// State that a wave has reached, with the keys touched on the way to it.
pub(crate) struct Stamp {
    /// Last commit.
    seq: Seq,
    /// Keys touched on the way; `None` if they are unknown.
    touched: Option<Vec<FactKey>>,
}

impl Stamp {
    /// Reads the rows of [`TOUCHED_SINCE`] for a commit.
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
    pub(crate) fn of(seq: Seq, since: Seq, commits: Vec<Option<Vec<i64>>>) -> Self {
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

    /// Returns the keys touched on the way; `None` if they are unknown.
    pub(crate) fn touched(&self) -> Option<&[FactKey]> {
        self.touched.as_deref()
    }

    /// Returns the log of the keys touched on the way.
    fn into_log(self, since: Seq) -> TouchLog {
        let Some(touched) = self.touched else {
            return TouchLog::starting_at(self.seq);
        };
        let mut log = TouchLog::starting_at(since);
        log.record(self.seq, touched);
        log
    }

    /// Brings a cache to this state. If the cache is ahead of the database, the database has lost commits, and the cache forgets
    /// everything.
    pub(crate) fn apply(&self, since: Seq, cache: &mut FactCache) {
        if self.seq < since {
            cache.clear(self.seq);
            return;
        }
        match &self.touched {
            Some(touched) => cache.invalidate_to(since, self.seq, touched.iter().copied()),
            None if self.seq > cache.seq() => cache.clear(self.seq),
            None => {}
        }
    }
}

impl PgTransaction<'_> {
    /// Returns true if the reads of a decision still hold in the locked state.
    pub(crate) fn reads_hold(&mut self, reads: &DecisionReads) -> Result<bool, DatabaseError> {
        let seq = self.locked_state()?.seq;
        if reads.seq >= seq {
            return Ok(true);
        }
        let rows = self.read(TOUCHED, touched_params(reads.seq))?;
        let stamp = Stamp::of(seq, reads.seq, touched_by_commits(&rows)?);
        Ok(stamp.into_log(reads.seq).holds(reads))
    }

    /// Returns the rows of a read of the snapshot: from the current wave, or else from the database.
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
        // Without rows, the results do not count.
        drop(self.state_beside(beside));
        for read in reads {
            let _ = read.run_in(self);
        }
        let noted = self.wave.take().unwrap_or_default();
        let mut rows = Vec::new();
        if !noted.reads.is_empty() {
            let joined = JoinedReads::new(&noted.reads);
            rows = joined.split(self.rows_of_all(&joined.reads)?)?;
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
        let stamp = self.state_beside(beside)?;
        let answers: Result<_, GraphStoreError> =
            reads.iter().map(|read| read.run_in(self)).collect();
        Ok((answers?, stamp))
    }

    /// Returns the state, and the keys that commits touched on the way to it, if requested.
    fn state_beside(&mut self, beside: Beside) -> Result<Option<Stamp>, GraphStoreError> {
        let locks = beside.locks && self.state.is_none();
        let Some(since) = beside.since else {
            match locks {
                true => self.lock_state()?,
                false => drop(self.seq()?),
            }
            return Ok(None);
        };
        if !beside.locks {
            let (from, most) = touched_since_params(since);
            let stamp = Stamp::read(&self.read(TOUCHED_SINCE, params![from, most])?, since)?;
            self.shown = Some(stamp.seq());
            return Ok(Some(stamp));
        }
        let locked = if locks { self.lock_state() } else { Ok(()) };
        let rows = self.read(TOUCHED, touched_params(since))?;
        locked?;
        let commits = touched_by_commits(&rows)?;
        Ok(Some(Stamp::of(self.seq()?, since, commits)))
    }

    /// Answers a query in waves, and takes from the cache the answers that no commit has touched since they were kept.
    pub(crate) fn load_in_waves(
        &mut self,
        query: &ReadQuery,
        cache: &Mutex<FactCache>,
    ) -> Result<ReadView, GraphStoreError> {
        let guesses = guesses(query, cache);
        let attempt = |facts: &mut Facts, cache: &CacheAt<'_>| loaded(facts, query, cache);
        match self.in_waves(cache, guesses, attempt)? {
            Some((_, view)) => view,
            None => self.load_directly(query),
        }
    }

    /// Locks the state, and applies change sets to it in waves. Returns them with the facts from which they were applied; `None`
    /// if that takes too many waves.
    pub(crate) fn lock_and_apply(
        &mut self,
        sets: &[&Changes],
        cache: &Mutex<FactCache>,
    ) -> Result<Option<(Facts, AppliedChanges)>, GraphStoreError> {
        let guesses = sets.iter().flat_map(|changes| commit_guesses(changes));
        let attempt = |facts: &mut Facts, cache: &CacheAt<'_>| applied(facts, sets, cache);
        self.in_waves(cache, guesses.collect(), attempt)
    }

    /// Makes attempts until one lacks no reads; `None` if that takes too many waves. In a transaction that writes, the first wave
    /// locks the state.
    fn in_waves<T>(
        &mut self,
        cache: &Mutex<FactCache>,
        guesses: Vec<GraphRead>,
        attempt: impl Fn(&mut Facts, &CacheAt<'_>) -> Result<T, Vec<GraphRead>>,
    ) -> Result<Option<(Facts, T)>, GraphStoreError> {
        let locks = self.writes();
        // The first trip reads the touched keys, and everything that the cache lacks in any case.
        let (since, kept, mut wave) = {
            let mut cache = cache.lock();
            let (kept, lacking): (Vec<_>, Vec<_>) = guesses
                .into_iter()
                .partition(|read| cache.get(read).is_some());
            let knows = locks || cache.has_room();
            (knows.then(|| cache.seq()), kept, lacking)
        };
        let (mut answers, stamp) = self.answers(&wave, Beside { since, locks })?;
        let seq = self.seq()?;
        let mut facts = Facts::at(seq);
        if let Some((stamp, since)) = stamp.zip(since) {
            let mut cache = cache.lock();
            stamp.apply(since, &mut cache);
            // Answers that were just touched are read again only if an attempt lacks them.
            cache.fill(&mut facts, kept)?;
        }
        let cache_at = CacheAt::new(cache, seq);
        let mut trips = 1;
        for _ in 0..ATTEMPTS_MAX {
            for (read, answer) in wave.iter().zip(answers) {
                cache.lock().keep(seq, read, &answer);
                facts.insert(read, answer)?;
            }
            wave = match attempt(&mut facts, &cache_at) {
                Ok(done) => return Ok(Some((facts, done))),
                Err(reads) => cache.lock().fill(&mut facts, reads)?,
            };
            answers = Vec::new();
            if wave.is_empty() {
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

    /// Applies change sets in waves to the state that this transaction has locked, and may have changed; `None` if that takes too
    /// many waves.
    pub(crate) fn apply_in_waves(
        &mut self,
        sets: &[&Changes],
    ) -> Result<Option<AppliedChanges>, GraphStoreError> {
        let mut facts = Facts::at(self.seq()?);
        let mut wave: Vec<GraphRead> = sets.iter().flat_map(|set| commit_guesses(set)).collect();
        let seen = sets.iter().filter_map(|set| set.reads.as_ref());
        let since = seen.map(|reads| reads.seq).min();
        let mut touched = TouchedSince(TouchLog::starting_at(facts.seq()));
        for trip in 0..WAVES_MAX {
            let since = since.filter(|_| trip == 0);
            let locks = since.is_some();
            let (answers, stamp) = self.answers(&wave, Beside { since, locks })?;
            if let Some((stamp, since)) = stamp.zip(since) {
                touched = TouchedSince(stamp.into_log(since));
            }
            for (read, answer) in wave.iter().zip(answers) {
                facts.insert(read, answer)?;
            }
            match outcome(apply_attempt_with(&mut facts, &touched, sets)) {
                Ok(applied) => return Ok(Some(applied)),
                Err(reads) => wave = reads,
            }
        }
        Ok(None)
    }
}

pub(crate) fn outcome(applied: Applied) -> Result<AppliedChanges, Vec<GraphRead>> {
    match applied {
        Applied::Ready(applied) => Ok(*applied),
        Applied::Lacks(reads) => Err(reads),
    }
}

/// Returns the guesses of a query, without guesses for its viewer if the cache has the viewer.
pub(crate) fn guesses(query: &ReadQuery, cache: &Mutex<FactCache>) -> Vec<GraphRead> {
    load_guesses(query, cache.lock().viewer(query.viewer).is_none())
}

/// Keys that commits touched after the state that the decisions of an attempt saw.
struct TouchedSince(TouchLog);

/// Cache of a store at the state after a commit, used by one load or commit, which computes its viewer only once.
pub(crate) struct CacheAt<'c> {
    cache: &'c Mutex<FactCache>,
    seq: Seq,
    viewer: RefCell<Option<(ViewerKey, Arc<Viewer>)>>,
}

impl<'c> CacheAt<'c> {
    pub(crate) const fn new(cache: &'c Mutex<FactCache>, seq: Seq) -> Self {
        let viewer = RefCell::new(None);
        Self { cache, seq, viewer }
    }

    /// Reads the cache, unless it has moved on to another state.
    fn at<T>(&self, look: impl FnOnce(&mut FactCache) -> Option<T>) -> Option<T> {
        let mut cache = self.cache.lock();
        (cache.seq() == self.seq)
            .then(|| look(&mut cache))
            .flatten()
    }
}

/// Log of touched keys, for an attempt without a cache.
impl AttemptCache for TouchedSince {
    fn answer(&self, _: &GraphRead) -> Option<GraphAnswer> {
        None
    }

    fn holds(&self, reads: &DecisionReads) -> bool {
        self.0.holds(reads)
    }

    fn viewer(&self, _: ViewerKey) -> Option<Arc<Viewer>> {
        None
    }

    fn keep_viewer(&self, _: ViewerKey, _: &Arc<Viewer>, _: Vec<FactKey>) {}
}

impl AttemptCache for CacheAt<'_> {
    fn answer(&self, read: &GraphRead) -> Option<GraphAnswer> {
        self.at(|cache| cache.get(read))
    }

    fn holds(&self, reads: &DecisionReads) -> bool {
        // The cache was brought to the state of the attempt, or to a later one.
        self.cache.lock().holds(reads)
    }

    fn viewer(&self, key: ViewerKey) -> Option<Arc<Viewer>> {
        let computed = self.viewer.borrow();
        let own = computed.as_ref().filter(|(computed, _)| *computed == key);
        own.map(|(_, viewer)| Arc::clone(viewer))
            .or_else(|| self.at(|cache| cache.viewer(key)))
    }

    fn keep_viewer(&self, key: ViewerKey, viewer: &Arc<Viewer>, depends_on: Vec<FactKey>) {
        *self.viewer.borrow_mut() = Some((key, Arc::clone(viewer)));
        let mut cache = self.cache.lock();
        if cache.has_room() {
            cache.keep_viewer(self.seq, key, viewer, depends_on);
        }
    }
}

/// Applies change sets to the state of facts, with a cache for the reads that the facts lack.
fn applied(
    facts: &mut Facts,
    sets: &[&Changes],
    cache: &CacheAt<'_>,
) -> Result<AppliedChanges, Vec<GraphRead>> {
    outcome(apply_attempt_with(facts, cache, sets))
}

/// Answers a query from facts, with a cache for the reads that the facts lack.
pub(crate) fn loaded(
    facts: &mut Facts,
    query: &ReadQuery,
    cache: &CacheAt<'_>,
) -> Result<Result<ReadView, GraphStoreError>, Vec<GraphRead>> {
    match load_attempt_with(facts, cache, query) {
        Attempt::Whole(view) => Ok(view),
        Attempt::Lacks(reads) => Err(reads),
    }
}

/// Answers a query from the cache, of the state after a commit or a later one; `None` if the cache lacks something.
pub(crate) fn load_from_cache(
    query: &ReadQuery,
    min_seq: Seq,
    cache: &Mutex<FactCache>,
) -> Result<Option<ReadView>, GraphStoreError> {
    let mut facts = Facts::at(cache.lock().seq());
    if facts.seq() < min_seq {
        return Ok(None);
    }
    // A guess that the cache cannot answer may be useless, so it is no failure.
    let guesses = guesses(query, cache);
    cache.lock().fill(&mut facts, guesses)?;
    let cache_at = CacheAt::new(cache, facts.seq());
    // Attempts continue as long as the cache has the reads that the last one lacked.
    for _ in 0..ATTEMPTS_MAX {
        let lacking = match loaded(&mut facts, query, &cache_at) {
            Ok(view) => return view.map(Some),
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

    /// Checks that a cache starts again if the database was replaced by one that has lost later commits.
    #[test]
    fn a_cache_that_is_ahead_of_the_database_begins_anew() {
        for (seq, touched, expected) in [(3, Some(vec![]), 3), (7, None, 7), (5, Some(vec![]), 5)] {
            let mut cache = FactCache::new(1 << 20, 5);
            Stamp { seq, touched }.apply(5, &mut cache);
            assert_eq!(cache.seq(), expected);
        }
    }
}

//! Waves: all reads that a load or a group of commits lacks are made in one trip.
//!
//! The engine says what it lacks ([`workgraph_core::engine::waves`]). The same code that makes a read by itself makes
//! it here, twice: the first time its statements are noted, then all are sent together, and the second time it finds
//! their rows.
use crate::columns::{bound, limit};
use crate::database_error::DatabaseError;
use crate::params::{Param, params};
use crate::transaction::PgTransaction;
use crate::wave::{Read, Rows, Wave};
use parking_lot::Mutex;
use std::sync::Arc;
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
const TOUCHED_MAX: usize = 1_000;
const TOUCHED: &str = "SELECT touched FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2";

/// State of the graph, and the way to it.
struct Stamp {
    /// Last commit.
    seq: Seq,
    /// Keys that were touched on the way; `None` if they are not known.
    touched: Option<Vec<FactKey>>,
}

impl Stamp {
    /// Brings a cache to the state.
    fn apply(self, since: Seq, cache: &mut FactCache) {
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

    /// Makes reads in one trip; with `since`, also that of what was touched since a commit.
    fn answers(
        &mut self,
        reads: &[GraphRead],
        since: Option<Seq>,
    ) -> Result<(Vec<GraphAnswer>, Option<Stamp>), GraphStoreError> {
        self.wave = Some(Wave::default());
        // Without rows, nothing that is made of them counts.
        let _ = self.seq();
        let _ = since.map(|since| self.stamp(since));
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
        let known = self.found(reads, since);
        self.wave = None;
        known
    }

    /// Returns the answers to reads whose rows were fetched.
    fn found(
        &mut self,
        reads: &[GraphRead],
        since: Option<Seq>,
    ) -> Result<(Vec<GraphAnswer>, Option<Stamp>), GraphStoreError> {
        self.seq()?;
        let stamp = since.map(|since| self.stamp(since)).transpose()?;
        let answers: Result<_, GraphStoreError> =
            reads.iter().map(|read| read.run_in(self)).collect();
        Ok((answers?, stamp))
    }

    /// Returns what commits after this one touched.
    fn stamp(&mut self, since: Seq) -> Result<Stamp, GraphStoreError> {
        let seq = self.seq()?;
        let rows = self.read(TOUCHED, params![bound(since), limit(TOUCHED_MAX)])?;
        let mut touched = Vec::new();
        // Numbers have no gaps, unless commits were pruned.
        let mut is_known = rows.len() as u64 == seq.saturating_sub(since);
        for row in rows.iter() {
            let keys: Option<Vec<i64>> = row.try_get(0).map_err(DatabaseError::from)?;
            is_known &= keys.is_some();
            touched.extend(
                keys.unwrap_or_default()
                    .into_iter()
                    .map(FactKey::from_number),
            );
        }
        Ok(Stamp {
            seq,
            touched: is_known.then_some(touched),
        })
    }

    /// Adds the answers to reads to what is known, in one trip.
    fn learn(
        &mut self,
        facts: &mut Option<Facts>,
        reads: &[GraphRead],
    ) -> Result<(), GraphStoreError> {
        let (answers, _) = self.answers(reads, None)?;
        let seq = self.seq()?;
        let facts = facts.get_or_insert_with(|| Facts::at(seq));
        for (read, answer) in reads.iter().zip(answers) {
            facts.insert(read, answer)?;
        }
        Ok(())
    }

    /// Answers a query in waves, and takes from the cache what no commit has touched since it was kept.
    pub(crate) fn load_in_waves(
        &mut self,
        query: &ReadQuery,
        cache: &Mutex<FactCache>,
    ) -> Result<ReadView, GraphStoreError> {
        let guesses = load_guesses(query, true);
        // The first trip brings what was touched, and what the cache does not have in any case.
        let (since, mut wave) = {
            let mut cache = cache.lock();
            let lacking = guesses.iter().filter(|read| cache.get(read).is_none());
            let lacking: Vec<GraphRead> = lacking.cloned().collect();
            (cache.seq(), lacking)
        };
        let (mut answers, stamp) = self.answers(&wave, Some(since))?;
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
                match load_attempt(&facts, query, None) {
                    Attempt::Whole(view) => return view,
                    Attempt::Lacks(reads) => rest = reads,
                }
                continue;
            }
            trips += 1;
            if trips > WAVES_MAX {
                break;
            }
            (answers, _) = self.answers(&wave, None)?;
        }
        self.load_directly(query)
    }

    /// Answers a query with a trip for each read.
    pub(crate) fn load_directly(&mut self, query: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let viewer = Arc::new(engine::viewer(self, query.viewer)?);
        engine::load::load(self, query, viewer)
    }

    /// Applies change sets to the state that this transaction has locked, in waves; `None` if they take too many.
    pub(crate) fn apply_in_waves(
        &mut self,
        sets: &[&Changes],
    ) -> Result<Option<AppliedChanges>, GraphStoreError> {
        let (mut facts, mut wave) = (None, Vec::new());
        for changes in sets {
            wave.extend(commit_guesses(changes));
        }
        for _ in 0..WAVES_MAX {
            self.learn(&mut facts, &wave)?;
            let Some(facts) = &facts else { break };
            match apply_attempt(facts, sets) {
                Applied::Ready(applied) => return Ok(Some(*applied)),
                Applied::Lacks(reads) => wave = reads,
            }
        }
        Ok(None)
    }
}

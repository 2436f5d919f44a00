//! Waves: all reads that a load or a group of commits lacks are made in one trip.
//!
//! The engine says what it lacks ([`workgraph_core::engine::waves`]). The same code that makes a read by itself makes
//! it here, twice: the first time its statements are noted, then all are sent together, and the second time it finds
//! their rows.
use crate::database_error::DatabaseError;
use crate::params::Param;
use crate::transaction::PgTransaction;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::engine;
use workgraph_core::engine::waves::{
    Applied, AppliedChanges, Attempt, Facts, GraphAnswer, GraphRead, WAVES_MAX, apply_attempt,
    commit_guesses, load_attempt, load_guesses,
};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{Changes, GraphStoreError, ReadQuery, ReadView};

/// Rows of a statement.
pub(crate) type Rows = Arc<[Row]>;

/// Statement with its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Param>,
}

/// Statements of one wave.
#[derive(Default)]
pub(crate) struct Wave {
    /// Position of each in the lists.
    positions: HashMap<Read, usize>,
    reads: Vec<Read>,
    /// Rows of each; none while statements are noted.
    rows: Vec<Rows>,
}

impl Wave {
    /// Returns the rows of a statement, or notes it.
    fn answer(&mut self, read: Read) -> Rows {
        match self.positions.get(&read) {
            Some(at) => self.rows.get(*at).cloned().unwrap_or_default(),
            None => {
                self.positions.insert(read.clone(), self.reads.len());
                self.reads.push(read);
                Rows::default()
            }
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
    fn answers(&mut self, reads: &[GraphRead]) -> Result<Vec<GraphAnswer>, GraphStoreError> {
        self.wave = Some(Wave::default());
        // A transaction that only reads needs to know its state, too. Without rows, nothing that is made of them counts.
        let _ = self.seq();
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
        let known = self
            .seq()
            .and_then(|_| reads.iter().map(|read| read.run_in(self)).collect());
        self.wave = None;
        known
    }

    /// Adds the answers to reads to what is known, in one trip.
    fn learn(
        &mut self,
        facts: &mut Option<Facts>,
        reads: &[GraphRead],
    ) -> Result<(), GraphStoreError> {
        let answers = self.answers(reads)?;
        let seq = self.seq()?;
        let facts = facts.get_or_insert_with(|| Facts::at(seq));
        for (read, answer) in reads.iter().zip(answers) {
            facts.insert(read, answer)?;
        }
        Ok(())
    }

    /// Answers a query in waves.
    pub(crate) fn load_in_waves(&mut self, query: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let (mut facts, mut wave) = (None, load_guesses(query, true));
        for _ in 0..WAVES_MAX {
            self.learn(&mut facts, &wave)?;
            let Some(facts) = &facts else { break };
            match load_attempt(facts, query, None) {
                Attempt::Whole(view) => return view,
                Attempt::Lacks(reads) => wave = reads,
            }
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

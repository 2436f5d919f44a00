//! Reads in waves: the rules run on the rows that were fetched so far, all reads that had no answer are fetched in one
//! trip, and the rules run again, until every read has its answer.
//!
//! A read without an answer is answered "nothing". A run that made such a read is thrown away whatever it came to, so
//! only the number of trips depends on what is fetched ahead. All waves of a load are statements of one transaction,
//! and so see one snapshot.
use crate::database_error::DatabaseError;
use crate::params::Param;
use crate::transaction::PgTransaction;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::storage::GraphStoreError;

/// Most runs of the rules; after them each read is a trip.
const RUNS_MAX: usize = 16;
/// Most reads of a load that are remembered.
const REMEMBERED_MAX: usize = 64;

/// Rows of a read.
pub(crate) type Rows = Arc<[Row]>;

/// Statement with its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Param>,
}

/// Reads, each once, in the order in which they were first made.
#[derive(Default)]
struct ReadList {
    reads: Vec<Read>,
    known: HashSet<Read>,
}

impl ReadList {
    fn of(reads: Vec<Read>) -> Self {
        let mut list = Self::default();
        reads.iter().for_each(|read| list.add(read));
        list
    }

    fn add(&mut self, read: &Read) {
        if !self.known.contains(read) {
            self.known.insert(read.clone());
            self.reads.push(read.clone());
        }
    }
}

/// Reads that a load made.
#[derive(Clone, Debug)]
pub(crate) struct LoadReads {
    pub(crate) reads: Vec<Read>,
    /// Number of the first of them that computed the viewer.
    pub(crate) of_viewer: usize,
}

/// Answers of the reads of one load.
#[derive(Default)]
pub(crate) struct Waves {
    known: HashMap<Read, Rows>,
    /// Reads without an answer.
    missed: ReadList,
    /// Reads that the present run has made.
    used: ReadList,
    /// Number of the first of them that computed the viewer.
    of_viewer: usize,
    /// True once each read is fetched when it is made.
    direct: bool,
}

impl Waves {
    /// Returns the answer to a read, or notes that there is none.
    fn answer(&mut self, read: &Read) -> Option<Rows> {
        self.used.add(read);
        if let Some(rows) = self.known.get(read) {
            return Some(Arc::clone(rows));
        }
        if self.direct {
            return None;
        }
        self.missed.add(read);
        Some(Arc::from([]))
    }
}

impl PgTransaction<'_> {
    /// Returns the rows of a read of the snapshot: fetched before, in a load in waves, or else now.
    pub(crate) fn read(
        &mut self,
        sql: &'static str,
        params: Vec<Param>,
    ) -> Result<Rows, DatabaseError> {
        let Some(waves) = &mut self.waves else {
            return Ok(self.rows(sql, &Param::all(&params))?.into());
        };
        let read = Read { sql, params };
        if let Some(rows) = waves.answer(&read) {
            return Ok(rows);
        }
        let rows: Rows = self.rows(read.sql, &Param::all(&read.params))?.into();
        if let Some(waves) = &mut self.waves {
            waves.known.insert(read, Arc::clone(&rows));
        }
        Ok(rows)
    }

    /// Returns the rows of two reads.
    pub(crate) fn read_two(
        &mut self,
        one: Read,
        other: Read,
    ) -> Result<(Rows, Rows), DatabaseError> {
        if self.waves.is_some() {
            let rows = self.read(one.sql, one.params)?;
            return Ok((rows, self.read(other.sql, other.params)?));
        }
        let mut all = self.rows_of_all(&[one, other])?.into_iter().map(Rows::from);
        Ok((
            all.next().unwrap_or_default(),
            all.next().unwrap_or_default(),
        ))
    }

    /// Notes that the reads so far were those that compute the viewer.
    pub(crate) fn viewer_is_read(&mut self) {
        if let Some(waves) = &mut self.waves {
            waves.of_viewer = waves.used.reads.len();
        }
    }

    /// Returns the rows of a read if they were fetched before.
    pub(crate) fn known(&self, sql: &'static str, params: &[Param]) -> Option<Rows> {
        let waves = self.waves.as_ref()?;
        let read = Read {
            sql,
            params: params.to_vec(),
        };
        waves.known.get(&read).map(Arc::clone)
    }

    /// Runs rules in waves. `ahead` are reads that the rules will probably make. Returns their result and the reads that
    /// they made, if these are few enough to be remembered.
    pub(crate) fn in_waves<T>(
        &mut self,
        ahead: Vec<Read>,
        mut rules: impl FnMut(&mut Self) -> Result<T, GraphStoreError>,
    ) -> (Result<T, GraphStoreError>, Option<LoadReads>) {
        self.waves = Some(Waves {
            missed: ReadList::of(ahead),
            ..Waves::default()
        });
        for run in 0.. {
            if let Err(error) = self.fetch() {
                return (Err(error.into()), None);
            }
            if let Some(waves) = &mut self.waves {
                waves.used = ReadList::default();
                waves.direct = run >= RUNS_MAX;
            }
            let done = rules(self);
            let missed = self
                .waves
                .as_ref()
                .is_some_and(|waves| !waves.missed.reads.is_empty());
            if !missed || matches!(done, Err(GraphStoreError::Interrupted(_))) {
                let waves = self.waves.take().unwrap_or_default();
                let (reads, of_viewer) = (waves.used.reads, waves.of_viewer);
                let few = done.is_ok() && reads.len() <= REMEMBERED_MAX;
                return (done, few.then_some(LoadReads { reads, of_viewer }));
            }
        }
        (
            Err(GraphStoreError::Failed("a load did not end".into())),
            None,
        )
    }

    /// Fetches the reads that had no answer, in one trip.
    fn fetch(&mut self) -> Result<(), DatabaseError> {
        let Some(waves) = &mut self.waves else {
            return Ok(());
        };
        let missed = std::mem::take(&mut waves.missed).reads;
        if missed.is_empty() {
            return Ok(());
        }
        let rows = self.rows_of_all(&missed)?;
        if let Some(waves) = &mut self.waves {
            waves
                .known
                .extend(missed.into_iter().zip(rows.into_iter().map(Rows::from)));
        }
        Ok(())
    }
}

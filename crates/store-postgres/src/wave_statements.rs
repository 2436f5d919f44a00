//! Statements of one wave, and their rows.
use crate::params::Param;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;

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
    pub(crate) positions: HashMap<Read, usize>,
    pub(crate) reads: Vec<Read>,
    /// Rows of each; none while statements are noted.
    pub(crate) rows: Vec<Rows>,
}

impl Wave {
    /// Returns the rows of a statement, or notes it.
    pub(crate) fn answer(&mut self, read: Read) -> Rows {
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

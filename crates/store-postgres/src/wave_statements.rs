//! Statements of one wave, and their rows.
use crate::database_error::DatabaseError;
use crate::graph_statements::{OfMany, of_many};
use crate::params::Param;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;

/// Rows that a statement returned.
pub(crate) type Rows = Arc<[Row]>;

/// Statement with its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Param>,
}

/// Position of the rows of a read among those of the sent statements.
#[derive(Clone, Copy)]
enum Place {
    /// All rows of a statement.
    All(usize),
    /// Rows with this number in the first column.
    First(usize, i64),
    /// Rows with this number in the last column.
    Last(usize, i64),
}

/// Reads as they are sent: several of one kind become one statement.
#[derive(Default)]
pub(crate) struct JoinedReads {
    pub(crate) reads: Vec<Read>,
    places: Vec<Place>,
}

impl JoinedReads {
    /// Joins reads of one kind into single statements.
    pub(crate) fn new(reads: &[Read]) -> Self {
        let mut joined = Self::default();
        let mut positions = HashMap::new();
        for read in reads {
            let place = joined.place(read, reads, &mut positions);
            let at = joined.reads.len();
            let place = place.unwrap_or_else(|| {
                joined.reads.push(read.clone());
                Place::All(at)
            });
            joined.places.push(place);
        }
        joined
    }

    /// Adds a read to the statement for several reads of its kind; `None` if the read is better made alone.
    fn place<'r>(
        &mut self,
        read: &'r Read,
        all: &[Read],
        positions: &mut HashMap<(OfMany, &'r [Param]), usize>,
    ) -> Option<Place> {
        let many = of_many(read.sql)?;
        let (sql, listed, shared) = match many {
            OfMany::Gids(sql) => (sql, read.params.get(..1)?, read.params.get(1..)?),
            OfMany::Places(_) if all.iter().filter(|other| other.sql == read.sql).count() < 2 => {
                return None;
            }
            OfMany::Places(sql) => (sql, read.params.as_slice(), [].as_slice()),
        };
        let at = *positions.entry((many, shared)).or_insert(self.reads.len());
        if at == self.reads.len() {
            let arrays: Option<Vec<Param>> = listed.iter().map(Param::array).collect();
            let params = arrays?.into_iter().chain(shared.iter().cloned()).collect();
            self.reads.push(Read { sql, params });
        }
        let arrays = &mut self.reads.get_mut(at)?.params;
        for (array, value) in arrays.iter_mut().zip(listed) {
            array.push(value);
        }
        match (many, listed.first()?, arrays.first()?) {
            (OfMany::Gids(_), Param::Big(gid), _) => Some(Place::First(at, *gid)),
            (OfMany::Places(_), _, Param::Bigs(all)) => Some(Place::Last(at, all.len() as i64)),
            _ => None,
        }
    }

    /// Splits the rows of the statements into the rows of each read.
    pub(crate) fn split(&self, rows: Vec<Vec<Row>>) -> Result<Vec<Rows>, DatabaseError> {
        let mut whole: Vec<Option<Vec<Row>>> = rows.into_iter().map(Some).collect();
        let mut by_number: HashMap<(usize, i64), Vec<Row>> = HashMap::new();
        let mut split = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let (Place::All(at) | Place::First(at, _) | Place::Last(at, _)) = *place;
            let rows = whole.get_mut(at).and_then(Option::take);
            let rows = match *place {
                Place::All(_) => rows,
                Place::First(at, number) | Place::Last(at, number) => {
                    let is_last = matches!(place, Place::Last(..));
                    for (number, rows) in runs(rows.unwrap_or_default(), is_last)? {
                        by_number.insert((at, number), rows);
                    }
                    by_number.remove(&(at, number))
                }
            };
            split.push(rows.unwrap_or_default().into());
        }
        Ok(split)
    }
}

/// Returns rows by the number in their first or last column; rows with the same number are adjacent.
fn runs(rows: Vec<Row>, is_last: bool) -> Result<Vec<(i64, Vec<Row>)>, DatabaseError> {
    let mut runs: Vec<(i64, Vec<Row>)> = Vec::new();
    for row in rows {
        let column = if is_last {
            row.len().saturating_sub(1)
        } else {
            0
        };
        let number = row.try_get(column)?;
        match runs.last_mut() {
            Some((last, run)) if *last == number => run.push(row),
            _ => runs.push((number, vec![row])),
        }
    }
    Ok(runs)
}

/// Statements of one wave, with the position of each read.
#[derive(Default)]
pub(crate) struct Wave {
    /// Position of each statement in the lists.
    pub(crate) positions: HashMap<Read, usize>,
    pub(crate) reads: Vec<Read>,
    /// Rows of each statement; empty while statements are collected.
    pub(crate) rows: Vec<Rows>,
}

impl Wave {
    /// Returns the rows of a statement. If the statement is new, adds it to the wave and returns no rows.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_statements as statements;
    use crate::params::params;

    /// Checks that reads of one kind become one statement, while a single scan, and reads that differ in more than their gid, are
    /// made alone.
    #[test]
    fn reads_of_one_kind_are_joined() {
        let read = |sql, params| Read { sql, params };
        let scan = |dst: i64| {
            read(
                statements::SCAN_IN[1],
                params![dst, 3_i16, 0_i64, 0_i64, 9_i64],
            )
        };
        let reads = [
            read(statements::NODE[2], params![5_i64]),
            read(statements::LAST_SEQ, params![]),
            read(statements::NODE[2], params![6_i64]),
            scan(7),
            read(statements::EDGES_OUT[1], params![5_i64, 1_i16, 2_i16]),
            read(statements::EDGES_OUT[1], params![6_i64, 1_i16, 3_i16]),
        ];
        let joined = JoinedReads::new(&reads);
        assert_eq!(joined.reads.len(), 5);
        assert_eq!(joined.reads[0].params, [Param::Bigs(vec![5, 6])]);
        assert_eq!(joined.reads[2], scan(7));
        let joined = JoinedReads::new(&[scan(7), scan(8)]);
        assert_eq!(joined.reads.len(), 1);
        assert_eq!(joined.reads[0].params[0], Param::Bigs(vec![7, 8]));
        assert_eq!(joined.reads[0].params[1], Param::Smalls(vec![3, 3]));
    }
}

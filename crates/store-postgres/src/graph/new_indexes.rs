//! Index rows of nodes that have none yet, many at a time: for copies.
//!
//! In the transaction of a copy the tables have no statistics. Statements that look for rows to replace may then get plans
//! that read all rows of a workspace, once for each node.
use super::index_entries::home;
use super::words::word_parts;
use crate::database_error::DatabaseError;
use crate::params::OwnedParams;
use crate::transaction::PgTransaction;
use workgraph_rows::NodeIndexes;

/// Words that are inserted by one statement, or those of one node if it has more.
const WORDS: usize = 10_000;
const INSERT_WORDS: &str = "INSERT INTO word (home, kind, gid, term, parts) SELECT * FROM \
    unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::smallint[])";

/// Columns of words.
#[derive(Default)]
struct NewWords {
    homes: Vec<i64>,
    kinds: Vec<i16>,
    gids: Vec<i64>,
    terms: Vec<String>,
    parts: Vec<i16>,
}

impl NewWords {
    fn into_params(self) -> OwnedParams {
        vec![
            Box::new(self.homes),
            Box::new(self.kinds),
            Box::new(self.gids),
            Box::new(self.terms),
            Box::new(self.parts),
        ]
    }
}

impl PgTransaction<'_> {
    /// Inserts the index rows of nodes, of which there must be none.
    pub(crate) fn insert_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), DatabaseError> {
        let mut words = NewWords::default();
        for node in nodes {
            if let Some((entry, text)) = &node.entry {
                for (term, parts) in word_parts(text) {
                    words.homes.push(home(entry.workspace));
                    words.kinds.push(i16::from(entry.ty as u8));
                    words.gids.push(entry.gid.as_i64());
                    words.terms.push(term.to_owned());
                    words.parts.push(parts);
                }
                self.put_entry(entry)?;
            }
            for values in &node.values {
                self.insert_values(values.node, values.field, &values.keys)?;
            }
            if words.gids.len() >= WORDS {
                self.send(INSERT_WORDS, std::mem::take(&mut words).into_params())?;
            }
        }
        if !words.gids.is_empty() {
            self.send(INSERT_WORDS, words.into_params())?;
        }
        Ok(())
    }
}

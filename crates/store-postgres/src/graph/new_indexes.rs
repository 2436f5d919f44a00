//! Index rows of nodes that have none yet, many at a time: for copies.
//!
//! In the transaction of a copy the tables have no statistics. Statements that look for rows to replace may then get plans
//! that read all rows of a workspace, once for each node.
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use workgraph_rows::NodeIndexes;

/// Nodes whose rows are prepared together.
const NODES: usize = 256;

impl PgTransaction<'_> {
    /// Inserts the index rows of nodes, of which there must be none.
    pub(crate) fn insert_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), DatabaseError> {
        for some in nodes.chunks(NODES) {
            let entries = some.iter().filter_map(|node| node.entry.as_ref());
            let entries: Vec<_> = entries.map(|(entry, text)| (entry, text)).collect();
            self.put_new_words(&entries)?;
            let entries: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
            self.put_entries(&entries)?;
            for values in some.iter().flat_map(|node| &node.values) {
                self.insert_values(values.node, values.field, &values.keys)?;
            }
        }
        Ok(())
    }
}

//! Index rows of many nodes that have none yet, for copies.
//!
//! In the transaction of a copy the tables have no statistics. Statements that look for rows to replace may then get plans
//! that read all rows of a workspace, once for each node.
use super::row_writes::RowAge;
use crate::database_error::DatabaseError;
use crate::statement_list::StatementList;
use crate::transaction::PgTransaction;
use workgraph_rows::NodeIndexes;

/// Number of nodes whose rows are prepared together.
const NODES: usize = 256;

impl PgTransaction<'_> {
    /// Inserts the index rows of nodes that have none yet.
    pub(crate) fn insert_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), DatabaseError> {
        for some in nodes.chunks(NODES) {
            let mut statements = StatementList::default();
            let entries = some.iter().filter_map(|node| node.entry.as_ref());
            let entries: Vec<_> = entries.map(|(entry, text)| (entry, text)).collect();
            statements.put_new_words(&entries);
            let entries: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
            statements.put_entries(RowAge::New, &entries);
            for values in some.iter().flat_map(|node| &node.values) {
                statements.put_values(RowAge::New, values.node, values.field, &values.keys);
            }
            self.send_all(statements)?;
        }
        Ok(())
    }
}

//! Content of a store as rows, to compare stores of one kind.
use super::*;
use workgraph_rows::{RowReader, TABLES};
use workgraph_store_postgres::PgRows;

/// Tables of the graph.
const OF_THE_GRAPH: &[&str] = &["node", "edge", "alias", "journal"];

/// Returns the rows of the graph, each as a text.
fn rows(reader: &mut dyn RowReader) -> Vec<String> {
    let mut texts = Vec::new();
    for table in TABLES
        .iter()
        .filter(|table| OF_THE_GRAPH.contains(&table.name))
    {
        let mut after = None;
        loop {
            let some = reader.rows(table, after.as_ref(), 1_000).unwrap();
            texts.extend(some.iter().map(|row| {
                let columns = table.columns.iter().zip(row);
                // A change that comes in the millisecond of the one before it may make no version.
                let columns = columns.filter(|(column, _)| column.name != "version");
                let values: Vec<_> = columns.map(|(_, value)| value).collect();
                format!("{} {values:?}", table.name)
            }));
            let Some(last) = some.last() else { break };
            after = Some(last.clone());
        }
    }
    texts
}

impl World {
    /// Returns everything of the graph, as [`graph_pieces`](Self::graph_pieces) does of a store in memory.
    pub(crate) fn stored_pieces(&self) -> Vec<String> {
        if self.memory.is_some() {
            return self.graph_pieces();
        }
        let texts = match (&self._scratch, &self.nodes) {
            (Some(folder), _) => {
                let store = SqliteStore::open_read_only(folder.path()).unwrap();
                let mut reader = store.rows().unwrap();
                rows(&mut reader)
            }
            (None, Some(nodes)) => rows(&mut PgRows::snapshot(nodes.store.database()).unwrap()),
            (None, None) => panic!("a store without rows"),
        };
        store_controls::plain_pieces(texts.iter().map(String::as_str))
    }
}

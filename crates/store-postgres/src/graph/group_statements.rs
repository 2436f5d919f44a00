//! Statements of a group of commits: rows of new nodes are separate from all others.
use super::row_writes::RowAge;
use crate::database_error::DatabaseError;
use crate::statement_list::StatementList;
use crate::store_state::AuditLogEnd;
use std::collections::BTreeSet;
use workgraph_core::engine::waves::GraphWrites;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::FactKey;

/// Maximum number of keys that a commit writes to the journal for the caches of other nodes. A commit that touches more,
/// such as the deletion of a large project, makes them forget everything.
const TOUCHED_KEYS_MAX: usize = 4_096;

/// Statements for the writes of a group of commits.
#[derive(Default)]
pub(crate) struct GroupStatements {
    /// Statements that insert rows of new nodes. Their keys are also new, so these rows and other commits never wait for
    /// each other, and the rows can be sent before the lock of the store's state is held.
    pub(crate) new_rows: StatementList,
    /// All other statements, to be sent under the lock, after `new_rows`.
    pub(crate) others: StatementList,
    /// Highest gid of an auxiliary node, or 0.
    pub(crate) floor: i64,
    /// End of the audit log after the rows of the group; `None` if it has none.
    pub(crate) audit: Option<AuditLogEnd>,
}

impl GroupStatements {
    /// Creates the statements: the new rows, and the others table by table, in the order of [`GraphWrites::flush`]. `audit` is
    /// the end of the audit log before them.
    ///
    /// # Errors
    /// Fails if a number is too large to be stored.
    pub(crate) fn new(
        writes: &GraphWrites,
        audit: Option<AuditLogEnd>,
    ) -> Result<Self, DatabaseError> {
        let mut made = Self::default();
        made.add_nodes(writes)?;
        made.add_edges(writes)?;
        let (new_rows, others) = (&mut made.new_rows, &mut made.others);
        for (key, gid) in &writes.dropped_aliases {
            others.drop_alias(key, *gid);
        }
        for (key, gid) in &writes.aliases {
            others.put_free_alias(key, *gid);
        }
        for ((node, field), keys) in &writes.values {
            match is_new(writes, *node) {
                true => new_rows.put_values(RowAge::New, *node, *field, keys),
                false => others.put_values(RowAge::Any, *node, *field, keys),
            }
        }
        made.add_entries(writes);
        let mut last = audit;
        for row in &writes.audit_rows {
            let (row, end) = AuditLogEnd::append(last, row.clone());
            made.others.append_audit(row, end)?;
            last = Some(end);
            made.audit = last;
        }
        let touched = stored_keys(writes.touched.iter().copied());
        made.others.append_entries(&writes.journal, touched)?;
        Ok(made)
    }

    fn add_nodes(&mut self, writes: &GraphWrites) -> Result<(), DatabaseError> {
        let nodes = writes.nodes.values();
        let (new, old): (Vec<_>, Vec<_>) = nodes.partition(|written| written.is_new);
        for (list, age, nodes) in [
            (&mut self.new_rows, RowAge::New, new),
            (&mut self.others, RowAge::Any, old),
        ] {
            let nodes = nodes.iter();
            let nodes: Vec<_> = nodes.map(|one| (one.node.as_ref(), one.seq)).collect();
            list.put_nodes(age, &nodes)?;
        }
        for (gid, seq) in &writes.trashed {
            self.others.trash_node(*gid, *seq)?;
        }
        Ok(())
    }

    fn add_edges(&mut self, writes: &GraphWrites) -> Result<(), DatabaseError> {
        for (src, rel, dst) in &writes.dropped_edges {
            self.others.drop_edge(*src, *rel, *dst);
        }
        let edges = writes.edges.values();
        let (new, old): (Vec<_>, Vec<_>) = edges.partition(|edge| is_new(writes, edge.src));
        self.new_rows.put_edges(RowAge::New, &new)?;
        self.others.put_edges(RowAge::Any, &old)?;
        let aux = writes.edges.values().filter_map(|edge| edge.aux);
        self.floor = aux.map(Gid::as_i64).max().unwrap_or(0);
        Ok(())
    }

    fn add_entries(&mut self, writes: &GraphWrites) {
        let entries = writes.index_entries.iter();
        let (new, old): (Vec<_>, Vec<_>) = entries.partition(|(gid, _)| is_new(writes, **gid));
        for (_, (entry, text)) in &old {
            self.others.put_words(entry, text);
        }
        let new: Vec<_> = new.iter().map(|(_, (entry, text))| (entry, text)).collect();
        self.new_rows.put_new_words(&new);
        let new: Vec<_> = new.into_iter().map(|(entry, _)| entry).collect();
        let old: Vec<_> = old.into_iter().map(|(_, (entry, _))| entry).collect();
        self.new_rows.put_entries(RowAge::New, &new);
        self.others.put_entries(RowAge::Any, &old);
    }
}

/// Returns the numbers of the keys that a commit touched, each once; `None` if there are too many to store.
pub(super) fn stored_keys(touched: impl IntoIterator<Item = FactKey>) -> Option<Vec<i64>> {
    let keys: BTreeSet<i64> = touched.into_iter().map(FactKey::number).collect();
    (keys.len() <= TOUCHED_KEYS_MAX).then(|| keys.into_iter().collect())
}

fn is_new(writes: &GraphWrites, gid: Gid) -> bool {
    writes.nodes.get(&gid).is_some_and(|node| node.is_new)
}

//! Writes of the graph: the primitives that committing uses. Most are sent without waiting for them.
use super::aliases::alias_key;
use super::group_statements::{GroupStatements, stored_keys};
use super::node_columns::relation;
use super::row_writes::RowAge;
use crate::columns::bound;
use crate::database_error::DatabaseError;
use crate::graph_statements as sql;
use crate::params::Params;
use crate::statement_list::StatementList;
use crate::store_state::AuditLogEnd;
use crate::stored_values::text;
use crate::transaction::PgTransaction;
use workgraph_core::audit::AuditRow;
use workgraph_core::engine::waves::GraphWrites;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::Transaction;
use workgraph_core::storage::{DecisionReads, Edge, FactKey, GraphStoreError, JournalEntry, Seq};

impl Transaction for PgTransaction<'_> {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_node(node, node.version == 1));
        Ok(self.send_made(|list| list.put_nodes(RowAge::Any, &[(node, seq)]))??)
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError> {
        // The touched keys are unknown: they include the lists that the node's edges lead into, which would have to be read.
        self.touched = None;
        Ok(self.send_made(|list| list.trash_node(gid, seq))??)
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_edge(edge.src, edge.rel, edge.dst));
        self.send_made(|list| list.put_edges(RowAge::Any, &[edge]))??;
        if let Some(aux) = edge.aux {
            let state = self.locked_state()?;
            state.floor = state.floor.max(aux.as_i64());
        }
        Ok(())
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        self.touch(FactKey::of_edge(src, rel, dst));
        let (src, rel, dst) = (src.as_i64(), relation(rel), dst.as_i64());
        Ok(self.run(sql::DROP_EDGE, &[&src, &rel, &dst])? > 0)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        self.touch([FactKey::alias(key)]);
        let stored = alias_key(key);
        let params: Params<'_> = &[&stored.key.as_ref(), &gid.as_i64(), &stored.text.as_deref()];
        match self.run(sql::PUT_ALIAS, params)? {
            0 => Err(GraphStoreError::AliasTaken(key.to_owned())),
            _ => Ok(()),
        }
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        self.touch([FactKey::alias(key)]);
        Ok(self.send_made(|list| list.drop_alias(key, gid))?)
    }

    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_values(node, field));
        Ok(self.send_made(|list| list.put_values(RowAge::Any, node, field, keys))?)
    }

    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_entry(entry));
        Ok(self.send_made(|list| {
            list.put_words(entry, text);
            list.put_entries(RowAge::Any, &[entry]);
        })?)
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        let touched = self.touched.replace(Vec::new());
        let touched = touched.and_then(stored_keys);
        self.send_made(|list| list.append_entries(std::slice::from_ref(event), touched))??;
        self.locked_state()?.seq = event.seq;
        Ok(())
    }

    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError> {
        let (row, end) = AuditLogEnd::append(self.locked_state()?.audit, row);
        self.send_made(|list| list.append_audit(row, end))??;
        self.locked_state()?.audit = Some(end);
        Ok(())
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, GraphStoreError> {
        let row = self.one(sql::APP_NAME, &[&bound(app)])?;
        Ok(row.map(|row| text(&row, 0)).transpose()?)
    }

    fn holds(&mut self, reads: &DecisionReads) -> Result<bool, GraphStoreError> {
        Ok(self.reads_hold(reads)?)
    }

    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError> {
        self.touch([FactKey::viewers()]);
        Ok(())
    }
}

impl PgTransaction<'_> {
    /// Adds keys that the current commit touches.
    fn touch(&mut self, keys: impl IntoIterator<Item = FactKey>) {
        if let Some(touched) = &mut self.touched {
            touched.extend(keys);
        }
    }

    /// Sends statements without waiting for them.
    pub(crate) fn send_all(&mut self, statements: StatementList) -> Result<(), DatabaseError> {
        for (sql, params) in statements {
            self.send(sql, params)?;
        }
        Ok(())
    }

    /// Sends the statements that `add` creates, without waiting for them.
    pub(super) fn send_made<T>(
        &mut self,
        add: impl FnOnce(&mut StatementList) -> T,
    ) -> Result<T, DatabaseError> {
        let mut statements = StatementList::default();
        let added = add(&mut statements);
        self.send_all(statements)?;
        Ok(added)
    }

    /// Performs the writes of a group of commits, without waiting for them.
    pub(crate) fn put_group(&mut self, writes: &GraphWrites) -> Result<(), DatabaseError> {
        let before = self.locked_state()?.audit;
        let made = GroupStatements::new(writes, before)?;
        self.send_all(made.new_rows)?;
        self.send_all(made.others)?;
        let state = self.locked_state()?;
        state.floor = state.floor.max(made.floor);
        state.audit = made.audit.or(before);
        state.seq = writes.last_seq();
        Ok(())
    }
}

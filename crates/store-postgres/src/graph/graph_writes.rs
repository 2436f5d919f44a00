//! Writes of the graph: the primitives that committing uses. Most are sent without waiting for them.
use super::aliases::alias_key;
use super::index_keys;
use super::node_columns::relation;
use crate::columns::{bound, whole};
use crate::database_error::DatabaseError;
use crate::graph_statements as sql;
use crate::params::{OwnedParams, Params, ROWS_MAX, column, numbers};
use crate::stored_values::text;
use crate::transaction::PgTransaction;
use std::collections::BTreeSet;
use workgraph_core::audit::AuditRow;
use workgraph_core::engine::waves::GraphWrites;
use workgraph_core::journal::stored_form;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::Transaction;
use workgraph_core::storage::{Edge, GraphStoreError, JournalEntry, Seq};

impl Transaction for PgTransaction<'_> {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError> {
        Ok(self.put_nodes(&[(node, seq)])?)
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError> {
        let params: OwnedParams = vec![Box::new(gid.as_i64()), Box::new(whole(seq)?)];
        Ok(self.send(sql::TRASH_NODE, params)?)
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        self.put_edges(&[edge])
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        let (src, rel, dst) = (src.as_i64(), relation(rel), dst.as_i64());
        Ok(self.run(sql::DROP_EDGE, &[&src, &rel, &dst])? > 0)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        let stored = alias_key(key);
        let params: Params<'_> = &[&stored.key.as_ref(), &gid.as_i64(), &stored.text.as_deref()];
        match self.run(sql::PUT_ALIAS, params)? {
            0 => Err(GraphStoreError::AliasTaken(key.to_owned())),
            _ => Ok(()),
        }
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        let params: OwnedParams = vec![
            Box::new(alias_key(key).key.into_owned()),
            Box::new(gid.as_i64()),
        ];
        Ok(self.send(sql::DROP_ALIAS, params)?)
    }

    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError> {
        let params: OwnedParams = vec![Box::new(node.as_i64()), Box::new(field.as_i64())];
        self.send(sql::DROP_VALUES, params)?;
        Ok(self.insert_values(node, field, keys)?)
    }

    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError> {
        self.put_words(entry, text)?;
        Ok(self.put_entries(&[entry])?)
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        self.append_entries(std::slice::from_ref(event), None)
    }

    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError> {
        Ok(self.append_audit(row)?)
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, GraphStoreError> {
        let row = self.one(sql::APP_NAME, &[&bound(app)])?;
        Ok(row.map(|row| text(&row, 0)).transpose()?)
    }

    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError> {
        // No viewers are cached.
        Ok(())
    }
}

impl PgTransaction<'_> {
    /// Makes the writes of a group of commits, table by table, in the order of [`GraphWrites::flush`]. The last entry of
    /// the journal gets the keys that they touch; `None` if there are too many of them.
    pub(crate) fn put_group(
        &mut self,
        writes: &GraphWrites,
        touched: Option<Vec<i64>>,
    ) -> Result<(), GraphStoreError> {
        let nodes = writes.nodes.values();
        let nodes: Vec<_> = nodes.map(|one| (one.node.as_ref(), one.seq)).collect();
        self.put_nodes(&nodes)?;
        for (gid, seq) in &writes.trashed {
            self.trash_node(*gid, *seq)?;
        }
        for (src, rel, dst) in &writes.dropped_edges {
            let params: OwnedParams = vec![
                Box::new(src.as_i64()),
                Box::new(relation(*rel)),
                Box::new(dst.as_i64()),
            ];
            self.send(sql::DROP_EDGE, params)?;
        }
        self.put_edges(&writes.edges.values().collect::<Vec<_>>())?;
        for (key, gid) in &writes.dropped_aliases {
            self.drop_alias(key, *gid)?;
        }
        for (key, gid) in &writes.aliases {
            let stored = alias_key(key);
            let params: OwnedParams = vec![
                Box::new(stored.key.into_owned()),
                Box::new(gid.as_i64()),
                Box::new(stored.text.map(|text| text.into_owned())),
            ];
            self.send(sql::PUT_FREE_ALIAS, params)?;
        }
        for ((node, field), keys) in &writes.values {
            self.put_values(*node, *field, keys)?;
        }
        let entries = writes.index_entries.iter();
        let is_new = |gid: &Gid| writes.nodes.get(gid).is_some_and(|node| node.is_new);
        let (new, old): (Vec<_>, Vec<_>) = entries.partition(|(gid, _)| is_new(gid));
        for (_, (entry, text)) in &old {
            self.put_words(entry, text)?;
        }
        let new: Vec<_> = new.iter().map(|(_, (entry, text))| (entry, text)).collect();
        self.put_new_words(&new)?;
        let entries = writes.index_entries.values();
        self.put_entries(&entries.map(|(entry, _)| entry).collect::<Vec<_>>())?;
        for row in &writes.audit_rows {
            self.append_audit(row.clone())?;
        }
        let last = writes.last_seq();
        self.append_entries(&writes.journal, Some((last, touched)))
    }

    fn put_nodes(&mut self, nodes: &[(&Node, Seq)]) -> Result<(), DatabaseError> {
        for some in nodes.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                column(some, |(node, _)| node.gid.as_i64()),
                column(some, |(node, _)| i16::from(node.ty as u8)),
                column(some, |(node, _)| node.workspace.map(Gid::as_i64)),
                numbers(some, |(node, _)| node.version)?,
                numbers(some, |(_, seq)| *seq)?,
                column(some, |(node, _)| node.head.to_string()),
                column(some, |(node, _)| node.body.to_string()),
            ];
            self.send(sql::PUT_NODES, params)?;
        }
        Ok(())
    }

    fn put_edges(&mut self, edges: &[&Edge]) -> Result<(), GraphStoreError> {
        for some in edges.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                column(some, |edge| edge.src.as_i64()),
                column(some, |edge| relation(edge.rel)),
                column(some, |edge| edge.dst.as_i64()),
                column(some, |edge| edge.rank),
                numbers(some, |edge| edge.seq)?,
                column(some, |edge| edge.aux.map(Gid::as_i64)),
            ];
            self.send(sql::PUT_EDGES, params)?;
        }
        let auxiliary = edges.iter().filter_map(|edge| edge.aux).max();
        if let Some(aux) = auxiliary {
            let state = self.locked_state()?;
            state.floor = state.floor.max(aux.as_i64());
        }
        Ok(())
    }

    /// Appends to the journal. `touched` are the keys that the commits up to one touch, for its entry; without it, no
    /// keys are known.
    fn append_entries(
        &mut self,
        entries: &[JournalEntry],
        touched: Option<(Seq, Option<Vec<i64>>)>,
    ) -> Result<(), GraphStoreError> {
        let last = entries.last().map(|entry| entry.seq);
        let (upto, touched) = touched.map_or((last, None), |(upto, keys)| (Some(upto), keys));
        let Some((last, upto)) = last.zip(upto) else {
            return Ok(());
        };
        let upto = whole(upto)?;
        for some in entries.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                numbers(some, |entry| entry.seq)?,
                column(some, |entry| entry.time.millis()),
                column(some, |entry| entry.actor.map(Gid::as_i64)),
                column(some, |entry| stored_form::write(&entry.change_records)),
                column(some, |entry| stored_form::write_nodes(&entry.node_contexts)),
                Box::new(upto),
                Box::new(touched.clone()),
            ];
            self.send(sql::APPEND, params)?;
        }
        self.locked_state()?.seq = last;
        Ok(())
    }

    /// Inserts the keys of a node's value of a field, of which there must be none.
    pub(super) fn insert_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), DatabaseError> {
        let keys: BTreeSet<Vec<u8>> = keys.iter().map(index_keys::bytes).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let (heads, tails): (Vec<_>, Vec<_>) = keys.into_iter().map(index_keys::split).unzip();
        let params: OwnedParams = vec![
            Box::new(field.as_i64()),
            Box::new(node.as_i64()),
            Box::new(heads),
            Box::new(tails),
        ];
        self.send(sql::PUT_VALUES, params)
    }
}

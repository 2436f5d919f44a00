//! Writes of the graph: the primitives that committing uses. Most are sent without waiting for them.
use super::aliases::alias_key;
use super::node_columns::relation;
use super::{index_keys, statements as sql};
use crate::columns::{bound, whole};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, Params};
use crate::stored_values::text;
use crate::transaction::PgTransaction;
use std::collections::BTreeSet;
use workgraph_core::audit::AuditRow;
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
        let params: OwnedParams = vec![
            Box::new(node.gid.as_i64()),
            Box::new(i16::from(node.ty as u8)),
            Box::new(node.workspace.map(Gid::as_i64)),
            Box::new(whole(node.version)?),
            Box::new(whole(seq)?),
            Box::new(node.head.to_string()),
            Box::new(node.body.to_string()),
        ];
        Ok(self.send(sql::PUT_NODE, params)?)
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError> {
        let params: OwnedParams = vec![Box::new(gid.as_i64()), Box::new(whole(seq)?)];
        Ok(self.send(sql::TRASH_NODE, params)?)
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let aux = edge.aux.map(Gid::as_i64);
        let params: OwnedParams = vec![
            Box::new(edge.src.as_i64()),
            Box::new(relation(edge.rel)),
            Box::new(edge.dst.as_i64()),
            Box::new(edge.rank),
            Box::new(whole(edge.seq)?),
            Box::new(aux),
        ];
        self.send(sql::PUT_EDGE, params)?;
        if let Some(aux) = aux {
            let state = self.locked_state()?;
            state.floor = state.floor.max(aux);
        }
        Ok(())
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        let (src, rel, dst) = (src.as_i64(), relation(rel), dst.as_i64());
        if self.collected.is_some() {
            let params: OwnedParams = vec![Box::new(src), Box::new(rel), Box::new(dst)];
            self.send(sql::DROP_EDGE, params)?;
            return Ok(true);
        }
        Ok(self.run(sql::DROP_EDGE, &[&src, &rel, &dst])? > 0)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        let stored = alias_key(key);
        if self.collected.is_some() {
            let params: OwnedParams = vec![
                Box::new(stored.key.into_owned()),
                Box::new(gid.as_i64()),
                Box::new(stored.text.map(|text| text.into_owned())),
            ];
            return Ok(self.send(sql::PUT_FREE_ALIAS, params)?);
        }
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
        Ok(self.put_entry(entry)?)
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        let collected = self.collected.as_mut();
        let touched = collected.and_then(|keys| match keys.last == event.seq {
            true => keys.touched.take(),
            false => Some(Vec::new()),
        });
        let params: OwnedParams = vec![
            Box::new(whole(event.seq)?),
            Box::new(event.time.millis()),
            Box::new(event.actor.map(Gid::as_i64)),
            Box::new(stored_form::write(&event.change_records)),
            Box::new(stored_form::write_nodes(&event.node_contexts)),
            Box::new(touched),
        ];
        self.send(sql::APPEND, params)?;
        self.locked_state()?.seq = event.seq;
        Ok(())
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

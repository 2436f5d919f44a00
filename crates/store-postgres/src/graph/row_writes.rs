//! Statements that write many rows of the graph each.
use super::aliases::alias_key;
use super::index_keys;
use super::node_columns::relation;
use crate::columns::whole;
use crate::database_error::DatabaseError;
use crate::graph_statements as sql;
use crate::params::{OwnedParams, ROWS_MAX, column, numbers};
use crate::statement_list::StatementList;
use std::collections::BTreeSet;
use workgraph_core::journal::stored_form;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::{Edge, JournalEntry, Seq};

/// Age of rows: whether some of them may already exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowAge {
    /// None of the rows exists yet.
    New,
    /// Existing rows are replaced.
    Any,
}

impl RowAge {
    /// Returns the statement for rows of this age.
    pub(super) const fn choose(self, new: &'static str, any: &'static str) -> &'static str {
        match self {
            Self::New => new,
            Self::Any => any,
        }
    }
}

impl StatementList {
    /// Writes nodes, each with its commit.
    pub(super) fn put_nodes(
        &mut self,
        age: RowAge,
        nodes: &[(&Node, Seq)],
    ) -> Result<(), DatabaseError> {
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
            self.add(age.choose(sql::PUT_NEW_NODES, sql::PUT_NODES), params);
        }
        Ok(())
    }

    pub(super) fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), DatabaseError> {
        let params: OwnedParams = vec![Box::new(gid.as_i64()), Box::new(whole(seq)?)];
        self.add(sql::TRASH_NODE, params);
        Ok(())
    }

    pub(super) fn put_edges(&mut self, age: RowAge, edges: &[&Edge]) -> Result<(), DatabaseError> {
        for some in edges.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                column(some, |edge| edge.src.as_i64()),
                column(some, |edge| relation(edge.rel)),
                column(some, |edge| edge.dst.as_i64()),
                column(some, |edge| edge.rank),
                numbers(some, |edge| edge.seq)?,
                column(some, |edge| edge.aux.map(Gid::as_i64)),
            ];
            self.add(age.choose(sql::PUT_NEW_EDGES, sql::PUT_EDGES), params);
        }
        Ok(())
    }

    /// Removes an edge.
    pub(super) fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) {
        let params: OwnedParams = vec![
            Box::new(src.as_i64()),
            Box::new(relation(rel)),
            Box::new(dst.as_i64()),
        ];
        self.add(sql::DROP_EDGE, params);
    }

    /// Removes an alias from a node.
    pub(super) fn drop_alias(&mut self, key: &str, gid: Gid) {
        let params: OwnedParams = vec![
            Box::new(alias_key(key).key.into_owned()),
            Box::new(gid.as_i64()),
        ];
        self.add(sql::DROP_ALIAS, params);
    }

    /// Gives an alias to a node. The statement fails if another live node has it.
    pub(super) fn put_free_alias(&mut self, key: &str, gid: Gid) {
        let stored = alias_key(key);
        let params: OwnedParams = vec![
            Box::new(stored.key.into_owned()),
            Box::new(gid.as_i64()),
            Box::new(stored.text.map(|text| text.into_owned())),
        ];
        self.add(sql::PUT_FREE_ALIAS, params);
    }

    /// Writes the keys of a node's value of a field.
    pub(super) fn put_values(&mut self, age: RowAge, node: Gid, field: Gid, keys: &[IndexKey]) {
        if age == RowAge::Any {
            let params: OwnedParams = vec![Box::new(node.as_i64()), Box::new(field.as_i64())];
            self.add(sql::DROP_VALUES, params);
        }
        let keys: BTreeSet<Vec<u8>> = keys.iter().map(index_keys::bytes).collect();
        if keys.is_empty() {
            return;
        }
        let (heads, tails): (Vec<_>, Vec<_>) = keys.into_iter().map(index_keys::split).unzip();
        let params: OwnedParams = vec![
            Box::new(field.as_i64()),
            Box::new(node.as_i64()),
            Box::new(heads),
            Box::new(tails),
        ];
        self.add(sql::PUT_VALUES, params);
    }

    /// Appends to the journal. The last entry gets the keys that all the entries' commits touch; `None` if the keys are
    /// unknown.
    pub(super) fn append_entries(
        &mut self,
        entries: &[JournalEntry],
        touched: Option<Vec<i64>>,
    ) -> Result<(), DatabaseError> {
        let Some(last) = entries.last() else {
            return Ok(());
        };
        let last = whole(last.seq)?;
        for some in entries.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                numbers(some, |entry| entry.seq)?,
                column(some, |entry| entry.time.millis()),
                column(some, |entry| entry.actor.map(Gid::as_i64)),
                column(some, |entry| stored_form::write(&entry.change_records)),
                column(some, |entry| stored_form::write_nodes(&entry.node_contexts)),
                Box::new(last),
                Box::new(touched.clone()),
            ];
            self.add(sql::APPEND, params);
        }
        Ok(())
    }
}

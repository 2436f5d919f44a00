//! Writes of an overlay, and the keys that they touch.
use super::Overlay;
use crate::audit::AuditRow;
use crate::engine::waves::graph_read::{GraphAnswer, GraphRead};
use crate::engine::waves::graph_writes::{EdgeKey, WrittenNode};
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::search::{IndexEntry, NodeWords};
use crate::storage::FactKey;
use crate::storage::snapshot::{Depth, Snapshot, Transaction};
use crate::storage::{DecisionReads, JournalEntry};
use std::sync::Arc;

impl Overlay<'_> {
    fn touch(&mut self, keys: impl IntoIterator<Item = FactKey>) {
        self.progress += 1;
        self.writes.touched.extend(keys);
    }

    fn touch_edge(&mut self, (src, rel, dst): EdgeKey) {
        self.touch(FactKey::of_edge(src, rel, dst));
        self.changed_lists.add((src, rel, dst));
    }
}

impl Transaction for Overlay<'_> {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError> {
        let (mut is_new, mut seq) = (node.version == 1, seq);
        if let Some(written) = self.writes.nodes.get(&node.gid)
            && written.is_new
        {
            (is_new, seq) = (true, written.seq);
        }
        self.touch(FactKey::of_node(node, is_new));
        let written = WrittenNode {
            node: Arc::new(node.clone()),
            seq,
            is_new,
        };
        self.writes.nodes.insert(node.gid, written);
        Ok(())
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError> {
        let Some(node) = self.live_node(gid, Depth::Head) else {
            return Ok(());
        };
        self.touch(FactKey::of_trashed(gid, node.workspace, node.ty));
        // The node leaves the lists that its edges lead into.
        let mut edges = Vec::new();
        let (lo, hi) = (Relation(0), Relation(u8::MAX));
        let each = &mut |edge: Edge, _| edges.push((edge.dst, edge.rel));
        self.edges_out(gid, lo, hi, Depth::Edge, each)?;
        let lists = edges.into_iter();
        self.touch(lists.map(|(dst, rel)| FactKey::list(dst, rel)));
        self.writes.index_entries.remove(&gid);
        self.writes.trashed.insert(gid, seq);
        Ok(())
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let key = (edge.src, edge.rel, edge.dst);
        self.touch_edge(key);
        self.writes.dropped_edges.remove(&key);
        self.writes.edges.insert(key, *edge);
        Ok(())
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        let key = (src, rel, dst);
        let is_there = self.edge_between(src, rel, dst)?.is_some();
        if is_there {
            self.touch_edge(key);
            self.writes.edges.remove(&key);
            self.writes.dropped_edges.insert(key);
        }
        Ok(is_there)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        if self.alias(key)?.is_some_and(|holder| holder != gid) {
            return Err(GraphStoreError::AliasTaken(key.to_owned()));
        }
        self.touch([FactKey::alias(key)]);
        self.writes.aliases.insert(key.to_owned(), gid);
        Ok(())
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        self.touch([FactKey::alias(key)]);
        if self.writes.aliases.get(key) == Some(&gid) {
            self.writes.aliases.remove(key);
        }
        self.writes.dropped_aliases.insert((key.to_owned(), gid));
        Ok(())
    }

    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_values(node, field));
        let mut keys = keys.to_vec();
        keys.sort();
        keys.dedup();
        self.writes.values.insert((node, field), keys);
        Ok(())
    }

    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError> {
        self.touch(FactKey::of_entry(entry));
        let written = (*entry, text.clone());
        self.writes.index_entries.insert(entry.gid, written);
        Ok(())
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        self.progress += 1;
        self.writes.journal.push(event.clone());
        Ok(())
    }

    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError> {
        self.progress += 1;
        self.writes.audit_rows.push(row);
        Ok(())
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, GraphStoreError> {
        Ok(match self.base.ask(GraphRead::AppName(app)) {
            Some(GraphAnswer::Name(name)) => name,
            _ => None,
        })
    }

    fn holds(&mut self, reads: &DecisionReads) -> Result<bool, GraphStoreError> {
        let is_touched = |key| self.writes.touched.contains(key);
        let holds = self.base.holds(reads) && !reads.keys.iter().any(is_touched);
        // The result may differ in another state, so the commit depends on these keys.
        self.writes.reads.extend(&reads.keys);
        Ok(holds)
    }

    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError> {
        self.touch([FactKey::viewers()]);
        self.writes.invalidates_viewers = true;
        Ok(())
    }
}

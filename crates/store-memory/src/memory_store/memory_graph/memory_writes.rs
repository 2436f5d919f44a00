//! Changes of the graph in memory, and the undo step of each.
use super::{MemoryGraph, StoredNode, Undo};
use workgraph_core::audit::AuditRow;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Snapshot, Transaction};
use workgraph_core::storage::{DecisionReads, Edge, FactKey, GraphStoreError, JournalEntry, Seq};

impl Transaction for MemoryGraph {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError> {
        self.touches.add(FactKey::of_node(node, node.version == 1));
        let old = self.nodes.remove(&node.gid);
        // The next version of a trashed node is trashed too.
        let (created, trashed) = old
            .as_ref()
            .map_or((seq, false), |stored| (stored.created, stored.trashed));
        self.nodes.insert(
            node.gid,
            StoredNode {
                node: node.clone(),
                created,
                trashed,
            },
        );
        self.undo.push(Undo::Node(node.gid, old));
        Ok(())
    }

    fn trash_node(&mut self, gid: Gid, _seq: Seq) -> Result<(), GraphStoreError> {
        if let Some(stored) = self.nodes.get_mut(&gid).filter(|stored| !stored.trashed) {
            stored.trashed = true;
            let (workspace, ty) = (stored.node.workspace, stored.node.ty);
            self.undo.push(Undo::Trash(gid));
            self.touches.add(FactKey::of_trashed(gid, workspace, ty));
            let edges = self.leaving(gid, Relation(0), Relation(u8::MAX));
            let lists = edges.map(|edge| FactKey::list(edge.dst, edge.rel));
            let lists: Vec<FactKey> = lists.collect();
            self.touches.add(lists);
            let entry = self.entries.remove(&gid);
            self.undo.push(Undo::Entry(gid, entry));
        }
        Ok(())
    }

    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError> {
        if self.old_entries && self.entries.contains_key(&entry.gid) {
            return Ok(());
        }
        self.touches.add(FactKey::of_entry(entry));
        let old = self.entries.insert(entry.gid, (*entry, text.clone()));
        self.undo.push(Undo::Entry(entry.gid, old));
        Ok(())
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let key = (edge.src, edge.rel, edge.dst);
        self.touches.add(FactKey::of_edge(key.0, key.1, key.2));
        let old = self.swap_edge(key, Some(*edge));
        self.undo.push(Undo::Edge(key, old));
        Ok(())
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        let old = self.swap_edge((src, rel, dst), None);
        let was_there = old.is_some();
        if was_there {
            self.touches.add(FactKey::of_edge(src, rel, dst));
        }
        self.undo.push(Undo::Edge((src, rel, dst), old));
        Ok(was_there)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        // A trashed node loses its aliases.
        if self.alias(key)?.is_some_and(|holder| holder != gid) {
            return Err(GraphStoreError::AliasTaken(key.to_owned()));
        }
        self.touches.add([FactKey::alias(key)]);
        let old = self.aliases.insert(key.to_owned(), gid);
        self.undo.push(Undo::Alias(key.to_owned(), old));
        Ok(())
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        if self.aliases.get(key) == Some(&gid) {
            self.touches.add([FactKey::alias(key)]);
            let old = self.aliases.remove(key);
            self.undo.push(Undo::Alias(key.to_owned(), old));
        }
        Ok(())
    }

    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError> {
        self.touches.add(FactKey::of_values(node, field));
        let old = if keys.is_empty() {
            self.values.remove(&(node, field))
        } else {
            self.values
                .insert((node, field), keys.iter().cloned().collect())
        };
        self.undo.push(Undo::Values((node, field), old));
        Ok(())
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        self.journal.push(event.clone());
        let touched = self.touches.committed.len();
        self.undo.push(Undo::Append(touched));
        self.touches.commit(event.seq);
        Ok(())
    }

    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError> {
        let last = self.audit.last().map(|last| (last.gid, last.time));
        self.audit.push(row.appended_after(last));
        self.undo.push(Undo::Record);
        Ok(())
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, GraphStoreError> {
        Ok(self.apps.get(&app).cloned())
    }

    fn holds(&mut self, reads: &DecisionReads) -> Result<bool, GraphStoreError> {
        Ok(self.touches.hold(reads))
    }

    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError> {
        self.touches.add([FactKey::viewers()]);
        Ok(())
    }
}

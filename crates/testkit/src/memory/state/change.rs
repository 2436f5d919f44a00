//! Changing the state, and how to undo each change.
use super::{Held, State, Undo};
use workgraph_core::audit::Row;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, Event, Seq, StoreError};
use workgraph_core::index::Key;
use workgraph_core::node::Node;
use workgraph_core::registry::Rel;
use workgraph_core::search::{Card, Text};
use workgraph_core::snapshot::{Snapshot, Transaction};

impl Transaction for State {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), StoreError> {
        let old = self.nodes.remove(&node.gid);
        // The next version of a trashed node is trashed too.
        let (created, trashed) = old
            .as_ref()
            .map_or((seq, false), |held| (held.created, held.trashed));
        self.nodes.insert(
            node.gid,
            Held {
                node: node.clone(),
                created,
                trashed,
            },
        );
        self.undo.push(Undo::Node(node.gid, old));
        Ok(())
    }

    fn trash_node(&mut self, gid: Gid, _seq: Seq) -> Result<(), StoreError> {
        if let Some(held) = self.nodes.get_mut(&gid).filter(|held| !held.trashed) {
            held.trashed = true;
            self.undo.push(Undo::Trash(gid));
            let card = self.cards.remove(&gid);
            self.undo.push(Undo::Card(gid, card));
        }
        Ok(())
    }

    fn put_card(&mut self, card: &Card, text: &Text) -> Result<(), StoreError> {
        if self.old_cards && self.cards.contains_key(&card.gid) {
            return Ok(());
        }
        let old = self.cards.insert(card.gid, (*card, text.clone()));
        self.undo.push(Undo::Card(card.gid, old));
        Ok(())
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), StoreError> {
        let key = (edge.src, edge.rel, edge.dst);
        let old = self.swap_edge(key, Some(*edge));
        self.undo.push(Undo::Edge(key, old));
        Ok(())
    }

    fn drop_edge(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError> {
        let old = self.swap_edge((src, rel, dst), None);
        let was_there = old.is_some();
        self.undo.push(Undo::Edge((src, rel, dst), old));
        Ok(was_there)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError> {
        // A trashed node does not hold its names any more.
        if self.alias(key)?.is_some_and(|holder| holder != gid) {
            return Err(StoreError::Taken(key.to_owned()));
        }
        let old = self.aliases.insert(key.to_owned(), gid);
        self.undo.push(Undo::Alias(key.to_owned(), old));
        Ok(())
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError> {
        if self.aliases.get(key) == Some(&gid) {
            let old = self.aliases.remove(key);
            self.undo.push(Undo::Alias(key.to_owned(), old));
        }
        Ok(())
    }

    fn put_values(&mut self, node: Gid, field: Gid, keys: &[Key]) -> Result<(), StoreError> {
        let old = if keys.is_empty() {
            self.values.remove(&(node, field))
        } else {
            self.values
                .insert((node, field), keys.iter().cloned().collect())
        };
        self.undo.push(Undo::Values((node, field), old));
        Ok(())
    }

    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        self.journal.push(event.clone());
        self.undo.push(Undo::Append);
        Ok(())
    }

    fn record(&mut self, row: Row) -> Result<(), StoreError> {
        let last = self.audit.last().map(|last| (last.gid, last.at));
        self.audit.push(row.after(last));
        self.undo.push(Undo::Record);
        Ok(())
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, StoreError> {
        Ok(self.apps.get(&app).cloned())
    }

    fn viewers_changed(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

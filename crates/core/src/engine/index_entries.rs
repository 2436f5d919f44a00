//! Upkeep of the index entries that search reads.
use crate::graph_store_error::GraphStoreError;
use crate::model::custom_field_values;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type, rel};
use crate::model::resources::custom_field;
use crate::search::{IndexEntry, NodeWords, is_searchable};
use crate::storage::custom_field_index::ValueIndexEntry;
use crate::storage::snapshot::{Depth, Snapshot, Transaction};
use crate::storage::{Changes, NodeWrite};

/// Returns true if edges of this relation change the index entries of their ends.
pub(crate) fn is_indexed_relation(of: Relation) -> bool {
    matches!(of, rel::PARENT | rel::LIKES | rel::DEPENDS)
}

/// Builds the index entry of a live node that was read in full, with its words.
///
/// # Errors
/// Fails if the store fails.
pub fn build_entry(
    snap: &mut dyn Snapshot,
    node: &Node,
) -> Result<(IndexEntry, NodeWords), GraphStoreError> {
    let text = NodeWords::of(node);
    let mut entry = IndexEntry::of(node, &text);
    if node.ty == Type::Task {
        let each = &mut |edge: Edge, _| match edge.rel {
            rel::PARENT => entry.is_subtask = true,
            rel::LIKES => entry.likes += 1,
            rel::DEPENDS => entry.is_blocked = true,
            _ => {}
        };
        snap.edges_out(node.gid, rel::PARENT, rel::DEPENDS, Depth::Edge, each)?;
        entry.is_blocking = snap.count_in(node.gid, rel::DEPENDS)? > 0;
    }
    Ok((entry, text))
}

/// Writes the index entry of a node anew, if it is live and searchable.
///
/// # Errors
/// Fails if the store fails.
pub fn update_entry(txn: &mut dyn Transaction, gid: Gid) -> Result<(), GraphStoreError> {
    let node = txn.node(gid, Depth::Full)?;
    let Some(node) = node.filter(|n| is_searchable(n.ty)) else {
        return Ok(());
    };
    let (entry, text) = build_entry(txn, &node)?;
    txn.put_index_entry(&entry, &text)
}

/// Writes the index entry of a node anew after changes to it or its edges were written, if it is live and searchable.
///
/// A new node is not read: its fields and edges are those that the changes give it.
pub(super) fn update_written(
    txn: &mut dyn Transaction,
    changes: &Changes,
    gid: Gid,
) -> Result<(), GraphStoreError> {
    let Some(node) = added(changes, gid) else {
        return update_entry(txn, gid);
    };
    let is_linked = changes
        .edge_writes
        .iter()
        .any(|link| is_indexed_relation(link.rel) && (link.src == gid || link.dst == gid));
    let (entry, text) = if is_linked {
        build_entry(txn, node)?
    } else {
        let text = NodeWords::of(node);
        (IndexEntry::of(node, &text), text)
    };
    txn.put_index_entry(&entry, &text)
}

/// Returns a searchable node that the changes add, and do not trash again.
fn added(changes: &Changes, gid: Gid) -> Option<&Node> {
    let of_gid = |put: &&NodeWrite| put.node.gid == gid;
    let node = &changes.node_writes.iter().rfind(of_gid)?.node;
    let is_live = changes.trashed.is_empty();
    (is_live && node.version == 1 && is_searchable(node.ty)).then_some(node)
}

/// Returns the keys of the values of custom fields that a task has. `head` returns the head of a field, live or not, and
/// `None` if there never was such a field: its value has no keys.
///
/// # Errors
/// Fails as `head` does.
pub fn value_entries<E>(
    task: &Node,
    mut head: impl FnMut(Gid) -> Result<Option<String>, E>,
) -> Result<Vec<ValueIndexEntry>, E> {
    let object = task.raw("custom_fields").unwrap_or("{}");
    let mut entries = Vec::new();
    for (field, value) in custom_field_values::stored_values(object) {
        if let Some(head) = head(field)? {
            entries.push(ValueIndexEntry {
                node: task.gid,
                field,
                keys: custom_field_values::keys(custom_field::kind_of(&head), value),
            });
        }
    }
    Ok(entries)
}

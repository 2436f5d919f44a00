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

/// Rewrites the index entry of a node, if it is live and searchable.
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

/// Returns the keys of a task's custom field values. `head` returns the head of a field, live or not, and `None` if the field
/// never existed; its value then has no keys.
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

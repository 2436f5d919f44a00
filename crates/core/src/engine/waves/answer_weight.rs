//! Approximate sizes of answers in memory.
use super::graph_read::GraphAnswer;
use crate::model::edge::Edge;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::search::IndexEntry;
use std::sync::Arc;

/// Bytes that an entry takes besides its answer: its read, its keys and their places in the tables.
pub(super) const ENTRY_BYTES: usize = 256;

/// Returns the bytes that a node takes.
pub(super) fn weight_of(node: &Arc<Node>) -> usize {
    size_of::<Node>() + node.head.len() + node.body.len()
}

/// Returns the bytes that an answer takes.
pub(super) fn weight(answer: &GraphAnswer) -> usize {
    let maybe =
        |known: &Option<Arc<Node>>| size_of::<Arc<Node>>() + known.as_ref().map_or(0, weight_of);
    let key = |key: &IndexKey| {
        let text = match key {
            IndexKey::Number(_) => 0,
            IndexKey::Text(text) => text.len(),
        };
        size_of::<IndexKey>() + text
    };
    match answer {
        GraphAnswer::Node(known) => maybe(known),
        GraphAnswer::Edges(edges) => {
            let edges = edges.iter();
            edges.map(|(_, node)| size_of::<Edge>() + maybe(node)).sum()
        }
        GraphAnswer::Rows(rows) => {
            let row = |out: &Vec<Edge>| (1 + out.len()) * size_of::<Edge>();
            rows.iter()
                .map(|(_, far, out)| row(out) + weight_of(far))
                .sum()
        }
        GraphAnswer::Nodes(nodes) => nodes.iter().map(|(.., node)| 16 + maybe(node)).sum(),
        GraphAnswer::Gids(gids) => gids.len() * 8,
        GraphAnswer::Listed(rows) => rows.len() * 24,
        GraphAnswer::Values(values) => values.iter().map(|(value, _)| 8 + key(value)).sum(),
        GraphAnswer::Keys(keys) => keys.iter().map(key).sum(),
        GraphAnswer::Entries(entries) => entries.len() * size_of::<IndexEntry>(),
        GraphAnswer::Name(name) => name.as_ref().map_or(0, String::len),
        GraphAnswer::ColumnSets(sets) => sets.len() * 2,
        GraphAnswer::Gid(_)
        | GraphAnswer::Edge(_)
        | GraphAnswer::Count(_)
        | GraphAnswer::Entry(_) => 0,
    }
}

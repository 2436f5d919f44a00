//! Reactions as nodes, which are built from the edges of likes and never stored.
use crate::model::draft::Draft;
use crate::model::edge::Edge;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::reaction::USER;

/// Returns the reaction for the edge of a like, or `None` if the edge has no gid for it.
#[must_use]
pub fn of_like(edge: &Edge) -> Option<Node> {
    let mut draft = Draft::new(Type::Reaction, edge.aux?, None);
    draft.set(USER, edge.dst);
    Some(draft.finish())
}

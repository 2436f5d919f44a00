//! The look-ups that the access rules need.
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use std::sync::Arc;

/// Look-ups that the access rules need. Stores answer from one snapshot, tests from a table.
pub trait AccessLookup {
    /// Returns the live node, with its body.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn lookup_node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError>;
    /// Returns the edges of one relation that start at the node.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn lookup_edges(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Edge>, GraphStoreError>;
    /// Returns the edge of a relation between two nodes, if it exists.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn lookup_edge(
        &mut self,
        source: Gid,
        rel: Relation,
        target: Gid,
    ) -> Result<Option<Edge>, GraphStoreError>;
    /// Returns true if the edge of a relation between two nodes exists.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn is_linked(
        &mut self,
        source: Gid,
        rel: Relation,
        target: Gid,
    ) -> Result<bool, GraphStoreError> {
        Ok(self.lookup_edge(source, rel, target)?.is_some())
    }
    /// Returns the live teams that a user belongs to.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn teams_of(&mut self, user: Gid) -> Result<Vec<Gid>, GraphStoreError>;
}

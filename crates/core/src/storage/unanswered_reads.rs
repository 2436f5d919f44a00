//! Unanswered reads: reads of a decision that its query did not request.
use super::{NodeRef, ReadQuery};
use crate::model::gid::Gid;
use crate::model::registry::Relation;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of edges into a node that are read for a decision whose query did not ask for them: more than any rule
/// counts.
const EDGES_MAX: usize = 1_001;

/// Read of a decision that its view does not answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnansweredRead {
    /// A node with the viewer's level on it.
    Node(NodeRef),
    /// Edges of a relation from a node.
    EdgesOut(Gid, Relation),
    /// Edges of a relation into a node.
    EdgesIn(Gid, Relation),
    /// Edges of a relation into a node with ranks from the first to the last number.
    EdgesBetween(Gid, Relation, i64, i64),
    /// The edge between two nodes.
    Edge(Gid, Relation, Gid),
    /// The number of live nodes with an edge of a relation into a node.
    Count(Gid, Relation),
    /// Nodes that can be reached from a node along edges of a relation.
    Reachable(Gid, Relation),
    /// The number of levels of subtasks below a node.
    SubtaskDepth(Gid),
}

/// Reads of one decision that its view does not answer, each once.
#[derive(Clone, Default, Debug)]
pub(crate) struct UnansweredReads(Arc<Mutex<Vec<UnansweredRead>>>);

impl UnansweredReads {
    /// Adds a read that the view does not answer.
    pub(crate) fn add(&self, read: UnansweredRead) {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    /// Returns the reads without an answer.
    pub(crate) fn into_reads(self) -> Vec<UnansweredRead> {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut reads)
    }
}

impl ReadQuery {
    /// Adds reads of a decision that the query did not request.
    pub fn extend(&mut self, reads: Vec<UnansweredRead>) {
        for read in reads {
            match read {
                UnansweredRead::Node(node) => {
                    self.add_ref(node);
                }
                UnansweredRead::EdgesOut(gid, rel) => {
                    let at = self.add_ref(gid);
                    self.out.push((at, rel));
                }
                UnansweredRead::EdgesIn(gid, rel) => {
                    let at = self.add_ref(gid);
                    self.incoming_edges.push((at, rel, EDGES_MAX));
                }
                UnansweredRead::EdgesBetween(gid, rel, first, last) => {
                    let at = self.add_ref(gid);
                    self.between.push((at, rel, (first, last), EDGES_MAX));
                }
                UnansweredRead::Edge(source, rel, target) => {
                    let (source, target) = (self.add_ref(source), self.add_ref(target));
                    self.linked.push((source, rel, target));
                }
                UnansweredRead::Count(gid, rel) => {
                    let at = self.add_ref(gid);
                    self.counts.push((at, rel));
                }
                UnansweredRead::Reachable(gid, rel) => {
                    let at = self.add_ref(gid);
                    self.reachable.push((at, rel));
                }
                UnansweredRead::SubtaskDepth(gid) => {
                    let at = self.add_ref(gid);
                    self.heights.push(at);
                }
            }
        }
    }
}

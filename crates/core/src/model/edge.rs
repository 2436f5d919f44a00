//! Edges of the graph, with their ranks and auxiliary nodes.
use crate::model::gid::Gid;
use crate::model::registry::Relation;

/// A commit sequence number: 1 for the first commit, without gaps, in commit order.
pub type Seq = u64;

/// Directed association of two nodes, perhaps with an auxiliary node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// Node at which it starts.
    pub src: Gid,
    /// Kind of the edge.
    pub rel: Relation,
    /// Node to which it leads.
    pub dst: Gid,
    /// Position in the target's list, or a small number that the relation defines.
    pub rank: i64,
    /// Number of the commit that made it.
    pub seq: Seq,
    /// Gid of the auxiliary node.
    pub aux: Option<Gid>,
}

//! State that a writing transaction keeps between its writes.
use workgraph_audit::ChainPosition;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;

/// Last row of the log.
#[derive(Clone, Copy)]
pub(crate) struct AuditLogEnd {
    pub(crate) gid: Gid,
    pub(crate) at: Time,
    pub(crate) mark: ChainPosition,
}

/// Words of a node to write.
#[derive(Debug)]
pub(crate) struct PendingWords {
    pub(crate) gid: i64,
    /// True if the table already has words of the node.
    pub(crate) replaces: bool,
    /// New words of the node's name, and of its description.
    pub(crate) text: Option<(String, String)>,
}

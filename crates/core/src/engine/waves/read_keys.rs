//! Fact keys of reads.
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use crate::storage::FactKey;
use crate::storage::snapshot::Depth;

impl Facts {
    /// Visits the keys of a read that these facts answer.
    pub fn keys_of(&self, read: &GraphRead, each: &mut dyn FnMut(FactKey)) {
        if let Some(answer) = self.answer(read) {
            read.keys(&answer, each);
        }
    }
}

impl GraphRead {
    /// Visits the keys of the read with this answer: as long as none of them is touched, the answer stays the same.
    pub fn keys(&self, answer: &GraphAnswer, each: &mut dyn FnMut(FactKey)) {
        use GraphRead as R;
        let mut reads_nodes = true;
        match self {
            R::Alias(key) => each(FactKey::alias(key)),
            R::Node { gid, .. } | R::IndexEntry { gid, .. } | R::KeysOf { node: gid, .. } => {
                each(FactKey::node(*gid));
                return;
            }
            R::EdgeBetween { src, .. } => {
                each(FactKey::node(*src));
                return;
            }
            R::EdgesOut { src, depth, .. } => {
                each(FactKey::node(*src));
                reads_nodes = *depth > Depth::Edge;
            }
            // Edges to trashed nodes are left out at any depth.
            R::ScanOut { src, .. } => each(FactKey::node(*src)),
            R::ScanIn {
                dst, rel, depth, ..
            } => {
                each(FactKey::list(*dst, *rel));
                reads_nodes = *depth > Depth::Edge;
            }
            R::ScanInOut { dst, rel, .. } => each(FactKey::list(*dst, *rel)),
            R::ListIn { dst, rel, .. }
            | R::LastEdgeBefore { dst, rel, .. }
            | R::CountIn { dst, rel } => {
                each(FactKey::list(*dst, *rel));
                return;
            }
            R::ScanWorkspace {
                workspace,
                ty,
                depth,
                ..
            } => {
                each(FactKey::workspace(*workspace, *ty));
                reads_nodes = *depth > Depth::Edge;
            }
            R::ScanValues { field, .. } => each(FactKey::values(*field)),
            R::ListIndexEntries { workspace, ty, .. }
            | R::ColumnSets { workspace, ty }
            | R::ListPrefixMatches { workspace, ty, .. }
            | R::ScanWords { workspace, ty, .. } => {
                each(FactKey::entries(*workspace, *ty));
                return;
            }
            R::ScanIndexEntries(scan) => {
                each(FactKey::entries(scan.workspace, scan.ty));
                return;
            }
            // Names of apps are not part of the graph.
            R::AppName(_) => return,
        }
        if !reads_nodes {
            return;
        }
        let is_out = matches!(self, R::EdgesOut { .. } | R::ScanOut { .. });
        let mut node = |gid| each(FactKey::node(gid));
        match answer {
            GraphAnswer::Gid(gid) => gid.iter().for_each(|gid| node(*gid)),
            GraphAnswer::Edges(edges) => edges
                .iter()
                .for_each(|(edge, _)| node(if is_out { edge.dst } else { edge.src })),
            GraphAnswer::Rows(rows) => rows.iter().for_each(|(edge, ..)| node(edge.src)),
            GraphAnswer::Nodes(nodes) => nodes.iter().for_each(|(gid, ..)| node(*gid)),
            GraphAnswer::Values(values) => values.iter().for_each(|(_, gid)| node(*gid)),
            _ => {}
        }
    }
}

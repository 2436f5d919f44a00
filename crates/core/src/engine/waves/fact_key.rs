//! Fact keys: names of the parts of the graph that a read depends on and a commit touches.
//!
//! The law: if a commit touched no key of a read, the answer is the same before and after the commit.
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use crate::model::gid::Gid;
use crate::model::registry::{Relation, Type};
use crate::storage::snapshot::Depth;

/// Key of a part of the graph: positive for a node with its outgoing edges; negative, a hash, for a list, an alias or an index.
/// Two parts with the same hash only cause needless reads. Keys are stored, so they are the same on every machine and in every
/// version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FactKey(i64);

/// Kinds of keys that are hashes. Numbers are stored.
#[derive(Clone, Copy)]
enum HashedKind {
    List = 1,
    Alias = 2,
    Workspace = 3,
    Values = 4,
    Entries = 5,
}

impl FactKey {
    /// Returns the key with a number that was stored.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number by which the key is stored.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the key of a node, its custom field values, its index entry and its outgoing edges.
    #[must_use]
    pub const fn node(gid: Gid) -> Self {
        Self(gid.as_i64())
    }

    /// Returns the key of the list of a relation into a node.
    #[must_use]
    pub fn list(dst: Gid, rel: Relation) -> Self {
        Self::hashed(HashedKind::List, &[dst.get(), u64::from(rel.0)], "")
    }

    /// Returns the key of an alias.
    #[must_use]
    pub fn alias(key: &str) -> Self {
        Self::hashed(HashedKind::Alias, &[], key)
    }

    /// Returns the key of the list of a workspace's nodes of a type.
    #[must_use]
    pub fn workspace(workspace: Gid, ty: Type) -> Self {
        Self::hashed(HashedKind::Workspace, &[workspace.get(), ty as u64], "")
    }

    /// Returns the key of the values of a custom field.
    #[must_use]
    pub fn values(field: Gid) -> Self {
        Self::hashed(HashedKind::Values, &[field.get()], "")
    }

    /// Returns the key of the index entries of a type in a workspace.
    #[must_use]
    pub fn entries(workspace: Option<Gid>, ty: Type) -> Self {
        let workspace = workspace.map_or(0, Gid::get);
        Self::hashed(HashedKind::Entries, &[workspace, ty as u64], "")
    }

    fn hashed(kind: HashedKind, numbers: &[u64], text: &str) -> Self {
        // FNV-1a.
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        let bytes = std::iter::once(kind as u8)
            .chain(numbers)
            .chain(text.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self((hash | 1 << 63).cast_signed())
    }
}

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

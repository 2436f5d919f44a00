//! Fact keys: names of the parts of the graph that a read depends on and a commit touches.
//!
//! The law: if a commit touched no key of a read, the answer is the same before and after the commit.
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::IndexEntry;

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
    Viewers = 6,
}

impl FactKey {
    /// Returns the key with a stored number.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns the stored number of the key.
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

    /// Returns the key of the reads that look up an alias.
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

    /// Returns the key of all viewers. A change of any membership touches it.
    #[must_use]
    pub fn viewers() -> Self {
        Self::hashed(HashedKind::Viewers, &[], "")
    }

    /// Returns the keys that writing a node touches.
    pub fn of_node(node: &Node, is_new: bool) -> impl Iterator<Item = Self> + use<> {
        let listed = node.workspace.filter(|_| is_new);
        let listed = listed.map(|workspace| Self::workspace(workspace, node.ty));
        std::iter::once(Self::node(node.gid)).chain(listed)
    }

    /// Returns the keys that removing a node touches, besides the keys of the lists that its edges lead into.
    pub fn of_trashed(
        gid: Gid,
        workspace: Option<Gid>,
        ty: Type,
    ) -> impl Iterator<Item = Self> + use<> {
        let listed = workspace.map(|workspace| Self::workspace(workspace, ty));
        [Self::node(gid), Self::entries(workspace, ty)]
            .into_iter()
            .chain(listed)
    }

    /// Returns the keys that writing or removing an edge touches.
    #[must_use]
    pub fn of_edge(src: Gid, rel: Relation, dst: Gid) -> [Self; 2] {
        [Self::node(src), Self::list(dst, rel)]
    }

    /// Returns the keys that writing a node's values of a custom field touches.
    #[must_use]
    pub fn of_values(node: Gid, field: Gid) -> [Self; 2] {
        [Self::node(node), Self::values(field)]
    }

    /// Returns the keys that writing an index entry touches.
    #[must_use]
    pub fn of_entry(entry: &IndexEntry) -> [Self; 2] {
        let entries = Self::entries(entry.workspace, entry.ty);
        [Self::node(entry.gid), entries]
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

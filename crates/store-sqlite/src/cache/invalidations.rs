//! Invalidations: the cached values that the writes of a transaction outdate, collected during the writes.
use rustc_hash::FxHashSet;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Relation;

/// Kind of invalidation: the write, or the cache whose entries are outdated all at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InvalidationKind {
    /// A node or its index entry was written: both are outdated.
    NodePut,
    /// A node was trashed: the node is outdated. Its edges stay; lists skip the node when they are read.
    NodeTrashed,
    /// An edge was written: the edges of its source are outdated.
    EdgePut,
    /// An edge was dropped: the edges of its source are outdated.
    EdgeDropped,
    /// An edge of a short relation was written: the list into its target is outdated.
    ListPut,
    /// An edge of a short relation was dropped: the list into its target is outdated.
    ListDropped,
    /// Something was committed: kept snapshots are outdated.
    Snapshots,
    /// A membership was changed.
    Viewers,
    /// A token, or its app, authorization or account was changed. This also outdates refresh tokens and apps.
    Tokens,
    RefreshTokens,
    Apps,
}

/// Kinds of invalidation that are omitted: none, except in a test which checks that other tests detect the omission.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Omissions(#[cfg(test)] pub(super) &'static [InvalidationKind]);

impl Omissions {
    #[cfg(test)]
    pub(super) fn contains(self, kind: InvalidationKind) -> bool {
        self.0.contains(&kind)
    }

    #[cfg(not(test))]
    pub(super) const fn contains(self, _: InvalidationKind) -> bool {
        false
    }
}

/// Cached values that the writes of a transaction outdate. A job that is undone may leave gids in it: that costs only a read.
#[derive(Debug, Default)]
pub(crate) struct Invalidations {
    gids: FxHashSet<Gid>,
    /// True if memberships were changed.
    pub(crate) viewers: bool,
    /// True if tokens, or their apps, authorizations or accounts were changed.
    pub(crate) tokens: bool,
    omissions: Omissions,
}

impl Invalidations {
    pub(super) fn new(omissions: Omissions) -> Self {
        Self {
            omissions,
            ..Self::default()
        }
    }

    /// Returns the gids with an outdated part: nodes, index entries, sources of edges, and targets of short relations.
    pub(super) fn gids(&self) -> &FxHashSet<Gid> {
        &self.gids
    }

    /// Returns true if a part of a gid is outdated.
    pub(crate) fn contains(&self, gid: Gid) -> bool {
        self.gids.contains(&gid)
    }

    fn add(&mut self, kind: InvalidationKind, gid: Gid) {
        if !self.omissions.contains(kind) {
            self.gids.insert(gid);
        }
    }

    /// Records that a node or its index entry was written.
    pub(crate) fn node_put(&mut self, gid: Gid) {
        self.add(InvalidationKind::NodePut, gid);
    }

    /// Records that a node was trashed.
    pub(crate) fn node_trashed(&mut self, gid: Gid) {
        self.add(InvalidationKind::NodeTrashed, gid);
    }

    /// Records that an edge was written.
    pub(crate) fn edge_put(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.add(InvalidationKind::EdgePut, src);
        if rel.is_short() {
            self.add(InvalidationKind::ListPut, dst);
        }
    }

    /// Records that an edge was dropped.
    pub(crate) fn edge_dropped(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.add(InvalidationKind::EdgeDropped, src);
        if rel.is_short() {
            self.add(InvalidationKind::ListDropped, dst);
        }
    }
}

//! Caches as seen by one transaction: the node cache at the state that the transaction shows, and in front of it the hot cache of
//! its connection.
use super::hot_cache::HotCache;
use super::node_cache::{CachedPart, NodeCache, StateNumber};
use workgraph_core::model::gid::Gid;

/// Node cache at the state that a transaction shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCacheView<'c> {
    nodes: &'c NodeCache,
    state: StateNumber,
}

impl SharedCacheView<'_> {
    /// Keeps a complete part, as the transaction read it.
    pub(crate) fn keep<P: CachedPart>(&self, gid: Gid, part: &P) {
        self.nodes.keep(gid, part, self.state);
    }

    /// Records that the page beginning with this node was read. Returns true if it was read recently.
    pub(crate) fn is_read_again(&self, first: Gid) -> bool {
        self.nodes.again(first)
    }
}

/// Caches of one transaction; none by default, so that everything is read from SQLite.
#[derive(Debug, Default)]
pub(crate) struct CacheView<'c> {
    /// Node cache; `None` if nothing is cached.
    pub(crate) shared: Option<SharedCacheView<'c>>,
    /// Hot cache of the connection; also `None` if nothing is cached.
    hot: Option<&'c mut HotCache>,
}

impl<'c> CacheView<'c> {
    pub(super) fn new(
        nodes: Option<&'c NodeCache>,
        state: StateNumber,
        hot: Option<&'c mut HotCache>,
    ) -> Self {
        Self {
            shared: nodes.map(|nodes| SharedCacheView { nodes, state }),
            hot: hot.filter(|_| nodes.is_some()),
        }
    }

    /// Returns a part of a gid: from the hot cache, or else from the node cache.
    pub(crate) fn get<P: CachedPart + Clone>(&mut self, gid: Gid) -> Option<P> {
        let shared = self.shared;
        let find = || shared.and_then(|shared| shared.nodes.get(gid, shared.state));
        let Some(hot) = &mut self.hot else {
            return find();
        };
        hot.get(gid).or_else(|| {
            let part = find()?;
            hot.record_access(gid, &part);
            Some(part)
        })
    }
}

//! Caches of the store: all data that it keeps between two transactions, behind [`StoreCaches`].
//!
//! ```text
//!  a load of nodes                               a look-up of a token or an app         a refresh, in the writer
//!    │                                             │                                      │
//!    ▼                                             ▼                                      ▼
//!  viewers ─── miss ──┐                          tokens, apps ─── miss ──┐              refresh tokens ─── miss ──┐
//!                     ▼                                                  ▼                                        ▼
//!  kept snapshot of a connection; none, or not the newest: a new one (BEGIN)                  transaction of the writer
//!    │ each node, its outgoing edges, its short lists, its index entry       │ anything else      │ nodes not written
//!    ▼                                                                       │                    │ in it
//!  hot cache of the connection ─── miss ──┐                                  │                    │
//!                                         ▼                                  │                    │
//!  node cache of the store  ◄────────────────────────────────────────────────┼────────────────────┘
//!    │ miss                                                                  │
//!    ▼                                                                       ▼
//!  SQLite: statements that were prepared once, pages of a mapped file
//! ```
//!
//! | Cache | Read by | Outdated by | Bound |
//! |---|---|---|---|
//! | viewers ([`EpochCache`]) | all readers | a commit that changes memberships | 10,000 viewers |
//! | tokens, apps ([`EpochCache`]) | all readers | a commit that changes a token, or its app, authorization or account | 10,000 each, none longer than its row |
//! | refresh tokens ([`EpochCache`]) | the writer | the same | 10,000 |
//! | kept snapshots ([`KeptSnapshots`]) | the connection that took it | any commit; a log that starts over | one for each reading connection |
//! | hot cache ([`HotCache`]) | the connection of the snapshot | the end of the snapshot | 256 gids with three parts of 4 KiB at most and an index entry: 3 MiB for each connection |
//! | node cache ([`node_cache`]) | all readers; the writer, for nodes that it has not written yet | a commit that writes the node, its index entry, an edge from it or an edge of a short list into it | `StoreOptions::node_cache_bytes` |
//!
//! A write collects the entries that it outdates in [`Invalidations`]. Caches do not affect access: they hold the same data as
//! the tables, and the access rules are applied to everything that is read, from any source. Viewers are looked up by their own
//! key, tokens by their digest.
//!
//! With `StoreOptions::caches` off, the caches have no room and no snapshot is kept: every read begins a snapshot and is answered
//! by SQLite. The switch is checked when the store is opened, not at each use of a cache.
mod cache_view;
mod epoch_cache;
mod hot_cache;
mod invalidations;
mod kept_snapshots;
pub(crate) mod node_cache;

pub(crate) use self::cache_view::{CacheView, SharedCacheView};
pub(crate) use self::epoch_cache::EpochCache;
pub(crate) use self::hot_cache::HotCache;
pub(crate) use self::invalidations::Invalidations;
use self::invalidations::{InvalidationKind, Omissions};
pub(crate) use self::kept_snapshots::{KeptSnapshots, OpenSnapshot};
use self::node_cache::{NodeCache, OutEdges, StateNumber};
use crate::connection_setup::StoreOptions;
use std::sync::Arc;
use workgraph_auth::rules::RefreshTokenContext;
use workgraph_auth::{Account, App, SecretDigest, TokenRecord};
use workgraph_core::access::Viewer;
use workgraph_core::model::node::Node;
use workgraph_core::storage::ViewerKey;

/// Maximum number of entries of each [`EpochCache`].
const ENTRIES_MAX: usize = 10_000;

/// Token with its account, as it is cached.
pub(crate) type CachedToken = Arc<(TokenRecord, Account)>;

/// Caches of one store, shared by its readers and its writer.
#[derive(Debug)]
pub(crate) struct StoreCaches {
    /// Node cache; `None` if it has no room.
    nodes: Option<NodeCache>,
    pub(crate) snapshots: KeptSnapshots,
    pub(crate) viewers: EpochCache<ViewerKey, Arc<Viewer>>,
    pub(crate) tokens: EpochCache<SecretDigest, CachedToken>,
    /// Refresh tokens by id, for the writer itself.
    pub(crate) refresh_tokens: EpochCache<u64, Arc<RefreshTokenContext>>,
    pub(crate) apps: EpochCache<u64, Arc<App>>,
    omissions: Omissions,
}

impl StoreCaches {
    /// Creates the caches of a store, empty.
    pub(crate) fn new(options: &StoreOptions) -> Self {
        Self::omitting(options, Omissions::default())
    }

    fn omitting(options: &StoreOptions, omissions: Omissions) -> Self {
        let (entries, bytes) = if options.caches {
            (ENTRIES_MAX, options.node_cache_bytes)
        } else {
            (0, 0)
        };
        Self {
            nodes: (bytes > 0).then(|| NodeCache::new(bytes)),
            snapshots: KeptSnapshots::new(options.caches, omissions),
            viewers: EpochCache::new(entries),
            tokens: EpochCache::new(entries),
            refresh_tokens: EpochCache::new(entries),
            apps: EpochCache::new(entries),
            omissions,
        }
    }

    /// Returns the state of a snapshot that is taken after this call.
    pub(crate) fn state(&self) -> StateNumber {
        self.nodes
            .as_ref()
            .map(NodeCache::state)
            .unwrap_or_default()
    }

    /// Returns the caches of a transaction that reads a snapshot of this state on a connection with this hot cache.
    pub(crate) fn reading<'c>(
        &'c self,
        hot: &'c mut HotCache,
        state: StateNumber,
    ) -> CacheView<'c> {
        CacheView::new(self.nodes.as_ref(), state, Some(hot))
    }

    /// Returns the caches of a transaction that writes: valid for nodes that it has not touched.
    pub(crate) fn writing(&self) -> CacheView<'_> {
        CacheView::new(self.nodes.as_ref(), self.state(), None)
    }

    /// Returns an empty list of the entries that a transaction outdates.
    pub(crate) fn invalidations(&self) -> Invalidations {
        Invalidations::new(self.omissions)
    }

    /// Marks the beginning of a commit: from now on, entries that it outdates are not returned, and data read before it is not
    /// kept.
    pub(crate) fn begin_commit(&self, outdated: &Invalidations) {
        if let Some(nodes) = &self.nodes {
            nodes.begin(outdated.gids());
        }
    }

    /// Marks the end of a commit, with the nodes that it created; `None` if it failed.
    pub(crate) fn end_commit(&self, created: Option<&[(Arc<Node>, OutEdges)]>) {
        match (&self.nodes, created) {
            (Some(nodes), Some(created)) => nodes.end(created),
            (Some(nodes), None) => nodes.end_failed(),
            (None, _) => {}
        }
    }

    /// Outdates viewers and tokens after a commit, before it is answered; `None` after a failed commit, since its changes are
    /// unknown. The commit must have been counted first ([`KeptSnapshots::count_commit`]): everything that is kept from now on
    /// must come from a snapshot that shows the commit.
    pub(crate) fn invalidate(&self, outdated: Option<&Invalidations>) {
        let unless_omitted = |kind, invalidate: &dyn Fn()| {
            if !self.omissions.contains(kind) {
                invalidate();
            }
        };
        if outdated.is_none_or(|outdated| outdated.viewers) {
            unless_omitted(InvalidationKind::Viewers, &|| self.viewers.invalidate());
        }
        if outdated.is_none_or(|outdated| outdated.tokens) {
            unless_omitted(InvalidationKind::Tokens, &|| self.tokens.invalidate());
            unless_omitted(InvalidationKind::RefreshTokens, &|| {
                self.refresh_tokens.invalidate()
            });
            unless_omitted(InvalidationKind::Apps, &|| self.apps.invalidate());
        }
    }
}

#[cfg(test)]
mod tests;

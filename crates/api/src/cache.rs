//! Caches of the API, behind [`ApiCaches`]: results that are kept between requests to save look-ups.
//!
//! ```text
//!  GET with a token
//!    │
//!    ▼
//!  token cache of the connection ─── miss ──► token store (which has caches of its own)
//!    │ grant: limits and scope are checked, from wherever the token came
//!    ▼
//!  response cache ─── miss ──► load and projection, over the graph store (which has caches of its own)
//!    │
//!    ▼
//!  bytes of the response
//!
//!  delivery of a webhook ─► recent commits ─── miss ──► journal of the graph store
//! ```
//!
//! | Cache | Who may see an entry | What outdates it | Bound |
//! |---|---|---|---|
//! | token cache ([`ConnectionTokenCache`]) | the connection that sent the token, and only with the same token | any write to tokens, apps, authorizations or accounts (the version of the token store) | one token for each connection |
//! | response cache ([`ResponseCache`]) | requests with the same user, service account, app, scopes, allowed workspaces, path and query | any commit (the version of the graph store, or the last commit that was seen with the token) | 16 MiB, of responses of at most 16 KiB |
//! | recent commits ([`RecentCommits`]) | deliveries, which filter by what their webhook may know | nothing: commits do not change | 10,000 change records |
//!
//! Three structures look like caches but are not: `token_usage` buffers pending writes, the recent tokens of `limits` only
//! serve to query the limits early, and the finished export that a second request gets is a record of the
//! graph.
//!
//! With `ApiSettings::caches` off, the caches have no room, and the stores answer every request. The switch is read when
//! the API is built; after that, it only decides if looked-up tokens are stored.
mod recent_commits;
pub(crate) mod response_cache;
pub(crate) mod token_cache;

pub(crate) use self::recent_commits::RecentCommits;
use self::response_cache::ResponseCache;
use self::token_cache::{ConnectionTokenCache, TokenLookup};

/// Caches of one API, and the switch that lets it fill the caches of its connections.
pub(crate) struct ApiCaches {
    enabled: bool,
    pub(crate) responses: ResponseCache,
}

impl ApiCaches {
    /// Returns empty caches; with `enabled` false they stay empty.
    pub(crate) fn new(enabled: bool) -> Self {
        let bytes = if enabled {
            response_cache::BYTES_MAX
        } else {
            0
        };
        Self {
            enabled,
            responses: ResponseCache::new(bytes),
        }
    }

    /// Stores the look-up of a token, made at this version or later, in the cache of the connection that sent the token.
    pub(crate) fn keep_token(
        &self,
        connection: &ConnectionTokenCache,
        text: &str,
        version: u64,
        found: &TokenLookup,
    ) {
        if self.enabled {
            connection.put(text, version, found);
        }
    }

    /// Returns an empty cache of recently read commits.
    pub(crate) fn recent_commits(&self) -> RecentCommits {
        if self.enabled {
            RecentCommits::default()
        } else {
            RecentCommits::new(0)
        }
    }
}

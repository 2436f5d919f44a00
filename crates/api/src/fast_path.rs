//! The fast path: replies from memory, for a client that sends the same request again while nothing has changed.
use crate::cache::response_cache::{CachedResponse, ResponseCacheKey};
use crate::cache::token_cache::ConnectionTokenCache;
use crate::execute::record_response::CostedResponse;
use crate::limits::admission::RequestWeight;
use crate::pipeline::{Api, authorize, viewer_key};
use crate::request::ApiResponse;
use workgraph_auth::{bearer, check_token};

/// A `GET` without a body, as it was received, borrowed from its transport.
#[derive(Clone, Copy, Debug)]
pub struct FastPathRequest<'r> {
    /// The path below the API base, as it was sent (percent-encoded).
    pub path: &'r str,
    /// The query as it was sent, without the `?`.
    pub query: &'r str,
    /// The value of its only `Authorization` header.
    pub authorization: &'r str,
}

impl Api {
    /// Answers a read as [`handle_from`](Self::handle_from) would, if memory is enough for that: its token is the last
    /// one that this client sent, and the reply to the same request is cached and still true. Token, scope and limits
    /// are checked as always.
    ///
    /// `None` means that the request must be handled in the usual way. Then nothing was counted.
    #[must_use]
    pub fn try_fast_path(
        &self,
        glance: &FastPathRequest<'_>,
        last: &ConnectionTokenCache,
    ) -> Option<ApiResponse> {
        let shown = [glance.authorization];
        let token = bearer(&shown).ok()?;
        // Both versions are read before the entries that are compared with them.
        let found = last.get(token, self.tokens.version()?)?;
        let version = self.graph.version()?;
        let (record, account) = &*found;
        let now = self.clock.now();
        let grant = check_token(record, account, now).ok()?;
        let asked = ResponseCacheKey {
            viewer: viewer_key(&grant).ok()?,
            app: grant.app,
            scopes: grant.scopes,
            reach: grant.allowed_workspaces.as_deref(),
            path: glance.path,
            query: glance.query,
        };
        let again = self.response_cache.get(&asked, version)?;
        let (operation, number) = again.row;
        authorize(operation, &grant).ok()?;
        self.token_usage.note(record, now);
        let terms = self.effective_limits(&grant);
        let admitted = self.admit(&terms, RequestWeight::of(operation), number, now);
        let (outcome, permit) = match admitted {
            Ok(permit) => (Ok(again.into()), Some(permit)),
            Err(refused) => (Err(refused), None),
        };
        Some(
            self.finish_request(operation.id, outcome, permit, Some(&terms))
                .0,
        )
    }
}

impl From<CachedResponse> for CostedResponse {
    fn from(again: CachedResponse) -> Self {
        Self {
            reply: ApiResponse::json(200, again.body),
            cost: again.cost,
        }
    }
}

//! The fast path: responses from memory, for a client that sends the same request again while nothing has changed.
use crate::cache::response_cache::CachedResponse;
use crate::cache::token_cache::ConnectionTokenCache;
use crate::dispatch::response_cache_key;
use crate::execute::record_response::CostedResponse;
use crate::gate::AdmissionState;
use crate::request::ApiResponse;
use crate::request_inspector::InspectedLine;
use crate::state::Api;
use workgraph_operations::Method;

/// A `GET` without a body, as it was received, borrowed from its transport.
#[derive(Clone, Copy, Debug)]
pub struct FastPathRequest<'r> {
    /// The path below the API base, as it was sent (percent-encoded).
    pub path: &'r str,
    /// The query as it was sent, without the `?`.
    pub query: &'r str,
    /// The value of its only `Authorization` header.
    pub authorization: &'r str,
    /// The address at which the client reached the API, if it is not the one in the settings.
    pub base_url: Option<&'r str>,
}

impl Api {
    /// Answers a read as [`handle_from`](Self::handle_from) would, if it can be done from memory: the client sent the same
    /// token last, and the response to the same request is cached and still valid. The same gate checks token, limits and
    /// scope.
    ///
    /// Returns `None` if the request must be handled in the usual way. Nothing was counted then.
    #[must_use]
    pub fn try_fast_path(
        &self,
        request: &FastPathRequest<'_>,
        token_cache: &ConnectionTokenCache,
    ) -> Option<ApiResponse> {
        if self.shared_limiter.get().is_some() || self.request_watch.get().is_some() {
            return None;
        }
        let authentication = self.authenticate_from_cache(request.authorization, token_cache)?;
        // The version is read before the entry that is compared with it.
        let version = self.graph.version()?;
        let key = response_cache_key(
            &authentication.grant,
            (request.path, request.query),
            request.base_url,
        )
        .ok()?;
        let cached = self.caches.responses.get(&key, version)?;
        self.note_token_use(&authentication);
        let (row, mut admission) = (cached.row, AdmissionState::default());
        self.note_token_identity(&authentication, &mut admission);
        let passed = self.admit_and_authorize(&authentication, row, &mut admission);
        let outcome = passed.map(|_| cached.into());
        let line = InspectedLine {
            method: Method::Get.name(),
            path: request.path,
            query: request.query,
            content_type: None,
            body: &[],
        };
        let base_url = request.base_url;
        Some(
            self.finish_request(row.0.id, outcome, admission, line, base_url)
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

//! Admission by limits shared between processes: they are queried during the token look-up, since both take time.
use crate::cache::token_cache::ConnectionTokenCache;
use crate::error::ApiError;
use crate::gate::{AdmissionState, Authentication, AuthorizedOperation, RefusedToken, authorize};
use crate::limits::admission::LimitedToken;
use crate::limits::request_weight::RequestWeight;
use crate::request::ApiResponse;
use crate::state::Api;
use futures_util::future::join;
use std::sync::Arc;
use workgraph_auth::{bearer, token_digest};
use workgraph_limits::{Permit, SharedLimiter};
use workgraph_operations::operation::NumberedOperation;

/// Answer of a limiter that was queried before the token was found: the token properties in the query, and the permit or the
/// refusal.
pub(crate) struct EarlyAnswer {
    token: LimitedToken,
    admitted: Result<Permit, ApiError>,
}

impl Api {
    /// Sets the limiter shared by several processes. Only the first one is used.
    pub fn set_shared_limiter(&self, shared: Arc<dyn SharedLimiter>) {
        // The server sets it once, before the first request.
        let _ = self.shared_limiter.set(shared);
    }

    /// Returns the limiter shared by several processes, if any.
    #[must_use]
    pub fn shared_limiter(&self) -> Option<&Arc<dyn SharedLimiter>> {
        self.shared_limiter.get()
    }

    /// Checks the token of a request. If token look-ups take a trip to the store, and this token was valid recently, its limits
    /// are queried at the same time.
    ///
    /// # Errors
    /// Fails when there is no valid token, or the store fails. The error contains the token if it is known.
    pub(crate) async fn authenticate_beside_limits(
        &self,
        shared: &dyn SharedLimiter,
        headers: &[String],
        token_cache: Option<&ConnectionTokenCache>,
        (operation, number): NumberedOperation,
    ) -> Result<(Authentication, Option<EarlyAnswer>), RefusedToken> {
        if self.tokens.version().is_some() {
            let authentication = self.authenticate_or_identify(headers, token_cache).await?;
            return Ok((authentication, None));
        }
        let digest = bearer(headers).ok().and_then(token_digest);
        let key = digest.map(|digest| digest.key());
        let recent = key.and_then(|key| Some((key, self.recent_tokens.get(&key)?)));
        let asked = async {
            let (key, token) = recent?;
            let (terms, now) = (self.limits_of(key, &token), self.clock.now());
            let weight = RequestWeight::of(operation);
            let admitted = self.admit_shared(shared, &terms, weight, number, now).await;
            Some(EarlyAnswer { token, admitted })
        };
        let (authenticated, early) =
            join(self.authenticate_or_identify(headers, token_cache), asked).await;
        match (&authenticated, key) {
            (Ok(found), _) => {
                let token = LimitedToken::of(&found.grant);
                if early.as_ref().is_none_or(|early| early.token != token) {
                    self.recent_tokens.put(found.grant.limit_key, token);
                }
            }
            (Err(_), Some(key)) => self.recent_tokens.remove(&key),
            (Err(_), None) => {}
        }
        Ok((authenticated?, early))
    }

    /// Admits a request of an operation within the limits shared by several processes, and checks the scope of the
    /// operation. Uses an early answer if the token still has the properties in its query.
    ///
    /// # Errors
    /// Fails when a limit or the scope refuses the request. A request refused only by the scope has been counted.
    pub(crate) async fn admit_shared_and_authorize<'g>(
        &self,
        authentication: &'g Authentication,
        (operation, number): NumberedOperation,
        early: Option<EarlyAnswer>,
        admission: &mut AdmissionState,
    ) -> Result<AuthorizedOperation<'g>, ApiError> {
        let grant = &authentication.grant;
        let permit = match early {
            Some(early) if early.token == LimitedToken::of(grant) => {
                admission.terms = Some(self.effective_limits(grant));
                early.admitted?
            }
            _ => {
                let weight = RequestWeight::of(operation);
                let terms = &mut admission.terms;
                self.admit_weight(authentication, weight, number, terms)
                    .await?
            }
        };
        admission.permit = Some(permit);
        authorize((operation, number), authentication)
    }

    /// Adds the limits over all processes to the record of a request.
    pub(crate) async fn complete_record(
        &self,
        reply: &mut ApiResponse,
        terms: Option<&crate::limits::admission::EffectiveLimits>,
    ) {
        if let (Some(record), Some(terms)) = (&mut reply.record, terms) {
            record.set_limits((&self.shared_limiter_state(terms).await).into());
        }
    }
}

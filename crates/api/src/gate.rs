//! The gate: authentication, limits and scope. Every request passes it, whether its response is computed or cached.
mod shared_admission;

use crate::cache::token_cache::{ConnectionTokenCache, TokenLookup};
use crate::error;
use crate::error::ApiError;
use crate::execute::load_view::{load, viewer_key};
use crate::execute::record_response::CostedResponse;
use crate::limits::admission::EffectiveLimits;
use crate::limits::request_weight::RequestWeight;
use crate::request::ApiResponse;
use crate::request_inspector::{InspectedLine, RequestOutcome, TokenIdentity};
use crate::state::Api;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::{
    Account, AuthRefusal, BearerError, BrowserSession, Grant, TokenKind, TokenRecord, TokenRefusal,
    bearer, check_token, token_digest,
};
use workgraph_core::storage::{ReadQuery, Seq};
use workgraph_limits::Permit;
use workgraph_operations::operation::{NumberedOperation, Operation};
use workgraph_wire::messages;

/// A valid token: its grant, and the time at which it was checked.
pub(crate) struct Authentication {
    pub(crate) grant: Grant,
    pub(crate) checked_at: SystemTime,
    /// Last commit at the time when the token was looked up, if known.
    pub(crate) last_commit: Option<Seq>,
    found: TokenLookup,
}

/// Refusal of a request because of its token.
pub(crate) struct RefusedToken {
    pub(crate) error: ApiError,
    /// The token, if known: it was revoked or expired, or its owner is deactivated.
    identity: Option<TokenIdentity>,
}

impl From<ApiError> for RefusedToken {
    fn from(error: ApiError) -> Self {
        let identity = None;
        Self { error, identity }
    }
}

/// The limits that a request holds while it is answered.
#[derive(Default)]
pub(crate) struct AdmissionState {
    /// The limits that the request counts under; set once its token is known.
    pub(crate) terms: Option<EffectiveLimits>,
    /// The permit; set once the request is admitted.
    pub(crate) permit: Option<Permit>,
    /// The token, valid or not; set once it is known.
    pub(crate) token: Option<TokenIdentity>,
}

/// An operation for which a grant has the scope. Only [`authorize`] creates it, and dispatch requires it.
#[derive(Clone, Copy)]
pub(crate) struct AuthorizedOperation<'g> {
    row: NumberedOperation,
    grant: &'g Grant,
    last_commit: Option<Seq>,
}

impl<'g> AuthorizedOperation<'g> {
    /// Returns the operation and its number in the table.
    pub(crate) const fn row(self) -> NumberedOperation {
        self.row
    }

    pub(crate) const fn operation(self) -> &'static Operation {
        self.row.0
    }

    /// Returns the grant whose scope allows the operation.
    pub(crate) const fn grant(self) -> &'g Grant {
        self.grant
    }

    /// Returns a commit that the request must see at least, if known: the last one when its token was looked
    /// up.
    pub(crate) const fn last_commit(self) -> Option<Seq> {
        self.last_commit
    }

    /// Returns the same without a known commit, for work that may start long after the token was looked up or after other
    /// writes of the request: it sees the last commit.
    pub(crate) const fn without_known_commit(self) -> Self {
        Self {
            last_commit: None,
            ..self
        }
    }
}

impl Api {
    /// Checks the token of a request. The last token that the client sent is found in the cache of its connection, all
    /// others in the store.
    ///
    /// # Errors
    /// Fails when there is no valid token, or the store fails.
    pub(crate) async fn authenticate(
        &self,
        headers: &[String],
        token_cache: Option<&ConnectionTokenCache>,
    ) -> Result<Authentication, ApiError> {
        let authenticated = self.authenticate_or_identify(headers, token_cache).await;
        authenticated.map_err(|refused| refused.error)
    }

    /// Checks the token of a request, as [`authenticate`](Self::authenticate) does, and identifies a refused token: the
    /// error names it if it is stored, even if it was revoked or has expired.
    ///
    /// # Errors
    /// Fails when there is no valid token, or the store fails.
    pub(crate) async fn authenticate_or_identify(
        &self,
        headers: &[String],
        token_cache: Option<&ConnectionTokenCache>,
    ) -> Result<Authentication, RefusedToken> {
        let (found, last_commit) = self.find_token(headers, token_cache).await?;
        let checked = self.check_found_token(found, last_commit);
        let authentication = checked.map_err(|refused| *refused)?;
        self.note_token_use(&authentication);
        Ok(authentication)
    }

    /// Finds the token of a request, valid or not, and the last commit if the store returned that, too.
    async fn find_token(
        &self,
        headers: &[String],
        token_cache: Option<&ConnectionTokenCache>,
    ) -> Result<(TokenLookup, Option<Seq>), ApiError> {
        let token = bearer(headers).map_err(|e| match e {
            BearerError::Missing => {
                ApiError::Unauthorized(e.into(), messages::NOT_AUTHORIZED, None)
            }
            BearerError::Repeated => {
                ApiError::BadHeader("Authorization: given twice; send one header".to_owned())
            }
            BearerError::Scheme => {
                let text = "Not Authorized: a bearer token is needed";
                ApiError::Unauthorized(e.into(), text, None)
            }
            BearerError::Empty | BearerError::Spaced => invalid_token(e.into()),
        })?;
        // The version is read before the look-up, so the record has this version or a newer one.
        let cache = token_cache.zip(self.tokens.version());
        if let Some(found) = cache.and_then(|(cache, version)| cache.get(token, version)) {
            return Ok((found, None));
        }
        let digest = token_digest(token);
        let digest = digest.ok_or_else(|| invalid_token(AuthRefusal::TokenMalformed))?;
        let looked_up = self.tokens.find_token_at_commit(&digest).await?;
        let found = looked_up
            .token
            .ok_or_else(|| invalid_token(AuthRefusal::TokenUnknown))?;
        let found = Arc::new(found);
        if let Some((cache, version)) = cache {
            self.caches.keep_token(cache, token, version, &found);
        }
        Ok((found, looked_up.commit))
    }

    /// Checks the token of a request using memory only; returns `None` if that is not enough, or the token is not valid.
    /// Doesn't record the use of the token.
    pub(crate) fn authenticate_from_cache(
        &self,
        header: &str,
        token_cache: &ConnectionTokenCache,
    ) -> Option<Authentication> {
        let headers = [header];
        let token = bearer(&headers).ok()?;
        // The version is read before the entry that is compared with it.
        let version = self.tokens.version()?;
        let found = token_cache.get(token, version)?;
        self.check_found_token(found, None).ok()
    }

    fn check_found_token(
        &self,
        found: TokenLookup,
        last_commit: Option<Seq>,
    ) -> Result<Authentication, Box<RefusedToken>> {
        let (record, account) = &*found;
        let checked_at = self.clock.now();
        let refused = |refusal: TokenRefusal| RefusedToken {
            error: match refusal {
                TokenRefusal::Expired if record.kind == TokenKind::Access => {
                    let text = messages::EXPIRED_BEARER;
                    ApiError::Unauthorized(refusal.into(), text, Some("invalid_token"))
                }
                _ => invalid_token(refusal.into()),
            },
            identity: Some(TokenIdentity::of_record(record, checked_at)),
        };
        let checked = check_token(record, account, checked_at);
        let grant = checked.map_err(|refusal| Box::new(refused(refusal)))?;
        Ok(Authentication {
            grant,
            checked_at,
            last_commit,
            found,
        })
    }

    /// Returns the authentication of a browser session's user. Its reads are limited like the reads of a token.
    ///
    /// # Errors
    /// Fails when the session has ended, or its account is disabled.
    pub(crate) fn authenticate_session(
        &self,
        session: &BrowserSession,
        account: &Account,
    ) -> Result<Authentication, ApiError> {
        let started = session.created_at;
        let record = TokenRecord {
            expires_at: Some(session.expires_at),
            ..TokenRecord::personal(0, session.digest, session.user, started)
        };
        let checked = self.check_found_token(Arc::new((record, *account)), None);
        checked.map_err(|refused| refused.error)
    }

    /// Records the use of a token, for its last-used time.
    pub(crate) fn note_token_use(&self, authentication: &Authentication) {
        let (record, _) = &*authentication.found;
        self.token_usage.note(record, authentication.checked_at);
    }

    /// Admits a request of an operation within this process's limits of its token and its user, and checks the
    /// scope of the operation.
    ///
    /// # Errors
    /// Fails when a limit or the scope refuses the request. A request refused only by the scope has been counted.
    pub(crate) fn admit_and_authorize<'g>(
        &self,
        authentication: &'g Authentication,
        (operation, number): NumberedOperation,
        admission: &mut AdmissionState,
    ) -> Result<AuthorizedOperation<'g>, ApiError> {
        let weight = RequestWeight::of(operation);
        let terms = &mut admission.terms;
        let terms = terms.insert(self.effective_limits(&authentication.grant));
        admission.permit = Some(self.admit(terms, weight, number, authentication.checked_at)?);
        authorize((operation, number), authentication)
    }

    /// Admits requests of a weight within the limits of their token and its user, which it leaves in `terms`.
    ///
    /// # Errors
    /// Fails when a limit refuses them.
    pub(crate) async fn admit_weight(
        &self,
        authentication: &Authentication,
        weight: RequestWeight,
        number: u16,
        terms: &mut Option<EffectiveLimits>,
    ) -> Result<Permit, ApiError> {
        let terms = terms.insert(self.effective_limits(&authentication.grant));
        let now = authentication.checked_at;
        match self.shared_limiter.get() {
            None => self.admit(terms, weight, number, now),
            Some(shared) => {
                let shared = self.admit_shared(&**shared, terms, weight, number, now);
                Box::pin(shared).await
            }
        }
    }

    /// Admits a bearer token for a request without an operation: the same tokens, the same limits, with operation number
    /// 0. `base_url` is the address at which the client reached the API, if it is not the one in the settings.
    ///
    /// # Errors
    /// Fails with the response: 401 or 429, as for an operation.
    pub async fn admit_bearer(
        &self,
        headers: &[String],
        base_url: Option<&str>,
    ) -> Result<(Grant, Permit), ApiResponse> {
        let admitted = async {
            let authentication = self.authenticate(headers, None).await?;
            let mut terms = None;
            let admitted = self.admit_weight(&authentication, RequestWeight::READ, 0, &mut terms);
            let permit = admitted.await?;
            // A token that reaches no workspace is refused here as by every operation.
            let grant = authentication.grant;
            let reached = ReadQuery {
                app: grant.app,
                allowed_workspaces: grant.allowed_workspaces.clone(),
                ..ReadQuery::of(viewer_key(&grant)?)
            };
            load(self, &reached).await?;
            Ok((grant, permit))
        };
        let admitted: Result<_, ApiError> = admitted.await;
        admitted.map_err(|failure| {
            let help = self.settings.error_help(base_url);
            error::error_response(&failure, &*self.entropy, &help)
        })
    }

    /// Records the token of a request, for its record and for the log.
    pub(crate) fn note_token_identity(
        &self,
        authentication: &Authentication,
        admission: &mut AdmissionState,
    ) {
        let Authentication {
            grant, checked_at, ..
        } = authentication;
        admission.token = Some(TokenIdentity::of(grant, *checked_at));
    }

    /// Records the known token for which a request was refused. Returns the error.
    pub(crate) fn note_refused_token(
        &self,
        refused: RefusedToken,
        admission: &mut AdmissionState,
    ) -> ApiError {
        admission.token = refused.identity;
        refused.error
    }

    /// Returns the response to a request of an operation with its cost, and charges the cost to the permit. If requests are
    /// recorded, records this one as it was sent.
    pub(crate) fn finish_request(
        &self,
        operation: &'static str,
        outcome: Result<CostedResponse, ApiError>,
        admission: AdmissionState,
        line: InspectedLine<'_>,
        base_url: Option<&str>,
    ) -> (ApiResponse, u32) {
        let AdmissionState {
            terms,
            mut permit,
            token,
        } = admission;
        let (mut reply, cost) = match outcome {
            Ok(answered) => (answered.reply, answered.cost),
            Err(failure) => {
                let help = self.settings.error_help(base_url);
                let reply = error::error_response(&failure, &*self.entropy, &help);
                (reply, failure.cost(self.settings.reply_max))
            }
        };
        if let Some(permit) = permit.as_mut().filter(|p| cost > 0 && p.is_charged()) {
            permit.settle(cost, self.clock.now());
            if let Some(terms) = terms {
                self.charge_user_total(&terms, cost);
            }
        }
        reply.operation = operation;
        reply.user = terms.map(|terms| terms.user());
        if let (Some(refusal), Some(token)) = (&mut reply.refusal, &token) {
            *refusal = refusal.of_client(token.app()).of_user(Some(token.user()));
        }
        if let Some(token) = token.filter(|_| self.inspector.is_on()) {
            let limits = terms.map(|terms| self.remaining_limits(&terms));
            let outcome = RequestOutcome {
                operation,
                status: reply.status,
                body: &reply.body,
                cost,
                limits,
                reason: reply.refusal.map(|refusal| refusal.reason),
            };
            reply.record = Some(self.inspector.record(token, &line, &outcome));
        }
        reply.permit = permit;
        (reply, cost)
    }
}

fn invalid_token(reason: AuthRefusal) -> ApiError {
    ApiError::Unauthorized(reason, messages::NOT_AUTHORIZED, Some("invalid_token"))
}

/// Checks the scope of an operation. An operation without a scope needs full permissions.
///
/// # Errors
/// Fails when the grant does not have the scope.
pub(crate) fn authorize(
    row: NumberedOperation,
    authentication: &Authentication,
) -> Result<AuthorizedOperation<'_>, ApiError> {
    let (operation, _) = row;
    let (grant, last_commit) = (&authentication.grant, authentication.last_commit);
    let allowed = match operation.scope {
        Some(scope) => grant.scopes.allows(scope),
        None => grant.scopes.is_full(),
    };
    if allowed {
        return Ok(AuthorizedOperation {
            row,
            grant,
            last_commit,
        });
    }
    Err(ApiError::Scope(match operation.scope {
        Some(scope) => messages::missing_scope(operation.id, scope),
        None => format!("{}: needs a token with full permissions", operation.id),
    }))
}

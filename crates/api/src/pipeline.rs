//! The pipeline of a request: route, authenticate, limit, dispatch.
use crate::budget::ResponseBudget;
use crate::cache::response_cache::{ResponseCache, ResponseCacheKey};
use crate::call::RequestContext;
use crate::error::ApiError;
use crate::execute::record_response::CostedResponse;
use crate::features::audit_log::Caller;
use crate::features::exports::download_urls::ExportFiles;
use crate::features::webhooks::service::WebhookService;
use crate::input::OperationInput;
use crate::limits::admission;
use crate::limits::admission::{EffectiveLimits, RequestWeight};
use crate::operation::{Handler, Operation};
use crate::ports::{Clock, Entropy};
use crate::request::{ApiRequest, ApiResponse, Method};
use crate::router::{RouteMatch, Router};
use crate::settings::ApiSettings;
use crate::token_usage::TokenUsage;
use crate::{error, execute, external_ids, input, query_token};
use std::borrow::Cow;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::SystemTime;
use workgraph_auth::{
    Grant, TokenKind, TokenRefusal, TokenStore, bearer, check_token, token_digest,
};
use workgraph_core::model::time::Time;
use workgraph_core::storage::{GraphStore, ViewerKey};
use workgraph_core::{Gid, GidGenerator};
use workgraph_limits::{Limiter, OwnerTotals, Permit};
use workgraph_wire::{KeyRing, messages};

/// The API: everything between a transport and the stores.
pub struct Api {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limiter: Limiter,
    pub(crate) limit_overrides: admission::ActiveLimitOverrides,
    pub(crate) jobs_per_user_max: AtomicU32,
    /// The usage of each user, over all tokens of the user.
    pub(crate) user_totals: OwnerTotals,
    /// The limit of a user as a multiple of the limit of one token; 0 for no limit.
    pub(crate) user_multiple: AtomicU32,
    pub(crate) settings: ApiSettings,
    pub(crate) keys: RwLock<KeyRing>,
    pub(crate) mint: GidGenerator,
    pub(crate) token_usage: TokenUsage,
    /// Function that is called when a job was started.
    pub(crate) job_notifier: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub(crate) webhooks: OnceLock<WebhookService>,
    pub(crate) export_files: OnceLock<Arc<dyn ExportFiles>>,
    router: Router,
    pub(crate) response_cache: ResponseCache,
}

/// The parts from which an [`Api`] is built.
pub struct ApiDependencies {
    /// Store of the domain graph.
    pub graph: Arc<dyn GraphStore>,
    /// Store of tokens and accounts.
    pub tokens: Arc<dyn TokenStore>,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Source of random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Settings of the API.
    pub settings: ApiSettings,
    /// Settings of the limiters.
    pub limits: workgraph_limits::LimiterSettings,
    /// The keys that seal page tokens.
    pub keys: KeyRing,
    /// Generator of gids.
    pub mint: GidGenerator,
}

impl Api {
    /// Builds the API from its parts.
    #[must_use]
    pub fn new(parts: ApiDependencies) -> Self {
        Self {
            graph: parts.graph,
            tokens: parts.tokens,
            clock: parts.clock,
            entropy: parts.entropy,
            limiter: Limiter::new(parts.limits),
            limit_overrides: admission::ActiveLimitOverrides::default(),
            jobs_per_user_max: AtomicU32::new(parts.settings.jobs_per_user_max),
            user_totals: OwnerTotals::new(),
            user_multiple: AtomicU32::new(parts.settings.user_multiple.unwrap_or(0)),
            settings: parts.settings,
            keys: RwLock::new(parts.keys),
            mint: parts.mint,
            token_usage: TokenUsage::default(),
            router: Router::new(crate::operations::TABLES),
            response_cache: ResponseCache::new(),
            job_notifier: OnceLock::new(),
            webhooks: OnceLock::new(),
            export_files: OnceLock::new(),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &ApiSettings {
        &self.settings
    }

    /// Returns the limiters, for metrics and sweeps.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Returns a fresh gid.
    #[must_use]
    pub fn next_gid(&self) -> Gid {
        self.mint
            .next(Time::from_system(self.clock.now()).millis().unsigned_abs())
    }

    /// Answers a request. Never fails: every error has a reply.
    pub async fn handle(&self, request: &ApiRequest) -> ApiResponse {
        self.handle_from(request, Caller::default()).await
    }

    /// Answers a request of a known client. The audit log records the client.
    pub async fn handle_from(&self, request: &ApiRequest, caller: Caller<'_>) -> ApiResponse {
        let mut held = AdmissionState::default();
        let (operation, outcome) = match self.match_route(request.method, &request.path) {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let moved = query_token::into_header(request, &found);
                let request = moved.as_ref().unwrap_or(request);
                (
                    found.operation.id,
                    self.admit_and_enter(request, &found, &mut held, caller)
                        .await,
                )
            }
        };
        let (mut reply, cost) =
            self.finish_request(operation, outcome, held.permit, held.terms.as_ref());
        if let Some(terms) = held.terms.filter(|_| request.explain) {
            reply = self.with_limit_headers(reply, &terms, cost);
        }
        reply
    }

    /// Returns the reply to a request of an operation, and charges its cost to the permit.
    pub(crate) fn finish_request(
        &self,
        operation: &'static str,
        outcome: Result<CostedResponse, ApiError>,
        mut permit: Option<Permit>,
        terms: Option<&EffectiveLimits>,
    ) -> (ApiResponse, u32) {
        let (mut reply, cost) = match outcome {
            Ok(answered) => (answered.reply, answered.cost),
            Err(failure) => {
                let cost = failure.cost(self.settings.reply_max);
                (error::error_response(&failure, &*self.entropy), cost)
            }
        };
        if let Some(permit) = permit.as_mut().filter(|p| cost > 0 && p.is_charged()) {
            permit.settle(cost, self.clock.now());
            if let Some(terms) = terms {
                self.charge_user_total(terms, cost);
            }
        }
        reply.operation = operation;
        reply.permit = permit;
        (reply, cost)
    }

    /// Admits a bearer token where no operation is asked for: the same tokens, the same limits. The operation number is
    /// 0.
    ///
    /// # Errors
    /// Fails with the reply: 401 or 429, as for an operation.
    pub async fn admit_bearer(&self, headers: &[String]) -> Result<(Grant, Permit), ApiResponse> {
        let admitted = async {
            let (grant, now) = self.authenticate(headers, Caller::default()).await?;
            let permit = self.admit(&self.effective_limits(&grant), RequestWeight::READ, 0, now)?;
            Ok((grant, permit))
        };
        let admitted: Result<_, ApiError> = admitted.await;
        admitted.map_err(|failure| error::error_response(&failure, &*self.entropy))
    }

    /// Returns the operation of a method and path.
    pub(crate) fn match_route(
        &self,
        method: Option<Method>,
        path: &str,
    ) -> Result<RouteMatch, ApiError> {
        let found = method.and_then(|method| self.router.find(method, path));
        found.ok_or(ApiError::NoRoute)
    }

    /// Matches, authenticates and limits the request, then enters the dispatch.
    async fn admit_and_enter(
        &self,
        request: &ApiRequest,
        found: &RouteMatch,
        held: &mut AdmissionState,
        caller: Caller<'_>,
    ) -> Result<CostedResponse, ApiError> {
        let (grant, now) = self.authenticate(&request.authorization, caller).await?;
        let terms = held.terms.insert(self.effective_limits(&grant));
        if matches!(found.operation.handler, Handler::Batch) {
            return Box::pin(crate::features::batch::run_batch(
                self,
                request,
                found,
                (&grant, caller),
                held,
            ))
            .await;
        }
        held.permit =
            Some(self.admit(terms, RequestWeight::of(found.operation), found.number, now)?);
        let budget = ResponseBudget::new(self.settings.reply_max);
        self.dispatch(
            OperationInput::Request(request),
            found,
            (&grant, caller),
            &budget,
        )
        .await
    }

    /// Authorizes, parses and executes (load, decide, commit, project): the part that requests and actions of a batch
    /// share.
    pub(crate) async fn dispatch(
        &self,
        sent: OperationInput<'_>,
        found: &RouteMatch,
        (grant, caller): (&Grant, Caller<'_>),
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let operation = found.operation;
        authorize(operation, grant)?;
        // The version is read before the load: the loaded data has this version, or a newer one.
        let kept = (matches!(operation.handler, Handler::Get) && !operation.time_dependent)
            .then(|| self.graph.version());
        let asked = ResponseCacheKey {
            viewer: viewer_key(grant)?,
            app: grant.app,
            scopes: grant.scopes,
            reach: grant.allowed_workspaces.as_deref(),
            path: sent.path(),
            query: sent.query(),
        };
        if let Some(Some(version)) = kept
            && let Some(again) = self.response_cache.get(&asked, version)
        {
            budget.consume(again.body.len());
            return Ok(again.into());
        }
        // The future is boxed, so that a cached reply does not need the memory of an executed one.
        let by = (grant, caller, asked.viewer);
        let answered = Box::pin(self.execute_uncached(sent, found, by, budget)).await?;
        budget.consume(answered.reply.body.len());
        if let Some(Some(version)) = kept {
            let (row, body) = ((operation, found.number), &answered.reply.body);
            self.response_cache
                .put(&asked, version, row, body, answered.cost);
        }
        Ok(answered)
    }

    /// Parses and executes (load, decide, commit, project) without the cache.
    async fn execute_uncached(
        &self,
        sent: OperationInput<'_>,
        found: &RouteMatch,
        (grant, caller, viewer): (&Grant, Caller<'_>, ViewerKey),
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let operation = found.operation;
        let (mut query, mut data, options) = input::parse_inputs(sent, operation, &self.settings)?;
        let mut parameters = Cow::Borrowed(&found.parameters);
        let inputs = external_ids::TaskReferenceInputs {
            parameters: &mut parameters,
            query: &mut query,
            data: &mut data,
        };
        if inputs.has_external_ids() {
            Box::pin(inputs.resolve(self, grant, viewer)).await?;
        }
        let mint = || self.next_gid();
        let call = RequestContext {
            operation,
            parameters: &parameters,
            viewer,
            grant,
            caller,
            reach: grant.allowed_workspaces.clone(),
            query,
            data,
            options,
            now: Time::from_system(self.clock.now()),
            generate_gid: &mint,
            settings: &self.settings,
            budget,
            jobs_per_user_max: self.jobs_per_user_max.load(Relaxed),
        };
        let answered = Box::pin(execute::execute(self, &call, grant, sent.path())).await?;
        answered.pretty_printed(&call)
    }

    /// Returns the grant of the token, and the time at which the token was valid.
    pub(crate) async fn authenticate(
        &self,
        headers: &[String],
        caller: Caller<'_>,
    ) -> Result<(Grant, SystemTime), ApiError> {
        use workgraph_auth::BearerError;
        let token = bearer(headers).map_err(|e| match e {
            BearerError::Missing => ApiError::Unauthorized(messages::NOT_AUTHORIZED, None),
            BearerError::Repeated => {
                ApiError::BadHeader("Authorization: given twice; send one header".to_owned())
            }
            BearerError::Scheme => {
                ApiError::Unauthorized("Not Authorized: a bearer token is needed", None)
            }
            BearerError::Empty | BearerError::Spaced => {
                ApiError::Unauthorized(messages::NOT_AUTHORIZED, Some("invalid_token"))
            }
        })?;
        let invalid = || ApiError::Unauthorized(messages::NOT_AUTHORIZED, Some("invalid_token"));
        // The version is read before the lookup: the record that is found has this version, or a newer one.
        let last = caller.token_cache.zip(self.tokens.version());
        let found = match last.and_then(|(last, version)| last.get(token, version)) {
            Some(found) => found,
            None => {
                let digest = token_digest(token).ok_or_else(invalid)?;
                let found = self.tokens.find_token(&digest).await;
                let found = found.map_err(|e| ApiError::Server(e.to_string()))?;
                let found = Arc::new(found.ok_or_else(invalid)?);
                if let Some((last, version)) = last {
                    last.put(token, version, &found);
                }
                found
            }
        };
        let (record, account) = &*found;
        let now = self.clock.now();
        let grant = check_token(record, account, now).map_err(|refusal| match refusal {
            TokenRefusal::Expired if record.kind == TokenKind::Access => {
                ApiError::Unauthorized(messages::EXPIRED_BEARER, Some("invalid_token"))
            }
            _ => invalid(),
        })?;
        self.token_usage.note(record, now);
        Ok((grant, now))
    }

    /// Returns random bytes.
    pub(crate) fn random_bytes<const N: usize>(&self) -> Result<[u8; N], ApiError> {
        let mut bytes = [0u8; N];
        self.entropy
            .fill(&mut bytes)
            .map_err(|e| ApiError::Server(e.to_string()))?;
        Ok(bytes)
    }
}

/// The limits that a request holds while it is answered.
#[derive(Default)]
pub(crate) struct AdmissionState {
    /// The limits under which the request counts; set once its token is known.
    pub(crate) terms: Option<EffectiveLimits>,
    /// The permit; set once the request is admitted.
    pub(crate) permit: Option<Permit>,
}

/// Checks the scope of the operation. An operation without a scope needs full permissions.
pub(crate) fn authorize(operation: &Operation, grant: &Grant) -> Result<(), ApiError> {
    let allowed = match operation.scope {
        Some(scope) => grant.scopes.allows(scope),
        None => grant.scopes.is_full(),
    };
    if allowed {
        return Ok(());
    }
    Err(ApiError::Scope(match operation.scope {
        Some(scope) => messages::missing_scope(operation.id, scope),
        None => format!("{}: needs a token with full permissions", operation.id),
    }))
}

pub(crate) fn viewer_key(grant: &Grant) -> Result<ViewerKey, ApiError> {
    let user =
        Gid::new(grant.user).ok_or_else(|| ApiError::Server("a token names no user".to_owned()))?;
    Ok(ViewerKey {
        user,
        service: grant.workspace.and_then(Gid::new),
    })
}

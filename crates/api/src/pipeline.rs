//! The walk of a request, top to bottom.
use crate::answer::Answered;
use crate::audit::Caller;
use crate::body::{self, Sent};
use crate::budget::Budget;
use crate::call::Call;
use crate::driver;
use crate::exports::ExportFiles;
use crate::external;
use crate::fault::{self, Failure};
use crate::hooks::Hooks;
use crate::limits::{self, Load, Terms};
use crate::operation::{Operation, Run};
use crate::query_token;
use crate::replies::{Asked, Replies};
use crate::request::{Method, Reply, Request};
use crate::route::{Match, Router};
use crate::seams::{Clock, Entropy};
use crate::settings::Settings;
use crate::uses::Uses;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::SystemTime;
use workgraph_auth::{Grant, Refusal, TokenKind, TokenStore, bearer, check, digest};
use workgraph_core::graph::{GraphStore, ViewerKey};
use workgraph_core::time::Time;
use workgraph_core::{Gid, Mint};
use workgraph_limits::{Limiter, Permit, Totals};
use workgraph_wire::{KeyRing, message};

/// The API: everything between a transport and the stores.
pub struct Api {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limiter: Limiter,
    pub(crate) quotas: limits::Kept,
    pub(crate) jobs: AtomicU32,
    /// What users use with all their tokens.
    pub(crate) totals: Totals,
    /// How many times what a token may that is; 0 for no limit.
    pub(crate) user_multiple: AtomicU32,
    pub(crate) settings: Settings,
    pub(crate) keys: RwLock<KeyRing>,
    pub(crate) mint: Mint,
    pub(crate) uses: Uses,
    /// Called when a job was started.
    pub(crate) bell: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub(crate) hooks: OnceLock<Hooks>,
    pub(crate) files: OnceLock<Arc<dyn ExportFiles>>,
    router: Router,
    pub(crate) replies: Replies,
}

/// What an [`Api`] is made of.
pub struct Parts {
    /// The domain graph.
    pub graph: Arc<dyn GraphStore>,
    /// Tokens and accounts.
    pub tokens: Arc<dyn TokenStore>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings of the API.
    pub settings: Settings,
    /// Settings of the limiters.
    pub limits: workgraph_limits::Settings,
    /// The keys that seal page tokens.
    pub keys: KeyRing,
    /// Gives gids.
    pub mint: Mint,
}

impl Api {
    /// An API over its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            graph: parts.graph,
            tokens: parts.tokens,
            clock: parts.clock,
            entropy: parts.entropy,
            limiter: Limiter::new(parts.limits),
            quotas: limits::Kept::default(),
            jobs: AtomicU32::new(parts.settings.jobs),
            totals: Totals::new(),
            user_multiple: AtomicU32::new(parts.settings.user_multiple.unwrap_or(0)),
            settings: parts.settings,
            keys: RwLock::new(parts.keys),
            mint: parts.mint,
            uses: Uses::default(),
            router: Router::new(crate::operations::TABLES),
            replies: Replies::new(),
            bell: OnceLock::new(),
            hooks: OnceLock::new(),
            files: OnceLock::new(),
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The limiters, for metrics and sweeps.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// A fresh gid.
    #[must_use]
    pub fn fresh(&self) -> Gid {
        self.mint
            .next(Time::from_system(self.clock.now()).millis().unsigned_abs())
    }

    /// Answers a request. Never fails: whatever goes wrong has a reply.
    pub async fn handle(&self, request: &Request) -> Reply {
        self.handle_from(request, Caller::default()).await
    }

    /// Answers a request that came from somewhere, which the audit log tells.
    pub async fn handle_from(&self, request: &Request, caller: Caller<'_>) -> Reply {
        let mut held = Held::default();
        let (operation, outcome) = match self.find(request.method, &request.path) {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let moved = query_token::into_header(request, &found);
                let request = moved.as_ref().unwrap_or(request);
                (
                    found.operation.id,
                    self.walk(request, &found, &mut held, caller).await,
                )
            }
        };
        let (mut reply, cost) = self.end(operation, outcome, held.permit, held.terms.as_ref());
        if let Some(terms) = held.terms.filter(|_| request.explain) {
            reply = self.explain(reply, &terms, cost);
        }
        reply
    }

    /// The reply to a request of an operation, and what it cost, which its permit is charged with.
    pub(crate) fn end(
        &self,
        operation: &'static str,
        outcome: Result<Answered, Failure>,
        mut permit: Option<Permit>,
        terms: Option<&Terms>,
    ) -> (Reply, u32) {
        let (mut reply, cost) = match outcome {
            Ok(answered) => (answered.reply, answered.cost),
            Err(failure) => {
                let cost = failure.cost(self.settings.reply_max);
                (fault::reply(&failure, &*self.entropy), cost)
            }
        };
        if let Some(permit) = permit.as_mut().filter(|p| cost > 0 && p.is_charged()) {
            permit.settle(cost, self.clock.now());
            if let Some(terms) = terms {
                self.charge_together(terms, cost);
            }
        }
        reply.operation = operation;
        reply.permit = permit;
        (reply, cost)
    }

    /// Lets a bearer token in where no operation is asked for: the same tokens, the same limits. Its number is 0.
    ///
    /// # Errors
    /// The reply: 401 or 429, as for an operation.
    pub async fn admit_bearer(&self, headers: &[String]) -> Result<(Grant, Permit), Reply> {
        let admitted = async {
            let (grant, now) = self.authenticate(headers, Caller::default()).await?;
            let permit = self.admit(&self.terms(&grant), Load::READ, 0, now)?;
            Ok((grant, permit))
        };
        let admitted: Result<_, Failure> = admitted.await;
        admitted.map_err(|failure| fault::reply(&failure, &*self.entropy))
    }

    /// The operation of a method and path.
    pub(crate) fn find(&self, method: Option<Method>, path: &str) -> Result<Match, Failure> {
        let found = method.and_then(|method| self.router.find(method, path));
        found.ok_or(Failure::NoRoute)
    }

    /// Match → authenticate → limit, and in.
    async fn walk(
        &self,
        request: &Request,
        found: &Match,
        held: &mut Held,
        caller: Caller<'_>,
    ) -> Result<Answered, Failure> {
        let (grant, now) = self.authenticate(&request.authorization, caller).await?;
        let terms = held.terms.insert(self.terms(&grant));
        if matches!(found.operation.run, Run::Batch) {
            return Box::pin(crate::batch::answer(
                self,
                request,
                found,
                (&grant, caller),
                held,
            ))
            .await;
        }
        held.permit = Some(self.admit(terms, Load::of(found.operation), found.number, now)?);
        let budget = Budget::new(self.settings.reply_max);
        self.enter(Sent::Request(request), found, (&grant, caller), &budget)
            .await
    }

    /// Authorize → parse → load, decide, commit, project: what a request and an action of a batch
    /// have in common.
    pub(crate) async fn enter(
        &self,
        sent: Sent<'_>,
        found: &Match,
        (grant, caller): (&Grant, Caller<'_>),
        budget: &Budget,
    ) -> Result<Answered, Failure> {
        let operation = found.operation;
        authorize(operation, grant)?;
        // The version comes before the load: what is loaded is of this version, or newer.
        let kept =
            (matches!(operation.run, Run::Get) && !operation.timed).then(|| self.graph.version());
        let asked = Asked {
            viewer: viewer(grant)?,
            app: grant.app,
            scopes: grant.scopes,
            reach: grant.reach.as_deref(),
            path: sent.path(),
            query: sent.query(),
        };
        if let Some(Some(version)) = kept
            && let Some(again) = self.replies.get(&asked, version)
        {
            budget.take(again.body.len());
            return Ok(again.into());
        }
        // On the heap, so that a reply that was kept does not carry the room of one that is made.
        let by = (grant, caller, asked.viewer);
        let answered = Box::pin(self.make(sent, found, by, budget)).await?;
        budget.take(answered.reply.body.len());
        if let Some(Some(version)) = kept {
            let (row, body) = ((operation, found.number), &answered.reply.body);
            self.replies.put(&asked, version, row, body, answered.cost);
        }
        Ok(answered)
    }

    /// Parse → load, decide, commit, project.
    async fn make(
        &self,
        sent: Sent<'_>,
        found: &Match,
        (grant, caller, viewer): (&Grant, Caller<'_>, ViewerKey),
        budget: &Budget,
    ) -> Result<Answered, Failure> {
        let operation = found.operation;
        let (mut query, mut data, options) = body::read(sent, operation, &self.settings)?;
        let mut parameters = Cow::Borrowed(&found.parameters);
        let inputs = external::Inputs {
            parameters: &mut parameters,
            query: &mut query,
            data: &mut data,
        };
        if inputs.name_tasks() {
            Box::pin(inputs.resolve(self, grant, viewer)).await?;
        }
        let mint = || self.fresh();
        let call = Call {
            operation,
            parameters: &parameters,
            viewer,
            grant,
            caller,
            reach: grant.reach.clone(),
            query,
            data,
            options,
            now: Time::from_system(self.clock.now()),
            mint: &mint,
            settings: &self.settings,
            budget,
            jobs: self.jobs.load(Relaxed),
        };
        let answered = Box::pin(driver::run(self, &call, grant, sent.path())).await?;
        answered.indented(&call)
    }

    /// Whose token this is, and the time at which it was good.
    pub(crate) async fn authenticate(
        &self,
        headers: &[String],
        caller: Caller<'_>,
    ) -> Result<(Grant, SystemTime), Failure> {
        use workgraph_auth::BearerError;
        let token = bearer(headers).map_err(|e| match e {
            BearerError::Missing => Failure::Unauthorized(message::NOT_AUTHORIZED, None),
            BearerError::Repeated => {
                Failure::BadHeader("Authorization: given twice; send one header".to_owned())
            }
            BearerError::Scheme => {
                Failure::Unauthorized("Not Authorized: a bearer token is needed", None)
            }
            BearerError::Empty | BearerError::Spaced => {
                Failure::Unauthorized(message::NOT_AUTHORIZED, Some("invalid_token"))
            }
        })?;
        let invalid = || Failure::Unauthorized(message::NOT_AUTHORIZED, Some("invalid_token"));
        // The version comes before the find: what is found is of this version, or newer.
        let last = caller.last.zip(self.tokens.version());
        let found = match last.and_then(|(last, version)| last.get(token, version)) {
            Some(found) => found,
            None => {
                let digest = digest(token).ok_or_else(invalid)?;
                let found = self.tokens.find(&digest).await;
                let found = found.map_err(|e| Failure::Server(e.to_string()))?;
                let found = Arc::new(found.ok_or_else(invalid)?);
                if let Some((last, version)) = last {
                    last.put(token, version, &found);
                }
                found
            }
        };
        let (record, account) = &*found;
        let now = self.clock.now();
        let grant = check(record, account, now).map_err(|refusal| match refusal {
            Refusal::Expired if record.kind == TokenKind::Access => {
                Failure::Unauthorized(message::EXPIRED_BEARER, Some("invalid_token"))
            }
            _ => invalid(),
        })?;
        self.uses.note(record, now);
        Ok((grant, now))
    }

    /// Random bytes.
    pub(crate) fn random<const N: usize>(&self) -> Result<[u8; N], Failure> {
        let mut bytes = [0u8; N];
        self.entropy
            .fill(&mut bytes)
            .map_err(|e| Failure::Server(e.to_string()))?;
        Ok(bytes)
    }
}

/// What a request holds of the limits while it is answered.
#[derive(Default)]
pub(crate) struct Held {
    /// Once its token is known: the terms it is counted under.
    pub(crate) terms: Option<Terms>,
    /// Once it is admitted.
    pub(crate) permit: Option<Permit>,
}

/// The scope of the row: without one only full permissions do.
pub(crate) fn authorize(operation: &Operation, grant: &Grant) -> Result<(), Failure> {
    let allowed = match operation.scope {
        Some(scope) => grant.scopes.allows(scope),
        None => grant.scopes.is_full(),
    };
    if allowed {
        return Ok(());
    }
    Err(Failure::Scope(match operation.scope {
        Some(scope) => message::missing_scope(operation.id, scope),
        None => format!("{}: needs a token with full permissions", operation.id),
    }))
}

pub(crate) fn viewer(grant: &Grant) -> Result<ViewerKey, Failure> {
    let user =
        Gid::new(grant.user).ok_or_else(|| Failure::Server("a token names no user".to_owned()))?;
    Ok(ViewerKey {
        user,
        service: grant.workspace.and_then(Gid::new),
    })
}

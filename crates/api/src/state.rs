//! The state of the API: stores, ports, settings, limiters and caches.
use crate::cache::ApiCaches;
use crate::ended_jobs::EndedJobs;
use crate::error::ApiError;
use crate::features::attachments::{PendingUploads, UploadReservations};
use crate::features::exports::export_files::ExportFiles;
use crate::features::webhooks::service_state::WebhookService;
use crate::limits::limit_overrides::ActiveLimitOverrides;
use crate::limits::recent_tokens::RecentTokens;
use crate::ports::blob_store::BlobStore;
use crate::ports::{Clock, Entropy};
use crate::request_inspector::RequestInspector;
use crate::request_watch::RequestWatch;
use crate::router::Router;
use crate::token_limits::{ActiveTokenLimits, TokenLimits};
use crate::token_usage::TokenUsage;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use workgraph_auth::{AuthStoreError, TokenStore};
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStore;
use workgraph_core::{Gid, GidGenerator, GidLeaseEnded};
use workgraph_limits::{DigestLimiter, LimiterSettings, OwnerTotals, SharedLimiter, UniformState};
use workgraph_operations::{ApiSettings, Method};
use workgraph_wire::KeyRing;

/// The API: all layers between a transport and the stores.
pub struct Api {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limiter: DigestLimiter,
    pub(crate) token_limits: ActiveTokenLimits,
    /// Limiter shared by several processes; without one, this process applies the limits alone.
    pub(crate) shared_limiter: OnceLock<Arc<dyn SharedLimiter>>,
    pub(crate) recent_tokens: RecentTokens,
    pub(crate) limit_overrides: ActiveLimitOverrides,
    pub(crate) jobs_per_user_max: AtomicU32,
    /// The usage of each user, over all of their tokens.
    pub(crate) user_totals: OwnerTotals<u64, UniformState>,
    /// The limit of a user as a multiple of the limit of one token; 0 for no limit.
    pub(crate) user_multiple: AtomicU32,
    pub(crate) settings: ApiSettings,
    pub(crate) keys: KeyRing,
    pub(crate) gid_generator: Arc<GidGenerator>,
    pub(crate) token_usage: TokenUsage,
    /// Function to call when a job was started.
    pub(crate) job_notifier: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub(crate) ended_jobs: EndedJobs,
    pub(crate) webhooks: OnceLock<WebhookService>,
    pub(crate) export_files: OnceLock<Arc<dyn ExportFiles>>,
    pub(crate) blob_store: OnceLock<Arc<dyn BlobStore>>,
    /// Watch over requests, in tests of clients.
    pub(crate) request_watch: OnceLock<Arc<dyn RequestWatch>>,
    pub(crate) pending_uploads: PendingUploads,
    pub(crate) upload_reservations: UploadReservations,
    pub(crate) router: &'static Router,
    pub(crate) caches: ApiCaches,
    pub(crate) inspector: RequestInspector,
}

/// The parts that an [`Api`] is built from.
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
    /// Limits that apply to each token.
    pub limits: TokenLimits,
    /// The keys that seal page tokens.
    pub keys: KeyRing,
    /// Generator of gids. Only one generator with the same node number may create gids at a time.
    pub gid_generator: Arc<GidGenerator>,
}

impl ApiDependencies {
    /// Returns the parts of an API over a store for both the graph and the tokens, with default settings and limits.
    ///
    /// The generator continues above the highest gid of the store ([`GidGenerator::new`]). Keep the keys as long as the
    /// data, since clients keep page tokens.
    #[must_use]
    pub fn new<S: GraphStore + TokenStore + 'static>(
        store: Arc<S>,
        gid_generator: Arc<GidGenerator>,
        clock: impl Clock + 'static,
        entropy: impl Entropy + 'static,
        keys: KeyRing,
    ) -> Self {
        Self {
            graph: store.clone(),
            tokens: store,
            clock: Arc::new(clock),
            entropy: Arc::new(entropy),
            settings: ApiSettings::default(),
            limits: TokenLimits::default(),
            keys,
            gid_generator,
        }
    }
}

impl Api {
    /// Builds the API from its dependencies.
    #[must_use]
    pub fn new(parts: ApiDependencies) -> Self {
        let limits = LimiterSettings::from(&parts.limits);
        Self {
            graph: parts.graph,
            tokens: parts.tokens,
            clock: parts.clock,
            entropy: parts.entropy,
            user_totals: OwnerTotals::new(&limits),
            limiter: DigestLimiter::new(limits),
            token_limits: ActiveTokenLimits::new(parts.limits),
            shared_limiter: OnceLock::new(),
            recent_tokens: RecentTokens::default(),
            limit_overrides: ActiveLimitOverrides::default(),
            jobs_per_user_max: AtomicU32::new(parts.settings.jobs_per_user_max),
            user_multiple: AtomicU32::new(parts.settings.user_multiple.unwrap_or(0)),
            caches: ApiCaches::new(parts.settings.caches),
            inspector: RequestInspector::new(parts.settings.inspector),
            settings: parts.settings,
            keys: parts.keys,
            gid_generator: parts.gid_generator,
            token_usage: TokenUsage::default(),
            router: Router::of_operations(),
            job_notifier: OnceLock::new(),
            ended_jobs: EndedJobs::default(),
            webhooks: OnceLock::new(),
            export_files: OnceLock::new(),
            blob_store: OnceLock::new(),
            request_watch: OnceLock::new(),
            pending_uploads: PendingUploads::default(),
            upload_reservations: UploadReservations::default(),
        }
    }

    /// Returns the settings that the API was built with.
    #[must_use]
    pub fn settings(&self) -> &ApiSettings {
        &self.settings
    }

    /// Returns the keys that seal page tokens, which are the same on all nodes.
    #[must_use]
    pub const fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// Returns the last requests of each token owner.
    #[must_use]
    pub fn inspector(&self) -> &RequestInspector {
        &self.inspector
    }

    /// Returns the limiters, for metrics and sweeps.
    #[must_use]
    pub fn limiter(&self) -> &DigestLimiter {
        &self.limiter
    }

    /// Returns the name of the operation with a method and a path below the API base, if one has them.
    #[must_use]
    pub fn operation_name(&self, method: &str, path: &str) -> Option<&'static str> {
        let found = self.router.match_route(Method::parse(method), path).ok()?;
        Some(found.operation.id)
    }

    /// Sets the watch over requests; the first call counts. Replies from the response cache then go through the whole pipeline, too.
    pub fn set_request_watch(&self, watch: Arc<dyn RequestWatch>) {
        let _second = self.request_watch.set(watch);
    }

    /// Returns a new gid that may be stored.
    ///
    /// # Errors
    /// Fails if the lease on this node's number has ended.
    pub fn confirmed_gid(&self) -> Result<Gid, GidLeaseEnded> {
        let gid = self.next_gid();
        self.gid_generator.confirm().map(|()| gid)
    }

    /// Returns a new gid for changes to the graph, which the store only commits if it may be stored.
    #[must_use]
    pub fn next_gid(&self) -> Gid {
        self.gid_generator
            .next(Time::from_system(self.clock.now()).millis().unsigned_abs())
    }

    /// Writes the token uses since the last call to the store. Call it about every 30 seconds, and once at
    /// shutdown.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log. The uses of that batch are lost.
    pub async fn flush_token_usage(&self) -> Result<(), AuthStoreError> {
        self.token_usage.flush(&*self.tokens).await
    }

    /// Returns fresh random bytes, or an error if the system has none.
    pub(crate) fn random_bytes<const N: usize>(&self) -> Result<[u8; N], ApiError> {
        let mut bytes = [0u8; N];
        self.entropy
            .fill(&mut bytes)
            .map_err(|e| ApiError::Server(e.to_string()))?;
        Ok(bytes)
    }
}

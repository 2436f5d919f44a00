//! The store behind its ports, and operations that are not part of a port.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::sealed_webhooks::{SealedWebhookStore, WebhookSecretSealer};
use crate::log::request_scope::in_current_request;
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use workgraph_audit::{AuditLogStore, CheckpointPublicKey, InspectionReport};
use workgraph_auth::{AuthStoreError, OAuthStore, TokenStore};
use workgraph_core::audit::ActorContext;
use workgraph_core::storage::{
    GraphStore, LeasedGidStore, PermanentLeases, ReadQuery, ViewerKey, WorkLeases,
};
use workgraph_core::{Gid, GidGenerator};
use workgraph_portal::AuditedStore;
use workgraph_store_postgres::PostgresStore;
pub(crate) use workgraph_store_sqlite::{ArchiveOptions, CopyMethod, StoreOptions, TokenAlias};
use workgraph_store_sqlite::{KeyCheck, ReadOnlyStore, SqliteStore};
use workgraph_webhooks::{Reseal, WebhookStore};

/// Operations of a store that are not part of its ports.
#[async_trait]
trait StoreBackend: Send + Sync {
    /// Returns the store bound to an actor: the audit log attributes its writes to them.
    fn bound_to_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore>;

    /// Records a failed sign-in of a user in the audit log.
    async fn record_failed_sign_in(
        &self,
        user: u64,
        acting: ActorContext,
        now: SystemTime,
    ) -> Result<(), AuthStoreError>;

    /// Returns figures for the metrics; none if the store can't be read.
    async fn figures(&self) -> Vec<(&'static str, u64)>;

    /// Copies the current content of the store into a folder without a database.
    ///
    /// # Errors
    /// Fails if the store is no file, or a file can't be read or written.
    fn copy_to(&self, folder: &Path) -> Result<CopyMethod>;

    /// Closes connections that are not in use, if the store opens them again by itself.
    fn close_idle_connections(&self);

    /// Returns true if the store is a copy that still reads in its source.
    fn reads_in_source(&self) -> bool;

    /// Refuses the first write of a copy that was not written yet.
    fn refuse_first_write(&self);
}

#[async_trait]
impl StoreBackend for SqliteStore {
    fn bound_to_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore> {
        Arc::new(self.as_actor(acting, now))
    }

    async fn record_failed_sign_in(
        &self,
        user: u64,
        acting: ActorContext,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let store = self.as_actor(acting, now);
        SqliteStore::record_failed_sign_in(&store, user).await
    }

    async fn figures(&self) -> Vec<(&'static str, u64)> {
        let Ok(stats) = self.stats() else {
            return Vec::new();
        };
        let mut figures = vec![
            ("store_sequence", stats.seq),
            ("store_wal_bytes", stats.wal_bytes),
            ("store_database_bytes", stats.database_bytes),
        ];
        if let Some(archive) = stats.archive {
            figures.extend([
                ("archive_failures_total", archive.failures),
                ("archive_lag_seconds", archive.lag.as_secs()),
                ("archive_waiting_bytes", archive.waiting_bytes),
            ]);
        }
        figures
    }

    fn copy_to(&self, folder: &Path) -> Result<CopyMethod> {
        let copied = SqliteStore::copy_to(self, folder);
        copied.with_context(|| not_copied(folder))
    }

    fn close_idle_connections(&self) {
        SqliteStore::close_idle_connections(self);
    }

    fn reads_in_source(&self) -> bool {
        SqliteStore::reads_in_source(self)
    }

    fn refuse_first_write(&self) {
        SqliteStore::refuse_first_write(self);
    }
}

#[async_trait]
impl StoreBackend for PostgresStore {
    fn bound_to_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore> {
        Arc::new(self.as_actor(acting, now))
    }

    async fn record_failed_sign_in(
        &self,
        user: u64,
        acting: ActorContext,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let store = self.as_actor(acting, now);
        PostgresStore::record_failed_sign_in(&store, user).await
    }

    async fn figures(&self) -> Vec<(&'static str, u64)> {
        // A load without queries returns the number of the last commit.
        let Some(nobody) = Gid::new(1) else {
            return Vec::new();
        };
        let nothing = ReadQuery::of(ViewerKey {
            user: nobody,
            service: None,
        });
        let view = GraphStore::load(self, &nothing).await.ok();
        let stats = self.stats();
        let mut figures = vec![
            ("store_connections", stats.connections),
            ("store_reads_total", stats.reads),
            ("store_read_trips_total", stats.read_trips),
        ];
        let bytes = self.database_bytes().await.ok();
        figures.extend(bytes.map(|bytes| ("store_database_bytes", bytes)));
        figures.extend(view.map(|view| ("store_sequence", view.seq)));
        figures
    }

    fn copy_to(&self, folder: &Path) -> Result<CopyMethod> {
        bail!(
            "{}: a database that nodes share can't be copied into a folder",
            folder.display()
        )
    }

    fn close_idle_connections(&self) {
        // The pool of connections closes them.
    }

    fn reads_in_source(&self) -> bool {
        false
    }

    fn refuse_first_write(&self) {
        // It is no copy.
    }
}

/// Store that nobody writes, from which others are copied.
pub(crate) struct StorageSource {
    store: SqliteStore,
    /// Method by which the database is copied.
    pub(crate) method: CopyMethod,
    /// Highest gid in it.
    floor: Option<Gid>,
}

impl StorageSource {
    /// Opens a closed store as a source.
    ///
    /// # Errors
    /// Fails if it can't be opened or read.
    pub(crate) fn open(folder: &Path, options: StoreOptions) -> Result<Self> {
        let opened = SqliteStore::open_source(folder, options);
        let (store, method) = opened.with_context(|| not_opened(folder))?;
        let floor = store.max_gid();
        let floor = floor.context("the highest gid can't be read")?;
        Ok(Self {
            store,
            method,
            floor,
        })
    }

    /// Closes connections that are not in use; the next read opens one.
    pub(crate) fn close_idle_connections(&self) {
        self.store.close_idle_connections();
    }
}

/// Returns the check of the keys of a store, and the conversion of its secrets to the current key.
fn key_checks(
    sealer: &WebhookSecretSealer,
    accepted: AcceptedLosses,
) -> (Box<KeyCheck<'static>>, Box<Reseal<'static>>) {
    let is_noted = Arc::new(AtomicBool::new(false));
    let (notes, keys) = (Arc::clone(&is_noted), sealer.clone());
    let check = move |noted: Option<u64>| match noted {
        Some(noted) if !accepted.keys && !keys.has_digest(noted) => Err(OTHER_KEYS.into()),
        _ => {
            notes.store(noted.is_some(), Ordering::Relaxed);
            Ok(keys.digest())
        }
    };
    let sealer = sealer.clone();
    let reseal = move |id: u64, kept: &str| {
        // Without a stored digest, secrets that can't be opened show that the keys are different.
        let is_known = accepted.keys || is_noted.load(Ordering::Relaxed);
        if !is_known && sealer.is_lost(id, kept) {
            return Err(OTHER_KEYS.into());
        }
        sealer.reseal(id, kept).map_err(Into::into)
    };
    (Box::new(check), Box::new(reseal))
}

/// Refusal of a database whose secrets were sealed with other keys.
const OTHER_KEYS: &str = "keys.json has other keys than those that the secrets of its webhooks are sealed with. Put the keys.json of this data back from its copy (docs/BACKUPS.md). If it is lost, start once with --new-keys: deliveries of the webhooks that there are then fail, until they are made again";

/// The ports of one store.
pub(crate) struct Storage {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) oauth: Arc<dyn OAuthStore>,
    pub(crate) hooks: Arc<dyn WebhookStore>,
    pub(crate) audit_log: Arc<dyn AuditLogStore>,
    pub(crate) leases: Arc<dyn WorkLeases>,
    pub(crate) gid_generator: Arc<GidGenerator>,
    /// Name of the store in answers to readiness checks.
    pub(crate) name: &'static str,
    /// True if other nodes share the store. (A graph without a version does not imply this: wrappers for tests have
    /// no version either.)
    pub(crate) is_shared: bool,
    backend: Arc<dyn StoreBackend>,
}

impl Storage {
    /// Opens the store in the data folder, and creates it if it does not exist. The node with this number generates gids
    /// above all that are in the store.
    ///
    /// # Errors
    /// Fails if another process has it open, or it can't be read or written.
    pub(crate) fn open(
        folder: &Path,
        node: u8,
        options: StoreOptions,
        archive: Option<ArchiveOptions>,
        sealer: WebhookSecretSealer,
        accepted: AcceptedLosses,
    ) -> Result<Self> {
        // SQLite gives the files next to it the mode of the database, so that is created first.
        let made = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join("workgraph.db"));
        made.with_context(|| folder.display().to_string())?;
        let (mut check, mut reseal) = key_checks(&sealer, accepted);
        let opened = SqliteStore::open_sealed(folder, options, archive, &mut *check, &mut *reseal);
        let sqlite = opened.with_context(|| not_opened(folder))?;
        let floor = sqlite.max_gid();
        let floor = floor.context("the highest gid can't be read")?;
        let gid_generator = Arc::new(GidGenerator::new(node, floor));
        let leases = Arc::new(PermanentLeases);
        Ok(Self::with(Arc::new(sqlite), leases, gid_generator, sealer))
    }

    /// Opens a copy of a source in a folder. It has no files before its first write.
    ///
    /// # Errors
    /// Fails if the source can't be read.
    pub(crate) fn open_copy(
        source: &StorageSource,
        (folder, token_aliases): (&Path, Vec<TokenAlias>),
        node: u8,
        options: StoreOptions,
        (sealer, accepted): (WebhookSecretSealer, AcceptedLosses),
    ) -> Result<Self> {
        let checks = key_checks(&sealer, accepted);
        let opened = SqliteStore::open_copy(&source.store, folder, options, token_aliases, checks);
        let sqlite = opened.with_context(|| not_copied(folder))?;
        let gid_generator = Arc::new(GidGenerator::new(node, source.floor));
        let leases = Arc::new(PermanentLeases);
        Ok(Self::with(Arc::new(sqlite), leases, gid_generator, sealer))
    }

    /// Returns the ports of a database that nodes share. Gids whose lease has ended are never committed.
    pub(crate) fn shared(
        store: Arc<PostgresStore>,
        leases: Arc<dyn WorkLeases>,
        gid_generator: Arc<GidGenerator>,
        sealer: WebhookSecretSealer,
    ) -> Self {
        let mut storage = Self::with(store, leases, Arc::clone(&gid_generator), sealer);
        storage.name = "PostgreSQL database";
        storage.is_shared = true;
        storage.graph = Arc::new(LeasedGidStore {
            store: storage.graph,
            generator: gid_generator,
        });
        storage
    }

    /// Returns the ports of a store.
    fn with<S>(
        store: Arc<S>,
        leases: Arc<dyn WorkLeases>,
        gid_generator: Arc<GidGenerator>,
        sealer: WebhookSecretSealer,
    ) -> Self
    where
        S: GraphStore
            + TokenStore
            + OAuthStore
            + WebhookStore
            + AuditLogStore
            + StoreBackend
            + 'static,
    {
        #[cfg(debug_assertions)]
        let graph = crate::adapters::fault_injection::with_fault_injection(store.clone());
        #[cfg(not(debug_assertions))]
        let graph = store.clone();
        Self {
            graph,
            tokens: store.clone(),
            oauth: store.clone(),
            hooks: Arc::new(SealedWebhookStore {
                store: store.clone(),
                sealer,
            }),
            audit_log: store.clone(),
            leases,
            gid_generator,
            name: "store",
            is_shared: false,
            backend: store,
        }
    }

    /// Returns figures for the metrics; none if the store can't be read.
    pub(crate) async fn stats(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.backend.figures().await;
        let log = self.audit_log.progress().await.ok();
        all.extend(log.map(|log| ("audit_sequence", log.head.seq)));
        all
    }
}

impl Storage {
    /// Copies the current content of the store into a folder without a database.
    ///
    /// # Errors
    /// Fails if the store is no file, or a file can't be read or written.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<CopyMethod> {
        self.backend.copy_to(folder)
    }

    /// Closes connections that are not in use; the next request opens one.
    pub(crate) fn close_idle_connections(&self) {
        self.backend.close_idle_connections();
    }

    /// Returns true if the store is a copy that still reads in its source.
    pub(crate) fn reads_in_source(&self) -> bool {
        self.backend.reads_in_source()
    }

    /// Refuses the first write of a copy that was not written yet, since its folder is about to be removed.
    pub(crate) fn refuse_first_write(&self) {
        self.backend.refuse_first_write();
    }
}

fn not_copied(folder: &Path) -> String {
    format!("{}: the copy of a store failed", folder.display())
}

impl AuditedStore for Storage {
    fn as_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore> {
        self.backend.bound_to_actor(acting, now)
    }

    fn sign_in_failed(&self, user: u64, acting: ActorContext, now: SystemTime) {
        let store = Arc::clone(&self.backend);
        tokio::spawn(in_current_request(async move {
            if let Err(e) = store.record_failed_sign_in(user, acting, now).await {
                tracing::error!(
                    reason = e.to_string(),
                    "a failed sign-in could not be written to the audit log"
                );
            }
        }));
    }
}

/// Compares the audit log with its checkpoints; a server may be running.
///
/// # Errors
/// Fails if the log can't be read at all.
pub(crate) fn inspect_audit(
    folder: &Path,
    key: &CheckpointPublicKey,
    anchored: &[String],
) -> Result<InspectionReport> {
    let store = open_read_only(folder)?;
    let report = store.inspect_audit(key, anchored);
    report.with_context(|| format!("{}: the audit log can't be read", folder.display()))
}

/// Returns the faults of the file and of the graph in it; a server may be running.
///
/// # Errors
/// Fails if the file can't be read at all.
pub(crate) fn check(folder: &Path) -> Result<Vec<String>> {
    let store = open_read_only(folder)?;
    store
        .check()
        .with_context(|| format!("{}: the store can't be checked", folder.display()))
}

pub(crate) fn open_read_only(folder: &Path) -> Result<ReadOnlyStore> {
    SqliteStore::open_read_only(folder).with_context(|| not_opened(folder))
}

fn not_opened(folder: &Path) -> String {
    format!("the store in {} can't be opened", folder.display())
}

//! The store behind its ports, and the operations that only the store itself has.
use crate::adapters::sealed_webhooks::{SealedWebhookStore, WebhookSecretSealer};
use crate::log::request_scope::in_current_request;
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_audit::{ChainPosition, CheckpointPublicKey, InspectionReport};
use workgraph_auth::{OAuthStore, TokenStore};
use workgraph_core::Gid;
use workgraph_core::audit::ActorContext;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStore;
use workgraph_portal::AuditedStore;
pub(crate) use workgraph_store_sqlite::StoreOptions;
use workgraph_store_sqlite::{AuditLogProgress, ReadOnlyStore, SqliteStore};
use workgraph_webhooks::WebhookStore;

/// Stores of one data folder.
pub(crate) struct Storage {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) oauth: Arc<dyn OAuthStore>,
    pub(crate) hooks: Arc<dyn WebhookStore>,
    sqlite: Arc<SqliteStore>,
}

impl Storage {
    /// Opens the store in the data folder, and makes it if there is none.
    ///
    /// # Errors
    /// Fails if another process has it open, or it can't be read or written.
    pub(crate) fn open(
        folder: &Path,
        options: StoreOptions,
        sealer: WebhookSecretSealer,
    ) -> Result<Self> {
        // SQLite gives the files beside it the mode of the database, so that is made first.
        let made = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join("workgraph.db"));
        made.with_context(|| folder.display().to_string())?;
        let mut reseal = |id, kept: &str| sealer.reseal(id, kept).map_err(Into::into);
        let opened = SqliteStore::open_resealed(folder, options, &mut reseal);
        let sqlite = opened.with_context(|| not_opened(folder))?;
        let sqlite = Arc::new(sqlite);
        #[cfg(debug_assertions)]
        let graph = crate::adapters::fault_injection::with_fault_injection(sqlite.clone());
        #[cfg(not(debug_assertions))]
        let graph = sqlite.clone();
        Ok(Self {
            graph,
            tokens: sqlite.clone(),
            oauth: sqlite.clone(),
            hooks: Arc::new(SealedWebhookStore {
                store: sqlite.clone(),
                sealer,
            }),
            sqlite,
        })
    }

    /// Returns the highest gid in use.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) fn floor(&self) -> Result<Option<Gid>> {
        let highest = self.sqlite.max_gid();
        highest.context("the highest gid can't be read")
    }

    /// Returns figures for the metrics; none if the store can't be read.
    pub(crate) fn stats(&self) -> Vec<(&'static str, u64)> {
        let stats = self.sqlite.stats().ok();
        let mut all = stats.map_or_else(Vec::new, |s| {
            vec![("store_sequence", s.seq), ("store_wal_bytes", s.wal_bytes)]
        });
        let tail = self.sqlite.audit_log_tail().ok();
        all.extend(tail.map(|tail| ("audit_sequence", tail.head.seq)));
        all
    }

    /// Returns the last row of the audit log and its last checkpoint.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) fn audit_tail(&self) -> Result<AuditLogProgress> {
        let tail = self.sqlite.audit_log_tail();
        tail.context("the end of the audit log can't be read")
    }

    /// Returns the row up to which the audit log may be dropped now.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) fn audit_old(&self, before: Time) -> Result<Option<ChainPosition>> {
        let rows = self.sqlite.prunable_audit_rows(before);
        rows.context("the old rows of the audit log can't be found")
    }

    /// Stores a signed checkpoint of a row, and drops the rows up to `base`.
    ///
    /// # Errors
    /// Fails if the store can't be written.
    pub(crate) async fn keep_checkpoint(&self, line: String, head: u64, base: u64) -> Result<()> {
        let kept = self.sqlite.keep_checkpoint(line, head, base).await;
        kept.with_context(|| format!("the checkpoint of row {head} can't be stored"))
    }
}

impl AuditedStore for Storage {
    fn as_actor(&self, acting: ActorContext, now: SystemTime) -> Arc<dyn OAuthStore> {
        Arc::new(self.sqlite.as_actor(acting, now))
    }

    fn sign_in_failed(&self, user: u64, acting: ActorContext, now: SystemTime) {
        let store = self.sqlite.as_actor(acting, now);
        tokio::spawn(in_current_request(async move {
            if let Err(e) = store.record_failed_sign_in(user).await {
                tracing::error!(
                    reason = e.to_string(),
                    "a failed sign-in is missing in the audit log"
                );
            }
        }));
    }
}

/// Compares the audit log with its checkpoints; a server may be running.
///
/// # Errors
/// Fails if it can't be read at all.
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
/// Fails if it can't be read at all.
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

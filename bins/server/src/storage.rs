//! The store behind its ports, and what only the store itself can do.
use crate::sealed_hooks::{SealedHooks, Sealer};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_audit::{Mark, PublicKey, Report};
use workgraph_auth::{OAuthStore, TokenStore};
use workgraph_core::Gid;
use workgraph_core::audit::Acting;
use workgraph_core::graph::GraphStore;
use workgraph_core::time::Time;
use workgraph_portal::Acts;
pub(crate) use workgraph_store_sqlite::Options;
use workgraph_store_sqlite::{AuditTail, SqliteStore};
use workgraph_webhooks::HookStore;

/// The stores.
pub(crate) struct Storage {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) oauth: Arc<dyn OAuthStore>,
    pub(crate) hooks: Arc<dyn HookStore>,
    sqlite: Arc<SqliteStore>,
}

impl Storage {
    /// Opens the store in the data folder, and makes it if there is none.
    ///
    /// # Errors
    /// When another process has it open, or it can't be read or written.
    pub(crate) fn open(folder: &Path, options: Options, sealer: Sealer) -> Result<Self, String> {
        // SQLite gives the files beside it the mode of the database, so that is made first.
        let made = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join("workgraph.db"));
        made.map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut reseal = |id, kept: &str| sealer.reseal(id, kept);
        let opened = SqliteStore::open_resealed(folder, options, &mut reseal);
        let sqlite = Arc::new(opened.map_err(|e| e.to_string())?);
        #[cfg(debug_assertions)]
        let graph = crate::sabotage::wrapped(sqlite.clone());
        #[cfg(not(debug_assertions))]
        let graph = sqlite.clone();
        Ok(Self {
            graph,
            tokens: sqlite.clone(),
            oauth: sqlite.clone(),
            hooks: Arc::new(SealedHooks {
                store: sqlite.clone(),
                sealer,
            }),
            sqlite,
        })
    }

    /// The highest gid in use.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn floor(&self) -> Result<Option<Gid>, String> {
        self.sqlite.max_gid().map_err(|e| e.to_string())
    }

    /// Figures for the metrics; none if the store can't be read.
    pub(crate) fn stats(&self) -> Vec<(&'static str, u64)> {
        let stats = self.sqlite.stats().ok();
        let mut all = stats.map_or_else(Vec::new, |s| {
            vec![("store_sequence", s.seq), ("store_wal_bytes", s.wal_bytes)]
        });
        let tail = self.sqlite.audit_tail().ok();
        all.extend(tail.map(|tail| ("audit_sequence", tail.head.seq)));
        all
    }

    /// How far the audit log has come.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn audit_tail(&self) -> Result<AuditTail, String> {
        self.sqlite.audit_tail().map_err(|e| e.to_string())
    }

    /// Up to which row the audit log may be dropped now.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn audit_old(&self, before: Time) -> Result<Option<Mark>, String> {
        self.sqlite.audit_old(before).map_err(|e| e.to_string())
    }

    /// Keeps a signed checkpoint of a row, and drops the rows up to `base`.
    ///
    /// # Errors
    /// When the store can't be written.
    pub(crate) async fn keep_checkpoint(
        &self,
        line: String,
        head: u64,
        base: u64,
    ) -> Result<(), String> {
        let kept = self.sqlite.keep_checkpoint(line, head, base).await;
        kept.map_err(|e| e.to_string())
    }
}

impl Acts for Storage {
    fn by(&self, acting: Acting, now: SystemTime) -> Arc<dyn OAuthStore> {
        Arc::new(self.sqlite.by(acting, now))
    }

    fn sign_in_failed(&self, user: u64, acting: Acting, now: SystemTime) {
        let store = self.sqlite.by(acting, now);
        tokio::spawn(async move {
            if let Err(e) = store.sign_in_failed(user).await {
                tracing::error!(
                    why = e.to_string(),
                    "a failed sign-in is missing in the audit log"
                );
            }
        });
    }
}

/// Copies the store to a new file; a server may be running.
///
/// # Errors
/// When there is such a file, or one can't be read or written.
pub(crate) fn backup(folder: &Path, to: &Path) -> Result<(), String> {
    let store = SqliteStore::open_read_only(folder).map_err(|e| e.to_string())?;
    store.backup(to).map_err(|e| e.to_string())
}

/// Compares the audit log with its checkpoints; a server may be running.
///
/// # Errors
/// When it can't be read at all.
pub(crate) fn inspect_audit(
    folder: &Path,
    key: &PublicKey,
    anchored: &[String],
) -> Result<Report, String> {
    let store = SqliteStore::open_read_only(folder).map_err(|e| e.to_string())?;
    let report = store.inspect_audit(key, anchored);
    report.map_err(|e| e.to_string())
}

/// What is wrong with the file and the graph in it; a server may be running.
///
/// # Errors
/// When it can't be read at all.
pub(crate) fn check(folder: &Path) -> Result<Vec<String>, String> {
    let store = SqliteStore::open_read_only(folder).map_err(|e| e.to_string())?;
    store.check().map_err(|e| e.to_string())
}

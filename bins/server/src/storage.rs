//! The store behind its ports, and what only the store itself can do.
use std::path::Path;
use std::sync::Arc;
use workgraph_auth::TokenStore;
use workgraph_core::Gid;
use workgraph_core::graph::GraphStore;
use workgraph_store_sqlite::{Options, SqliteStore};

/// The stores.
pub(crate) struct Storage {
    pub(crate) graph: Arc<dyn GraphStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    sqlite: Arc<SqliteStore>,
}

impl Storage {
    /// Opens the store in the data folder, and makes it if there is none.
    ///
    /// # Errors
    /// When another process has it open, or it can't be read or written.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let sqlite = Arc::new(SqliteStore::open(folder, Options::default()).map_err(|e| e.to_string())?);
        Ok(Self { graph: sqlite.clone(), tokens: sqlite.clone(), sqlite })
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
        stats.map_or_else(Vec::new, |s| vec![("store_sequence", s.seq), ("store_wal_bytes", s.wal_bytes)])
    }
}

//! Initial states that several worlds begin with. They are made once, and kept for the next world.
use crate::stand_in::initial_state::InitialState;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::Mutex;

/// Maximum number of initial states that are kept; worlds that began with others keep theirs.
const STATES_MAX: usize = 16;

/// Initial states by key and version, the most recently used last.
pub(crate) struct InitialStates {
    /// Folder with a subfolder for each state.
    folder: PathBuf,
    last: AtomicU64,
    /// The most recently used state is last.
    kept: Mutex<Vec<KeptState>>,
}

struct KeptState {
    key: String,
    /// Version of the objects that the key names.
    version: String,
    state: Arc<InitialState>,
}

impl InitialStates {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            last: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    /// Returns the state with this key and version. If it is not kept, `make` makes it in a new folder; others who want a
    /// state wait until then.
    ///
    /// # Errors
    /// Fails as `make` does.
    pub(crate) async fn get(
        &self,
        (key, version): (String, String),
        make: impl AsyncFnOnce(&Path) -> Result<InitialState>,
    ) -> Result<Arc<InitialState>> {
        let mut kept = self.kept.lock().await;
        let found = kept.iter().position(|entry| entry.key == key);
        if let Some(found) = found.map(|at| kept.remove(at))
            && found.version == version
        {
            let state = Arc::clone(&found.state);
            kept.push(found);
            return Ok(state);
        }
        if kept.len() >= STATES_MAX {
            kept.remove(0);
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let state = Arc::new(make(&self.folder.join(format!("initial-{number}"))).await?);
        kept.push(KeptState {
            key,
            version,
            state: Arc::clone(&state),
        });
        Ok(state)
    }

    /// Drops the state with this key.
    pub(crate) async fn forget(&self, key: &str) {
        self.kept.lock().await.retain(|entry| entry.key != key);
    }
}

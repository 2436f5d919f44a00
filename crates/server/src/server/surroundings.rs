//! Runtime and folder that belong only to a server inside another program.
use crate::adapters::system_clock::{SystemEntropy, hex, random};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::{EnterGuard, Runtime};
use tokio::task::spawn_blocking;

/// Time limit for blocking work when a server stops.
const BLOCKING_MAX: Duration = Duration::from_secs(10);

/// Runtime and folder of a server. They end with it: tasks that still hold a part of the server end with the runtime,
/// and then the folder is removed.
pub(crate) struct Surroundings {
    runtime: Option<Runtime>,
    /// Data folder, if none was given.
    folder: Option<TemporaryFolder>,
}

impl Surroundings {
    pub(crate) const fn new(runtime: Runtime, folder: Option<TemporaryFolder>) -> Self {
        Self {
            runtime: Some(runtime),
            folder,
        }
    }

    pub(crate) const fn folder(&self) -> Option<&TemporaryFolder> {
        self.folder.as_ref()
    }

    /// Runs a future on the runtime.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let runtime = self.runtime.as_ref().context("the runtime has ended")?;
        let ended = runtime.spawn(future).await;
        ended.context("the server broke off")?
    }

    /// Enters the runtime on this thread, until the guard is dropped.
    pub(crate) fn enter(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(Runtime::enter)
    }

    /// Runs the shutdown of the server, and ends its runtime.
    pub(crate) async fn end(
        mut self,
        last: impl Future<Output = Result<()>> + Send + 'static,
    ) -> Result<()> {
        let outcome = self.run(last).await;
        if let Some(runtime) = self.runtime.take() {
            let ending = spawn_blocking(move || runtime.shutdown_timeout(BLOCKING_MAX));
            ending
                .await
                .context("the runtime of the server broke off")?;
        }
        outcome
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        // A runtime must not wait for another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        drop(self.folder.take());
    }
}

/// Folder that is removed, with its contents, when this value is dropped.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder with a random name in the system's temporary folder.
    ///
    /// # Errors
    /// Fails if it can't be made.
    pub(crate) fn make() -> Result<Self> {
        let name = hex(&random::<16>(&SystemEntropy::new())?);
        let path = std::env::temp_dir().join(format!("workgraph-{name}"));
        std::fs::create_dir(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            let (folder, reason) = (self.0.display().to_string(), error.to_string());
            tracing::warn!(folder, reason, "a temporary data folder was not removed");
        }
    }
}

//! A running server, and its shutdown.
use crate::admin::bootstrap_file::Bootstrap;
use crate::admin::socket;
use crate::config::Config;
use crate::http::stop_signal::StopSignal;
use crate::runtime_limits::RuntimeLimits;
use crate::server::background_work::BackgroundWork;
use crate::server::surroundings::Surroundings;
use crate::server_resources::ServerResources;
use crate::stand_in::Interception;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinHandle;
use workgraph_api::Api;

/// Server that serves requests until it is stopped: on its own runtime if a builder started it, else on the one it was
/// prepared on.
///
/// Dropping the server asks it to stop without waiting; [`Server::stop`] waits.
pub struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) root: String,
    pub(crate) base_url: String,
    pub(crate) bootstrap: Option<Bootstrap>,
    pub(crate) banner: String,
    pub(crate) folder: PathBuf,
    pub(crate) resources: Arc<ServerResources>,
    pub(crate) limits: Arc<RuntimeLimits>,
    pub(crate) api: Arc<Api>,
    pub(crate) work: BackgroundWork,
    pub(crate) stop: StopOnDrop,
    pub(crate) interception: Option<Interception>,
    pub(crate) listening: JoinHandle<Result<()>>,
    pub(crate) surroundings: Option<Surroundings>,
}

/// Handle that asks a server to stop when dropped.
pub(crate) struct StopOnDrop(pub(crate) Arc<StopSignal>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.request();
    }
}

impl Server {
    /// Returns the address of the main listener.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the API for clients, such as `http://127.0.0.1:8080/api/1.0`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the address of the authorization server and the pages, such as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn auth_url(&self) -> &str {
        &self.root
    }

    /// Returns the first users, workspaces, tokens and apps, if `bootstrap.json` still exists.
    #[must_use]
    pub const fn bootstrap(&self) -> Option<&Bootstrap> {
        self.bootstrap.as_ref()
    }

    /// Returns the environment variables with which other programs reach a stand-in instead of the hosts that it intercepts;
    /// empty if it intercepts none.
    #[must_use]
    pub fn interception(&self) -> Vec<(&'static str, String)> {
        let interception = self.interception.as_ref();
        interception
            .map(Interception::environment)
            .unwrap_or_default()
    }

    /// Returns the text that describes what the server provides and what to try.
    #[must_use]
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Applies the limits in these settings; all other settings need a restart.
    ///
    /// # Errors
    /// Fails if the limits can't be applied.
    pub fn reload(&self, config: &Config) -> Result<()> {
        self.limits.reload(config, &self.api)
    }

    /// Asks the server to stop and lets started requests finish. When called again, cuts them off.
    pub fn request_stop(&self) {
        self.stop.0.request();
    }

    /// Waits until the server stops serving: it was asked to stop, or another node has its number. Then
    /// [`Server::finish`] ends the background work.
    ///
    /// # Errors
    /// Fails if the server could not continue.
    pub async fn stopped(&mut self) -> Result<()> {
        let ended = (&mut self.listening).await;
        ended.context("the listener broke off")?
    }

    /// Ends the background work, and releases the leases of the server.
    ///
    /// # Errors
    /// Fails if another node has the number of this one.
    pub async fn finish(self) -> Result<()> {
        self.work.end().await;
        let left = self.resources.leave().await;
        socket::remove(&self.folder);
        tracing::info!("stopped");
        left
    }

    /// Stops the server gracefully, and waits until all of its resources are closed.
    ///
    /// # Errors
    /// Fails if the server had failed before it was asked to stop.
    pub async fn stop(mut self) -> Result<()> {
        match self.surroundings.take() {
            Some(surroundings) => surroundings.end(self.stop_here()).await,
            None => self.stop_here().await,
        }
    }

    async fn stop_here(mut self) -> Result<()> {
        self.request_stop();
        let outcome = self.stopped().await;
        outcome.and(self.finish().await)
    }
}

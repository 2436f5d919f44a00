//! Builder of a server inside another program, such as an integration test.
use crate::config::{self, Config};
use crate::server::running_server::Server;
use crate::server::surroundings::{Surroundings, TemporaryFolder};
use crate::start_options::StartOptions;
use anyhow::{Context, Result};
use std::path::PathBuf;
use tokio::runtime::Builder;

/// Builder of a server: [`Server::builder`].
///
/// By default, the server listens on a free port of this machine, and keeps its data in a temporary folder that is removed
/// with it.
#[derive(Clone, Debug, Default)]
pub struct ServerBuilder {
    options: StartOptions,
    data: Option<PathBuf>,
    settings: Vec<(String, String)>,
    base: Option<Config>,
}

impl ServerBuilder {
    /// Starts with two workspaces and a small graph for experiments, and with the settings of a demo: apps and webhooks may
    /// be on this machine.
    #[must_use]
    pub const fn demo(mut self) -> Self {
        self.options.demo = true;
        self
    }

    /// Makes the server a stand-in for tests. Its clock shows `now` until a test moves it, and all random bytes are derived from
    /// the seed.
    #[must_use]
    pub fn stand_in(mut self, seed: u64, now: impl Into<String>) -> Self {
        self.options.stand_in = true;
        self.options.seed = Some(seed);
        self.options.now = Some(now.into());
        self
    }

    /// Starts with these options, as `workgraph serve` does.
    #[must_use]
    pub fn options(mut self, options: StartOptions) -> Self {
        self.options = options;
        self
    }

    /// Starts with these settings in place of the default ones; the address and the data folder of the builder stay.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.base = Some(config);
        self
    }

    /// Keeps the data in this folder permanently. The folder is created if it does not exist.
    #[must_use]
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Sets the value of a setting, as `--set KEY=VALUE` does, for example `limits.search` and `120`. The last value of a setting
    /// wins.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Starts the server on its own runtime, so that code that blocks the caller's runtime does not delay it.
    ///
    /// # Errors
    /// Fails if a setting is unknown or its value invalid, the address is in use, or the store can't be used.
    pub async fn start(self) -> Result<Server> {
        let folder = match self.data.is_none() {
            true => Some(TemporaryFolder::make()?),
            false => None,
        };
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let surroundings = Surroundings::new(runtime, folder);
        let config = self.settings(surroundings.folder())?;
        let prepared = surroundings.run(Server::prepare(config, self.options));
        let prepared = prepared.await?;
        let mut server = {
            let _entered = surroundings.enter();
            prepared.serve()
        };
        server.surroundings = Some(surroundings);
        Ok(server)
    }

    /// Returns the effective settings.
    fn settings(&self, temporary: Option<&TemporaryFolder>) -> Result<Config> {
        let mut config = match (&self.base, self.options.stand_in, self.options.demo) {
            (Some(config), ..) => config.clone(),
            (None, true, _) => Config::of_a_stand_in(),
            (None, false, true) => Config::of_a_demo(),
            (None, false, false) => Config::default(),
        };
        config::set(&mut config, "listen", "127.0.0.1:0")?;
        let folder = self.data.as_deref();
        let folder = folder.or(temporary.map(TemporaryFolder::path));
        let folder = folder.context("the server has no data folder")?;
        config::set_folder(&mut config, folder)?;
        for (key, value) in &self.settings {
            config::set(&mut config, key, value)?;
        }
        config.limits.deadline = config.http.request_timeout;
        Ok(config)
    }
}

impl Server {
    /// Returns a builder of a server with default settings.
    #[must_use]
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }
}

//! A stand-in: a server in this process, or one that runs elsewhere.
use crate::control_client::{ControlClient, StandInError};
use crate::world::World;
use crate::world_builder::WorldBuilder;
use serde_json::Value;
use ureq::http::Method;

/// Stand-in, which serves worlds.
///
/// A stand-in that was started in this process ends when it is dropped, and its data is removed.
pub struct StandIn {
    url: String,
    client: ControlClient,
    #[cfg(feature = "in-process")]
    server: Option<workgraph_server::Server>,
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StandIn")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "in-process")]
impl StandIn {
    /// Starts a stand-in in this process, on its own runtime, with its data in a temporary folder.
    ///
    /// # Errors
    /// Fails if the folder or the port is not available.
    pub async fn start() -> Result<Self, StandInError> {
        Self::start_with(Self::builder()).await
    }

    /// Returns the builder of a server that is a stand-in, whose settings, seed and time can be changed.
    #[must_use]
    pub fn builder() -> workgraph_server::ServerBuilder {
        workgraph_server::Server::builder().options(workgraph_server::StartOptions {
            stand_in: true,
            ..workgraph_server::StartOptions::default()
        })
    }

    /// Starts a stand-in with these settings.
    ///
    /// # Errors
    /// Fails if a setting is wrong, or the folder or the port is not available.
    pub async fn start_with(
        builder: workgraph_server::ServerBuilder,
    ) -> Result<Self, StandInError> {
        let server = builder.start().await;
        let server = server.map_err(|error| StandInError::Start(format!("{error:#}")))?;
        Ok(Self {
            url: server.auth_url().to_owned(),
            client: ControlClient::default(),
            server: Some(server),
        })
    }
}

impl StandIn {
    /// Returns the stand-in at an address, such as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            client: ControlClient::default(),
            #[cfg(feature = "in-process")]
            server: None,
        }
    }

    /// Sets the token for control of a stand-in on another machine.
    #[must_use]
    pub fn control_token(mut self, token: impl Into<String>) -> Self {
        self.client.control_token = Some(token.into());
        self
    }

    /// Returns the address of the stand-in.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the builder of a world. Awaiting it creates the world.
    pub fn world(&self) -> WorldBuilder {
        WorldBuilder::new(self.url.clone(), self.client.clone())
    }

    /// Returns the world with an id, such as `w7`; `w0` is the world at the root.
    ///
    /// # Errors
    /// Fails if it does not exist.
    pub async fn find(&self, id: &str) -> Result<World, StandInError> {
        let url = format!("{}/-/worlds/{id}", self.url);
        let shown = self.client.control(Method::GET, &url, None).await?;
        World::new(self.url.clone(), self.client.clone(), shown)
    }

    /// Returns all worlds, as JSON.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn worlds(&self) -> Result<Value, StandInError> {
        let url = format!("{}/-/worlds", self.url);
        self.client.control(Method::GET, &url, None).await
    }

    /// Ends a stand-in that was started in this process, after the requests in progress are answered.
    ///
    /// # Errors
    /// Fails if its store can't be closed.
    pub async fn stop(self) -> Result<(), StandInError> {
        #[cfg(feature = "in-process")]
        if let Some(server) = self.server {
            let stopped = server.stop().await;
            return stopped.map_err(|error| StandInError::Unreachable {
                url: self.url,
                reason: format!("{error:#}"),
            });
        }
        Ok(())
    }
}

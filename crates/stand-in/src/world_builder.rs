//! Builder of a world, with its options.
use crate::control_client::{ControlClient, StandInError};
use crate::world::World;
use serde_json::{Map, Value};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use ureq::http::Method;

/// Builder of a world: [`StandIn::world`](crate::StandIn::world). Awaiting it creates the world.
///
/// By default a world has the data of a demo.
#[derive(Clone, Debug)]
#[must_use = "a world is made when this is awaited"]
pub struct WorldBuilder {
    server_url: String,
    client: ControlClient,
    options: Map<String, Value>,
}

impl WorldBuilder {
    pub(crate) fn new(server_url: String, client: ControlClient) -> Self {
        Self {
            server_url,
            client,
            options: Map::new(),
        }
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.options.insert(name.to_owned(), value);
        self
    }

    /// Begins with one user in one workspace.
    pub fn empty(self) -> Self {
        self.from("empty")
    }

    /// Begins with the people, apps and objects of a fixture.
    pub fn fixture(self, fixture: Value) -> Self {
        self.with("fixture", fixture)
    }

    /// Begins with the current content of another world.
    pub fn copy_of(self, world: &World) -> Self {
        self.from(world.id())
    }

    /// Begins with the content `demo` or `empty`, or with the current content of the world with this id.
    pub fn from(self, content: &str) -> Self {
        self.with("from", content.into())
    }

    /// Sets the name that is shown in lists.
    pub fn name(self, name: &str) -> Self {
        self.with("name", name.into())
    }

    /// Sets the seed that all random bytes are derived from.
    pub fn seed(self, seed: u64) -> Self {
        self.with("seed", seed.into())
    }

    /// Sets the time that the clock shows at the start, such as `2026-03-01T09:30:00Z`.
    pub fn now(self, time: &str) -> Self {
        self.with("now", time.into())
    }

    /// Sets a setting of the world, such as `limits.search`.
    pub fn setting(mut self, key: &str, value: impl Into<Value>) -> Self {
        let settings = self.options.entry("settings");
        if let Value::Object(settings) = settings.or_insert_with(|| Value::Object(Map::new())) {
            settings.insert(key.to_owned(), value.into());
        }
        self
    }
}

impl IntoFuture for WorldBuilder {
    type Output = Result<World, StandInError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let url = format!("{}/-/worlds", self.server_url);
            let options = Value::Object(self.options);
            let made = self.client.control(Method::POST, &url, Some(&options));
            let made = made.await?;
            World::new(self.server_url, self.client, made)
        })
    }
}

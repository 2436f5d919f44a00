//! The address of a world, requests to it, and the parts of its replies.
use crate::control_client::{ControlClient, StandInError};
use serde::Deserialize;
use serde_json::Value;
use ureq::http::Method;

/// Address of a world, with the client that reaches it.
#[derive(Debug)]
pub(crate) struct WorldAddress {
    pub(crate) client: ControlClient,
    pub(crate) id: String,
    pub(crate) seed: u64,
    pub(crate) base_url: String,
    pub(crate) auth_url: String,
    /// Token of the first user; empty if the world shows none.
    pub(crate) token: String,
}

/// Fields of a world that this crate reads.
#[derive(Deserialize)]
struct ShownWorld {
    id: String,
    seed: u64,
    base_url: String,
    auth_url: String,
    personal_access_token: Option<String>,
}

impl WorldAddress {
    /// Reads the address from the record of a world.
    ///
    /// # Errors
    /// Fails if a field is missing.
    pub(crate) fn read(
        client: ControlClient,
        server_url: &str,
        shown: &Value,
    ) -> Result<Self, StandInError> {
        let shown = ShownWorld::deserialize(shown);
        let shown = shown.map_err(|error| StandInError::Unreachable {
            url: server_url.to_owned(),
            reason: format!("the world is not understood: {error}"),
        })?;
        Ok(Self {
            client,
            id: shown.id,
            seed: shown.seed,
            base_url: shown.base_url,
            auth_url: shown.auth_url,
            token: shown.personal_access_token.unwrap_or_default(),
        })
    }

    /// Sends a control request to the world, and returns the `data` of the reply.
    ///
    /// # Errors
    /// Fails if the stand-in refuses it.
    pub(crate) async fn control(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, StandInError> {
        let url = format!("{}/-/{path}", self.auth_url);
        let method = parse_method(method, &url)?;
        self.client.control(method, &url, body.as_ref()).await
    }
}

/// Reads a method.
///
/// # Errors
/// Fails if the text is not a method.
pub(crate) fn parse_method(method: &str, url: &str) -> Result<Method, StandInError> {
    let parsed = method.parse();
    parsed.map_err(|_| StandInError::Address {
        url: format!("{method} {url}"),
    })
}

/// Returns the member of an object; null if it has none.
pub(crate) fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// Returns the items of the list in a member of an object.
pub(crate) fn list<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    member(object, name).as_array().into_iter().flatten()
}

pub(crate) fn items(list: Value) -> Vec<Value> {
    match list {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// Returns the text in a field of a reply; empty if it has none.
pub(crate) fn text(reply: &Value, field: &str) -> String {
    let text = reply.get(field).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

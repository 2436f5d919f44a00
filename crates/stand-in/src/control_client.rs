//! Client for the control routes of a stand-in.
use serde_json::Value;
use std::time::Duration;
use tokio::task::spawn_blocking;
use ureq::Agent;
use ureq::http::{Method, Request};

/// Header with the token for control from another machine.
const CONTROL_TOKEN: &str = "Workgraph-Control";
/// Maximum size of a reply in bytes.
const REPLY_MAX: u64 = 64 << 20;
/// Timeout of a request. The stand-in itself answers earlier, even if a receiver hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// Reason why a request to a stand-in failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// The address of the stand-in, or a path, is not valid.
    #[error("{url}: not an address such as http://127.0.0.1:8080")]
    Address {
        /// Text that is not a valid address.
        url: String,
    },
    /// Nothing answers at the address, or the answer broke off.
    #[error("{url}: {reason}")]
    Unreachable {
        /// Address of the request.
        url: String,
        /// Reason given by the system.
        reason: String,
    },
    /// The stand-in refused the request.
    #[error("{method} {url}: {status}: {message}")]
    Refused {
        /// Method of the request that was refused.
        method: String,
        /// Address of the request.
        url: String,
        /// Status of the reply from the stand-in.
        status: u16,
        /// Message of the reply, for people.
        message: String,
    },
    /// The stand-in could not start.
    #[error("the stand-in can't start: {0}")]
    Start(String),
    /// A test's expectation of its client does not hold.
    #[error("{0}")]
    NotHeld(String),
}

/// Client of one stand-in, with its address.
#[derive(Clone, Debug)]
pub(crate) struct ControlClient {
    agent: Agent,
    /// Token for control from another machine.
    pub(crate) control_token: Option<String>,
}

impl Default for ControlClient {
    fn default() -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A proxy may route clients under test to the stand-in; the test itself connects directly.
            .proxy(None);
        Self {
            agent: config.build().into(),
            control_token: None,
        }
    }
}

impl ControlClient {
    /// Sends a control request, and returns the `data` of the reply.
    ///
    /// # Errors
    /// Fails if nothing answers, or the stand-in refuses the request.
    pub(crate) async fn control(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Value, StandInError> {
        let reply = self.ask(method, url, None, body).await?;
        Ok(data_of(reply))
    }

    /// Sends a request to the API with a token, and returns the `data` of the reply.
    ///
    /// # Errors
    /// Fails if nothing answers, or the API refuses the request.
    pub(crate) async fn api(
        &self,
        (method, url): (Method, &str),
        token: &str,
        data: Option<&Value>,
    ) -> Result<Value, StandInError> {
        let body = data.map(|data| serde_json::json!({ "data": data }));
        let reply = self.ask(method, url, Some(token), body.as_ref()).await?;
        Ok(data_of(reply))
    }

    /// Sends a request, and returns the whole JSON of the reply.
    async fn ask(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Value, StandInError> {
        let bytes = self.bytes(method, url, token, body).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| unreachable(url, format!("the reply is no JSON: {error}")))
    }

    /// Sends a request, and returns the body of the reply.
    ///
    /// # Errors
    /// Fails if nothing answers, or the request is refused.
    pub(crate) async fn bytes(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, StandInError> {
        if !url.starts_with("http") {
            return Err(no_address(url));
        }
        let mut request = Request::builder()
            .method(&method)
            .uri(url)
            .header("Content-Type", "application/json");
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if let Some(token) = &self.control_token {
            request = request.header(CONTROL_TOKEN, token);
        }
        let request = request.body(body.map(Value::to_string).unwrap_or_default());
        let request = request.map_err(|_| no_address(url))?;
        let agent = self.agent.clone();
        // The thread of the test is not blocked: the reply may depend on a receiver that runs on it.
        let exchange = spawn_blocking(move || send(&agent, request)).await;
        let exchange = exchange.map_err(|error| unreachable(url, error.to_string()))?;
        let (status, bytes) = exchange.map_err(|error| unreachable(url, error.to_string()))?;
        if (200..300).contains(&status) {
            return Ok(bytes);
        }
        Err(StandInError::Refused {
            method: method.to_string(),
            url: url.to_owned(),
            status,
            message: message_of(&bytes),
        })
    }
}

/// Sends a request, and returns the status and the body of the reply.
fn send(agent: &Agent, request: Request<String>) -> Result<(u16, Vec<u8>), ureq::Error> {
    let mut reply = match request.body().is_empty() {
        true => agent.run(request.map(|_| ()))?,
        false => agent.run(request)?,
    };
    let status = reply.status().as_u16();
    let body = reply
        .body_mut()
        .with_config()
        .limit(REPLY_MAX)
        .read_to_vec()?;
    Ok((status, body))
}

fn no_address(url: &str) -> StandInError {
    StandInError::Address {
        url: url.to_owned(),
    }
}

fn unreachable(url: &str, reason: String) -> StandInError {
    StandInError::Unreachable {
        url: url.to_owned(),
        reason,
    }
}

/// Returns the `data` of a reply, or the whole reply if it has none.
fn data_of(mut reply: Value) -> Value {
    match reply.get_mut("data") {
        Some(data) => data.take(),
        None => reply,
    }
}

/// Returns the message of an error, or the whole body if it has none.
fn message_of(body: &[u8]) -> String {
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = error.pointer("/errors/0/message").and_then(Value::as_str);
    let whole = || String::from_utf8_lossy(body).into_owned();
    message.map_or_else(whole, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_is_that_of_the_api_or_its_text() {
        assert_eq!(message_of(br#"{"errors":[{"message":"no"}]}"#), "no");
        assert_eq!(message_of(b"gone"), "gone");
        assert_eq!(data_of(serde_json::json!({"data": 1})), 1);
        assert_eq!(data_of(serde_json::json!([1])), serde_json::json!([1]));
    }
}

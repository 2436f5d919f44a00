//! Requests to a stand-in.
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Header with the token of those who control a stand-in from another machine.
const CONTROL_TOKEN: HeaderName = HeaderName::from_static("workgraph-control");
/// Maximum size of a reply in bytes.
const REPLY_MAX: usize = 64 << 20;

/// Error of a request to a stand-in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// The address of the stand-in or a path is none.
    #[error("{url}: not an address such as http://127.0.0.1:8080")]
    Address {
        /// Text in place of an address.
        url: String,
    },
    /// Nothing answers at the address, or the answer broke off.
    #[error("{url}: {reason}")]
    Unreachable {
        /// Address that was asked.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The stand-in refused the request.
    #[error("{method} {url}: {status}: {message}")]
    Refused {
        /// Method of the request.
        method: String,
        /// Address of the request.
        url: String,
        /// Status of the reply.
        status: u16,
        /// Message of the reply.
        message: String,
    },
    /// The stand-in could not start.
    #[error("the stand-in can't start: {0}")]
    Start(String),
    /// What a test demands of its client does not hold.
    #[error("{0}")]
    NotHeld(String),
}

/// Client of one stand-in.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlClient {
    /// Token for control from another machine.
    pub(crate) control_token: Option<String>,
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
    ) -> Result<Bytes, StandInError> {
        let (status, bytes) = self.exchange(method.clone(), url, token, body).await?;
        if status.is_success() {
            return Ok(bytes);
        }
        Err(StandInError::Refused {
            method: method.to_string(),
            url: url.to_owned(),
            status: status.as_u16(),
            message: message_of(&bytes),
        })
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), StandInError> {
        let failed = |error: &dyn std::fmt::Display| unreachable(url, error.to_string());
        let uri: Uri = url.parse().map_err(|_| no_address(url))?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
        let authority = authority.ok_or_else(|| no_address(url))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, authority.as_str())
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(token) = &self.control_token {
            request = request.header(CONTROL_TOKEN, token);
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| failed(&error))?;
        let port = authority.port_u16().unwrap_or(80);
        let host = authority.host().trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, port)).await;
        let stream = TokioIo::new(stream.map_err(|error| failed(&error))?);
        let opened = hyper::client::conn::http1::handshake(stream).await;
        let (mut sender, connection) = opened.map_err(|error| failed(&error))?;
        let exchange = async {
            let reply = sender.send_request(request).await;
            let reply = reply.map_err(|error| failed(&error))?;
            let status = reply.status();
            let bytes = Limited::new(reply.into_body(), REPLY_MAX).collect().await;
            let bytes = bytes.map_err(|error| failed(&error))?.to_bytes();
            Ok((status, bytes))
        };
        // The connection moves the bytes of the exchange, and ends with it.
        let moving = async {
            let _ended = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            done = exchange => done,
            never = moving => never,
        }
    }
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

/// Returns the `data` of a reply; the whole of one without.
fn data_of(mut reply: Value) -> Value {
    match reply.get_mut("data") {
        Some(data) => data.take(),
        None => reply,
    }
}

/// Returns the message of an error; the whole body if it has none.
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

//! Connections to targets, some of which are kept for the next delivery to the same target.
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use workgraph_webhooks::signature::SECRET_HEADER;
use workgraph_webhooks::webhook_record::TIMEOUT;
use workgraph_webhooks::{DeliveryError, DeliveryRequest, Target, TargetReply};

/// Time for which a connection is used; then the name is resolved and its addresses are checked again. It is shorter than
/// the time after which servers close idle connections.
const LIFE: Duration = Duration::from_secs(4);
/// Maximum number of idle connections.
const IDLE_CONNECTIONS_MAX: usize = 64;
/// Maximum number of bytes read from an answer.
const READ_MAX: usize = 64 << 10;
/// Maximum number of bytes kept of an answer.
const KEPT: usize = 1 << 10;

/// Returns the error of a connection that broke.
pub(super) fn broken(error: impl std::fmt::Display) -> DeliveryError {
    DeliveryError::Broken(error.to_string())
}

/// Connection to a target. It is closed when this value is dropped, so that no request continues without a
/// caller.
pub(super) struct TargetConnection {
    requests: SendRequest<Full<Bytes>>,
    since: Instant,
    driver: JoinHandle<()>,
}

impl Drop for TargetConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Outcome of sending a request over a connection.
pub(super) enum SendOutcome {
    /// An answer, and the connection, if it can take another request.
    Answered(TargetReply, Option<TargetConnection>),
    /// The connection broke before an answer began.
    Interrupted(DeliveryError),
    /// The answer could not be read.
    Failed(DeliveryError),
}

impl TargetConnection {
    /// Opens a connection over a stream.
    ///
    /// # Errors
    /// Fails if the connection breaks immediately.
    pub(super) async fn new<S>(stream: S) -> Result<Self, DeliveryError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (requests, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // The sender gets the errors of the connection. No attempt that starts in time takes longer.
        let driver = tokio::spawn(async move {
            let _ = timeout(LIFE + TIMEOUT, connection).await;
        });
        Ok(Self {
            requests,
            since: Instant::now(),
            driver,
        })
    }

    fn is_fresh(&self) -> bool {
        self.since.elapsed() < LIFE && !self.requests.is_closed()
    }

    /// Sends an attempt's request and reads the answer.
    pub(super) async fn send(mut self, attempt: &DeliveryRequest) -> SendOutcome {
        let request = match request(attempt) {
            Ok(request) => request,
            Err(failed) => return SendOutcome::Failed(failed),
        };
        let cut = |e| {
            SendOutcome::Interrupted(DeliveryError::Broken(format!("the connection broke: {e}")))
        };
        if let Err(e) = self.requests.ready().await {
            return cut(e);
        }
        let reply = match self.requests.send_request(request).await {
            Ok(reply) => reply,
            Err(e) => return cut(e),
        };
        match read(reply).await {
            Ok((reply, true)) => SendOutcome::Answered(reply, Some(self)),
            Ok((reply, false)) => SendOutcome::Answered(reply, None),
            Err(failed) => SendOutcome::Failed(failed),
        }
    }
}

fn request(attempt: &DeliveryRequest) -> Result<Request<Full<Bytes>>, DeliveryError> {
    let mut request = Request::post(&attempt.target.path)
        .header(HOST, attempt.target.authority())
        .header(USER_AGENT, concat!("workgraph/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json; charset=UTF-8");
    for (name, value) in &attempt.headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(attempt.body.clone()));
    request.map_err(broken)
}

/// Reads the answer. Returns it with the start of its body, and true if it was read completely.
async fn read(reply: Response<Incoming>) -> Result<(TargetReply, bool), DeliveryError> {
    let header = |name: &str| {
        let value = reply.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let (status, secret) = (reply.status().as_u16(), header(SECRET_HEADER));
    let retry_after = header(RETRY_AFTER.as_str()).and_then(|v| v.parse().ok());
    let mut body = reply.into_body();
    let mut content = BytesMut::new();
    let (mut seen, mut whole) = (0, true);
    while let Some(frame) = body.frame().await {
        let data: Bytes = match frame.map_err(broken)?.into_data() {
            Ok(data) => data,
            Err(_) => continue,
        };
        seen += data.len();
        let room = KEPT.saturating_sub(content.len()).min(data.len());
        content.extend_from_slice(data.get(..room).unwrap_or_default());
        if seen > READ_MAX {
            whole = false;
            break;
        }
    }
    let replied = TargetReply {
        status,
        secret,
        retry_after,
        content: String::from_utf8_lossy(&content).into_owned(),
    };
    Ok((replied, whole))
}

/// Identity of a connection's target: true for TLS, and name and port as written.
type TargetKey = (bool, String);

fn party(target: &Target) -> TargetKey {
    (target.https, target.authority())
}

/// Connections that are currently unused.
#[derive(Default)]
pub(super) struct IdleConnections(Mutex<HashMap<TargetKey, Vec<TargetConnection>>>);

impl IdleConnections {
    /// Takes a connection to a target that can take a request.
    pub(super) fn take(&self, target: &Target) -> Option<TargetConnection> {
        let mut all = self.0.lock();
        let lines = all.get_mut(&party(target))?;
        while let Some(line) = lines.pop() {
            if line.is_fresh() {
                return Some(line);
            }
        }
        None
    }

    /// Makes all idle connections older.
    #[cfg(test)]
    pub(super) fn age(&self, by: Duration) {
        for line in self.0.lock().values_mut().flatten() {
            line.since -= by;
        }
    }

    /// Keeps a connection, if there is room for it.
    pub(super) fn put(&self, target: &Target, line: TargetConnection) {
        let mut all = self.0.lock();
        let mut count = 0;
        all.retain(|_, lines| {
            lines.retain(TargetConnection::is_fresh);
            count += lines.len();
            !lines.is_empty()
        });
        if count < IDLE_CONNECTIONS_MAX {
            all.entry(party(target)).or_default().push(line);
        }
    }
}

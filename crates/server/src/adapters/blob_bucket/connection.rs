//! Connections to the server of a bucket, and the requests on them.
use super::part_file::FinishedPart;
use crate::adapters::tls_client;
use anyhow::{Context as _, Result, anyhow, bail};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, USER_AGENT};
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum time from a request, with its body, to the head of its reply.
const REPLY: Duration = Duration::from_secs(120);
/// Maximum pause within a reply.
const PAUSE: Duration = Duration::from_secs(30);
/// Time for which an idle connection is kept.
const IDLE: Duration = Duration::from_secs(15);
/// Maximum number of idle connections.
const IDLE_MAX: usize = 32;
/// Bytes of a part that are read at once.
const PIECE: usize = 128 << 10;

/// Content of a request, in memory or in a file.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Bytes; empty for requests without a body.
    Bytes(Bytes),
    /// A part of a file on disk.
    Part(FinishedPart),
}

/// Content of a request, as hyper sends it.
#[derive(Debug)]
pub(super) struct ContentBody {
    content: Content,
    sent: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Content {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Part(part) => part.length(),
        }
    }
}

impl Body for ContentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        let piece = match &self.content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Part(part) => {
                let (part, offset) = (part.clone(), self.sent);
                let read = || spawn_blocking(move || part.read_at(offset, PIECE));
                let outcome = ready!(Pin::new(self.reading.get_or_insert_with(read)).poll(cx));
                self.reading = None;
                match outcome.map_err(io::Error::other).and_then(|read| read) {
                    Ok(piece) => piece,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
        };
        self.sent += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.sent >= self.content.length()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.content.length() - self.sent)
    }
}

/// Server of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// True for https.
    pub(super) is_tls: bool,
    /// Name or address.
    pub(super) host: String,
    pub(super) port: u16,
    /// Value of `Host`.
    pub(super) authority: String,
}

/// Pool of connections to one server.
pub(super) struct Connections {
    endpoint: Endpoint,
    tls: OnceLock<TlsConnector>,
    idle: Mutex<Vec<(Connection, Instant)>>,
}

/// Connection, closed when this value is dropped.
struct Connection {
    requests: SendRequest<ContentBody>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Reply whose body has not been read yet.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    /// The connection, until the body has ended.
    connection: Option<Connection>,
    all: Arc<Connections>,
}

impl Connections {
    /// Returns connections to a server, none of which is open yet.
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tls: OnceLock::new(),
            idle: Mutex::default(),
        }
    }

    /// Sends a request. An idle connection that turns out to be closed is replaced by a new one.
    ///
    /// # Errors
    /// Fails if no reply begins in time.
    pub(super) async fn send(
        self: &Arc<Self>,
        method: &Method,
        target: &str,
        headers: &[(&'static str, String)],
        content: &Content,
    ) -> Result<Reply> {
        while let Some(connection) = self.take_idle() {
            if let Ok(reply) = self.ask(connection, method, target, headers, content).await {
                return Ok(reply);
            }
        }
        let connection = self.open().await?;
        self.ask(connection, method, target, headers, content).await
    }

    async fn ask(
        self: &Arc<Self>,
        mut connection: Connection,
        method: &Method,
        target: &str,
        headers: &[(&'static str, String)],
        content: &Content,
    ) -> Result<Reply> {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, &self.endpoint.authority)
            .header(USER_AGENT, concat!("workgraph/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(ContentBody {
            content: content.clone(),
            sent: 0,
            reading: None,
        })?;
        let sent = timeout(REPLY, async {
            connection.requests.ready().await?;
            connection.requests.send_request(request).await
        });
        let reply = sent
            .await
            .map_err(|_| anyhow!("no reply in {} seconds", REPLY.as_secs()))?
            .context("the connection broke")?;
        let (head, body) = reply.into_parts();
        Ok(Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            connection: Some(connection),
            all: Arc::clone(self),
        })
    }

    async fn open(&self) -> Result<Connection> {
        let Endpoint { host, port, .. } = &self.endpoint;
        let to = format!("{host}:{port}");
        let stream = timeout(
            CONNECT,
            TcpStream::connect((host.trim_matches(['[', ']']), *port)),
        );
        let Ok(stream) = stream.await else {
            bail!("no connection to {to} in {} seconds", CONNECT.as_secs());
        };
        let stream = stream.with_context(|| format!("no connection to {to}"))?;
        // A connection without it is slower, but works.
        let _ = stream.set_nodelay(true);
        if !self.endpoint.is_tls {
            return Connection::new(stream).await;
        }
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let tls = match self.tls.get() {
            Some(tls) => tls,
            None => {
                let made = tls_client::connector()?;
                self.tls.get_or_init(|| made)
            }
        };
        let stream = timeout(CONNECT, tls.connect(name, stream)).await;
        let Ok(stream) = stream else {
            bail!("no TLS with {to} in {} seconds", CONNECT.as_secs());
        };
        Connection::new(stream.with_context(|| format!("TLS with {to}"))?).await
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        idle.retain(|(connection, since)| {
            since.elapsed() < IDLE && !connection.requests.is_closed()
        });
        idle.pop().map(|(connection, _)| connection)
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX && !connection.requests.is_closed() {
            idle.push((connection, Instant::now()));
        }
    }
}

impl Connection {
    async fn new<S>(stream: S) -> Result<Self>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (requests, connection) = handshake(TokioIo::new(stream)).await?;
        // The sender of a request gets the errors of the connection.
        let driver = tokio::spawn(async move {
            let _ended = connection.await;
        });
        Ok(Self { requests, driver })
    }
}

impl Reply {
    /// Returns the next bytes of the body, or `None` at its end.
    ///
    /// # Errors
    /// Fails if the connection breaks, or no data arrives in time.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = timeout(PAUSE, self.body.frame());
            let frame = frame
                .await
                .map_err(|_| anyhow!("the reply pauses for {} seconds", PAUSE.as_secs()))?;
            match frame {
                None => {
                    if let Some(connection) = self.connection.take() {
                        self.all.keep(connection);
                    }
                    return Ok(None);
                }
                Some(frame) => {
                    let frame = frame.context("the reply broke off")?;
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Returns the whole body, if it has at most this many bytes.
    ///
    /// # Errors
    /// Fails if it is larger, or can't be read.
    pub(super) async fn all(mut self, most: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next().await? {
            if bytes.len() + piece.len() > most {
                bail!("the reply is larger than {most} bytes");
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

//! Sends deliveries: one connection for each, to an address that was checked, and no redirects.
//!
//! A name is resolved here, once for each attempt, and all of its addresses are checked before any
//! is called; the connection goes to one of those very addresses. So a name that leads somewhere
//! else a moment later gains nothing.
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use workgraph_webhooks::sign::SECRET_HEADER;
use workgraph_webhooks::{Attempt, Deliver, Failed, Host, Policy, Replied, Target};

/// How long one address may take to be connected to.
const CONNECT: Duration = Duration::from_secs(5);
/// How much of an answer is read, and how much of it is kept.
const READ_MAX: usize = 64 << 10;
const KEPT: usize = 1 << 10;

/// The network, as far as deliveries need it.
#[async_trait]
pub(crate) trait Net: Send + Sync {
    /// The addresses of a name.
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
    /// A connection to an address.
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream>;
}

/// The machine's network.
pub(crate) struct System;

#[async_trait]
impl Net for System {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(to).await?;
        // Slower without it, not wrong.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

/// Sends deliveries over a network.
pub(crate) struct Sender<N> {
    net: N,
    policy: Policy,
    /// Made for the first target that needs it: reading what the machine trusts takes time and memory.
    tls: OnceLock<TlsConnector>,
}

impl<N: Net> Sender<N> {
    /// A sender that calls what the policy allows; certificates are checked against those the
    /// machine trusts.
    pub(crate) fn new(net: N, policy: Policy) -> Self {
        Self {
            net,
            policy,
            tls: OnceLock::new(),
        }
    }

    fn tls(&self) -> Result<&TlsConnector, Failed> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (trusted, _) = roots.add_parsable_certificates(found.certs);
        if trusted == 0 {
            tracing::warn!("no trusted certificates were found: webhooks with https will fail");
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| Failed::Broken(format!("TLS: {e}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let made = TlsConnector::from(Arc::new(config));
        Ok(self.tls.get_or_init(|| made))
    }

    /// A connection to one of the target's addresses, all of which are allowed.
    async fn dial(&self, target: &Target) -> Result<TcpStream, Failed> {
        let addresses = match &target.host {
            Host::Ip(ip) => vec![SocketAddr::new(*ip, target.port)],
            Host::Name(name) => {
                let found = self.net.resolve(name, target.port).await;
                found.map_err(|e| Failed::Broken(format!("{name} was not found: {e}")))?
            }
        };
        if addresses.iter().any(|at| !self.policy.allows(*at)) {
            return Err(Failed::NotAllowed);
        }
        let mut why = "the name has no address".to_owned();
        for at in addresses {
            match timeout(CONNECT, self.net.connect(at)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(e)) => why = format!("no connection to {at}: {e}"),
                Err(_) => why = format!("no connection to {at} in 5 seconds"),
            }
        }
        Err(Failed::Broken(why))
    }

    async fn send(&self, attempt: &Attempt) -> Result<Replied, Failed> {
        let stream = self.dial(&attempt.target).await?;
        if !attempt.target.https {
            return exchange(stream, attempt).await;
        }
        let name = match &attempt.target.host {
            Host::Ip(ip) => ServerName::from(*ip),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(broken)?,
        };
        let stream = self.tls()?.connect(name, stream).await;
        let stream = stream.map_err(|e| Failed::Broken(format!("TLS: {e}")))?;
        exchange(stream, attempt).await
    }
}

fn broken(error: impl std::fmt::Display) -> Failed {
    Failed::Broken(error.to_string())
}

/// One request and its answer over a connection.
async fn exchange<S>(stream: S, attempt: &Attempt) -> Result<Replied, Failed>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut request = Request::post(&attempt.target.path)
        .header(HOST, attempt.target.authority())
        .header(USER_AGENT, concat!("workgraph/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json; charset=UTF-8");
    for (name, value) in &attempt.headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(attempt.body.clone()));
    let request = request.map_err(broken)?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    // Ends with the request: an answer that never ends does not outlive the attempt.
    let driven = async move {
        let reply = sender.send_request(request).await.map_err(broken)?;
        read(reply).await
    };
    tokio::select! {
        outcome = driven => outcome,
        ended = async {
            let ended = connection.await;
            match ended {
                // The answer may still be read from what has arrived.
                Ok(()) => std::future::pending().await,
                Err(e) => e,
            }
        } => Err(Failed::Broken(format!("the connection broke: {ended}"))),
    }
}

/// The answer, and the start of its body.
async fn read(reply: Response<Incoming>) -> Result<Replied, Failed> {
    let header = |name: &str| {
        let value = reply.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let (status, secret) = (reply.status().as_u16(), header(SECRET_HEADER));
    let retry_after = header(RETRY_AFTER.as_str()).and_then(|v| v.parse().ok());
    let mut body = reply.into_body();
    let mut content = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let data: Bytes = match frame.map_err(broken)?.into_data() {
            Ok(data) => data,
            Err(_) => continue,
        };
        seen += data.len();
        let room = KEPT.saturating_sub(content.len()).min(data.len());
        content.extend_from_slice(data.get(..room).unwrap_or_default());
        if seen > READ_MAX {
            break;
        }
    }
    Ok(Replied {
        status,
        secret,
        retry_after,
        content: String::from_utf8_lossy(&content).into_owned(),
    })
}

#[async_trait]
impl<N: Net> Deliver for Sender<N> {
    async fn post(&self, attempt: Attempt) -> Result<Replied, Failed> {
        let answer = timeout(attempt.timeout, self.send(&attempt)).await;
        answer.unwrap_or_else(|_| {
            let seconds = attempt.timeout.as_secs();
            Err(Failed::Broken(format!("no answer in {seconds} seconds")))
        })
    }
}

#[cfg(test)]
#[path = "sender/tests.rs"]
mod tests;

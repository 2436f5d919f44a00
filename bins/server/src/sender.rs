//! Sends deliveries, over connections to addresses that were checked, and follows no redirects.
//!
//! A name is resolved here, once for each connection, and all of its addresses are checked before any
//! is called; the connection goes to one of those very addresses. So a name that leads somewhere
//! else a moment later gains nothing. A connection serves deliveries to the same name for a few seconds.
mod line;
mod lookups;

use self::line::{Idle, Line, Outcome};
use self::lookups::Lookups;
use async_trait::async_trait;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use workgraph_webhooks::{Attempt, Deliver, Failed, Host, Policy, Replied, Target};

/// How long one address may take to be connected to.
const CONNECT: Duration = Duration::from_secs(5);
/// How much of an answer is read.
const READ_MAX: usize = 64 << 10;

/// The network, as far as deliveries need it.
#[async_trait]
pub(crate) trait Net: Send + Sync {
    /// The addresses of a name.
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
    /// A connection to an address.
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream>;
}

/// The machine's network.
#[derive(Debug, Default)]
pub(crate) struct System {
    lookups: Lookups,
}

#[async_trait]
impl Net for System {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let own = name.to_owned();
        let lookup = move || {
            (own.as_str(), port)
                .to_socket_addrs()
                .map(Iterator::collect)
        };
        self.lookups.run(name, lookup).await
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
    idle: Idle,
}

impl<N: Net> Sender<N> {
    /// A sender that calls what the policy allows; certificates are checked against those the
    /// machine trusts.
    pub(crate) fn new(net: N, policy: Policy) -> Self {
        Self {
            net,
            policy,
            tls: OnceLock::new(),
            idle: Idle::default(),
        }
    }

    fn tls(&self) -> Result<&TlsConnector, Failed> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(
                why = error.to_string(),
                "trusted certificates could not be read"
            );
        }
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

    /// A new line to a target.
    async fn open(&self, target: &Target) -> Result<Line, Failed> {
        let stream = self.dial(target).await?;
        if !target.https {
            return Line::new(stream).await;
        }
        let name = match &target.host {
            Host::Ip(ip) => ServerName::from(*ip),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(broken)?,
        };
        let stream = self.tls()?.connect(name, stream).await;
        Line::new(stream.map_err(|e| Failed::Broken(format!("TLS: {e}")))?).await
    }

    async fn send(&self, attempt: &Attempt) -> Result<Replied, Failed> {
        let kept = self.idle.take(&attempt.target);
        let mut again = kept.is_some();
        let mut line = match kept {
            Some(line) => line,
            None => self.open(&attempt.target).await?,
        };
        loop {
            match line.send(attempt).await {
                Outcome::Answered(reply, line) => {
                    if let Some(line) = line {
                        self.idle.put(&attempt.target, line);
                    }
                    return Ok(reply);
                }
                // The other end closed what lay idle: that says nothing of this attempt.
                Outcome::Cut(_) if again => {
                    again = false;
                    line = self.open(&attempt.target).await?;
                }
                Outcome::Cut(failed) | Outcome::Failed(failed) => return Err(failed),
            }
        }
    }
}

fn broken(error: impl std::fmt::Display) -> Failed {
    Failed::Broken(error.to_string())
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

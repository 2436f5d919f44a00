//! Sends deliveries over connections to checked addresses, without following redirects.
//!
//! A name is resolved here, once for each connection, and all of its addresses are checked before any is called; the
//! connection goes to exactly one of them. So changing the addresses of a name afterwards has
//! no effect. A connection serves deliveries to the same name for a few seconds.
mod dns_lookups;
mod target_connection;

use self::dns_lookups::DnsLookups;
use self::target_connection::{IdleConnections, SendOutcome, TargetConnection, broken};
use crate::adapters::tls_client;
use async_trait::async_trait;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use workgraph_webhooks::{
    DeliveryError, DeliveryRequest, Host, Target, TargetPolicy, TargetReply, WebhookClient,
};

/// Maximum time to connect to one address.
const CONNECT: Duration = Duration::from_secs(5);
/// Port to the network, reduced to the needs of deliveries.
#[async_trait]
pub(crate) trait NetworkAccess: Send + Sync {
    /// Resolves a name to its addresses.
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
    /// Opens a connection to an address.
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream>;
}

/// Network of this machine.
#[derive(Debug, Default)]
pub(crate) struct SystemNetwork {
    lookups: DnsLookups,
}

#[async_trait]
impl NetworkAccess for SystemNetwork {
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
        // A connection without it is slower, but works.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

/// HTTP client that sends deliveries over a network.
pub(crate) struct WebhookSender<N> {
    net: N,
    policy: TargetPolicy,
    /// Connector for TLS, created when it is first needed.
    tls: OnceLock<TlsConnector>,
    idle: IdleConnections,
}

impl<N: NetworkAccess> WebhookSender<N> {
    /// Returns a sender for targets that the policy allows. Their certificates must lead to authorities that the machine
    /// trusts.
    pub(crate) fn new(net: N, policy: TargetPolicy) -> Self {
        Self {
            net,
            policy,
            tls: OnceLock::new(),
            idle: IdleConnections::default(),
        }
    }

    fn tls(&self) -> Result<&TlsConnector, DeliveryError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let made = tls_client::connector();
        let made = made.map_err(|e| DeliveryError::Broken(format!("{e:#}")))?;
        Ok(self.tls.get_or_init(|| made))
    }

    /// Connects to one of the target's addresses, all of which are allowed.
    async fn dial(&self, target: &Target) -> Result<TcpStream, DeliveryError> {
        let addresses = match &target.host {
            Host::Ip(ip) => vec![SocketAddr::new(*ip, target.port)],
            Host::Name(name) => {
                let found = self.net.resolve(name, target.port).await;
                found.map_err(|e| DeliveryError::Broken(format!("{name} was not found: {e}")))?
            }
        };
        if addresses.iter().any(|at| !self.policy.allows(*at)) {
            return Err(DeliveryError::NotAllowed);
        }
        let mut reason = "the name has no address".to_owned();
        for at in addresses {
            match timeout(CONNECT, self.net.connect(at)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(e)) => reason = format!("no connection to {at}: {e}"),
                Err(_) => reason = format!("no connection to {at} in 5 seconds"),
            }
        }
        Err(DeliveryError::Broken(reason))
    }

    /// Opens a new connection to a target.
    async fn open(&self, target: &Target) -> Result<TargetConnection, DeliveryError> {
        let stream = self.dial(target).await?;
        if !target.https {
            return TargetConnection::new(stream).await;
        }
        let name = match &target.host {
            Host::Ip(ip) => ServerName::from(*ip),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(broken)?,
        };
        let stream = self.tls()?.connect(name, stream).await;
        TargetConnection::new(stream.map_err(|e| DeliveryError::Broken(format!("TLS: {e}")))?).await
    }

    async fn send(&self, attempt: &DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        let kept = self.idle.take(&attempt.target);
        let mut again = kept.is_some();
        let mut line = match kept {
            Some(line) => line,
            None => self.open(&attempt.target).await?,
        };
        loop {
            match line.send(attempt).await {
                SendOutcome::Answered(reply, line) => {
                    if let Some(line) = line {
                        self.idle.put(&attempt.target, line);
                    }
                    return Ok(reply);
                }
                // The other end closed an idle connection, which does not count as a failure of this attempt.
                SendOutcome::Interrupted(_) if again => {
                    again = false;
                    line = self.open(&attempt.target).await?;
                }
                SendOutcome::Interrupted(failed) | SendOutcome::Failed(failed) => {
                    return Err(failed);
                }
            }
        }
    }
}

#[async_trait]
impl<N: NetworkAccess> WebhookClient for WebhookSender<N> {
    async fn post(&self, attempt: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        let answer = timeout(attempt.timeout, self.send(&attempt)).await;
        answer.unwrap_or_else(|_| {
            let seconds = attempt.timeout.as_secs();
            Err(DeliveryError::Broken(format!(
                "no answer in {seconds} seconds"
            )))
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! Interception: a client that only knows the address of the public service reaches the stand-in. Its requests come through a
//! proxy, or to a name that leads here, and it trusts the stand-in's own certificate authority.
use crate::stand_in::control_access::INTERCEPTED;
use crate::stand_in::local_authority::LocalAuthority;
use anyhow::{Context, Result, bail};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use workgraph_core::model::time::Date;

/// Name of the file with the certificate of the authority, in the data folder.
const AUTHORITY_FILE: &str = "intercept-ca.pem";
/// Maximum size of the head of a request to the proxy in bytes.
const HEAD_MAX: usize = 8 << 10;
/// Time for the request to the proxy, and for the handshake of TLS.
const BEGIN_WITHIN: Duration = Duration::from_secs(10);
/// Maximum number of connections at the same time.
const CONNECTIONS_MAX: usize = 1_000;
/// Port of the hosts that are intercepted.
const PORT: &str = ":443";
/// First byte of a connection with TLS.
const TLS_HANDSHAKE: u8 = 0x16;

/// Interception that continues until it is dropped.
pub(crate) struct Interception {
    /// Address on which the proxy listens.
    pub(crate) address: SocketAddr,
    /// File with the certificate of the authority.
    pub(crate) authority: PathBuf,
    accepting: JoinHandle<()>,
}

impl Interception {
    /// Returns the environment variables that make a program's requests pass through the interception: the variables that
    /// common libraries read for the proxy and for the trusted authorities.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let proxy = format!("http://{}", self.address);
        let authority = self.authority.display().to_string();
        let own = "127.0.0.1,localhost,::1";
        vec![
            ("HTTPS_PROXY", proxy.clone()),
            ("https_proxy", proxy),
            ("NO_PROXY", own.to_owned()),
            ("no_proxy", own.to_owned()),
            ("NODE_EXTRA_CA_CERTS", authority.clone()),
            ("SSL_CERT_FILE", authority.clone()),
            ("REQUESTS_CA_BUNDLE", authority.clone()),
            ("CURL_CA_BUNDLE", authority),
        ]
    }

    /// Returns the text that describes the interception at its start.
    pub(crate) fn banner(&self, hosts: &[String]) -> String {
        let variables = self.environment().into_iter();
        let lines = variables.map(|(name, value)| format!("  export {name}={value}\n"));
        let lines: String = lines.collect();
        format!(
            "\nRequests to https://{} are answered here by programs with this environment:\n{lines}",
            hosts.join(" and https://")
        )
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Route of intercepted connections to the stand-in.
struct Route {
    hosts: Arc<[String]>,
    tls: TlsAcceptor,
    /// Address of the stand-in, to which connections are routed.
    target: SocketAddr,
    /// Source address of the connections to it; `None` for any.
    source: Option<SocketAddr>,
}

/// Starts to route requests for these hosts to the stand-in.
///
/// # Errors
/// Fails if a host is not a valid name, the address is in use, or the certificate can't be written.
pub(crate) async fn intercept(
    hosts: Arc<[String]>,
    listen: SocketAddr,
    target: SocketAddr,
    (folder, today): (&Path, Date),
) -> Result<Interception> {
    let authority = LocalAuthority::new(today)?;
    let config = authority.server_config(&hosts)?;
    let listener = TcpListener::bind(listen).await;
    let listener = listener.with_context(|| format!("--intercept-listen {listen}"))?;
    let file = std::path::absolute(folder.join(AUTHORITY_FILE))?;
    std::fs::write(&file, &authority.certificate).with_context(|| file.display().to_string())?;
    let own = SocketAddr::new(INTERCEPTED, 0);
    let source = own_socket(own, target).is_ok().then_some(own);
    if source.is_none() && !listen.ip().is_loopback() {
        bail!(
            "--intercept-listen {listen}: this machine can't tell requests from elsewhere from its own, since {INTERCEPTED} is no address of it; use one of 127.0.0.1"
        );
    }
    let route = Arc::new(Route {
        hosts,
        tls: TlsAcceptor::from(Arc::new(config)),
        target,
        source,
    });
    Ok(Interception {
        address: listener.local_addr()?,
        authority: file,
        accepting: tokio::spawn(accept(listener, route)),
    })
}

/// Returns a socket for a connection from an address to another one.
fn own_socket(source: SocketAddr, target: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match target {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.bind(source)?;
    Ok(socket)
}

async fn connect_from(source: Option<SocketAddr>, target: SocketAddr) -> io::Result<TcpStream> {
    match source {
        Some(source) => own_socket(source, target)?.connect(target).await,
        None => TcpStream::connect(target).await,
    }
}

async fn accept(listener: TcpListener, route: Arc<Route>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((client, _)) => {
                let route = Arc::clone(&route);
                tokio::spawn(async move {
                    if let Err(error) = route.lead(client).await {
                        tracing::debug!(
                            reason = error.to_string(),
                            "an intercepted connection ended"
                        );
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(reason = error.to_string(), "the interception can't accept");
                crate::adapters::system_clock::pause(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Route {
    /// Routes a connection to the stand-in: a request to the proxy, or a connection that begins with TLS.
    async fn lead(&self, mut client: TcpStream) -> io::Result<()> {
        let mut first = [0];
        timeout(BEGIN_WITHIN, client.peek(&mut first)).await??;
        if first != [TLS_HANDSHAKE] {
            let head = timeout(BEGIN_WITHIN, read_head(&mut client)).await??;
            if let Err(refused) = self.check(&head) {
                return client.write_all(refused.as_bytes()).await;
            }
            let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
            client.write_all(established).await?;
        }
        let mut client = timeout(BEGIN_WITHIN, self.tls.accept(client)).await??;
        let mut server = connect_from(self.source, self.target).await?;
        copy_bidirectional(&mut client, &mut server).await?;
        Ok(())
    }

    /// Checks a request to the proxy.
    ///
    /// # Errors
    /// Returns the reply that says what is wrong.
    fn check(&self, head: &str) -> Result<(), String> {
        let line = head.lines().next().unwrap_or_default();
        let mut parts = line.split(' ');
        let (method, place) = (parts.next(), parts.next().unwrap_or_default());
        if method != Some("CONNECT") {
            return Err(reply(
                "400 Bad Request",
                "This is a proxy for https: it takes CONNECT. Set HTTPS_PROXY, and not HTTP_PROXY.",
            ));
        }
        let host = place.strip_suffix(PORT);
        match host.is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
            true => Ok(()),
            false => Err(reply(
                "403 Forbidden",
                &format!(
                    "Only {} is intercepted, and nothing leaves this machine: `{place}` is not reached. Name it with --intercept, or in NO_PROXY.",
                    self.hosts.join(", ")
                ),
            )),
        }
    }
}

/// Returns the reply of a proxy that refuses a request.
fn reply(status: &str, text: &str) -> String {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
}

/// Reads the head of a request, and no byte after it.
async fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_MAX {
            return Err(io::Error::other(
                "the head of a request to the proxy is too long",
            ));
        }
        head.push(client.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_intercepted() {
        let hosts: Arc<[String]> = ["app.example.com".to_owned()].into();
        let authority = LocalAuthority::new(Date::parse("2026-03-02").unwrap()).unwrap();
        let route = Route {
            tls: TlsAcceptor::from(Arc::new(authority.server_config(&hosts).unwrap())),
            hosts,
            target: SocketAddr::from(([127, 0, 0, 1], 1)),
            source: None,
        };
        let checked = |line: &str| route.check(&format!("{line} HTTP/1.1\r\n\r\n"));
        assert_eq!(checked("CONNECT app.example.com:443"), Ok(()));
        let other = checked("CONNECT example.com:443").unwrap_err();
        assert!(other.starts_with("HTTP/1.1 403") && other.contains("app.example.com"));
        assert!(checked("CONNECT app.example.com:80").is_err());
        let plain = checked("GET http://app.example.com/").unwrap_err();
        assert!(plain.starts_with("HTTP/1.1 400") && plain.contains("HTTPS_PROXY"));
    }
}

//! `workgraph healthcheck`: asks a server if it is ready, for containers without another client.
use crate::config::Config;
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Timeout of each step.
const WAIT: Duration = Duration::from_secs(2);
/// Maximum number of bytes read from the answer.
const ANSWER_MAX: u64 = 4096;
/// Path of the check.
const READY: &str = "/-/readyz";

/// Asks the server in the settings, or the one at an address such as `http://127.0.0.1:8080`. Returns its answer.
///
/// # Errors
/// Fails if the server does not answer, or is not ready.
pub(crate) fn run(config: &Config, url: Option<&str>) -> Result<String> {
    let authority = match url {
        None => config.server.listen.clone(),
        Some(url) => {
            let rest = url.strip_prefix("http://").with_context(|| {
                format!("--url {url}: give the http address of a server on this machine or network, such as http://127.0.0.1:8080")
            })?;
            let authority = rest.split('/').next().unwrap_or_default();
            if authority.contains(':') {
                authority.to_owned()
            } else {
                format!("{authority}:80")
            }
        }
    };
    let address = authority
        .to_socket_addrs()
        .with_context(|| format!("{authority}: not the address of a server"))?
        .next()
        .map(reachable)
        .with_context(|| format!("{authority}: no address has this name"))?;
    let answer = ask(address, &authority)
        .with_context(|| format!("the server at {address} does not answer"))?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let said = answer
        .split_once("\r\n\r\n")
        .map_or("", |(_, body)| body)
        .trim();
    if status != "200" {
        bail!("the server at {address} is not ready ({status}): {said}");
    }
    Ok(format!("ready: {address}"))
}

/// Returns the address on this machine of a server that listens on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, address.port())
}

fn ask(address: SocketAddr, host: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, WAIT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    let request = format!("GET {READY} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

//! Addresses of a server: the listen address, the one for clients, and the file with the port.
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tokio::net::TcpListener;

/// Returns a listener at an address given as text.
///
/// # Errors
/// Fails if the address is in use or invalid; the error then shows a valid one.
pub(crate) async fn bind(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("can't listen on {address}{}", address_hint(address)))
}

/// Returns a suggestion for a text that is not an address with a port.
fn address_hint(text: &str) -> String {
    if text.is_empty() || text.contains(':') {
        return String::new();
    }
    let right = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => format!("{text}:8080"),
    };
    format!(": an address and a port are expected, such as {right}")
}

/// Returns the address that a client on this machine can use.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(a) if a.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(a) if a.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}

/// Writes the port to a file in one step: a process that waits for the file never sees a partial one.
///
/// # Errors
/// Fails if the file can't be written.
pub fn write_port(path: &Path, port: u16) -> Result<()> {
    let draft = path.with_extension("new");
    let written = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        writeln!(file, "{port}")?;
        std::fs::rename(&draft, path)
    };
    written().with_context(|| format!("{}: the port can't be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::address_hint;

    #[test]
    fn what_is_no_address_with_a_port_is_answered_with_one_that_is() {
        assert!(address_hint("8090").ends_with("such as 127.0.0.1:8090"));
        assert!(address_hint("localhost").ends_with("such as localhost:8080"));
        assert_eq!(address_hint("127.0.0.1:80"), "");
    }
}

//! Proxies before several servers: one sends each request to the next of them, another one each connection.
//!
//! The one for requests speaks just enough HTTP/1.1 for the clients of the tests: one request for each connection to a
//! server, a body with its length or in chunks. To a client it looks like one server that closes each connection after
//! its answer. The one for connections passes bytes on as they are.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Longest wait for the next bytes of a request or an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Running proxy. It serves until the process ends.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    pub(crate) port: u16,
    servers: Arc<Mutex<Vec<u16>>>,
}

impl RoundRobin {
    /// Starts a proxy for requests, before no servers yet.
    pub(crate) fn start() -> Self {
        Self::start_by(forward)
    }

    /// Starts a proxy for connections, before no servers yet.
    pub(crate) fn of_connections() -> Self {
        Self::start_by(join)
    }

    fn start_by(forward: fn(TcpStream, u16) -> std::io::Result<()>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let servers = Arc::new(Mutex::new(Vec::new()));
        let known = Arc::clone(&servers);
        thread::spawn(move || {
            for (turn, client) in listener.incoming().flatten().enumerate() {
                let ports = known.lock().unwrap();
                if !ports.is_empty() {
                    let server = ports[turn % ports.len()];
                    // A client that goes away, or a server that was killed, ends its connection alone.
                    thread::spawn(move || forward(client, server).ok());
                }
            }
        });
        Self { port, servers }
    }

    /// Replaces the servers by those on these ports of this machine.
    pub(crate) fn set_servers(&self, ports: Vec<u16>) {
        *self.servers.lock().unwrap() = ports;
    }
}

/// Passes on all bytes between a client and a server, until both have ended their sides.
fn join(client: TcpStream, port: u16) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let back = thread::spawn(move || pass(from_server, to_client));
    pass(client, server);
    drop(back.join());
    Ok(())
}

/// Passes on bytes to their end, and then the end. A side that broke ends both.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let end = match std::io::copy(&mut from, &mut to) {
        Ok(_) => to.shutdown(std::net::Shutdown::Write),
        Err(_) => from
            .shutdown(std::net::Shutdown::Both)
            .and(to.shutdown(std::net::Shutdown::Both)),
    };
    // The other end is gone already.
    drop(end);
}

/// Sends one request to a server, and its answer to the client.
fn forward(client: TcpStream, port: u16) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut answer = client.try_clone()?;
    let mut request = BufReader::new(client);
    let mut head = String::new();
    let mut length = 0;
    let mut is_chunked = false;
    loop {
        let mut line = String::new();
        if request.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        is_chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
        if line == "\r\n" {
            head.push_str("Connection: close\r\n\r\n");
            break;
        }
        if lower.starts_with("expect:") {
            answer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        } else if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.write_all(head.as_bytes())?;
    if is_chunked {
        copy_chunks(&mut request, &mut server)?;
    } else {
        std::io::copy(&mut request.take(length), &mut server)?;
    }
    std::io::copy(&mut server, &mut answer)?;
    answer.shutdown(std::net::Shutdown::Write)
}

/// Copies a body in chunks, to the end of its trailer.
fn copy_chunks(request: &mut impl BufRead, server: &mut impl Write) -> std::io::Result<()> {
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        server.write_all(line.as_bytes())?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).unwrap_or_default();
        if size == 0 {
            break;
        }
        std::io::copy(&mut request.take(size + 2), server)?;
    }
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        server.write_all(line.as_bytes())?;
        if line.trim().is_empty() {
            return Ok(());
        }
    }
}

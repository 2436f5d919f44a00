//! A plain HTTP/1.1 client: requests as bytes, replies as they came over the socket.
use super::PATIENCE;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Returns the bytes of an API request.
pub(crate) fn request(method: &str, path: &str, token: &str, body: Option<&Value>) -> Vec<u8> {
    match body {
        None => plain(
            method,
            path,
            &[("Authorization", &format!("Bearer {token}"))],
            b"",
        ),
        Some(body) => post(
            method,
            path,
            token,
            "application/json",
            body.to_string().as_bytes(),
        ),
    }
}

/// Returns the bytes of a request with a body.
pub(crate) fn post(method: &str, path: &str, token: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let (bearer, length) = (format!("Bearer {token}"), body.len().to_string());
    plain(
        method,
        path,
        &[
            ("Authorization", &bearer),
            ("Content-Type", kind),
            ("Content-Length", &length),
        ],
        body,
    )
}

/// Returns the bytes of a request below the API's base with just these headers and a Host.
pub(crate) fn plain(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} /api/1.0{path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Reply as it came over the socket.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
    /// Returns the message of the first error.
    pub(crate) fn message(&self) -> String {
        let json: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["errors"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Connection, kept alive between requests.
#[derive(Debug)]
pub(crate) struct RawConnection {
    stream: TcpStream,
    ahead: Vec<u8>,
}

impl RawConnection {
    pub(crate) fn open(port: u16) -> std::io::Result<Self> {
        Self::open_with(port, PATIENCE)
    }

    /// Opens a connection on which nothing is waited for any longer than this.
    pub(crate) fn open_with(port: u16, patience: Duration) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self {
            stream,
            ahead: Vec::new(),
        })
    }

    /// Sends bytes. A server that has closed its end may be met here already. Links follow the host of a request, so one to
    /// `localhost` is sent with the address of the server.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        const LOCAL: &[u8] = b"Host: localhost\r\n";
        let head = &bytes[..bytes.len().min(4 << 10)];
        let Some(at) = head.windows(LOCAL.len()).position(|part| part == LOCAL) else {
            return self.stream.write_all(bytes);
        };
        let host = format!("Host: {}\r\n", self.stream.peer_addr()?);
        let sent = [&bytes[..at], host.as_bytes(), &bytes[at + LOCAL.len()..]];
        self.stream.write_all(&sent.concat())
    }

    /// Sends a request and reads its reply.
    pub(crate) fn ask(&mut self, bytes: &[u8]) -> Result<Reply, String> {
        let sent = self.send(bytes);
        // The server may have answered before it read all of a body it refuses.
        self.read().map_err(|e| {
            if let Err(first) = sent {
                format!("{first}, then {e}")
            } else {
                e
            }
        })
    }

    /// Returns true if a part of a reply has arrived.
    pub(crate) fn has_reply(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let there = self.stream.peek(&mut [0u8; 1]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        there
    }

    /// Waits until a reply has begun.
    pub(crate) fn begun(&mut self) -> Result<(), String> {
        if self.ahead.is_empty() {
            self.more()?;
        }
        Ok(())
    }

    fn more(&mut self) -> Result<usize, String> {
        let mut chunk = [0u8; 16 << 10];
        let count = self.stream.read(&mut chunk).map_err(|e| e.to_string())?;
        self.ahead.extend_from_slice(&chunk[..count]);
        Ok(count)
    }

    /// Reads one reply; those of the 100 kind are passed over.
    pub(crate) fn read(&mut self) -> Result<Reply, String> {
        loop {
            let head = loop {
                if let Some(at) = self.ahead.windows(4).position(|w| w == b"\r\n\r\n") {
                    break self.ahead.drain(..at + 4).collect::<Vec<u8>>();
                }
                if self.more()? == 0 {
                    return Err(format!("closed after {} bytes", self.ahead.len()));
                }
            };
            let head = String::from_utf8_lossy(&head).into_owned();
            let mut lines = head.trim_end().split("\r\n");
            let first = lines.next().unwrap_or_default();
            let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
            let status: u16 = status
                .filter(|_| first.starts_with("HTTP/1."))
                .ok_or_else(|| format!("not a reply: {first}"))?;
            let pairs = lines.filter_map(|l| l.split_once(':'));
            let headers: Vec<_> = pairs
                .map(|(n, v)| (n.to_owned(), v.trim().to_owned()))
                .collect();
            let mut reply = Reply {
                status,
                headers,
                body: Vec::new(),
            };
            if (100..200).contains(&status) {
                continue;
            }
            let length = reply
                .header("content-length")
                .and_then(|v| v.parse::<usize>().ok());
            let Some(length) = length else {
                if status != 204 && reply.header("connection") != Some("close") {
                    return Err(format!("a reply without a length: {head}"));
                }
                return Ok(reply);
            };
            while self.ahead.len() < length {
                if self.more()? == 0 {
                    return Err("closed within a body".to_owned());
                }
            }
            reply.body = self.ahead.drain(..length).collect();
            return Ok(reply);
        }
    }

    /// Closes the sending side of the connection.
    pub(crate) fn finish(&self) {
        // This fails only when the other end is gone already.
        let _gone = self.stream.shutdown(Shutdown::Write);
    }

    /// Returns true if the server closes the connection within the given time, without sending anything more.
    pub(crate) fn closes_within(&mut self, patience: Duration) -> bool {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        let closed = match self.stream.read(&mut [0u8; 1]) {
            Ok(0) => self.ahead.is_empty(),
            Ok(_) => false,
            Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
        };
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        closed
    }

    /// Returns all replies until the server closes or is silent for the given time.
    pub(crate) fn drain(&mut self, patience: Duration) -> Vec<Reply> {
        let mut replies = Vec::new();
        loop {
            self.stream
                .set_read_timeout(Some(if replies.is_empty() {
                    PATIENCE
                } else {
                    patience
                }))
                .unwrap();
            match self.read() {
                Ok(reply) => replies.push(reply),
                Err(_) => return replies,
            }
        }
    }
}

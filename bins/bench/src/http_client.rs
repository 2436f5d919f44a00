//! The minimal HTTP/1.1 for a closed-loop client: a response head, and a blocking client for the setup.

use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Parts of a response head used by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// Length of the head including its empty line.
    pub(crate) length: usize,
    /// Length of the body in bytes.
    pub(crate) body: usize,
    /// True if the server closes the connection after this response.
    pub(crate) close: bool,
}

impl ResponseHead {
    /// Returns the length of the response in bytes, head and body.
    pub(crate) fn total(self) -> usize {
        self.length + self.body
    }
}

/// Parses a response head; `None` while it is incomplete.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Option<ResponseHead>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = bytes.get(..end).unwrap_or_default();
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let status: u16 = first
        .get(9..12)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .context("not an HTTP response")?;
    let mut body = (status == 204 || status == 304).then_some(0);
    let mut close = false;
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"content-length") {
            body = Some(text(value).parse()?);
        } else if name.eq_ignore_ascii_case(b"connection") {
            close = text(value).eq_ignore_ascii_case("close");
        }
    }
    Ok(Some(ResponseHead {
        status,
        length: end + 4,
        body: body.context("a response without Content-Length, which this client does not read")?,
        close,
    }))
}

fn text(value: &[u8]) -> &str {
    let value = value.strip_prefix(b":").unwrap_or(value);
    std::str::from_utf8(value).unwrap_or_default().trim()
}

/// Writes a GET with the headers that API clients send.
pub(crate) fn write_get(out: &mut Vec<u8>, path: &str, token: &str) {
    for part in [
        "GET ",
        path,
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nAuthorization: Bearer ",
        token,
        "\r\n\r\n",
    ] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Writes a POST of a JSON body.
pub(crate) fn write_post(out: &mut Vec<u8>, path: &str, token: &str, body: &str) {
    let length = body.len().to_string();
    for part in [
        "POST ",
        path,
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nAuthorization: Bearer ",
        token,
        "\r\nContent-Type: application/json\r\nContent-Length: ",
        &length,
        "\r\n\r\n",
        body,
    ] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Sends one request on a new connection. Returns the status and the body of the response.
pub(crate) fn exchange(addr: SocketAddr, request: &[u8]) -> Result<(u16, Vec<u8>)> {
    let (head, mut bytes) = answer(addr, request)?;
    Ok((head.status, bytes.split_off(head.length)))
}

/// Sends one request on a new connection; its status must be below 400. Returns the head of the response as text, and its
/// body.
pub(crate) fn whole(addr: SocketAddr, request: &[u8]) -> Result<(String, Vec<u8>)> {
    let (head, mut bytes) = answer(addr, request)?;
    let body = bytes.split_off(head.length);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if head.status >= 400 {
        bail!("{text}{}", String::from_utf8_lossy(&body));
    }
    Ok((text, body))
}

fn answer(addr: SocketAddr, request: &[u8]) -> Result<(ResponseHead, Vec<u8>)> {
    let wait = Duration::from_secs(30);
    let mut stream = TcpStream::connect_timeout(&addr, wait)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_nodelay(true)?;
    stream.write_all(request)?;
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = match stream.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            count => count?,
        };
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if let Some(head) = parse_head(&bytes)?
            && bytes.len() >= head.total()
        {
            return Ok((head, bytes));
        }
        if count == 0 {
            bail!("the server closed the connection in mid-answer");
        }
    }
}

/// An API address and the token to use there.
#[derive(Clone, Debug)]
pub(crate) struct BenchClient {
    /// Address at which the server listens.
    pub(crate) addr: SocketAddr,
    pub(crate) token: String,
}

impl BenchClient {
    /// Sends a GET. Returns the body's JSON if the status is 2xx.
    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&self.get_bytes(path)?)?)
    }

    /// Sends a GET. Returns the body if the status is 2xx.
    pub(crate) fn get_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let mut request = Vec::new();
        write_get(&mut request, path, &self.token);
        self.send("GET", path, &request)
    }

    /// Sends a POST. Returns the body's JSON if the status is 2xx.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut request = Vec::new();
        write_post(&mut request, path, &self.token, &body.to_string());
        Ok(serde_json::from_slice(&self.send("POST", path, &request)?)?)
    }

    /// Sends a DELETE, which must be answered with 2xx.
    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        let request = format!(
            "DELETE {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n",
            self.token
        );
        self.send("DELETE", path, request.as_bytes()).map(drop)
    }

    fn send(&self, method: &str, path: &str, request: &[u8]) -> Result<Vec<u8>> {
        let (status, body) = exchange(self.addr, request)?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let text: String = String::from_utf8_lossy(&body).chars().take(400).collect();
        bail!("{method} {path} answered {status}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let bytes = b"HTTP/1.1 201 Created\r\ncontent-Length: 12\r\nConnection: close\r\n\r\nrest";
        for cut in 0..bytes.len() - 4 {
            assert_eq!(parse_head(&bytes[..cut]).unwrap(), None, "{cut}");
        }
        let head = parse_head(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.body, head.close), (201, 12, true));
        assert_eq!(head.length, bytes.len() - 4);
    }

    #[test]
    fn a_body_of_unknown_length_is_refused() {
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(parse_head(b"no http at all here\r\n\r\n").is_err());
        let none = parse_head(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        assert_eq!(none.map(|head| head.body), Some(0));
    }
}

//! A connection's socket that records the bytes passing through it.
use crate::http::connections::ClientConnection;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Returns true if the bytes read contain a bare line feed in a head: the first head, or one that follows it
/// or its body in the same read. A line feed at the start of a read counts as bare: its CR is no longer in a buffer, and at
/// worst one connection is closed unnecessarily.
fn has_bare_line_feed(mut read: &[u8]) -> bool {
    while !read.is_empty() {
        let (mut start, mut body, mut rest) = (0, 0, None);
        for end in memchr::memchr_iter(b'\n', read) {
            let line = read.get(start..end).unwrap_or_default();
            let Some(line) = line.strip_suffix(b"\r") else {
                return true;
            };
            start = end + 1;
            if line.is_empty() {
                rest = read.get(start.saturating_add(body)..);
                break;
            }
            body = content_length(line).unwrap_or(body);
        }
        read = rest.unwrap_or_default();
    }
    false
}

/// Returns the length of the body, if a line of a head is its `Content-Length`.
fn content_length(line: &[u8]) -> Option<usize> {
    let (name, value) = line.split_at_checked(b"content-length:".len())?;
    if !name.eq_ignore_ascii_case(b"content-length:") {
        return None;
    }
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// Socket that records the bytes passing through it.
#[derive(Debug)]
pub(crate) struct InstrumentedSocket {
    stream: TcpStream,
    connection: Arc<ClientConnection>,
    fresh: bool,
}

impl InstrumentedSocket {
    /// Wraps a socket.
    pub(crate) fn new(stream: TcpStream, connection: Arc<ClientConnection>) -> Self {
        Self {
            stream,
            connection,
            fresh: true,
        }
    }
    fn wrote(&self, outcome: &Poll<io::Result<usize>>) {
        if matches!(outcome, Poll::Ready(Ok(n)) if *n > 0) {
            self.connection.mark_written();
        }
    }
}

impl AsyncRead for InstrumentedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        let new = buf.filled().get(before..).unwrap_or_default();
        if !new.is_empty() {
            if std::mem::take(&mut self.fresh) && new.starts_with(b"PRI ") {
                self.connection.mark_http2();
            }
            if self.connection.reads_head() && has_bare_line_feed(new) {
                self.connection.mark_bare_line_feed();
            }
        }
        outcome
    }
}

impl AsyncWrite for InstrumentedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(&outcome);
        outcome
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wrote(&outcome);
        outcome
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_feed_alone_is_seen_in_each_head_and_not_in_a_body() {
        let strict = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let post = "POST / HTTP/1.1\r\ncontent-Length: 3\r\nHost: x\r\n\r\n{\n}";
        let late = "GET / HTTP/1.1\r\nHost: x\n\r\n";
        for (read, loose) in [
            (strict, false),
            (post, false),
            (post.get(..post.len() - 1).unwrap(), false),
            (&[strict, strict].concat(), false),
            (&[strict, late].concat(), true),
            (&[post, strict, post].concat(), false),
            (&[post, strict, late].concat(), true),
            (&[strict, "\r\n", strict].concat(), false),
            ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n{\n}", true),
            ("GET / HTTP/1.1\nHost: x\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: x\n\n", true),
            ("GET / HTTP/1.1\r\nHost: x\r\n\n", true),
            ("GET / HTTP/1.1\r\nHo", false),
        ] {
            assert_eq!(has_bare_line_feed(read.as_bytes()), loose, "{read:?}");
        }
    }
}

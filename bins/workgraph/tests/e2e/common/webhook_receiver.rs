//! Receivers of webhooks.
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Starts a receiver of webhooks that confirms handshakes, and lets `take` have each delivery before it answers that. Returns its
/// address. It serves until the process ends.
pub(crate) fn webhook_receiver(take: impl Fn(Value) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let take = take.clone();
            // A server that was killed has broken its connection.
            thread::spawn(move || receive(stream, &take).ok());
        }
    });
    format!("http://127.0.0.1:{port}/")
}

/// Answers requests on one connection until it ends.
fn receive(stream: TcpStream, take: &impl Fn(Value)) -> std::io::Result<()> {
    let mut answer = stream.try_clone()?;
    let mut requests = BufReader::new(stream);
    loop {
        let (mut length, mut secret) = (0, String::new());
        loop {
            let mut line = String::new();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if lower.starts_with("x-hook-secret:") {
                secret = line.clone();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        requests.read_exact(&mut body)?;
        if secret.is_empty() {
            take(serde_json::from_slice(&body).unwrap_or_default());
        }
        let head = format!("HTTP/1.1 200 OK\r\n{secret}Content-Length: 0\r\n\r\n");
        answer.write_all(head.as_bytes())?;
    }
}

//! A receiver of webhooks with hyper. It returns the secret of the handshake, checks the signature of
//! every delivery in constant time, and refuses a wrong one. The example calls itself on loopback; run
//! it: `cargo run -p workgraph-server --example webhook_receiver`

use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::hmac;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use workgraph_webhooks::signature::{
    SECRET_HEADER, SIGNATURE_HEADER, is_handshake_confirmed, signature, signing_secret,
};

/// Largest body that is read, in bytes.
const BODY_MAX: usize = 4 << 20;

/// Secret of one webhook. A real receiver stores it, and has a separate path for each webhook.
type Secret = OnceLock<HeaderValue>;

/// Answers a handshake or a delivery.
async fn receive(
    request: Request<Incoming>,
    secret: Arc<Secret>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut reply = Response::new(Full::default());
    if let Some(offered) = head.headers.get(SECRET_HEADER) {
        // Accept a secret only once, or anyone could set their own. A real receiver accepts one only while its own request
        // to create the webhook is running, and forgets it if that request fails.
        if secret.set(offered.clone()).is_ok() {
            reply.headers_mut().insert(SECRET_HEADER, offered.clone());
        } else {
            *reply.status_mut() = StatusCode::FORBIDDEN;
        }
        return Ok(reply);
    }
    *reply.status_mut() = match Limited::new(body, BODY_MAX).collect().await {
        Err(_) => StatusCode::BAD_REQUEST, // too large, or cut off
        Ok(body) => {
            let body = body.to_bytes();
            if is_signed(&secret, &head.headers, &body) {
                handle(&body)
            } else {
                StatusCode::UNAUTHORIZED
            }
        }
    };
    Ok(reply)
}

/// Returns true if a body has the signature that its headers claim. The signature covers the body byte for byte: JSON that
/// was parsed and written again has a different one.
fn is_signed(secret: &Secret, headers: &HeaderMap, body: &[u8]) -> bool {
    let claimed = headers.get(SIGNATURE_HEADER).and_then(|v| v.to_str().ok());
    let (Some(secret), Some(claimed)) = (secret.get(), claimed.and_then(from_hex)) else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    // This takes the same time wherever the first difference is; `==` on texts doesn't.
    hmac::verify(&key, body, &claimed).is_ok()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

/// Handles a delivery; a heartbeat has no events. A real receiver puts the events into a queue, acknowledges them at once,
/// and expects that an event may arrive twice.
fn handle(body: &[u8]) -> StatusCode {
    let Ok(delivery) = serde_json::from_slice::<Value>(body) else {
        return StatusCode::BAD_REQUEST;
    };
    let events = delivery.get("events").and_then(Value::as_array);
    for event in events.into_iter().flatten() {
        println!("receiver: event {event}");
    }
    StatusCode::OK
}

async fn serve(listener: TcpListener) {
    let secret = Arc::new(Secret::new());
    while let Ok((stream, _)) = listener.accept().await {
        let secret = Arc::clone(&secret);
        tokio::spawn(async move {
            let service = service_fn(|request| receive(request, Arc::clone(&secret)));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new()) // for hyper's limit on slow requests
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                eprintln!("receiver: {error}");
            }
        });
    }
}

/// Sends a body with one header, as Workgraph does. Returns the status, and the secret in the reply.
async fn post(
    to: SocketAddr,
    (name, value): (&str, &str),
    body: &'static [u8],
) -> Result<(u16, Option<String>), Box<dyn Error>> {
    let stream = TokioIo::new(TcpStream::connect(to).await?);
    let (mut requests, connection) = hyper::client::conn::http1::handshake(stream).await?;
    tokio::spawn(connection);
    let request = Request::post("/in")
        .header(HOST, to.to_string())
        .header(name, value);
    let request = request.body(Full::new(Bytes::from_static(body)))?;
    let reply = requests.send_request(request).await?;
    let echo = reply.headers().get(SECRET_HEADER);
    let echo = echo.map(|value| value.to_str().map(str::to_owned));
    Ok((reply.status().as_u16(), echo.transpose()?))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener));

    let secret = signing_secret([7; 32]); // random in earnest
    let (status, echo) = post(address, (SECRET_HEADER, &secret), b"{}").await?;
    println!("handshake: {status}");
    assert!(is_handshake_confirmed(&secret, status, echo.as_deref()));

    let body = br#"{"events":[{"action":"added","resource":{"gid":"12","resource_type":"task"}}]}"#;
    let signed = signature(&secret, body);
    let (status, _) = post(address, (SIGNATURE_HEADER, &signed), body).await?;
    println!("delivery: {status}");
    assert_eq!(status, 200);

    let forged = signature("another secret", body);
    let (status, _) = post(address, (SIGNATURE_HEADER, &forged), body).await?;
    println!("delivery with a wrong signature: {status}");
    assert_eq!(status, 401);
    Ok(())
}

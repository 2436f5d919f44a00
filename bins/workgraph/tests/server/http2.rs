//! HTTP/2 over loopback: requests, bounds of heads and streams, and replies that no client reads.
use crate::common::{Folder, Server};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A time longer than any test here takes.
const LONG: Duration = Duration::from_secs(30);

/// Connection, and the task that ends with it.
struct Http2Connection {
    send: http2::SendRequest<Empty<Bytes>>,
    over: JoinHandle<()>,
}

impl Http2Connection {
    /// Connects; each reply has this much room for its body before it is read.
    async fn open(server: &Server, window: u32) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).await;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let io = TokioIo::new(stream.unwrap());
        let (send, connection) = builder.handshake(io).await.unwrap();
        let over = tokio::spawn(async move {
            // Any end of the connection will do; the test looks for the end alone.
            let _ = connection.await;
        });
        Self { send, over }
    }

    /// Sends a GET with this many headers more. Returns the head of the reply.
    async fn get(
        &mut self,
        server: &Server,
        path: &str,
        token: &str,
        more: usize,
    ) -> Response<Incoming> {
        let uri = format!("http://127.0.0.1:{}{path}", server.port);
        let mut request = Request::get(uri).header("authorization", format!("Bearer {token}"));
        for number in 0..more {
            request = request.header(format!("x-{number}"), "1");
        }
        self.send.ready().await.unwrap();
        let sent = self.send.send_request(request.body(Empty::new()).unwrap());
        sent.await.unwrap()
    }
}

async fn json(reply: Response<Incoming>) -> Value {
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

fn token(folder: &Folder) -> String {
    let boot = folder.bootstrap();
    let token = boot.get("personal_access_token").and_then(Value::as_str);
    token.unwrap().to_owned()
}

const ME: &str = "/api/1.0/users/me";

#[tokio::test]
async fn requests_share_a_connection_and_heads_are_bounded() {
    let folder = Folder::new("h2");
    let server = Server::demo(&folder, &[]);
    let token = token(&folder);
    let mut connection = Http2Connection::open(&server, 1 << 16).await;
    let me = connection.get(&server, ME, &token, 0).await;
    assert_eq!(me.status(), 200);
    assert!(me.headers().contains_key("x-request-id") && !me.headers().contains_key("connection"));
    assert_eq!(
        json(me).await["data"]["gid"],
        folder.bootstrap()["users"][0]["gid"]
    );
    // With the token's own, a hundred headers are read and one more is not.
    assert_eq!(connection.get(&server, ME, &token, 99).await.status(), 200);
    let crowded = connection.get(&server, ME, &token, 100).await;
    assert_eq!(crowded.status(), 431);
    let said = json(crowded).await;
    assert!(said["errors"][0]["message"].is_string(), "{said}");
    // The refusal is of one request; the connection goes on.
    assert_eq!(
        connection
            .get(&server, "/-/livez", &token, 0)
            .await
            .status(),
        200
    );
    assert!(!connection.over.is_finished());
}

#[tokio::test]
async fn no_more_streams_are_open_than_is_allowed() {
    let folder = Folder::new("h2-streams");
    let server = Server::demo(&folder, &["--set", "http.streams=2"]);
    let token = token(&folder);
    let mut connection = Http2Connection::open(&server, 0).await;
    let first = connection.get(&server, ME, &token, 0).await;
    let second = connection.get(&server, ME, &token, 0).await;
    let short = Duration::from_millis(300);
    let mut third = Box::pin(connection.get(&server, ME, &token, 0));
    assert!(
        timeout(short, &mut third).await.is_err(),
        "there is no room for it"
    );
    drop(first);
    assert_eq!(timeout(LONG, third).await.unwrap().status(), 200);
    drop(second);
}

/// A client that gives a stream no room would keep its permit and its connection for ever.
#[tokio::test]
async fn a_reply_that_nobody_reads_loses_its_permit_and_then_its_connection() {
    let folder = Folder::new("h2-unread");
    let settings = [
        "http.request_timeout=2s",
        "http.idle_timeout=2s",
        "limits.concurrent_reads=1",
        "limits.standard_paid=1000000",
    ];
    let set: Vec<&str> = settings.iter().flat_map(|s| ["--set", s]).collect();
    let server = Server::demo(&folder, &set);
    let token = token(&folder);
    let mut unread = Http2Connection::open(&server, 0).await;
    let reply = unread.get(&server, ME, &token, 0).await;
    assert_eq!(reply.status(), 200);
    let mut other = Http2Connection::open(&server, 1 << 16).await;
    assert_eq!(other.get(&server, ME, &token, 0).await.status(), 429);
    let freed = async { while other.get(&server, ME, &token, 0).await.status() == 429 {} };
    timeout(LONG, freed).await.unwrap();
    assert!(!unread.over.is_finished(), "its connection may still go on");
    timeout(LONG, unread.over).await.unwrap().unwrap();
    // An error has no permit, and is not waited for any longer.
    let mut unread = Http2Connection::open(&server, 0).await;
    let reply = unread.get(&server, ME, "none", 0).await;
    assert_eq!(reply.status(), 401);
    timeout(LONG, unread.over).await.unwrap().unwrap();
}

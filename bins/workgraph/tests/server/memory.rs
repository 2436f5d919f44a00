//! Memory under attack: clients that send bodies without an end, and clients that read nothing.
#![expect(
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that meets what it did not expect must end there, and waits for a real process"
)]
use crate::common::{Folder, Server, status};
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use std::convert::Infallible;
use std::io::Write;
use std::net::TcpStream;
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Address space that the server may have, in bytes.
const ADDRESS_SPACE: u64 = 1 << 30;
/// Bytes of resident memory that the server may have above what it has when it is idle.
const RESIDENT_MAX: u64 = 200 << 20;
const CONNECTIONS: usize = 24;
const STREAMS: usize = 128;

/// Usual time of an answer while clients hold what costs no work.
const PROMPT: Duration = Duration::from_millis(100);
/// Usual time while the debug build works out hundreds of large lists, whose replies are then dropped.
const BUSY: Duration = Duration::from_secs(10);

/// Body of some bytes, and then nothing more, and no end.
struct Unending(usize);

impl Body for Unending {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0 == 0 {
            return Poll::Pending;
        }
        let length = self.0.min(16 << 10);
        self.0 -= length;
        Poll::Ready(Some(Ok(Frame::data(vec![b' '; length].into()))))
    }
}

/// Server under attack.
struct Target {
    server: Server,
    token: String,
    other_token: String,
    idle: u64,
}

impl Target {
    fn start(folder: &Folder, settings: &[&str]) -> Self {
        let set: Vec<&str> = settings.iter().flat_map(|s| ["--set", s]).collect();
        // The allocators reserve more than a gigabyte of addresses at once otherwise.
        let frugal = [
            ("MIMALLOC_ARENA_RESERVE", "32768"),
            ("MALLOC_ARENA_MAX", "2"),
        ];
        let server = Server::start(folder, true, &set, &frugal);
        let set = Command::new("prlimit")
            .arg(format!("--pid={}", server.child.id()))
            .arg(format!("--as={ADDRESS_SPACE}"))
            .status();
        assert!(set.unwrap().success());
        let boot = folder.bootstrap();
        let text = |name: &str| boot[name].as_str().unwrap().to_owned();
        let mut target = Self {
            token: text("personal_access_token"),
            other_token: text("free_token"),
            server,
            idle: 0,
        };
        target.assert_others_are_answered();
        target.idle = target.resident();
        target
    }

    /// Returns the bytes of resident memory.
    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.server.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() << 10
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.server.log).unwrap()
    }

    fn assert_others_are_answered(&self) {
        let (code, reply) = self
            .server
            .request("GET /api/1.0/users/me", &self.other_token, "");
        assert_eq!(code, 200, "{reply}: {}", self.log());
        let (code, reply) =
            self.server
                .request("GET /api/1.0/workspaces?limit=9", &self.other_token, "");
        assert_eq!(code, 200, "{reply}: {}", self.log());
    }

    /// Looks at the server for a while during an attack.
    /// The check of liveness must usually be answered within `usual_max`.
    fn assert_holds(&self, what: &str, usual_max: Duration) {
        let end = Instant::now() + Duration::from_secs(4);
        let mut times = Vec::new();
        while Instant::now() < end {
            let asked = Instant::now();
            let (code, _) = self.server.request("GET /-/livez", "none", "");
            times.push(asked.elapsed());
            assert_eq!(code, 200, "{what}: {}", self.log());
            self.assert_others_are_answered();
            let above = self.resident().saturating_sub(self.idle);
            assert!(
                above < RESIDENT_MAX,
                "{what}: {} MiB above idle",
                above >> 20
            );
        }
        // One look may meet another program on the same processor.
        times.sort();
        let usual = times[times.len() / 2];
        assert!(usual < usual_max, "{what}: {usual:?}");
    }

    /// Opens connections of HTTP/2 without room for replies, and sends requests on many streams of each.
    async fn flood(
        &self,
        connections: usize,
        request: impl Fn() -> Request<Unending>,
    ) -> Vec<(http2::SendRequest<Unending>, JoinHandle<()>)> {
        let mut open = Vec::new();
        for _ in 0..connections {
            let stream = tokio::net::TcpStream::connect(("127.0.0.1", self.server.port)).await;
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .initial_stream_window_size(0)
                .initial_max_send_streams(STREAMS);
            let io = TokioIo::new(stream.unwrap());
            let (mut send, connection) = builder.handshake(io).await.unwrap();
            let over = tokio::spawn(async move {
                // The server ends it, one way or another.
                let _ = connection.await;
            });
            for _ in 0..STREAMS {
                let reply = send.send_request(request());
                tokio::spawn(async move {
                    let kept = reply.await;
                    std::future::pending::<()>().await;
                    drop(kept);
                });
            }
            open.push((send, over));
        }
        open
    }

    fn uri(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.server.port)
    }
}

/// Makes a project whose list of tasks is about 6 MB. Returns the path of the list.
fn large_list(target: &Target, folder: &Folder) -> String {
    let workspace = folder.bootstrap()["workspaces"][0]["gid"].clone();
    let post = |path: &str, data: Value| -> String {
        let body = serde_json::json!({ "data": data }).to_string();
        let line = format!("POST /api/1.0{path}");
        let (code, reply) = target.server.request(&line, &target.token, &body);
        assert_eq!(code, 201, "{reply}");
        let gid = crate::common::json(&reply)["data"]["gid"].clone();
        gid.as_str().unwrap().to_owned()
    };
    let team = folder.bootstrap()["teams"][0]["gid"].clone();
    let project = serde_json::json!({"name": "Large", "workspace": workspace, "team": team});
    let project = post("/projects", project);
    for _ in 0..100 {
        let task =
            serde_json::json!({"name": "x", "projects": [project], "notes": "x".repeat(60_000)});
        post("/tasks", task);
    }
    format!("/api/1.0/projects/{project}/tasks?opt_fields=notes&limit=100")
}

const GENEROUS: [&str; 6] = [
    "limits.standard_free=1000000",
    "limits.concurrent_reads=5000",
    "limits.concurrent_writes=5000",
    "limits.standard_paid=1000000",
    "limits.cost=off",
    "limits.user_multiple=off",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_that_nobody_reads_are_in_memory_once() {
    let folder = Folder::new("memory-document");
    let target = Target::start(&folder, &GENEROUS);
    let uri = target.uri("/api/1.0/openapi.json");
    let request = || Request::get(&uri).body(Unending(0)).unwrap();
    let held = target.flood(CONNECTIONS, request).await;
    tokio::task::block_in_place(|| target.assert_holds("documents over HTTP/2", PROMPT));
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_clients_without_a_token_are_not_kept() {
    let folder = Folder::new("memory-bodies");
    let target = Target::start(&folder, &GENEROUS);
    let uri = target.uri("/api/1.0/tasks");
    let request = || Request::post(&uri).body(Unending(1 << 20)).unwrap();
    let held = target.flood(CONNECTIONS, request).await;
    tokio::task::block_in_place(|| target.assert_holds("bodies without a token", PROMPT));
    drop(held);
    let request = || {
        Request::post(&uri)
            .header("authorization", format!("Bearer {}", target.token))
            .header("content-type", "application/json")
            .body(Unending(1 << 20))
            .unwrap()
    };
    let held = target.flood(CONNECTIONS, request).await;
    tokio::task::block_in_place(|| target.assert_holds("bodies with a token", PROMPT));
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_replies_that_nobody_reads_are_bounded_and_their_connections_end() {
    let folder = Folder::new("memory-replies");
    let target = Target::start(
        &folder,
        &[&GENEROUS[..], &["http.stall_timeout=5s"]].concat(),
    );
    let path = large_list(&target, &folder);
    let uri = target.uri(&path);
    let request = || {
        Request::get(&uri)
            .header("authorization", format!("Bearer {}", target.token))
            .body(Unending(0))
            .unwrap()
    };
    let held = target.flood(8, request).await;
    tokio::task::block_in_place(|| target.assert_holds("lists over HTTP/2", BUSY));
    drop(held);
    let old: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = target.server.connect();
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
                target.token
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    tokio::task::block_in_place(|| target.assert_holds("lists over HTTP/1.1", BUSY));
    // The connections whose replies nobody reads end, and the user's next request is answered.
    tokio::task::block_in_place(|| {
        let asked = Instant::now();
        let line = format!("GET {path}");
        while target.server.request(&line, &target.token, "").0 != 200 {
            assert!(
                asked.elapsed() < Duration::from_secs(20),
                "no room is freed"
            );
        }
    });
    drop(old);
    let reply = target
        .server
        .raw(b"GET /-/livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&reply), 200);
}

use super::*;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use workgraph_webhooks::signature::SECRET_HEADER;

/// Network whose names resolve to addresses that the test sets, and which counts connections.
#[derive(Default)]
struct Staged {
    answers: Mutex<VecDeque<Vec<SocketAddr>>>,
    resolved: AtomicUsize,
    dialled: Mutex<Vec<SocketAddr>>,
    /// Address to which connections actually go.
    to: Option<SocketAddr>,
}

#[async_trait]
impl NetworkAccess for Arc<Staged> {
    async fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        self.resolved.fetch_add(1, Relaxed);
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or_default())
    }
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        self.dialled.lock().unwrap().push(to);
        match self.to {
            Some(at) => TcpStream::connect(at).await,
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test)
}

fn attempt(url: &str) -> DeliveryRequest {
    DeliveryRequest {
        target: Target::parse(url).unwrap(),
        headers: vec![(SECRET_HEADER, "s".to_owned())],
        body: Bytes::from_static(b"{\"events\":[]}"),
        timeout: Duration::from_millis(500),
    }
}

/// Returns every address of the table of `workgraph-webhooks`, by the lines of its test.
fn closed() -> Vec<SocketAddr> {
    let text = include_str!("../../../../../crates/webhooks/src/target_policy/tests.rs");
    let table = text
        .split("const CLOSED")
        .nth(1)
        .unwrap()
        .split("];")
        .next()
        .unwrap();
    let all = table.split('"').skip(1).step_by(2);
    all.map(|ip| SocketAddr::new(ip.parse().unwrap(), 443))
        .collect()
}

#[test]
fn no_address_that_is_not_public_is_ever_called() {
    let closed = closed();
    assert!(closed.len() >= 200);
    let public: SocketAddr = "93.184.216.34:443".parse().unwrap();
    let mut connects = 0;
    for at in closed {
        // The address alone, after a public one, before one; and as an address in the URL.
        for answer in [vec![at], vec![public, at], vec![at, public]] {
            let net = Arc::new(Staged {
                answers: Mutex::new(VecDeque::from([answer])),
                ..Staged::default()
            });
            let sender = WebhookSender::new(Arc::clone(&net), TargetPolicy::default());
            let outcome = run(sender.post(attempt("https://rebinding.test/")));
            assert_eq!(outcome, Err(DeliveryError::NotAllowed), "{at}");
            connects += net.dialled.lock().unwrap().len();
        }
        let net = Arc::new(Staged::default());
        let sender = WebhookSender::new(Arc::clone(&net), TargetPolicy::default());
        let outcome = run(sender.post(attempt(&format!("https://{at}/"))));
        assert_eq!(outcome, Err(DeliveryError::NotAllowed), "{at}");
        connects += net.dialled.lock().unwrap().len();
    }
    assert_eq!(connects, 0);
}

#[test]
fn a_name_that_leads_elsewhere_a_moment_later_is_not_asked_again() {
    let public: SocketAddr = "93.184.216.34:443".parse().unwrap();
    let inside: SocketAddr = "169.254.169.254:443".parse().unwrap();
    let net = Arc::new(Staged {
        answers: Mutex::new(VecDeque::from([vec![public], vec![inside], vec![inside]])),
        ..Staged::default()
    });
    let sender = WebhookSender::new(Arc::clone(&net), TargetPolicy::default());
    let first = run(sender.post(attempt("https://rebinding.test/")));
    assert!(matches!(first, Err(DeliveryError::Broken(_))), "{first:?}");
    assert_eq!(
        *net.dialled.lock().unwrap(),
        [public],
        "the checked address is the dialled one"
    );
    assert_eq!(net.resolved.load(Relaxed), 1);
    let second = run(sender.post(attempt("https://rebinding.test/")));
    assert_eq!(second, Err(DeliveryError::NotAllowed));
    assert_eq!(net.dialled.lock().unwrap().len(), 1);
}

/// Starts a receiver on this machine. Returns it with its address, and a sender that may call it.
async fn here() -> (TcpListener, SocketAddr, WebhookSender<SystemNetwork>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let policy = TargetPolicy {
        loopback: true,
        ..TargetPolicy::default()
    };
    (
        listener,
        at,
        WebhookSender::new(SystemNetwork::default(), policy),
    )
}

/// Sends a request to a receiver that answers with this text. Returns the result, and the bytes that the receiver
/// got.
fn answered(with: &'static [u8]) -> (Result<TargetReply, DeliveryError>, String) {
    run(async {
        let (listener, at, sender) = here().await;
        let receive = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let mut len = 0;
            while !request[..len].ends_with(b"{\"events\":[]}") {
                len += stream.read(&mut request[len..]).await.unwrap();
            }
            // The sender may have closed the connection after reading enough.
            let _ = stream.write_all(with).await;
            drop(stream);
            String::from_utf8_lossy(&request[..len]).into_owned()
        };
        let url = format!("http://{at}/hook?a=b");
        tokio::join!(sender.post(attempt(&url)), receive)
    })
}

#[test]
fn a_request_is_a_plain_post_and_its_answer_is_read_so_far() {
    let (reply, request) =
        answered(b"HTTP/1.1 204 No Content\r\nX-Hook-Secret: s\r\nRetry-After: 7\r\n\r\n");
    let reply = reply.unwrap();
    assert_eq!(
        (reply.status, reply.secret.as_deref(), reply.retry_after),
        (204, Some("s"), Some(7))
    );
    let request = request.to_lowercase();
    assert!(
        request.starts_with("post /hook?a=b http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("content-type: application/json; charset=utf-8\r\n"));
    assert!(request.contains("x-hook-secret: s\r\n") && request.contains("\r\nhost: 127.0.0.1:"));

    let (reply, _) = answered(b"HTTP/1.1 500 Oh\r\nContent-Length: 9\r\n\r\nnot today");
    assert_eq!(reply.unwrap().content, "not today");
}

#[test]
fn redirects_are_answers_like_any_other() {
    let (reply, _) = answered(
        b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(reply.unwrap().status, 302);
}

#[test]
fn broken_and_endless_answers_are_failures() {
    for answer in [
        &b""[..],
        b"HTTP/1.1 2",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
    ] {
        let (reply, _) = answered(answer);
        assert!(matches!(reply, Err(DeliveryError::Broken(_))), "{reply:?}");
    }
    // The receiver does not answer at all.
    run(async {
        let (_silent, at, sender) = here().await;
        let mut slow = attempt(&format!("http://{at}/"));
        slow.timeout = Duration::from_millis(50);
        let reply = sender.post(slow).await;
        assert_eq!(
            reply,
            Err(DeliveryError::Broken("no answer in 0 seconds".to_owned()))
        );
        let refused = sender.post(attempt("http://127.0.0.1:1/")).await;
        assert!(matches!(refused, Err(DeliveryError::Broken(_))));
        let own = sender.post(attempt("https://10.0.0.1/")).await;
        assert_eq!(own, Err(DeliveryError::NotAllowed));
    });
}

/// Runs a receiver that answers the given number of requests per connection and then closes it; counts both.
async fn patient(listener: TcpListener, requests: usize, count: &Mutex<(usize, usize)>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        count.lock().unwrap().0 += 1;
        for _ in 0..requests {
            let mut request = Vec::new();
            while !request.ends_with(b"{\"events\":[]}") {
                if stream.read_buf(&mut request).await.unwrap() == 0 {
                    break;
                }
            }
            if request.is_empty() {
                break;
            }
            count.lock().unwrap().1 += 1;
            let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            stream.write_all(reply).await.unwrap();
        }
    }
}

/// Makes five consecutive attempts to a receiver that accepts the given number per connection. Returns the number of
/// connections, and of requests.
fn five(requests: usize, between: Duration) -> (usize, usize) {
    run(async {
        let (listener, at, sender) = here().await;
        let count = Mutex::new((0, 0));
        let attempts = async {
            for number in 0..5 {
                let url = format!("http://{at}/{number}");
                let reply = sender.post(attempt(&url)).await.unwrap();
                assert_eq!((reply.status, reply.content.as_str()), (200, "ok"));
                sender.idle.age(between);
            }
        };
        tokio::select! {
            () = attempts => {}
            () = patient(listener, requests, &count) => {}
        }
        let count = count.lock().unwrap();
        *count
    })
}

#[test]
fn a_connection_serves_several_deliveries_for_a_few_seconds() {
    assert_eq!(five(9, Duration::ZERO), (1, 5));
    // Four seconds after it was opened a connection is no longer used.
    assert_eq!(five(9, Duration::from_secs(2)), (3, 5));
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_no_failure() {
    assert_eq!(five(1, Duration::ZERO), (5, 5));
    assert_eq!(five(2, Duration::ZERO), (3, 5));
}

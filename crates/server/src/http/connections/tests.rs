//! Tests of the connection tracker, and of clients behind proxies.
use super::*;
use crate::http::response_body::{BodyBytes, BodyContent, ResponseBody};
use hyper::body::Body;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::SystemTime;
use workgraph_limits::{AdmissionRequest, Limiter, Permit};

#[test]
fn connections_are_bounded_and_slow_heads_and_idleness_end_them() {
    let mut http = crate::config::Config::default().http;
    (http.connections, http.connections_per_ip) = (3, 2);
    let door = ConnectionTracker::new(&http, Arc::new(Metrics::new()));
    let (a, b) = (IpAddr::from([1, 1, 1, 1]), IpAddr::from([2, 2, 2, 2]));
    let first = door.register(a).unwrap();
    let second = door.register(a).unwrap();
    assert!(door.register(a).is_none());
    let third = door.register(b).unwrap();
    assert!(door.register(b).is_none());
    drop(second);
    assert!(door.register(b).is_some());
    drop(third);
    assert_eq!(
        (door.open_connections(), door.table.lock().by_ip.len()),
        (1, 1)
    );

    let connection = &first.0;
    assert!(!connection.is_timed_out(301, 40, 300) && connection.is_timed_out(302, 40, 300));
    connection.head_started_tick.store(1, Relaxed);
    assert!(!connection.is_timed_out(41, 40, 300) && connection.is_timed_out(42, 40, 300));
    let busy = connection.begin_request(None);
    assert!(!connection.is_timed_out(999, 40, 300));
    door.now.store(500, Relaxed);
    drop(busy);
    assert!(!connection.is_timed_out(800, 40, 300) && connection.is_timed_out(801, 40, 300));
}

/// The listener may sleep while there is no connection.
#[tokio::test]
async fn the_first_of_the_open_connections_is_told() {
    let http = crate::config::Config::default().http;
    let door = ConnectionTracker::new(&http, Arc::new(Metrics::new()));
    let is_told = async || {
        tokio::select! {
            biased;
            () = door.opened() => true,
            () = std::future::ready(()) => false,
        }
    };
    assert!(!is_told().await);
    let address = IpAddr::from([1, 1, 1, 1]);
    let first = door.register(address).unwrap();
    assert!(is_told().await);
    let second = door.register(address).unwrap();
    drop(first);
    assert!(!is_told().await);
    drop(second);
    let _again = door.register(address).unwrap();
    assert!(is_told().await);
}

/// S123. Each client has many IPv6 addresses, so the addresses of a network count together.
#[test]
fn connections_of_one_network_count_together() {
    let mut http = crate::config::Config::default().http;
    http.connections_per_ip = 2;
    let door = ConnectionTracker::new(&http, Arc::new(Metrics::new()));
    let enter = |text: &str| door.register(text.parse().unwrap());
    let _held = [enter("2001:db8::1").unwrap(), enter("2001:db8::2").unwrap()];
    assert!(enter("2001:db8::3").is_none());
    assert!(enter("2001:db8:0:1::3").is_some());
    let _mapped = [enter("1.1.1.1").unwrap(), enter("::ffff:1.1.1.1").unwrap()];
    assert!(enter("1.1.1.1").is_none() && enter("1.1.1.2").is_some());
}

/// S123. A proxy may use all connections; its clients may have as many requests as they could have
/// connections.
#[test]
fn a_proxy_is_not_limited_and_its_clients_are() {
    let mut http = crate::config::Config::default().http;
    (http.connections, http.connections_per_ip) = (9, 2);
    crate::config::setting::SettingValue::set(&mut http.trusted_proxies, "10.0.0.0/8").unwrap();
    let door = ConnectionTracker::new(&http, Arc::new(Metrics::new()));
    let proxy = IpAddr::from([10, 0, 0, 7]);
    let connections: Vec<_> = (0..9).map(|_| door.register(proxy).unwrap()).collect();
    assert!(
        connections
            .iter()
            .all(|(connection, _)| connection.is_proxied())
    );
    assert!(door.register(proxy).is_none(), "there are no more at all");
    let client = |text: &str| door.admit_proxied_request(text.parse().unwrap());
    let permits = [
        client("2001:db8::1").unwrap(),
        client("2001:db8::2").unwrap(),
    ];
    assert!(client("2001:db8::3").is_none());
    assert!(client("1.1.1.1").is_some());
    drop(permits);
    let busy = connections[0].0.begin_request(client("2001:db8::3"));
    assert_eq!(door.clients.lock().len(), 1);
    drop(busy);
    assert!(door.clients.lock().is_empty());
    drop(connections);
    assert!(!door.register([1, 1, 1, 1].into()).unwrap().0.is_proxied());
}

const KEY: [u8; 16] = [1; 16];

/// Limiter of two concurrent requests.
struct Slots(Limiter<[u8; 16]>);

impl Slots {
    fn new() -> Self {
        Self(Limiter::builder().concurrent(2).build())
    }

    fn running(&self) -> u32 {
        let asked = AdmissionRequest::new(&KEY);
        self.0.state(&asked, SystemTime::UNIX_EPOCH).concurrent[0].running
    }

    fn permit(&self) -> Option<Permit> {
        self.0.admit(&KEY, SystemTime::UNIX_EPOCH).ok()
    }
}

/// A client that has read its response sends the next request before hyper drops the bytes.
#[test]
fn a_small_response_frees_its_permit_before_the_client_can_read_it() {
    let slots = Slots::new();
    let running = || slots.running();
    let connection = Arc::new(ClientConnection::default());
    for (size, is_http1, left) in [(100, true, 0), (1 << 20, true, 1), (100, false, 1)] {
        let permit = slots.permit();
        let guard = connection.begin_response(permit, Duration::from_secs(60));
        let bytes = BodyBytes::new(vec![b' '; size].into(), Some(guard), None, is_http1);
        let mut body = ResponseBody::new(BodyContent::Bytes(bytes), None);
        assert_eq!(running(), 1);
        let mut context = Context::from_waker(Waker::noop());
        let frame = Pin::new(&mut body).poll_frame(&mut context);
        assert_eq!(running(), left, "{size} bytes");
        drop(frame);
        assert_eq!(running(), 0);
    }
}

#[test]
fn a_reply_that_is_not_read_holds_its_permit_no_longer_than_its_time() {
    let slots = Slots::new();
    let running = || slots.running();
    let connection = Arc::new(ClientConnection::default());
    let permit = || slots.permit();
    let time = Duration::from_millis(TICK_MILLIS * 4);
    let (first, second) = (
        connection.begin_response(permit(), time),
        connection.begin_response(permit(), time),
    );
    assert_eq!(running(), 2);
    drop(first);
    assert_eq!(running(), 1);
    assert!(!connection.release(3, 10));
    assert_eq!(running(), 1);
    assert!(!connection.release(4, 10));
    assert_eq!(running(), 0);
    // Its connection may stay open for a while, as an idle one may.
    assert!(!connection.release(14, 10) && connection.release(15, 10));
    drop(second);
    // The connection is closed, which frees its permit.
    let third = connection.begin_response(permit(), time);
    drop(connection);
    assert_eq!(running(), 1);
    drop(third);
    assert_eq!(running(), 0);
}

//! Connections: their maximum numbers, and their timeouts.
use crate::config::schema::HttpConfig;
use crate::config::trusted_proxies::TrustedProxies;
use crate::metrics::Metrics;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use workgraph_limits::Permit;

/// Milliseconds between two checks of the connections; times here are counted in such ticks.
pub(crate) const TICK_MILLIS: u64 = 250;

/// Returns a time in whole ticks.
fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_millis() / u128::from(TICK_MILLIS)).unwrap_or(u32::MAX)
}

/// One connection with its state and timers.
#[derive(Debug, Default)]
pub(crate) struct ClientConnection {
    /// True if the connection speaks HTTP/2, where the start of a head looks like any other frame.
    is_http2: AtomicBool,
    /// True if a line of a head ended with a bare line feed: proxies may disagree about where that head ends.
    has_bare_line_feed: AtomicBool,
    /// Number of requests in progress.
    requests: AtomicU32,
    /// Number of this connection, and number of requests on it so far.
    number: u64,
    served: AtomicU64,
    /// Tick in which the current head began; 0 if none is being read.
    head_started_tick: AtomicU32,
    /// Tick of the last activity.
    last_active_tick: AtomicU32,
    /// Tick in which a reply last made progress.
    last_progress_tick: AtomicU32,
    /// Bytes of bodies and replies held for the connection.
    kept_bytes: AtomicUsize,
    now: Arc<AtomicU32>,
    task: OnceLock<AbortHandle>,
    /// Address of the client or proxy.
    ip: Option<IpAddr>,
    /// True if the other end is a proxy for many clients.
    proxied: bool,
    unsent: Mutex<PendingResponses>,
    /// True if the connection should end after the requests that have begun.
    closing: AtomicBool,
    /// Task to wake when `closing` is set.
    waiting: Mutex<Option<Waker>>,
}

/// Replies that are not written yet.
#[derive(Debug, Default)]
struct PendingResponses {
    next: u32,
    replies: Vec<PendingResponse>,
}

/// Reply that is not written yet.
#[derive(Debug)]
struct PendingResponse {
    number: u32,
    /// Tick in which its time is up.
    until: u32,
    /// Permit held until then.
    permit: Option<Permit>,
}

/// Guard held while the reply is written.
#[derive(Debug)]
pub(crate) struct ResponseGuard(Arc<ClientConnection>, u32);

impl ResponseGuard {
    /// Frees the permit of the response, although it is not written yet.
    pub(crate) fn release_permit(&self) {
        let mut unsent = self.0.unsent.lock();
        let mut replies = unsent.replies.iter_mut();
        let own = replies.find(|reply| reply.number == self.1);
        let permit = own.and_then(|reply| reply.permit.take());
        drop(unsent);
        drop(permit);
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0
            .unsent
            .lock()
            .replies
            .retain(|reply| reply.number != self.1);
        self.0.mark_progress();
    }
}

impl ClientConnection {
    /// Counts a reply as unsent until the guard is dropped. Its permit is held until then, or until this much time has
    /// passed: the wait reported to other requests of the token must stay true even if a client does not read its
    /// reply.
    pub(crate) fn begin_response(
        self: &Arc<Self>,
        permit: Option<Permit>,
        time: Duration,
    ) -> ResponseGuard {
        let until = self.now.load(Relaxed).saturating_add(ticks(time));
        let mut unsent = self.unsent.lock();
        unsent.next = unsent.next.wrapping_add(1);
        let number = unsent.next;
        unsent.replies.push(PendingResponse {
            number,
            until,
            permit,
        });
        drop(unsent);
        self.mark_progress();
        ResponseGuard(Arc::clone(self), number)
    }

    /// Frees the permits whose time is up. Returns true if a reply has been unsent for longer than its time plus
    /// `grace`: a client may keep a connection busy forever by leaving no room in an HTTP/2 stream.
    fn release(&self, now: u32, grace: u32) -> bool {
        let mut unsent = self.unsent.lock();
        let mut overdue = false;
        for reply in &mut unsent.replies {
            if reply.until <= now {
                reply.permit = None;
                overdue |= reply.until.saturating_add(grace) < now;
            }
        }
        overdue
    }
    /// Returns true if only unsent replies are left, and none of them made progress for more than this many ticks.
    fn is_stalled(&self, now: u32, most: u32) -> bool {
        let still = now.saturating_sub(self.last_progress_tick.load(Relaxed)) > most;
        still && {
            let unsent = self.unsent.lock().replies.len();
            unsent > 0 && unsent >= self.requests.load(Relaxed) as usize
        }
    }
    /// Records that a reply made progress in this tick.
    pub(crate) fn mark_progress(&self) {
        self.last_progress_tick
            .store(self.now.load(Relaxed), Relaxed);
    }
    pub(crate) const fn kept_bytes(&self) -> &AtomicUsize {
        &self.kept_bytes
    }
    /// Records that a request's head is complete. The request ends when the guard is dropped.
    pub(crate) fn begin_request(
        self: &Arc<Self>,
        client: Option<ProxiedRequestGuard>,
    ) -> RequestGuard {
        self.head_started_tick.store(0, Relaxed);
        self.requests.fetch_add(1, Relaxed);
        RequestGuard {
            connection: Arc::clone(self),
            client,
        }
    }
    /// Returns the number of the next request, from 1.
    pub(crate) fn next_request_number(&self) -> u64 {
        self.served.fetch_add(1, Relaxed) + 1
    }
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
    pub(crate) fn mark_http2(&self) {
        self.is_http2.store(true, Relaxed);
    }
    /// Records that a line of a head did not end with CR LF.
    pub(crate) fn mark_bare_line_feed(&self) {
        self.has_bare_line_feed.store(true, Relaxed);
    }
    /// Records activity in this tick.
    pub(crate) fn mark_active(&self) {
        self.last_active_tick.store(self.now.load(Relaxed), Relaxed);
    }
    /// Records that bytes were written. HTTP/2 bytes may not belong to a reply, such as the answers to its pings.
    pub(crate) fn mark_written(&self) {
        self.mark_active();
        if !self.is_http2.load(Relaxed) {
            self.mark_progress();
        }
    }
    /// Records that bytes have arrived. They belong to a head, unless a request is in progress.
    pub(crate) fn reads_head(&self) -> bool {
        let head = self.requests.load(Relaxed) == 0;
        if head && self.head_started_tick.load(Relaxed) == 0 {
            self.head_started_tick
                .store(self.now.load(Relaxed), Relaxed);
        }
        head
    }
    /// Returns true if a line of a head did not end with CR LF.
    pub(crate) fn is_loose(&self) -> bool {
        self.has_bare_line_feed.load(Relaxed)
    }
    pub(crate) fn ip(&self) -> IpAddr {
        self.ip.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
    /// Returns true if the other end is a proxy for many clients.
    pub(crate) fn is_proxied(&self) -> bool {
        self.proxied
    }
    /// Returns true if the connection should end after the requests that have begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }
    /// Wakes this task when the connection should end after the requests that have begun; immediately, if it already should.
    pub(crate) fn on_close(&self, waker: &Waker) {
        let mut waiting = self.waiting.lock();
        if self.is_closing() {
            waker.wake_by_ref();
        } else {
            *waiting = Some(waker.clone());
        }
    }
    fn close(&self) {
        let mut waiting = self.waiting.lock();
        self.closing.store(true, Relaxed);
        if let Some(waker) = waiting.take() {
            waker.wake();
        }
    }

    /// Sets the task that serves the connection; it is aborted when the connection's time is up.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        // Set once, right after the task was started.
        let _ = self.task.set(task);
    }
    /// Aborts the connection, even during a request.
    pub(crate) fn abort(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
    fn is_timed_out(&self, now: u32, header: u32, idle: u32) -> bool {
        let head = self.head_started_tick.load(Relaxed);
        let slow = head > 0 && now.saturating_sub(head) > header && !self.is_http2.load(Relaxed);
        let still = now.saturating_sub(self.last_active_tick.load(Relaxed)) > idle;
        self.requests.load(Relaxed) == 0 && (slow || still)
    }
}

/// Guard of a request in progress; if it came through a proxy, it counts for its client.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    connection: Arc<ClientConnection>,
    client: Option<ProxiedRequestGuard>,
}

impl RequestGuard {
    /// Records that the reply made progress.
    pub(crate) fn mark_progress(&self) {
        self.connection.mark_progress();
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.connection.requests.fetch_sub(1, Relaxed);
        self.connection.mark_active();
        drop(self.client.take());
    }
}

/// All connections, with their bounds.
#[derive(Debug)]
pub(crate) struct ConnectionTracker {
    table: Mutex<ConnectionTable>,
    now: Arc<AtomicU32>,
    metrics: Arc<Metrics>,
    connections_max: usize,
    connections_per_ip_max: usize,
    /// Proxies, whose connections do not count for an address.
    proxies: TrustedProxies,
    /// Number of requests of each client that came through proxies.
    clients: Mutex<HashMap<IpAddr, usize>>,
    header: u32,
    idle: u32,
    stall: u32,
    /// Notified when the last connection is closed.
    empty: Notify,
    /// Notified when a connection is opened while no other is open.
    opened: Notify,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    open: HashMap<u64, Arc<ClientConnection>>,
    by_ip: HashMap<IpAddr, usize>,
}

impl ConnectionTracker {
    /// Returns a tracker with the bounds of these settings.
    pub(crate) fn new(http: &HttpConfig, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::default(),
            now: Arc::new(AtomicU32::new(1)),
            metrics,
            connections_max: http.connections,
            connections_per_ip_max: http.connections_per_ip,
            proxies: http.trusted_proxies.clone(),
            clients: Mutex::default(),
            header: ticks(http.header_timeout),
            idle: ticks(http.idle_timeout),
            stall: ticks(http.stall_timeout),
            empty: Notify::new(),
            opened: Notify::new(),
        })
    }

    /// Registers a connection, unless there are too many. It counts until the guard is dropped.
    pub(crate) fn register(
        self: &Arc<Self>,
        ip: IpAddr,
    ) -> Option<(Arc<ClientConnection>, ConnectionGuard)> {
        let ip = ip.to_canonical();
        let proxied = self.proxies.has(ip);
        let mut table = self.table.lock();
        let counted = (!proxied).then(|| network(ip));
        let here = counted.and_then(|network| table.by_ip.get(&network).copied());
        let here = here.unwrap_or_default();
        if table.open.len() >= self.connections_max || here >= self.connections_per_ip_max {
            self.metrics.refused.fetch_add(1, Relaxed);
            return None;
        }
        table.next += 1;
        let number = table.next;
        let now = self.now.load(Relaxed);
        let connection = Arc::new(ClientConnection {
            last_active_tick: AtomicU32::new(now),
            now: Arc::clone(&self.now),
            ip: Some(ip),
            proxied,
            number,
            ..ClientConnection::default()
        });
        if table.open.is_empty() {
            self.opened.notify_one();
        }
        table.open.insert(number, Arc::clone(&connection));
        if let Some(network) = counted {
            table.by_ip.insert(network, here + 1);
        }
        self.metrics.connections.fetch_add(1, Relaxed);
        Some((
            connection,
            ConnectionGuard {
                tracker: Arc::clone(self),
                number,
                counted_network: counted,
            },
        ))
    }

    /// Admits a request of a client that came through a proxy, unless there are too many.
    pub(crate) fn admit_proxied_request(
        self: &Arc<Self>,
        client: IpAddr,
    ) -> Option<ProxiedRequestGuard> {
        let network = network(client.to_canonical());
        let mut clients = self.clients.lock();
        let here = clients.get(&network).copied().unwrap_or_default();
        if here >= self.connections_per_ip_max {
            self.metrics.refused.fetch_add(1, Relaxed);
            return None;
        }
        clients.insert(network, here + 1);
        Some(ProxiedRequestGuard {
            tracker: Arc::clone(self),
            network,
        })
    }

    /// Waits until a connection is opened while no other is open. Until then, time need not advance.
    pub(crate) async fn opened(&self) {
        self.opened.notified().await;
    }

    /// Advances time by a tick, ends the connections and frees the permits whose time is up.
    pub(crate) fn tick(&self) {
        let now = self.now.fetch_add(1, Relaxed) + 1;
        let open: Vec<_> = self.table.lock().open.values().map(Arc::clone).collect();
        for connection in open {
            let overdue = connection.release(now, self.idle);
            let stalled = connection.is_stalled(now, self.stall);
            if overdue || stalled || connection.is_timed_out(now, self.header, self.idle) {
                connection.abort();
            }
        }
    }

    /// Asks all connections to end after the requests that have begun, and waits until they have. No connection may be
    /// registered afterwards.
    pub(crate) async fn drain(&self) {
        let open: Vec<_> = self.table.lock().open.values().map(Arc::clone).collect();
        for connection in open {
            connection.close();
        }
        while self.open_connections() > 0 {
            self.empty.notified().await;
        }
    }

    /// Returns the number of requests in progress.
    pub(crate) fn active_requests(&self) -> u64 {
        let table = self.table.lock();
        let each = table.open.values();
        each.map(|connection| u64::from(connection.requests.load(Relaxed)))
            .sum()
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.table.lock().open.len()
    }
}

/// Returns the address that a client is counted under: its own, or its network for IPv6, where each client has many
/// addresses.
pub(crate) fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

fn decrement(counts: &mut HashMap<IpAddr, usize>, network: IpAddr) {
    if let Some(count) = counts.get_mut(&network) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&network);
        }
    }
}

/// Guard of a request of a client that came through a proxy; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct ProxiedRequestGuard {
    tracker: Arc<ConnectionTracker>,
    network: IpAddr,
}

impl Drop for ProxiedRequestGuard {
    fn drop(&mut self) {
        decrement(&mut self.tracker.clients.lock(), self.network);
    }
}

/// Guard of an open connection; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    tracker: Arc<ConnectionTracker>,
    number: u64,
    counted_network: Option<IpAddr>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut table = self.tracker.table.lock();
        table.open.remove(&self.number);
        if let Some(network) = self.counted_network {
            decrement(&mut table.by_ip, network);
        }
        if table.open.is_empty() {
            self.tracker.empty.notify_one();
        }
        self.tracker.metrics.connections.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests;

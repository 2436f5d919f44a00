//! Connections: how many there may be, and how long one may do nothing.
use crate::config::Http;
use crate::forwarded::Proxies;
use crate::metrics::Metrics;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use workgraph_limits::Permit;

/// How often connections are looked at; times here are counted in such ticks.
pub(crate) const TICK_MILLIS: u64 = 250;

/// A time in whole ticks.
fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_millis() / u128::from(TICK_MILLIS)).unwrap_or(u32::MAX)
}

/// One connection, as far as its life is concerned.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// It speaks HTTP/2, where a started head can't be told from other frames.
    framed: AtomicBool,
    /// A line of a head ended in a line feed alone: proxies may see its end elsewhere.
    loose: AtomicBool,
    /// Those being answered.
    requests: AtomicU32,
    /// Its number among the connections, and the number of requests so far.
    number: u64,
    served: AtomicU64,
    /// The tick in which the head now being read began; 0 if none is.
    head: AtomicU32,
    /// The tick in which something last went well.
    active: AtomicU32,
    now: Arc<AtomicU32>,
    task: OnceLock<AbortHandle>,
    /// Who is at the other end.
    ip: Option<IpAddr>,
    /// The other end is a proxy that speaks for many.
    proxied: bool,
    unsent: Mutex<Unsent>,
    /// It is to end after what it has begun.
    closing: AtomicBool,
    /// Woken then.
    waiting: Mutex<Option<Waker>>,
}

/// The replies that are not written yet.
#[derive(Debug, Default)]
struct Unsent {
    next: u32,
    replies: Vec<Reply>,
}

/// A reply that is not written yet.
#[derive(Debug)]
struct Reply {
    number: u32,
    /// The tick in which its time is up.
    until: u32,
    /// Held until then.
    permit: Option<Permit>,
}

/// That a reply is not written yet.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Line>, u32);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0
            .unsent()
            .replies
            .retain(|reply| reply.number != self.1);
    }
}

impl Line {
    /// A reply is on its way until the slot is dropped. Its permit is kept until then, or until this much time has
    /// passed: a client that does not read its reply must not make the wait untrue that others of its token were told.
    pub(crate) fn hold(self: &Arc<Self>, permit: Option<Permit>, time: Duration) -> Slot {
        let until = self.now.load(Relaxed).saturating_add(ticks(time));
        let mut unsent = self.unsent();
        unsent.next = unsent.next.wrapping_add(1);
        let number = unsent.next;
        unsent.replies.push(Reply {
            number,
            until,
            permit,
        });
        drop(unsent);
        Slot(Arc::clone(self), number)
    }
    fn unsent(&self) -> MutexGuard<'_, Unsent> {
        // It is changed by single calls, so a poisoned one is whole.
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Frees the permits whose time is up. Says whether a reply has been unsent for longer than its time and `grace`:
    /// a client may keep a connection busy for ever by leaving a stream of HTTP/2 no room.
    fn release(&self, now: u32, grace: u32) -> bool {
        let mut unsent = self.unsent();
        let mut overdue = false;
        for reply in &mut unsent.replies {
            if reply.until <= now {
                reply.permit = None;
                overdue |= reply.until.saturating_add(grace) < now;
            }
        }
        overdue
    }
    /// A request's head is complete. The answer ends when the guard is dropped.
    pub(crate) fn request(self: &Arc<Self>, client: Option<Client>) -> Busy {
        self.head.store(0, Relaxed);
        self.requests.fetch_add(1, Relaxed);
        Busy {
            line: Arc::clone(self),
            client,
        }
    }
    /// The number of the next request, from 1.
    pub(crate) fn next(&self) -> u64 {
        self.served.fetch_add(1, Relaxed) + 1
    }
    /// The number of the connection.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
    /// It speaks HTTP/2.
    pub(crate) fn framed(&self) {
        self.framed.store(true, Relaxed);
    }
    /// A line of a head did not end in CR LF.
    pub(crate) fn loose(&self) {
        self.loose.store(true, Relaxed);
    }
    /// Something went well.
    pub(crate) fn active(&self) {
        self.active.store(self.now.load(Relaxed), Relaxed);
    }
    /// Bytes have arrived: those of a head, unless a request is being answered.
    pub(crate) fn reads_head(&self) -> bool {
        let head = self.requests.load(Relaxed) == 0;
        if head && self.head.load(Relaxed) == 0 {
            self.head.store(self.now.load(Relaxed), Relaxed);
        }
        head
    }
    /// Whether lines of a head ended in anything but CR LF.
    pub(crate) fn is_loose(&self) -> bool {
        self.loose.load(Relaxed)
    }
    /// The address of the other end.
    pub(crate) fn ip(&self) -> IpAddr {
        self.ip.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
    /// Whether the other end is a proxy that speaks for many.
    pub(crate) fn is_proxied(&self) -> bool {
        self.proxied
    }
    /// Whether it is to end after what it has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }
    /// Wakes this when it is to end after what it has begun; now, if it is already.
    pub(crate) fn on_close(&self, waker: &Waker) {
        let mut waiting = self.waiting();
        if self.is_closing() {
            waker.wake_by_ref();
        } else {
            *waiting = Some(waker.clone());
        }
    }
    fn close(&self) {
        let mut waiting = self.waiting();
        self.closing.store(true, Relaxed);
        if let Some(waker) = waiting.take() {
            waker.wake();
        }
    }
    fn waiting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The task that serves it, to be ended when its time is up.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        // Set once, right after the task was started.
        let _ = self.task.set(task);
    }
    /// Ends the connection, whatever it is doing.
    pub(crate) fn end(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
    fn is_over(&self, now: u32, header: u32, idle: u32) -> bool {
        let head = self.head.load(Relaxed);
        let slow = head > 0 && now.saturating_sub(head) > header && !self.framed.load(Relaxed);
        let still = now.saturating_sub(self.active.load(Relaxed)) > idle;
        self.requests.load(Relaxed) == 0 && (slow || still)
    }
}

/// A request being answered, and its place among those of its client if it came through a proxy.
#[derive(Debug)]
pub(crate) struct Busy {
    line: Arc<Line>,
    client: Option<Client>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.line.requests.fetch_sub(1, Relaxed);
        self.line.active();
        drop(self.client.take());
    }
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Door {
    lines: Mutex<Lines>,
    now: Arc<AtomicU32>,
    metrics: Arc<Metrics>,
    most: usize,
    most_per_ip: usize,
    /// Proxies, whose connections are counted as those of nobody.
    proxies: Proxies,
    /// The requests of each client that come through them.
    clients: Mutex<HashMap<IpAddr, usize>>,
    header: u32,
    idle: u32,
    /// Told when the last connection is gone.
    empty: Notify,
}

#[derive(Debug, Default)]
struct Lines {
    next: u64,
    open: HashMap<u64, Arc<Line>>,
    by_ip: HashMap<IpAddr, usize>,
}

impl Door {
    /// A door with these bounds.
    pub(crate) fn new(http: &Http, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            lines: Mutex::default(),
            now: Arc::new(AtomicU32::new(1)),
            metrics,
            most: http.connections,
            most_per_ip: http.connections_per_ip,
            proxies: http.trusted_proxies.clone(),
            clients: Mutex::default(),
            header: ticks(http.header_timeout),
            idle: ticks(http.idle_timeout),
            empty: Notify::new(),
        })
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // Maps are changed by single calls, so a poisoned one is whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection in, unless there are too many. It counts until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, ip: IpAddr) -> Option<(Arc<Line>, Inside)> {
        let ip = ip.to_canonical();
        let proxied = self.proxies.has(ip);
        let mut lines = self.lines();
        let counted = (!proxied).then(|| network(ip));
        let here = counted.and_then(|network| lines.by_ip.get(&network).copied());
        let here = here.unwrap_or_default();
        if lines.open.len() >= self.most || here >= self.most_per_ip {
            self.metrics.refused.fetch_add(1, Relaxed);
            return None;
        }
        lines.next += 1;
        let number = lines.next;
        let now = self.now.load(Relaxed);
        let line = Arc::new(Line {
            active: AtomicU32::new(now),
            now: Arc::clone(&self.now),
            ip: Some(ip),
            proxied,
            number,
            ..Line::default()
        });
        lines.open.insert(number, Arc::clone(&line));
        if let Some(network) = counted {
            lines.by_ip.insert(network, here + 1);
        }
        self.metrics.connections.fetch_add(1, Relaxed);
        Some((
            line,
            Inside {
                door: Arc::clone(self),
                number,
                counted,
            },
        ))
    }

    /// Lets a request of a client in that came through a proxy, unless there are too many.
    pub(crate) fn admit(self: &Arc<Self>, client: IpAddr) -> Option<Client> {
        let network = network(client.to_canonical());
        let mut clients = self.clients();
        let here = clients.get(&network).copied().unwrap_or_default();
        if here >= self.most_per_ip {
            self.metrics.refused.fetch_add(1, Relaxed);
            return None;
        }
        clients.insert(network, here + 1);
        Some(Client {
            door: Arc::clone(self),
            network,
        })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves time on by a tick, and ends the connections and frees the permits whose time is up.
    pub(crate) fn tick(&self) {
        let now = self.now.fetch_add(1, Relaxed) + 1;
        let open: Vec<_> = self.lines().open.values().map(Arc::clone).collect();
        for line in open {
            let overdue = line.release(now, self.idle);
            if overdue || line.is_over(now, self.header, self.idle) {
                line.end();
            }
        }
    }

    /// Tells all connections to end after what they have begun, and waits until they have. None may enter any more.
    pub(crate) async fn close(&self) {
        let open: Vec<_> = self.lines().open.values().map(Arc::clone).collect();
        for line in open {
            line.close();
        }
        while self.open() > 0 {
            self.empty.notified().await;
        }
    }

    /// How many requests are being answered.
    pub(crate) fn busy(&self) -> u64 {
        let lines = self.lines();
        let each = lines.open.values();
        each.map(|line| u64::from(line.requests.load(Relaxed)))
            .sum()
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.lines().open.len()
    }
}

/// The address that a client counts under: its own, or of IPv6, where everybody has many, its
/// network's.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

fn one_less(counts: &mut HashMap<IpAddr, usize>, network: IpAddr) {
    if let Some(count) = counts.get_mut(&network) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&network);
        }
    }
}

/// A request of a client that came through a proxy; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Client {
    door: Arc<Door>,
    network: IpAddr,
}

impl Drop for Client {
    fn drop(&mut self) {
        one_less(&mut self.door.clients(), self.network);
    }
}

/// That a connection is open.
#[derive(Debug)]
pub(crate) struct Inside {
    door: Arc<Door>,
    number: u64,
    /// Under which address it counts, if it does.
    counted: Option<IpAddr>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut lines = self.door.lines();
        lines.open.remove(&self.number);
        if let Some(network) = self.counted {
            one_less(&mut lines.by_ip, network);
        }
        if lines.open.is_empty() {
            self.door.empty.notify_one();
        }
        self.door.metrics.connections.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests;

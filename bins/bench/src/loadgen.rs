//! A closed-loop HTTP/1.1 load generator: a fixed number of connections, each with one request in flight.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench_clock;
use crate::http_client::{ResponseHead, parse_head};

/// Function that writes the request number `index` into the buffer.
pub(crate) type RequestMaker = dyn Fn(&mut Rng, u64, &mut Vec<u8>) + Send + Sync;
/// Function that gets the body of every 2xx response.
pub(crate) type ResponseObserver = dyn Fn(&[u8]) + Send + Sync;

/// Condition that ends a load.
#[derive(Clone, Copy)]
pub(crate) enum LoadEnd {
    After(Duration),
    /// After this many requests.
    Count(u64),
}

/// Load on a server: its requests, and the condition that ends it.
pub(crate) struct LoadSpec {
    /// Address of the server.
    pub(crate) addr: SocketAddr,
    pub(crate) connections: usize,
    /// Condition that ends the load.
    pub(crate) stop: LoadEnd,
    /// Seed of the first connection's random numbers; each other connection adds its number. Without it, each connection has
    /// a unique seed.
    pub(crate) seed: Option<u64>,
    /// Maximum number of requests per second; without it the next request is sent as soon as one is answered.
    pub(crate) pace: Option<u32>,
    pub(crate) make: Arc<RequestMaker>,
    pub(crate) seen: Option<Arc<ResponseObserver>>,
}

#[derive(Debug, Default)]
pub(crate) struct LoadResult {
    /// Number of requests answered with 2xx.
    pub(crate) requests: u64,
    /// Other outcomes, by status or connection error, with their counts.
    pub(crate) errors: BTreeMap<String, u64>,
    /// First response that was not 2xx, which shows the cause.
    pub(crate) sample: Option<String>,
    /// Duration in seconds.
    pub(crate) seconds: f64,
    /// Median latency in microseconds.
    pub(crate) p50: f64,
    /// 99th percentile of the latency in microseconds.
    pub(crate) p99: f64,
}

impl LoadResult {
    /// Returns the successful requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// Returns the number of requests that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// Runs a load to its end on a separate runtime.
pub(crate) fn run(load: LoadSpec) -> Result<LoadResult> {
    // At most half of the cores: the measured server needs the others.
    let cores = std::thread::available_parallelism()?.get();
    let threads = load.connections.min(cores / 2);
    let mut builder = if threads > 1 {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = builder
        .worker_threads(threads.max(1))
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(drive(load));
    runtime.shutdown_background();
    outcome
}

async fn drive(load: LoadSpec) -> Result<LoadResult> {
    let connections = load.connections;
    let patience = match load.stop {
        LoadEnd::After(time) => time + Duration::from_secs(30),
        LoadEnd::Count(_) => Duration::from_secs(900),
    };
    let shared = Arc::new(LoadState {
        began: bench_clock::now(),
        next: AtomicU64::new(0),
        load,
    });
    let tasks: Vec<_> = (0..connections)
        .map(|number| {
            let rng = shared.load.seed.map(|seed| Rng::new(seed + number as u64));
            tokio::spawn(connection(
                Arc::clone(&shared),
                rng.unwrap_or_else(Rng::fresh),
            ))
        })
        .collect();
    let mut all = LoadCounts::default();
    let gather = async {
        for task in tasks {
            all.add(task.await?);
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::time::timeout(patience, gather)
        .await
        .context("the server stopped answering under load")??;
    let seconds = bench_clock::now()
        .duration_since(shared.began)
        .as_secs_f64();
    all.latencies.sort_unstable();
    Ok(LoadResult {
        requests: all.requests,
        seconds,
        p50: all.percentile(50),
        p99: all.percentile(99),
        errors: all.errors,
        sample: all.sample,
    })
}

struct LoadState {
    began: Instant,
    next: AtomicU64,
    load: LoadSpec,
}

impl LoadState {
    /// Returns the number of the next request, or `None` at the end of the load.
    fn take(&self, at: Instant) -> Option<u64> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let more = match self.load.stop {
            LoadEnd::After(time) => at.duration_since(self.began) < time,
            LoadEnd::Count(count) => index < count,
        };
        more.then_some(index)
    }
}

impl LoadState {
    /// Waits until the pace allows the request of this index.
    async fn wait_for_pace(&self, index: u64) {
        if let Some(pace) = self.load.pace {
            let after = Duration::from_secs_f64(index as f64 / f64::from(pace.max(1)));
            let turn = tokio::time::Instant::from_std(self.began + after);
            tokio::time::sleep_until(turn).await;
        }
    }
}

#[derive(Default)]
struct LoadCounts {
    requests: u64,
    errors: BTreeMap<String, u64>,
    sample: Option<String>,
    /// Latencies in nanoseconds, capped at four seconds.
    latencies: Vec<u32>,
}

impl LoadCounts {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        for (what, count) in other.errors {
            *self.errors.entry(what).or_default() += count;
        }
        self.sample = self.sample.take().or(other.sample);
        self.latencies.extend(other.latencies);
    }

    fn percentile(&self, percent: usize) -> f64 {
        let index = (self.latencies.len() * percent / 100).min(self.latencies.len().max(1) - 1);
        self.latencies
            .get(index)
            .map_or(0.0, |nanos| f64::from(*nanos) / 1000.0)
    }

    fn broke(&mut self, what: String) {
        *self.errors.entry(what).or_default() += 1;
    }
}

async fn connection(shared: Arc<LoadState>, mut rng: Rng) -> LoadCounts {
    let load = &shared.load;
    let mut tally = LoadCounts::default();
    let (mut out, mut back) = (Vec::new(), Vec::with_capacity(16 * 1024));
    let mut at = shared.began;
    'connect: while tally.errors.len() < 20 {
        let mut stream = match connect(load.addr).await {
            Ok(stream) => stream,
            Err(error) => {
                tally.broke(format!("connect: {error:#}"));
                break;
            }
        };
        while let Some(index) = shared.take(at) {
            shared.wait_for_pace(index).await;
            out.clear();
            (load.make)(&mut rng, index, &mut out);
            let sent = bench_clock::now();
            let head = match exchange(&mut stream, &out, &mut back).await {
                Ok(head) => head,
                Err(error) => {
                    at = bench_clock::now();
                    tally.broke(format!("{error:#}"));
                    continue 'connect;
                }
            };
            at = bench_clock::now();
            let body = back.get(head.length..).unwrap_or_default();
            if (200..300).contains(&head.status) {
                tally.requests += 1;
                let nanos = at.duration_since(sent).as_nanos();
                tally
                    .latencies
                    .push(u32::try_from(nanos).unwrap_or(u32::MAX));
                if let Some(seen) = &load.seen {
                    seen(body);
                }
            } else {
                tally.broke(head.status.to_string());
                tally.sample.get_or_insert_with(|| {
                    let text = String::from_utf8_lossy(body);
                    text.chars().take(200).collect()
                });
            }
            if head.close {
                continue 'connect;
            }
        }
        break;
    }
    tally
}

async fn connect(addr: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends one request and reads its answer into `back`.
async fn exchange(stream: &mut TcpStream, out: &[u8], back: &mut Vec<u8>) -> Result<ResponseHead> {
    stream.write_all(out).await?;
    back.clear();
    let mut head = None;
    loop {
        if stream.read_buf(back).await? == 0 {
            bail!("the server closed the connection");
        }
        if head.is_none() {
            head = parse_head(back)?;
        }
        match head {
            Some(head) if back.len() == head.total() => return Ok(head),
            Some(head) if back.len() > head.total() => {
                bail!("more bytes than the answer has");
            }
            // One byte more than missing, so that a short read shows that nothing else follows.
            Some(head) => back.reserve(head.total() - back.len() + 1),
            None => back.reserve(4096),
        }
    }
}

/// A small, fast generator (xorshift64*).
#[derive(Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Returns a generator with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a generator with a unique seed, so that every connection of every round sends different requests.
    pub(crate) fn fresh() -> Self {
        Self::new(RandomState::new().hash_one(()))
    }

    /// Returns a number below `end` (0 if there is none).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let wide = u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d));
        ((wide * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_random_places_stay_inside() {
        let mut tally = LoadCounts::default();
        assert!(tally.percentile(99) == 0.0);
        tally.latencies = (1..=100).map(|n| n * 1000).collect();
        assert!(tally.percentile(50) == 51.0);
        assert!(tally.percentile(99) == 100.0);
        let mut rng = Rng::new(0);
        assert!((0..1000).all(|_| rng.below(7) < 7));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn no_two_fresh_generators_draw_the_same() {
        let draws: std::collections::BTreeSet<_> = (0..1000)
            .map(|_| Rng::fresh())
            .map(|mut rng| (rng.below(1 << 30), rng.below(1 << 30)))
            .collect();
        assert_eq!(draws.len(), 1000);
    }
}

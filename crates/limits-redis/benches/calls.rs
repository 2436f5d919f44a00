//! Figures of the limiter with a private server: `cargo bench -p workgraph-limits-redis --features test-server`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "this is a measurement"
)]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Builder;
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimiterSettings, LocalLimits, OwnerTotals, PerTime,
    SharedLimiter, SharedRequest, UniformState, WindowSettings,
};
use workgraph_limits_redis::test_server::TestServer;
use workgraph_limits_redis::{RedisLimiter, RedisLimiterSettings};

struct World {
    shared: RedisLimiter,
    limiter: DigestLimiter,
    totals: OwnerTotals<u64, UniformState>,
}

impl World {
    async fn admit(&self, key: u32) {
        let mut name = [0; 16];
        name[..4].copy_from_slice(&key.to_be_bytes());
        let request = SharedRequest {
            request: AdmissionRequest::new(&name),
            owner: None,
        };
        let local = LocalLimits {
            limiter: &self.limiter,
            totals: &self.totals,
        };
        let mut permit = match self.shared.admit(&request, local, SystemTime::now()).await {
            Ok(permit) => permit,
            Err(_) => return,
        };
        permit.settle(3, SystemTime::now());
    }
}

async fn latency(world: &World, calls: u32, keys: u32) -> [Duration; 3] {
    let mut times = Vec::new();
    for n in 0..calls {
        let begun = Instant::now();
        world.admit(n % keys).await;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    [50, 90, 99].map(|percent| times[times.len() * percent / 100])
}

async fn rate(world: &Arc<World>, clients: u32, keys: u32, time: Duration) -> f64 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let world = Arc::clone(world);
            tokio::spawn(async move {
                let mut calls = 0;
                while begun.elapsed() < time {
                    world.admit((client + calls * clients) % keys).await;
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await.expect("a client ends");
    }
    f64::from(calls) / begun.elapsed().as_secs_f64()
}

/// Measures with a runtime; with one thread, the figures include no hops between threads.
async fn measure(server: &TestServer, run: u32, with_rates: bool) {
    let settings = RedisLimiterSettings {
        timeout: Duration::from_secs(1),
        ..RedisLimiterSettings::new(server.url())
    };
    let (shared, _) = RedisLimiter::connect(&settings)
        .await
        .expect("the server answers");
    let limits = LimiterSettings {
        windows: vec![WindowSettings::new("minute", 1_500.per_minute())],
        ..LimiterSettings::default()
    };
    let world = Arc::new(World {
        shared,
        totals: OwnerTotals::new(&limits),
        limiter: DigestLimiter::new(limits),
    });
    let threads = if with_rates {
        "two threads"
    } else {
        "one thread"
    };
    let [half, most, worst] = latency(&world, 20_000, 1_000).await;
    println!("run {run}, {threads}: one client: median {half:?}, 90 % {most:?}, 99 % {worst:?}");
    if with_rates {
        for (clients, keys) in [(16, 20_000), (64, 20_000), (256, 20_000), (64, 1)] {
            let rate = rate(&world, clients, keys, Duration::from_secs(2)).await;
            println!("run {run}: {clients} clients, {keys} keys: {rate:.0} requests/s");
        }
    }
    assert_eq!(world.shared.counts().local, 0);
}

fn main() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    for run in 1..=3 {
        let one = Builder::new_current_thread().enable_all().build();
        one.expect("a runtime")
            .block_on(measure(&server, run, false));
        let two = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        two.expect("a runtime")
            .block_on(measure(&server, run, true));
    }
}

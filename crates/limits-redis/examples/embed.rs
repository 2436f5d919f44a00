//! The limiter in a service: one Redis, several processes, and each request asks before it runs.
//!
//! `cargo run -p workgraph-limits-redis --example embed -- redis://127.0.0.1`
#![expect(
    clippy::disallowed_methods,
    reason = "the example ends, and waits for its last message before"
)]

use std::error::Error;
use std::time::Duration;

use workgraph_limits::{
    AdmissionRequest, CostSettings, DigestLimiter, LimiterSettings, LocalLimits, OwnerTotals,
    PerTime, SharedLimiter, SharedRequest, SteadyClock, UniformState, WindowSettings,
};
use workgraph_limits_redis::{RedisLimiter, RedisLimiterSettings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "redis://127.0.0.1".to_owned());
    let settings = RedisLimiterSettings {
        processes: 3,
        ..RedisLimiterSettings::new(url)
    };
    let (shared, warnings) = RedisLimiter::connect(&settings).await?;
    for warning in warnings {
        println!("{warning}");
    }
    // The limiter of this process takes part: it continues alone when the server is unavailable.
    let limits = LimiterSettings {
        windows: vec![WindowSettings::new("minute", 5.per_minute())],
        cost: CostSettings::new("cost", 600.per_minute()),
        ..LimiterSettings::default()
    };
    let totals: OwnerTotals<u64, UniformState> = OwnerTotals::new(&limits);
    let limiter = DigestLimiter::new(limits);
    let local = LocalLimits {
        limiter: &limiter,
        totals: &totals,
    };
    let request = SharedRequest {
        request: AdmissionRequest::new(b"a customer's key"),
        owner: None,
    };
    let clock = SteadyClock::new();
    for n in 1..=7 {
        match shared.admit(&request, local, clock.now()).await {
            Ok(mut permit) => {
                println!("{n}: admitted");
                permit.settle(12, clock.now());
            }
            Err(refusal) => println!("{n}: {refusal}"),
        }
    }
    println!("{:?}, {:?}", shared.mode(), shared.counts());
    // Ends are sent without waiting, so the last one needs a little time to be sent.
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}
